package importer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/importer"
)

func TestInterleavedConversationsAreKeptApart(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	var b strings.Builder
	for i, role := range []string{"user", "assistant"} {
		for _, session := range []string{"bread", "boats"} {
			fmt.Fprintf(&b, `{"role":%q,"content":"%s speaks of %s.","session":%q,"timestamp":%d}`+"\n", role, role,
				session, session, 1767254400+i)
		}
	}
	importFiles(t, s, a, options(), text("talk.jsonl", b.String()))
	var contents []string
	for _, e := range episodes(t, s, "a") {
		contents = append(contents, e.Content)
	}
	require.ElementsMatch(t, []string{
		"user: user speaks of bread.\nassistant: assistant speaks of bread.",
		"user: user speaks of boats.\nassistant: assistant speaks of boats.",
	}, contents)
}

func TestAnExchangeEndsWhereSomebodyElseSpeaksAgain(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	turn := func(who, what string) string { return fmt.Sprintf(`{"speaker":%q,"dia_id":"D","text":%q}`, who, what) }
	body :=
		`[{"sample_id":"x","conversation":{"session_1_date_time":"9:00 am on 1 May, 2024","session_1":[` +
			strings.Join([]string{
				turn("Ada", "The bell rang."), turn("Ada", "Twice."), turn("Bruno", "I heard it."),
				turn("Bruno", "From the mill."), turn("Cleo", "Not me."), turn("Ada", "You sleep deeply."),
				turn("Bruno", "Like a stone."),
			}, ",") + `]}}]`
	importFiles(t, s, a, options(), text("x.json", body))
	all := episodes(t, s, "a")
	require.Len(t, all, 3)
	require.Equal(t, "Ada: The bell rang.\nTwice.\nBruno: I heard it.\nFrom the mill.", all[0].Content)
	require.Equal(t, "Cleo: Not me.\nAda: You sleep deeply.", all[1].Content)
	require.Equal(t, "Nobody answered, and these words were the last: “Like a stone.”", all[2].Outcome)
	require.Contains(t, all[2].Context, "Just before, Ada had said: “You sleep deeply.”")
}

func TestAnUndatedFileKeepsItsOrder(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	file := text("notes.txt",
		strings.Repeat("The first page is about the orchard and its keepers, who never slept in spring. ", 9)+"\n\n"+
			strings.Repeat("The second page is about the ferry and the fog that ate its bell every autumn. ", 9))
	importFiles(t, s, a, options(), file)
	all := episodes(t, s, "a")
	require.Len(t, all, 2)
	require.Contains(t, all[0].Content, "orchard")
	require.Equal(t, file.ModTime, all[1].At)
	require.Contains(t, all[1].Derived, "at")
}

func TestADiaryWithoutAnyDateIsNotTakenForTodays(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	notes := text("notes.txt", "The keeper greased the vane by torchlight.\n")
	dated := text("dated.txt",
		"About this book: it was found in the boathouse.\n\n2025-03-02\n\nFirst day at the station.\n")
	opts := options()
	opts.FileTime = false
	_, err := importer.Import(t.Context(), s, a, []importer.File{dated, notes}, opts)
	require.ErrorIs(t, err, importer.ErrUndated)
	require.ErrorContains(t, err, "notes.txt")
	require.NotContains(t, err.Error(), "dated.txt,")
	require.Empty(t, episodes(t, s, "a"), "nothing was written")

	opts.Date = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	importFiles(t, s, a, opts, notes)
	require.Equal(t, opts.Date, episodes(t, s, "a")[0].At)
}

func TestTextBeforeTheFirstDateOfADiaryIsDatedJustBeforeIt(t *testing.T) {
	t.Parallel()
	a := someone("a")
	s := store(t, a)
	opts := options()
	opts.FileTime = false
	importFiles(t, s, a, opts,
		text("dated.txt",
			"About this book: it was found in the boathouse.\n\n2025-03-02\n\nFirst day at the station.\n"))
	all := episodes(t, s, "a")
	require.Len(t, all, 2)
	require.Contains(t, all[0].Content, "boathouse")
	require.True(t, all[0].At.Before(all[1].At))
	require.WithinDuration(t, all[1].At, all[0].At, 2*time.Second)
}

package foretelling_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sentence"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/recalling"
)

// TestProgramsResolveOnRealTalk lets the resolver look up checks about the last sessions of each dialogue, and prints
// ids and verdicts of half of audited, correct and incorrect ones. With SHOW it prints the words, too, for a person who
// reads whether each verdict is right.
func TestProgramsResolveOnRealTalk(t *testing.T) {
	files := os.Getenv("LOCOMO")
	if files == "" {
		t.Skip("make bench-foretelling LOCOMO=locomo10.json looks up what was really said")
	}
	for path := range strings.SplitSeq(files, ",") {
		dialogues, err := recalling.Read(path)
		require.NoError(t, err)
		for _, d := range dialogues {
			lookUp(t, d)
		}
	}
}

func lookUp(t *testing.T, d recalling.Dialogue) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memory.db")
	lived, agent := importDialogue(t, t.Context(), file, d, nil)
	store, err := sqlitestore.Open(t.Context(), file)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	cut, last := lived[len(lived)*7/10].At, lived[len(lived)-1].At
	past := review.Resolver{Memory: store, Now: func() time.Time { return cut }}
	for _, c := range checksAbout(lived, cut) {
		_, _, err := past.AddPrediction(t.Context(), agent, review.PredictionRequest{
			Claim:      claims.Describe(c),
			Horizon:    last.Add(time.Hour),
			Confidence: .3,
			By:         dream.ByPerson,
			Check:      &c,
		})
		require.NoError(t, err)
	}
	now := review.Resolver{Memory: store, Now: func() time.Time { return last.Add(100 * 24 * time.Hour) }}
	found, err := now.LookUp(t.Context(), agent.ID)
	require.NoError(t, err)
	shown := map[string]int{}
	for _, p := range found.Decided {
		if p.Status == dream.PredictionVoid || shown[p.Status] > audited/4 || shown["all"] == audited/2 {
			continue
		}
		shown[p.Status]++
		shown["all"]++
		fmt.Printf("%s %s: %s\n", d.Name, p.ID, p.Status)
		if os.Getenv("SHOW") != "" {
			fmt.Printf("    %s\n    %s\n", p.Claim, p.Evidence)
			showAlike(lived, cut, p.Check.When, p.Check.Then)
		}
	}
	fmt.Printf("%s: %d correct, %d incorrect\n", d.Name, shown[dream.PredictionRight], shown[dream.PredictionWrong])
	require.Equal(t, audited/2, shown["all"], d.Name)
}

// showAlike prints the sentences after a time that hold the beginning of one of the names, so that the reader sees what
// the stemmer may have missed.
func showAlike(lived []*dream.Episode, after time.Time, names ...string) {
	for _, e := range lived {
		for _, s := range sentence.Split(e.Content) {
			for _, name := range names {
				beginning := strings.ToLower(name[:min(len(name), 4)])
				if e.At.After(after) && name != "" && strings.Contains(strings.ToLower(s), beginning) {
					fmt.Printf("      %s %s: %s\n", e.At.Format(time.DateTime), e.ID, s)
				}
			}
		}
	}
}

// checksAbout are the regularities of the time before, as they stand and in other forms, so that some come true and
// some do not.
func checksAbout(lived []*dream.Episode, before time.Time) []dream.Check {
	var texts []claims.Text
	for _, e := range lived {
		if e.At.Before(before) {
			texts = append(texts, claims.Text{ID: e.ID, At: e.At, Content: e.Content})
		}
	}
	var all []dream.Check
	for i, a := range claims.Associate(texts) {
		other := dream.Check{Then: a.Check.Then}
		switch i % 4 {
		case 1:
			other.Least = 3
		case 2:
			other = a.Check
			other.Not = true
		case 3:
			other = dream.Check{When: a.Check.Then, Then: a.Check.When, Within: 3 * 24 * time.Hour}
		}
		all = append(all, a.Check, other, dream.Check{Then: a.Check.When, Least: 2, Not: true})
	}
	return all
}

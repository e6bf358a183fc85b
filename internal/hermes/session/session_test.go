package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/session"
)

func store(t *testing.T) (*session.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	s, err := session.Open(dir)
	require.NoError(t, err)
	return s, dir
}

var begun = time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)

func says(role, text string) message.Entry {
	return message.Entry{At: begun.Add(time.Minute), Message: &message.Message{Role: role, Content: text}}
}

func TestASessionIsResumed(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	made, err := s.Begin(session.Header{Agent: "iris", Workspace: "/w", Begun: begun})
	require.NoError(t, err)
	require.NoError(t, made.Add(says(message.User, "Hello.")))
	_, _, err = s.Resume(made.ID)
	require.ErrorIs(t, err, session.ErrInUse)
	require.NoError(t, made.Close())
	again, entries, err := s.Resume(made.ID)
	require.NoError(t, err)
	require.Equal(t, made.Header, again.Header)
	require.Equal(t, []message.Entry{says(message.User, "Hello.")}, entries)
	require.NoError(t, again.Close())
	info, err := os.Stat(filepath.Join(dir, made.ID+".jsonl"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A process can die within a write: whatever is left, all whole lines are read and the next line is added behind them.
func TestALineThatWasCutShortIsCutOff(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	made, err := s.Begin(session.Header{Agent: "iris", Begun: begun})
	require.NoError(t, err)
	require.NoError(t, made.Add(says(message.User, "Hello.")))
	require.NoError(t, made.Add(says(message.Assistant, "Good morning.")))
	require.NoError(t, made.Close())
	path := filepath.Join(dir, made.ID+".jsonl")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	second := strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n") + 1
	for size := second; size < len(whole); size++ {
		require.NoError(t, os.WriteFile(path, whole[:size], 0o600))
		again, entries, err := s.Resume(made.ID)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.NoError(t, again.Add(says(message.Assistant, "Again.")))
		require.NoError(t, again.Close())
		_, entries, err = s.Read(made.ID)
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Equal(t, "Again.", entries[1].Message.Content)
	}
}

func TestASessionInWhichNothingWasSaidLeavesNothing(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	made, err := s.Begin(session.Header{Agent: "iris", Begun: begun})
	require.NoError(t, err)
	all, err := s.List("")
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, made.Close())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestWhatIsNoSessionIsRefused(t *testing.T) {
	t.Parallel()
	s, dir := store(t)
	for _, id := range []string{"", "../x", "/etc/passwd", "a b", "20260102\x00"} {
		_, _, err := s.Resume(id)
		require.ErrorContains(t, err, "is no id of a session", id)
	}
	_, _, err := s.Read("20260102-1")
	require.ErrorContains(t, err, "there is no session")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "20260102-2.jsonl"), []byte("{\"id\":\"20260102-2\"}\nnonsense\n"), 0o600))
	_, _, err = s.Resume("20260102-2")
	require.ErrorContains(t, err, "line 2 is damaged")
	listed, err := s.List("")
	require.NoError(t, err)
	require.Empty(t, listed, "a damaged session hides no other")
}

func TestTheListIsSearched(t *testing.T) {
	t.Parallel()
	s, _ := store(t)
	for i, text := range []string{"The lighthouse.", "The harbour."} {
		made, err := s.Begin(session.Header{Agent: "iris", Begun: begun.Add(time.Duration(i) * time.Hour)})
		require.NoError(t, err)
		e := says(message.User, text)
		e.At = made.Begun
		require.NoError(t, made.Add(e))
		require.NoError(t, made.Close())
	}
	silent, err := s.Begin(session.Header{Agent: "iris", Begun: begun.Add(3 * time.Hour)})
	require.NoError(t, err)
	require.NoError(t, silent.Close())
	all, err := s.List("")
	require.NoError(t, err)
	require.Len(t, all, 2, "a session in which nobody said anything is none to go on with")
	require.Equal(t, "The harbour.", all[0].First, "the newest first")
	some, err := s.List("LIGHT")
	require.NoError(t, err)
	require.Len(t, some, 1)
	require.Equal(t, 1, some[0].Turns)
}

func TestExport(t *testing.T) {
	t.Parallel()
	two := 2
	got := session.Export(session.Header{ID: "20261128-010203-aa", Agent: "iris", Workspace: "/w", Begun: begun}, []message.Entry{
		says(message.User, "What is *here*?"),
		{Message: &message.Message{Role: message.Assistant, Content: "I look.", Calls: []message.Call{{ID: "1", Name: "list_files", Arguments: "{}"}}}},
		{Message: &message.Message{Role: message.FromTool, CallID: "1", Content: "a.md\n```\nb"}},
		{Note: "While you were away: nothing."},
		{Rewind: &two},
		{Compact: []message.Message{{Role: message.System, Content: "short"}}},
	})
	want, err := os.ReadFile("testdata/export.md")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/export.md", []byte(got), 0o644))
		return
	}
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"id\":\"20260102-2\"}\n{\"note\":\"x\"}\n"))
	f.Add([]byte("{\"id\":\"20260102-2\"}\n{\"rewind\":-4}\n{\"message\":{\"role\":\"tool\"}}\n{\"rewind\":9}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		s, err := session.Open(dir)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "20260102-2.jsonl"), text, 0o600))
		h, entries, err := s.Read("20260102-2")
		if err != nil {
			return
		}
		open := map[string]int{}
		for _, m := range message.Fold(entries) {
			for _, c := range m.Calls {
				open[c.ID]++
			}
			if m.Role == message.FromTool {
				open[m.CallID]--
			}
		}
		for id, n := range open {
			require.Zero(t, n, "call %q has no result of its own", id)
		}
		session.Export(h, entries)
	})
}

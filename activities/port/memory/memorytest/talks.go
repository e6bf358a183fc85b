package memorytest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// TalkStore keeps the backgrounds of conversations beside memory.
type TalkStore interface {
	memory.Store
	memory.Talks
}

var talks = []struct {
	name string
	run  func(*testing.T, TalkStore)
}{
	{"BackgroundsAreListedInTheOrderTheyWereAdded", backgroundsListed},
	{"ConversationsAndAgentsAreSeparate", backgroundsApart},
	{"BackgroundsAddedAtOnceAreAllKept", backgroundsAtOnce},
	{"ForgettingDeletesEveryBackgroundOfTheAgent", backgroundsForgotten},
	{"ABackgroundWithoutATalkIsRefused", backgroundsNamed},
}

// RunTalks tests a store's backgrounds of conversations.
func RunTalks(t *testing.T, open func(t *testing.T) TalkStore) {
	t.Helper()
	for _, c := range talks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

func background(place int) memory.Background {
	return memory.Background{
		Place: place, Mark: fmt.Sprint("mark-", place), Text: fmt.Sprintf("[Background]\n> \"%d\"\n\x00é", place),
		Items: []string{"ep_1", "ep:2"},
		Taint: dream.FromTool, Mood: "glad", At: dawn.Add(time.Duration(place) * time.Minute),
	}
}

func backgroundsListed(t *testing.T, s TalkStore) {
	none, err := s.Backgrounds(t.Context(), echo, "talk")
	require.NoError(t, err)
	require.Empty(t, none)
	want := []memory.Background{background(4), background(2), background(2), {Place: 0, Mark: "m", At: dawn}}
	for _, b := range want {
		require.NoError(t, s.PutBackground(t.Context(), echo, "talk", b))
	}
	got, err := s.Backgrounds(t.Context(), echo, "talk")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func backgroundsApart(t *testing.T, s TalkStore) {
	for agent, talk := range map[string]string{echo: "a:b", echo + ":a": "b", "mute": "a:b"} {
		b := background(1)
		b.Text = agent
		require.NoError(t, s.PutBackground(t.Context(), agent, talk, b))
	}
	for agent, talk := range map[string]string{echo: "a:b", echo + ":a": "b", "mute": "a:b"} {
		got, err := s.Backgrounds(t.Context(), agent, talk)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, agent, got[0].Text)
	}
}

func backgroundsAtOnce(t *testing.T, s TalkStore) {
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() { errs[i] = s.PutBackground(t.Context(), echo, "talk", background(i)) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	got, err := s.Backgrounds(t.Context(), echo, "talk")
	require.NoError(t, err)
	require.Len(t, got, len(errs))
}

func backgroundsForgotten(t *testing.T, s TalkStore) {
	commit(t, s, memory.Write{Add: []dream.Item{episode("ep_1", "the harbour lamp")}})
	for _, talk := range []string{"one", "other"} {
		require.NoError(t, s.PutBackground(t.Context(), echo, talk, background(1)))
	}
	require.NoError(t, s.PutBackground(t.Context(), "mute", "one", background(1)))
	_, err := s.Forget(t.Context(), echo, "ep_1")
	require.NoError(t, err)
	for _, talk := range []string{"one", "other"} {
		got, err := s.Backgrounds(t.Context(), echo, talk)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	got, err := s.Backgrounds(t.Context(), "mute", "one")
	require.NoError(t, err)
	require.Len(t, got, 1, "another agent's")
}

func backgroundsNamed(t *testing.T, s TalkStore) {
	require.Error(t, s.PutBackground(t.Context(), echo, "", background(1)))
	require.Error(t, s.PutBackground(t.Context(), "", "talk", background(1)))
}

package memorytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// FeedStore keeps feeds, and the agents that follow them.
type FeedStore interface {
	memory.DreamStore
	memory.Feeds
}

var feeds = []struct {
	name string
	run  func(*testing.T, FeedStore)
}{
	{"AFeedIsKeptByItsName", feedKept},
	{"FeedsAreListedByName", feedsListed},
	{"DroppingAFeedUnfollowsItsAgents", feedDropped},
	{"AFeedWithoutANameIsRefused", feedNamed},
}

func tides() dream.Feed {
	return dream.Feed{
		Name: "tides", URL: "https://example.org/tides.json", Path: "readings.0", Every: time.Minute,
		Rules: []dream.Rule{
			{Name: "flood", Metric: "level", Kind: dream.Above, Number: 4.25},
			{Name: "silence", Kind: dream.Stale, Window: time.Hour},
			{Name: "storm", Metric: "warning", Kind: dream.StateIs, State: "red"},
		},
	}
}

func feedKept(t *testing.T, s FeedStore) {
	_, err := s.Feed(t.Context(), "tides")
	require.ErrorIs(t, err, memory.ErrNotFound)
	want := tides()
	require.NoError(t, s.PutFeed(t.Context(), want))
	got, err := s.Feed(t.Context(), "tides")
	require.NoError(t, err)
	require.Equal(t, want, got)
	got.Rules[0].Name = "scribbled over"
	want.Rules = want.Rules[1:]
	want.URL = ""
	require.NoError(t, s.PutFeed(t.Context(), want))
	got, err = s.Feed(t.Context(), "tides")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = s.Feed(t.Context(), "Tides")
	require.ErrorIs(t, err, memory.ErrNotFound)
}

func feedsListed(t *testing.T, s FeedStore) {
	none, err := s.Feeds(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	for _, name := range []string{"winds", "tides", "bond yields"} {
		f := tides()
		f.Name = name
		require.NoError(t, s.PutFeed(t.Context(), f))
	}
	all, err := s.Feeds(t.Context())
	require.NoError(t, err)
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
		require.Len(t, f.Rules, 3)
	}
	require.Equal(t, []string{"bond yields", "tides", "winds"}, names)
}

func feedDropped(t *testing.T, s FeedStore) {
	require.ErrorIs(t, s.DropFeed(t.Context(), "tides"), memory.ErrNotFound)
	require.NoError(t, s.PutFeed(t.Context(), tides()))
	follower := dream.Agent{ID: echo, Handle: "echo", Feed: "tides", Created: dawn}
	other := dream.Agent{ID: "agent-vega", Handle: "vega", Feed: "winds", Created: dawn}
	require.NoError(t, s.PutAgent(t.Context(), follower))
	require.NoError(t, s.PutAgent(t.Context(), other))
	require.NoError(t, s.DropFeed(t.Context(), "tides"))
	_, err := s.Feed(t.Context(), "tides")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.ErrorIs(t, s.DropFeed(t.Context(), "tides"), memory.ErrNotFound)
	follower.Feed = ""
	for _, want := range []dream.Agent{follower, other} {
		got, err := s.Agent(t.Context(), want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func feedNamed(t *testing.T, s FeedStore) {
	f := tides()
	f.Name = ""
	require.ErrorContains(t, s.PutFeed(t.Context(), f), "name")
	all, err := s.Feeds(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
}

package starter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

func TestAnInvalidFeedIsNotStoredAndAnInvalidReadingNotPushed(t *testing.T) {
	t.Parallel()
	s, _ := build(t)
	s.Feeds = s.Memory.(memory.Feeds)
	ctx := t.Context()
	require.ErrorContains(t, s.ForFeeds().PutFeed(ctx, dream.Feed{Name: "chain", Rules: []dream.Rule{{Name: "r"}}}),
		`rule "r": kind "" is unknown`)
	_, err := s.Feeds.Feed(ctx, "chain")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.ErrorIs(t, s.ForFeeds().DropFeed(ctx, "chain"), memory.ErrNotFound)
	require.ErrorIs(t, s.ForFeeds().Push(ctx, "chain", nil), memory.ErrNotFound)

	require.NoError(t, s.Feeds.PutFeed(ctx, dream.Feed{Name: "chain"}))
	require.ErrorContains(t, s.ForFeeds().Push(ctx, "chain", nil), "there are 0 readings; 1 to 64 at once")
	require.ErrorContains(t, s.ForFeeds().Push(ctx, "chain", make([]dream.Reading, alarm.MostReadings+1)), "there are 65 readings")
	require.ErrorContains(t, s.ForFeeds().Push(ctx, "chain", []dream.Reading{{Metric: "eth"}}),
		`the reading of "eth" has neither a number nor a state`)
	for at, want := range map[time.Time]string{
		s.Now().Add(-25 * time.Hour):  "which is too long ago: at may be up to 24h0m0s before now",
		s.Now().Add(61 * time.Second): "which has not come yet: at may be up to 1m0s after now",
	} {
		err := s.ForFeeds().Push(ctx, "chain", []dream.Reading{{At: at, Metric: "eth", State: "open"}})
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, new(alarm.UntimelyError))
	}
}

func TestTheSettingsOfAFeedContainNoURL(t *testing.T) {
	t.Parallel()
	rules := alarm.Presets()
	request := feedSettings(dream.Feed{
		Name:  "chain",
		URL:   "https://host/?key=secret",
		Path:  "a",
		Every: time.Minute,
		Rules: rules,
	})
	require.Equal(t, time.Minute, request.Every)
	require.Equal(t, rules, request.Rules)
	require.Zero(t, feedSettings(dream.Feed{Name: "chain", Every: time.Minute}).Every,
		"a feed without a url is only pushed")
}

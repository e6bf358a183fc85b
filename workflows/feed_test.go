package workflows

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/feeds"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// ticker is a feed, its store and the agents that follow it, as the feed's workflow sees them.
type ticker struct {
	env        *testsuite.TestWorkflowEnvironment
	price      float64
	pulled     []time.Time
	sounded    []feeds.AlarmRequest
	fault      string
	removed    bool
	failSounds int // how many soundings fail first
	store      feeds.FeedSettingsResult
	reads      int
}

func newTicker(t *testing.T) *ticker {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	k := &ticker{env: suite.NewTestWorkflowEnvironment(), price: 100}
	k.env.SetStartTime(time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC))
	k.env.RegisterActivityWithOptions(func(context.Context, feeds.PollRequest) (feeds.PollResult, error) {
		k.pulled = append(k.pulled, k.env.Now())
		price := k.price
		if k.fault != "" || k.removed {
			return feeds.PollResult{Fault: k.fault, Removed: k.removed}, nil
		}
		return feeds.PollResult{Readings: []dream.Reading{{Number: &price}}}, nil
	}, activity.RegisterOptions{Name: activities.FeedPoll})
	k.env.RegisterActivityWithOptions(func(_ context.Context,
		r feeds.AlarmRequest,
	) (feeds.AlarmResult, error) {
		k.sounded = append(k.sounded, r)
		if k.failSounds > 0 {
			k.failSounds--
			return feeds.AlarmResult{}, errors.New("wake echo: no worker answered")
		}
		return feeds.AlarmResult{Agents: 2}, nil
	}, activity.RegisterOptions{Name: activities.FeedDeliverAlarm})
	k.env.RegisterActivityWithOptions(
		func(context.Context, feeds.FeedSettingsRequest) (feeds.FeedSettingsResult, error) {
			k.reads++
			return k.store, nil
		}, activity.RegisterOptions{Name: activities.FeedLoadSettings})
	return k
}

func (k *ticker) at(after time.Duration, do func()) { k.env.RegisterDelayedCallback(do, after) }

func (k *ticker) push(price float64) {
	k.env.SignalWorkflow(SignalReading, []dream.Reading{{Number: &price}})
}

func (k *ticker) state(t *testing.T) FeedState {
	t.Helper()
	value, err := k.env.QueryWorkflow(QueryFeed)
	require.NoError(t, err)
	var s FeedState
	require.NoError(t, value.Get(&s))
	return s
}

func (k *ticker) run(s FeedSettings) {
	k.env.ExecuteWorkflow(Feed, FeedRequest{Feed: "chain", Settings: s})
}

func rules(names ...string) []dream.Rule {
	var list []dream.Rule
	for _, name := range names {
		rule, _ := alarm.Preset(name)
		list = append(list, rule)
	}
	return list
}

func TestAPriceThatMovesSixPerCentSoundsOneAlarm(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	start := k.env.Now()
	k.at(150*time.Second, func() { k.price = 106 })
	var seen FeedState
	k.at(10*time.Minute, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Every: time.Minute, Rules: rules("price")})
	require.Len(t, k.sounded, 1)
	require.Equal(t, feeds.AlarmRequest{
		Feed: "chain",
		Rule: "price",
		Kind: dream.RelativeMove,
		At:   k.sounded[0].At,
		What: "price: 100 to 106",
	}, k.sounded[0])
	require.WithinDuration(t, start.Add(3*time.Minute), k.sounded[0].At, time.Second)
	require.InDelta(t, 10, len(k.pulled), 1, "once a minute")
	require.Equal(t, 1, seen.Alarms)
	require.Equal(t, "price: 100 to 106", seen.Last.What)
	require.Equal(t, 2, seen.Last.Agents)
	require.Empty(t, seen.Delivering)
	require.Equal(t, len(k.pulled), seen.Readings)
}

func TestAQuietRuleIsReportedAndIsNoAlarm(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	quiet := rules("price")
	quiet[0].Quiet = true
	k.at(time.Second, func() { k.push(100); k.push(106) })
	var seen FeedState
	k.at(time.Minute, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: quiet})
	require.Len(t, k.sounded, 1)
	require.True(t, k.sounded[0].Quiet)
	require.Equal(t, "price: 100 to 106", k.sounded[0].What)
	require.Equal(t, 1, seen.Hints)
	require.Zero(t, seen.Alarms)
	require.Nil(t, seen.Last)
	require.Empty(t, seen.Delivering)
}

func TestAPushIsJudgedAtOnceAndAFeedWithoutIntervalIsNeverPulled(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.at(time.Hour, func() { k.push(100) })
	k.at(time.Hour+time.Second, func() { k.push(94); k.push(94) })
	k.at(time.Hour+2*time.Second, func() { require.Len(t, k.sounded, 1); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: rules("price")})
	require.Len(t, k.sounded, 1)
	require.Empty(t, k.pulled)
}

func TestAFailingFeedKeepsItsIntervalAndItsSilenceIsAnAlarm(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.fault = "host answered 503"
	var seen, after FeedState
	k.at(10*time.Minute+30*time.Second, func() { seen = k.state(t); k.fault = "" })
	k.at(20*time.Minute, func() { after = k.state(t); k.env.CancelWorkflow() })
	k.run(
		FeedSettings{
			Every: time.Minute,
			Rules: []dream.Rule{{Name: "quiet", Kind: dream.Stale, Window: 5 * time.Minute}},
		})
	require.Equal(t, 11, seen.Failures)
	require.Equal(t, 11, seen.InARow)
	require.Contains(t, seen.Failure, "host answered 503")
	require.Len(t, k.sounded, 1)
	require.Equal(t, "quiet", k.sounded[0].Rule)
	require.Zero(t, after.InARow)
	require.Equal(t, 11, after.Failures)
	require.InDelta(t, 20, len(k.pulled), 1)
}

func TestSilenceIsNoticedWhenItIsDue(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	start := k.env.Now()
	for n := range 5 {
		k.at(time.Duration(n)*time.Minute, func() { k.push(100) })
	}
	k.at(time.Hour, k.env.CancelWorkflow)
	k.run(FeedSettings{Rules: []dream.Rule{{Name: "quiet", Kind: dream.Stale, Window: 90 * time.Second}}})
	require.Len(t, k.sounded, 1)
	require.WithinDuration(t, start.Add(4*time.Minute+90*time.Second), k.sounded[0].At, time.Second)
}

func TestAnAlarmIsRetriedUntilItReachesEveryAgent(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.failSounds = 6
	k.at(time.Second, func() { k.push(100) })
	k.at(2*time.Second, func() { k.push(106) })
	k.at(3*time.Second, func() {
		k.push(107)
		require.Len(t, k.state(t).Delivering, 1)
	})
	var seen FeedState
	k.at(5*time.Minute, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: rules("price")})
	require.Len(t, k.sounded, 7)
	require.Equal(t, k.sounded[0], k.sounded[6], "the same alarm, so that it is announced once")
	require.Equal(t, 1, seen.Alarms)
	require.Equal(t, 2, seen.Last.Agents)
	require.Equal(t, 3, seen.Readings)
	require.Zero(t, seen.Failures)
}

func TestAnAlarmThatReachesNobodyIsDroppedAndCounted(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.failSounds = 1 << 20
	k.at(time.Second, func() { k.push(100); k.push(106) })
	var seen FeedState
	k.at(20*time.Minute, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: rules("price")})
	require.Empty(t, seen.Delivering)
	require.Equal(t, 1, seen.Failures)
	require.Zero(t, seen.Last.Agents)
}

func TestUnmatchedReadingsAreCountedAndReadingsOfAWrongTimeAreRefused(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	nine, start := 9.0, k.env.Now()
	level := []dream.Rule{{Name: "high", Metric: "level", Kind: dream.Above, Number: 4}}
	lvel := dream.Reading{Metric: "lvel", Number: &nine}
	k.at(time.Second, func() {
		k.env.SignalWorkflow(SignalReading, []dream.Reading{
			lvel,
			{Metric: "level", Number: &nine, At: start.Add(-25 * time.Hour)},
			{Metric: "level", Number: &nine, At: start.Add(time.Hour)},
		})
	})
	var seen, after, under FeedState
	k.at(2*time.Second, func() { seen = k.state(t); k.push(9) })
	k.at(3*time.Second, func() {
		after = k.state(t)
		k.env.SignalWorkflow(SignalFeedSettings,
			FeedSettings{Rules: []dream.Rule{{Name: "high", Metric: "lvel", Kind: dream.Above, Number: 4}}})
	})
	k.at(4*time.Second, func() { under = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: level})
	require.Zero(t, seen.Readings)
	require.Equal(t, 1, seen.Unused.Readings)
	require.Equal(t, "lvel", seen.Unused.Metrics[0].Metric)
	require.WithinDuration(t, start.Add(time.Second), seen.Unused.Metrics[0].At, time.Second,
		"a reading without a time counts as now")
	require.Equal(t, 2, seen.Refused)
	require.Contains(t, seen.Refusal, "has not come yet")
	require.Empty(t, seen.Watch.LastJudged, "the rule high has had no reading yet")
	require.Zero(t, seen.Alarms)
	require.Equal(t, 1, after.Readings)
	require.Equal(t, 1, after.Alarms, "a value without a metric belongs to the metric that all rules name")
	require.Contains(t, after.Watch.LastJudged, "high")
	require.Contains(t, after.Watch.Rose, "high")
	require.Equal(t, alarm.UnusedReadings{}, under.Unused)
}

func TestNewSettingsReplaceTheRulesAndWrongOnesAreRefused(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	high := []dream.Rule{{Name: "high", Kind: dream.Above, Number: 50}}
	k.at(time.Second, func() { k.push(100) })
	k.at(2*time.Second, func() { k.env.SignalWorkflow(SignalFeedSettings, FeedSettings{Rules: high}) })
	k.at(3*time.Second, func() { k.env.SignalWorkflow(SignalFeedSettings, FeedSettings{Every: time.Nanosecond}) })
	k.at(4*time.Second, func() { k.env.SignalWorkflow(SignalReading, "no readings at all") })
	var seen FeedState
	k.at(5*time.Second, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: rules("price")})
	require.Len(t, k.sounded, 1)
	require.Equal(t, "high", k.sounded[0].Rule, "earlier readings are judged by the new rules")
	require.Equal(t, high, seen.Settings.Rules)
	require.Contains(t, seen.Failure, "new settings were refused: every is 1ns")
}

func TestTheWorkflowOfARemovedFeedCompletes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		apply func(k *ticker)
	}{
		{"by its signal", func(k *ticker) { k.env.SignalWorkflow(SignalStop, nil) }},
		{"by a pull", func(k *ticker) {
			k.removed = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newTicker(t)
			k.store.Removed = true
			k.at(90*time.Second, func() { c.apply(k) })
			k.run(FeedSettings{Every: time.Minute, Rules: rules("price")})
			require.True(t, k.env.IsWorkflowCompleted())
			require.NoError(t, k.env.GetWorkflowError())
			require.Equal(t, 1, k.reads)
		})
	}
}

func TestAFeedThatWasCreatedAgainKeepsItsWorkflow(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.store = feeds.FeedSettingsResult{Every: time.Hour, Rules: rules("pause")}
	k.at(time.Second, func() { k.env.SignalWorkflow(SignalStop, nil) })
	var seen FeedState
	k.at(time.Minute, func() { seen = k.state(t); k.env.CancelWorkflow() })
	k.run(FeedSettings{Rules: rules("price")})
	require.Equal(t, FeedSettings{Every: time.Hour, Rules: rules("pause")}, seen.Settings)
	require.Len(t, k.pulled, 1)
}

func TestContinueAsNewCarriesAlarmsThatAreNotDelivered(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.failSounds = 1 << 20
	k.at(time.Minute, func() { k.push(100) })
	k.at(2*time.Minute, func() {
		for _, n := range []float64{101, 102, 107, 103} {
			k.push(n)
		}
	})
	k.at(2*time.Minute+time.Second, func() {
		k.env.SetContinueAsNewSuggested(true)
		k.env.SignalWorkflow(SignalFeedSettings, FeedSettings{Every: time.Hour, Rules: rules("price", "pause")})
	})
	k.run(FeedSettings{Rules: rules("price")})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, k.env.GetWorkflowError(), &again)
	var next FeedRequest
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, 5, next.Carried.Readings)
	require.Len(t, next.Carried.Watch.Readings, 5)
	require.Equal(t, rules("price", "pause"), next.Settings.Rules)
	require.Len(t, next.Carried.Delivering, 1, "the undelivered alarm is carried")

	later := newTicker(t)
	later.env.SetStartTime(k.env.Now())
	later.at(time.Second, func() { later.push(107) })
	var seen FeedState
	later.at(time.Minute, func() { seen = later.state(t); later.env.CancelWorkflow() })
	later.env.ExecuteWorkflow(Feed, next)
	require.Len(t, later.sounded, 2)
	require.Equal(t, next.Carried.Delivering[0].At.UnixNano(), later.sounded[0].At.UnixNano(), "under the same id")
	require.Equal(t, 2, seen.Alarms)
	require.Len(t, later.pulled, 1)
}

func TestAFeedWithInvalidSettingsDoesNotStart(t *testing.T) {
	t.Parallel()
	k := newTicker(t)
	k.run(FeedSettings{Every: time.Millisecond, Rules: []dream.Rule{{Name: "r"}}})
	err := k.env.GetWorkflowError()
	require.ErrorContains(t, err, "every is 1ms")
	require.ErrorContains(t, err, `rule "r": kind "" is unknown`)
}

func TestTheURLOfAFeedIsNotInItsHistory(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(FeedRequest{Feed: "chain", Carried: &FeedState{}})
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(body)), "url")
}

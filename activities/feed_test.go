package activities_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/feeds"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// market is a feed and the agents that it wakes.
type market struct {
	says      []dream.Reading
	fails     error
	requested []dream.Feed
	away      error // what calls fail with

	mu          sync.Mutex
	woken       []string
	called      []string
	unreachable string // this agent cannot be woken
}

func (m *market) Fetch(_ context.Context, f dream.Feed) ([]dream.Reading, error) {
	m.requested = append(m.requested, f)
	return m.says, m.fails
}

func (m *market) Alarm(_ context.Context, agentID, trigger string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if agentID == m.unreachable {
		return errors.New("no worker answered")
	}
	m.woken = append(m.woken, agentID+" "+trigger)
	return nil
}

func (m *market) Call(_ context.Context, agent dream.Agent, f triggers.Fire) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.called = append(m.called, agent.Handle+" "+f.Trigger)
	return m.away
}

func number(metric string, n float64) dream.Reading {
	return dream.Reading{Metric: metric, Number: &n}
}

func probe(h *fixture, m *market) *feeds.Feed {
	ports := h.dreamRun.Ports
	ports.Feeds = h.store
	return &feeds.Feed{Ports: ports, Fetch: m, Alarms: m, Pause: time.Nanosecond}
}

func raised(t *testing.T, h *fixture, agent string) []event.Event {
	t.Helper()
	events, err := h.store.Events(h.ctx, agent, 0, 100)
	require.NoError(t, err)
	return slices.DeleteFunc(events, func(e event.Event) bool { return e.Type != "AlarmRaised" })
}

func TestAPullReadsTheURLFromTheStoreAndReturnsOnlyWhatRulesUse(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{says: []dream.Reading{number("eth", 100), number("gas", 3)}}
	feed := dream.Feed{Name: "chain", URL: "https://u:secret@host/x?k=secret", Every: time.Minute, Path: "$.now"}
	require.NoError(t, h.store.PutFeed(h.ctx, feed))
	rules := []dream.Rule{{Name: "high", Metric: "eth", Kind: dream.Above, Number: 5}}
	got, err := probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: "chain", Rules: rules})
	require.NoError(t, err)
	require.Equal(t, []dream.Reading{number("eth", 100)}, got.Readings)
	require.Equal(t, []dream.Feed{feed}, m.requested)
	require.Equal(t, []dream.Reading{number("gas", 3)}, got.Rest, "so that a typo can be found")

	for i := range alarm.MostReadings + 1 {
		m.says = append(m.says, number(fmt.Sprint(i), 1))
	}
	rules[0].Metric = ""
	got, err = probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: "chain", Rules: rules})
	require.NoError(t, err)
	require.Contains(t, got.Fault, "it returned 67 readings that rules use; at most 64 are allowed")
	rules[0].Metric = "eth"
	got, err = probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: "chain", Rules: rules})
	require.NoError(t, err)
	require.Len(t, got.Rest, 8)
	require.Equal(t, 66-8, got.More)
}

func TestAFailingFeedIsAResultAndIsRetriedIfTheNextPullIsFarAway(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{fails: errors.New("host answered 503")}
	for every, requests := range map[time.Duration]int{time.Minute: 2, time.Second: 1} {
		m.requested = nil
		require.NoError(t, h.store.PutFeed(h.ctx, dream.Feed{Name: "chain", URL: "https://host", Every: every}))
		got, err := probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: "chain"})
		require.NoError(t, err, "the SDK logs every error of an activity, and a failing feed is not our error")
		require.Equal(t, feeds.PollResult{Fault: "host answered 503"}, got)
		require.Len(t, m.requested, requests)
	}
	ended, cancel := context.WithCancel(h.ctx)
	cancel()
	_, err := probe(h, m).Poll(ended, feeds.PollRequest{Feed: "chain"})
	require.Error(t, err, "a stopping worker does not count as a failing feed")
}

func TestAValueWithoutAMetricGetsTheNameThatAllRulesUse(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{says: []dream.Reading{number("", 49)}}
	require.NoError(t, h.store.PutFeed(h.ctx, dream.Feed{Name: "chain", URL: "https://host", Every: time.Minute}))
	rules := []dream.Rule{{Name: "low", Metric: "price", Kind: dream.Below, Number: 50}}
	got, err := probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: "chain", Rules: rules})
	require.NoError(t, err)
	require.Equal(t, []dream.Reading{number("price", 49)}, got.Readings)
}

func TestARemovedFeedIsReported(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{}
	require.NoError(t, h.store.PutFeed(h.ctx, dream.Feed{Name: "pushed"}))
	for _, name := range []string{"gone", "pushed"} {
		got, err := probe(h, m).Poll(h.ctx, feeds.PollRequest{Feed: name})
		require.NoError(t, err)
		require.Equal(t, feeds.PollResult{Removed: true}, got)
	}
	require.Empty(t, m.requested)
}

func TestAnAlarmWakesEveryFollowerAndIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{unreachable: "a3"}
	require.NoError(t, h.store.PutFeed(h.ctx, dream.Feed{Name: "chain"}))
	for i, feed := range []string{"chain", "", "chain", "chain"} {
		agent := h.agent
		agent.ID, agent.Handle, agent.Feed = fmt.Sprintf("a%d", i+1), fmt.Sprintf("echo%d", i+1), feed
		require.NoError(t, h.store.PutAgent(h.ctx, agent))
	}
	request := feeds.AlarmRequest{Feed: "chain", Rule: "price", Kind: dream.RelativeMove, At: night}
	_, err := probe(h, m).DeliverAlarm(h.ctx, request)
	require.ErrorContains(t, err,
		"alarm chain/price: 2 agents were woken and 1 were not; the first: wake echo3: no worker answered")
	m.unreachable = ""
	result, err := probe(h, m).DeliverAlarm(h.ctx, request)
	require.NoError(t, err)
	require.Equal(t, 3, result.Agents)
	require.NotContains(t, m.woken, "a2 chain/price")
	require.Contains(t, m.woken, "a3 chain/price")
	for _, id := range []string{"a1", "a3", "a4"} {
		events := raised(t, h, id)
		require.Len(t, events, 1, "a repetition announces nothing")
		require.JSONEq(t, `{"feed":"chain","rule":"price","kind":"relative_change"}`, string(events[0].Data))
		require.True(t, events[0].At.Equal(night))
	}
	require.Empty(t, raised(t, h, "a2"))

	request.At = night.Add(time.Hour)
	_, err = probe(h, m).DeliverAlarm(h.ctx, request)
	require.NoError(t, err)
	require.Len(t, raised(t, h, "a1"), 2, "another alarm")
}

func TestAQuietRuleWakesNobodyAndResolvesPredictions(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{unreachable: "a1"}
	h.agent.Feed = "chain"
	require.NoError(t, h.store.PutAgent(h.ctx, h.agent))
	require.NoError(t, h.store.PutFeed(h.ctx, dream.Feed{Name: "chain"}))
	foretold := func(id, rule string) *dream.Prediction {
		return &dream.Prediction{
			Head: dream.Head{
				ID:    id,
				Agent: "a1",
				Kind:  dream.KindPrediction,
				At:    night,
				State: dream.Live,
			},
			Claim:      id,
			Horizon:    night.AddDate(0, 0, 7),
			Confidence: .6,
			Status:     dream.PredictionOpen,
			Watch:      &dream.Watch{Feed: "chain", Rule: rule, Means: dream.PredictionRight},
		}
	}
	_, err := h.store.Commit(h.ctx,
		memory.Write{
			Agent: "a1", Cause: "operator",
			Add: []dream.Item{foretold("p1", "price"), foretold("p2", "price"), foretold("p3", "gate")},
		})
	require.NoError(t, err)
	status := func(id string) string {
		p, err := memory.One[*dream.Prediction](h.ctx, h.store, "a1", id)
		require.NoError(t, err)
		return p.Status
	}
	loud := feeds.AlarmRequest{Feed: "chain", Rule: "gate", Kind: dream.StateIs, At: night.Add(time.Minute)}
	result, err := probe(h, m).DeliverAlarm(h.ctx, loud)
	require.ErrorContains(t, err, "wake echo: no worker answered")
	require.Equal(t, feeds.AlarmResult{Resolved: 1}, result,
		"its predictions are resolved although it could not be woken")
	require.Equal(t, dream.PredictionRight, status("p3"))

	quiet := feeds.AlarmRequest{
		Feed:  "chain",
		Rule:  "price",
		Kind:  dream.RelativeMove,
		At:    night.Add(time.Minute),
		What:  "price: 100 to 106",
		Quiet: true,
	}
	for _, want := range []int{2, 0} {
		f := probe(h, m)
		f.Alarms = nil
		result, err = f.DeliverAlarm(h.ctx, quiet)
		require.NoError(t, err)
		require.Equal(t, feeds.AlarmResult{Resolved: want}, result, "a repetition resolves nothing")
	}
	require.Equal(t, []string{dream.PredictionRight, dream.PredictionRight}, []string{status("p1"), status("p2")})
	require.Empty(t, m.woken)
	require.Len(t, raised(t, h, "a1"), 1, "for the rule that is not quiet")
}

func TestAWorkerWithoutFeedsReturnsAnError(t *testing.T) {
	t.Parallel()
	f := &feeds.Feed{}
	_, err := f.Poll(context.Background(), feeds.PollRequest{Feed: "chain"})
	require.ErrorContains(t, err, "this worker reads no feeds")
	_, err = f.DeliverAlarm(context.Background(), feeds.AlarmRequest{Feed: "chain"})
	require.ErrorContains(t, err, "this worker raises no alarms")
}

func TestAFeedRuleCallsAgentsWithATriggerForIt(t *testing.T) {
	t.Parallel()
	h, m := build(t), &market{}
	feed, agent := probe(h, m), h.agent
	agent.Feed, agent.Triggers = "quay",
		[]dream.Trigger{{Name: "calm", Kind: dream.OnEvent, Feed: "quay", Rule: "calm"}}
	fired := func(rule string) feeds.AlarmRequest {
		return feeds.AlarmRequest{Feed: "quay", Rule: rule, Quiet: true, At: night}
	}
	for _, auto := range []bool{false, true} {
		agent.Auto = auto
		require.NoError(t, h.store.PutAgent(t.Context(), agent))
		for _, rule := range []string{"storm", "calm"} {
			_, err := feed.DeliverAlarm(t.Context(), fired(rule))
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{agent.Handle + " calm"}, m.called, "only an automatic agent, and only its rule")
	m.away = errors.New("Temporal is away")
	_, err := feed.DeliverAlarm(t.Context(), fired("calm"))
	require.ErrorContains(t, err, "Temporal is away", "the activity is retried")
}

// The alarms of a worker reach agents' workflows, too, so that a missing capability is a compile error.
func TestAlarmsPassOnTriggers(t *testing.T) {
	t.Parallel()
	require.True(t, reflect.TypeFor[activities.Alarms]().Implements(reflect.TypeFor[triggers.Callers]()))
}

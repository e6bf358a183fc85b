package telemetry_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

var update = flag.Bool("update", false, "write the golden files anew")

var dusk = time.Date(2026, 3, 12, 23, 0, 0, 0, time.UTC)

type bundle struct {
	*testing.T
	store *sqlitestore.Store
	n     int
}

func setup(t *testing.T, agents ...string) *bundle {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, agent := range agents {
		require.NoError(t, s.PutAgent(t.Context(), dream.Agent{
			ID:      "id-" + agent,
			Handle:  agent,
			Zone:    "UTC",
			Tier:    dream.Core,
			Created: dusk,
		}))
	}
	return &bundle{T: t, store: s}
}

func (b *bundle) record(agent, dreamID string, payloads ...event.Payload) {
	b.Helper()
	for _, p := range payloads {
		b.n++
		e := event.New(fmt.Sprint("e", b.n), "id-"+agent, dreamID, dusk.Add(time.Duration(b.n)*time.Minute), p)
		_, err := b.store.Commit(b.Context(), memory.Write{Agent: e.Agent, Cause: "test", Events: []event.Event{e}})
		require.NoError(b, err)
	}
}

func (b *bundle) meter(o telemetry.Options) *telemetry.Meter {
	b.Helper()
	if o.Log == nil {
		o.Log = b.store
	}
	m := telemetry.New(o)
	require.NoError(b, m.Begin(b.Context()))
	return m
}

// scrape returns a meter's output, our own metrics only, without help texts.
func scrape(t *testing.T, m *telemetry.Meter) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	var ours strings.Builder
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "oneiros_") {
			ours.WriteString(line)
		}
	}
	return ours.String()
}

// figures returns the lines of one metric.
func figures(text, name string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			found = append(found, strings.TrimSpace(strings.TrimPrefix(line, name)))
		}
	}
	return found
}

// counted returns those above zero.
func counted(text, name string) []string {
	return slices.DeleteFunc(figures(text, name), func(line string) bool { return strings.HasSuffix(line, " 0") })
}

func oneDream(b *bundle, agent, id string) {
	b.record(agent, id,
		event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: 500_000},
		event.OnsetStarted{Depth: dream.Shallow},
		event.Spent{Tally: dream.Tally{Phase: dream.Onset, Calls: 4, Spent: 1_000}},
		event.DepthChanged{From: dream.Shallow, To: dream.Peak, Temperature: 1.4},
		event.FragmentCaptured{Fragment: id + "/f-1"}, event.FragmentCaptured{Fragment: id + "/f-2"},
		event.FragmentDiscarded{Fragment: id + "/f-3", Reason: "below the floor"},
		event.FragmentFlagged{Fragment: id + "/f-3", By: "policy/no-bank-names", Bars: true},
		event.SomaticMarkerFired{Marker: "m-1"},
		event.HookTimedOut{Hook: "https://audit.example", Border: "capture", Default: "allow"},
		event.Spent{Tally: dream.Tally{Phase: dream.Onset, Calls: 9, Spent: 2_500}},
		event.OnsetCompleted{Fragments: 2},
		event.Spent{Tally: dream.Tally{Phase: dream.REM, Calls: 3, Spent: 700}},
		event.DreamInterrupted{
			Cause:    "connect",
			Phase:    dream.REM,
			Receipt:  .5,
			Stop:     20,
			Preserve: 1.5,
			Switch:   8,
			Until:    dusk.Add(24 * time.Hour),
		},
		event.AgentAwake{Epoch: 1, Cause: "connect"},
		event.DreamResumed{Stretch: 2, Phase: dream.REM},
		event.Spent{Tally: dream.Tally{Phase: dream.REM, Calls: 6, Spent: 1_000}},
		event.ScenarioImagined{Kept: true}, event.ScenarioImagined{},
		event.HypothesisStaged{Hypothesis: "h-1"},
		event.DreamEnded{Outcome: dream.Completed, Spent: 3_600, Kept: 3},
	)
}

func TestADreamInMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo", "vega")
	oneDream(b, "echo", "dream/echo/0001") // before the meter begins, so it is not counted
	m := b.meter(telemetry.Options{Version: "test"})
	oneDream(b, "echo", "dream/echo/0002")
	b.record("vega", "dream/vega/0001", event.DreamStarted{Tier: dream.Core}, event.OnsetStarted{Depth: dream.Peak})
	b.record("vega", "", event.AlarmRaised{Feed: "harbour", Rule: "quay", Kind: "relative_drop"},
		event.PredictionResolved{Source: "creative", Status: "correct"},
		event.HypothesisChanged{Status: "promoted"})
	b.record("echo", "dream/echo/0003", event.DreamStarted{Tier: dream.Core}, event.DreamEnded{Outcome: dream.Empty},
		event.EmptyDreamsRepeated{Dreams: 3})
	text := scrape(t, m)
	const golden = "testdata/night.prom"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	require.Equal(t, text, scrape(t, m), "a second scrape counts nothing twice")
}

func TestSpendingOfPhasesAddsUpToThatOfTheDream(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo")
	m := b.meter(telemetry.Options{})
	oneDream(b, "echo", "dream/echo/0001")
	text := scrape(t, m)
	require.Equal(t, []string{`{phase="onset"} 2500`, `{phase="rem"} 1000`, `{phase="unphased"} 100`},
		counted(text, "oneiros_spend_micros_total"))
	require.Equal(t, []string{`{phase="onset"} 9`, `{phase="rem"} 6`}, counted(text, "oneiros_calls_total"))
	require.Equal(t, []string{"0"}, figures(text, "oneiros_dreams_under_way"))
}

func TestTheAgentIsALabelOnlyIfConfigured(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo", "vega")
	plain, named := b.meter(telemetry.Options{}), b.meter(telemetry.Options{Agents: b.store.Agents})
	oneDream(b, "echo", "dream/echo/0001")
	oneDream(b, "vega", "dream/vega/0001")
	require.NotContains(t, scrape(t, plain), "echo")
	require.Equal(t, []string{`{outcome="completed"} 2`}, counted(scrape(t, plain), "oneiros_dreams_total"))
	require.Equal(t, []string{`{agent="echo",outcome="completed"} 1`, `{agent="vega",outcome="completed"} 1`},
		figures(scrape(t, named), "oneiros_dreams_total"))
}

// Labels have fixed values, and no metric contains text from users: neither ids nor names of rules, feeds and hooks.
func TestUnknownLabelValuesAreOther(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo")
	m := b.meter(telemetry.Options{})
	const strange = "strange"
	b.record("echo", "dream/echo/strange",
		event.DreamStarted{Tier: strange}, event.OnsetStarted{Depth: strange}, event.DepthChanged{To: strange},
		event.OnsetCompleted{Reason: strange},
		event.FragmentFlagged{By: strange + "/x"}, event.HookTimedOut{Hook: strange, Border: strange},
		event.HypothesisChanged{Status: strange},
		event.PredictionResolved{Source: strange, Status: strange, By: strange}, event.AgentAwake{Cause: strange},
		event.AlarmRaised{Feed: strange, Rule: strange, Kind: strange},
		event.DreamInterrupted{Cause: strange, Phase: strange},
		event.Spent{Tally: dream.Tally{Phase: strange, Calls: 1, Spent: 1}},
		event.DreamEnded{Outcome: strange, Reason: strange},
	)
	unknown := event.Event{
		ID:        "u",
		Agent:     "id-echo",
		Schema:    2,
		Subsystem: "psyche",
		Type:      strange,
		At:        dusk,
		Data:      []byte(`{}`),
	}
	broken := event.Event{
		ID:        "b",
		Agent:     "id-echo",
		Schema:    1,
		Subsystem: event.Subsystem,
		Type:      "Spent",
		At:        dusk,
		Data:      []byte(`{"tally": 3}`),
	}
	_, err := b.store.Commit(t.Context(),
		memory.Write{Agent: "id-echo", Cause: "test", Events: []event.Event{unknown, broken}})
	require.NoError(t, err)
	text := scrape(t, m)
	require.NotContains(t, text, strange)
	require.Contains(t, text, `oneiros_events_total{type="other"} 1`)
	require.Contains(t, text, `oneiros_events_unread_total 1`)
	require.Contains(t, text, `oneiros_dreams_total{outcome="other"} 1`)
	require.Equal(t, []string{`{phase="other"} 1`}, counted(text, "oneiros_spend_micros_total"))
}

// unreachable is a log whose store may be unreachable.
type unreachable struct {
	fabric.Log
	away bool
}

func (g *unreachable) Heads(ctx context.Context, agents ...string) (map[string]int64, error) {
	if g.away {
		return nil, errors.New("away")
	}
	return g.Log.Heads(ctx, agents...)
}

func TestAnUnreachableStoreIsReportedAndNoEventIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo")
	log := &unreachable{Log: b.store}
	m := b.meter(telemetry.Options{Log: log})
	oneDream(b, "echo", "dream/echo/0001")
	before := scrape(t, m)
	require.Contains(t, before, "oneiros_store_reachable 1\n")
	log.away = true
	oneDream(b, "echo", "dream/echo/0002")
	require.Equal(t, strings.Replace(before, "oneiros_store_reachable 1\n", "oneiros_store_reachable 0\n", 1),
		scrape(t, m))
	log.away = false
	require.Equal(t, []string{`{outcome="completed"} 2`}, counted(scrape(t, m), "oneiros_dreams_total"))
}

func TestTheArchiverIsMeasured(t *testing.T) {
	t.Parallel()
	m := setup(t).meter(telemetry.Options{})
	require.Equal(t, []string{"0"}, figures(scrape(t, m), "oneiros_archive_last_success_timestamp_seconds"))
	m.Archived(7, nil)
	m.Archived(2, errors.New("away"))
	text := scrape(t, m)
	require.Equal(t, []string{"9"}, figures(text, "oneiros_archive_events_total"))
	require.Equal(t, []string{"1"}, figures(text, "oneiros_archive_faults_total"))
	require.NotEqual(t, []string{"0"}, figures(text, "oneiros_archive_last_success_timestamp_seconds"))
}

func TestTheMetricNamesFollowPrometheusRules(t *testing.T) {
	t.Parallel()
	b := setup(t, "echo")
	m := b.meter(telemetry.Options{Version: "test"})
	oneDream(b, "echo", "dream/echo/0001")
	server := httptest.NewServer(m.Handler())
	t.Cleanup(server.Close)
	answer, err := server.Client().Get(server.URL + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	problems, err := promlint.New(strings.NewReader(string(body))).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Contains(t, string(body), "go_goroutines")
	for path, status := range map[string]int{"/": http.StatusNotFound, "/metrics/x": http.StatusNotFound} {
		answer, err := server.Client().Get(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, status, answer.StatusCode, path)
	}
}

package week_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/week"
	"github.com/seed-56a03226/oneiros/workflows"
)

// full is set by make prove; otherwise the proofs run in a reduced form.
var full = os.Getenv("PROVE") == "full"

const (
	seed = 42
	// limit is after how many events Temporal asks a run to continue as new.
	limit = 4096
	// slack is what a run may grow beyond that: by what it does between two checks, and a dream that it begins.
	slack = 60
	// overtaken is how late a timer must be for the server to be the cause: a skip that it did twice.
	overtaken = time.Minute
	// atOnce is how many agents run at a time. A workflow mostly waits for the server to skip, about a second each
	// time.
	atOnce = 24
)

// scene is a deployment on servers of its own.
type scene struct {
	*week.Deployment
	server *temporal.Server
	client client.Client
	store  string
}

func newScene(t *testing.T, ctx context.Context, more ...temporal.Option) *scene {
	t.Helper()
	server := temporal.Start(t, append(more, temporal.WithTimeSkipping())...)
	s := &scene{server: server, client: server.Dial(t), store: filepath.Join(t.TempDir(), "memory.db")}
	var err error
	s.Deployment, err = week.Build(
		ctx,
		testdeploy.Config{
			Store:     s.store,
			Address:   server.Address,
			Namespace: server.Namespace,
			Queue:     server.TaskQueue,
		},
		s.client,
	)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	w, err := s.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return s
}

func (s *scene) sizes(t *testing.T, ctx context.Context) (store, server week.Size) {
	t.Helper()
	store, err := week.Measure(ctx, s.store)
	require.NoError(t, err)
	server, err = week.Measure(ctx, s.server.DB)
	require.NoError(t, err)
	return store, server
}

func TestAWeekOfNights(t *testing.T) {
	t.Parallel()
	agents, days, patience := 12, 2, 5*time.Minute
	if full {
		agents, days, patience = 200, 7, 2*time.Hour
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cast, err := week.DrawAgents(seed, agents, days, time.Now().UTC())
	require.NoError(t, err)
	s := newScene(t, ctx)
	for _, sleeper := range cast {
		require.NoError(t, s.AddAgent(ctx, sleeper))
	}
	storeBefore, serverBefore := s.sizes(t, ctx)
	began := time.Now()
	agentStates := s.each(t, cast, func(sleeper *week.Sleeper) (*week.Observed, error) {
		return s.Run(ctx, sleeper, s.server.Namespace)
	})
	took := time.Since(began)

	r := &report{outcomes: map[dream.Outcome]int{}, zones: map[string]int{}}
	calls := s.ByAgent()
	require.Empty(t, calls[""], "a call of no dream")
	for i, sleeper := range cast {
		s.audit(t, ctx, sleeper, agentStates[i], calls[sleeper.Agent.Handle], limit, r)
	}
	require.Empty(t, s.Provider.Billing.Failed())
	require.Empty(t, s.Provider.Billing.Repeated(), "a call was paid for twice")
	r.slots = s.nothingLeft(t, ctx)
	storeAfter, serverAfter := s.sizes(t, ctx)
	t.Logf("\n    seed %d: %d agents, %d days each, %s of real time", seed, agents, days, took.Round(time.Second))
	r.figures(t, days, took)
	r.print(t)
	r.need(t, agents, days)
	perNight := func(after, before int64) float64 { return float64(after-before) / float64(r.nights) / 1024 }
	t.Logf("\n    our store: %.1f MB, %.1f KiB a night more than before; Temporal's: %.1f MB, %.1f KiB a night",
		float64(storeAfter.Pages)/1e6, perNight(storeAfter.Pages, storeBefore.Pages), float64(serverAfter.Pages)/1e6,
		perNight(serverAfter.Pages, serverBefore.Pages))
	t.Logf("\n    rows a night in our store: %s", strings.Join(storeAfter.Growth(storeBefore, r.nights), ", "))
	t.Logf(
		"\n    the store drops notes, answers, leases and slots by itself, and nothing else: all of the above stays until it is forgotten by name",
	)
	t.Logf("\n    rows a night in Temporal's, which drops closed dreams after its retention: %s",
		strings.Join(serverAfter.Growth(serverBefore, r.nights), ", "))
}

// each runs all agents, some at a time.
func (s *scene) each(t *testing.T, cast []*week.Sleeper,
	live func(*week.Sleeper) (*week.Observed, error),
) []*week.Observed {
	t.Helper()
	agentStates, faults := make([]*week.Observed, len(cast)), make([]error, len(cast))
	var all sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i, sleeper := range cast {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			agentStates[i], faults[i] = live(sleeper)
		})
	}
	all.Wait()
	for i, err := range faults {
		require.NoError(t, err, cast[i].Agent.Handle)
	}
	return agentStates
}

// audit checks one agent's week.
func (s *scene) audit(t *testing.T, ctx context.Context, a *week.Sleeper, l *week.Observed, calls []provider.Call,
	limit int, r *report,
) {
	t.Helper()
	who := fmt.Sprintf("%s, %s in %s", a.Agent.Handle, a.Hours.Name, a.Zone)
	nights, err := s.ObservedDreams(ctx, a.Agent.ID)
	require.NoError(t, err, who)
	lateness := s.histories(t, ctx, a, nights, limit, r)
	if err := a.CheckTimes(l, nights); err != nil {
		logObserved(t, a, l, nights)
		if lateness > overtaken { // no fault of the agent's workflow
			r.overtaken = append(r.overtaken, fmt.Sprintf("%s, by %s: %s", who, lateness.Round(time.Second), err))
		} else {
			r.fault(who, err)
		}
	}
	spent, err := s.Money(ctx, a, nights, calls)
	require.NoError(t, err, who)
	require.Equal(t, len(nights), l.AgentState.Dreams, "%s: dreams started and dreams on record", who)
	status, err := s.Base.Store.Status(ctx, a.Agent.ID, l.End)
	require.NoError(t, err)
	require.Equal(t, status.Epoch, l.AgentState.Epoch, "%s: its workflow has the newest wake", who)
	require.Equal(t, status.Epoch, status.Recorded, "%s: the store has it as recorded", who)
	require.Equal(t, l.Wakes, l.AgentState.Wakes, "%s: every wake was counted once", who)
	require.EqualValues(t, l.Wakes, status.Epoch, who)
	journal, err := s.Base.Store.Count(ctx, memory.Query{Agent: a.Agent.ID, Kinds: []dream.Kind{dream.KindJournal}})
	require.NoError(t, err)
	events, err := s.Base.Store.Events(ctx, a.Agent.ID, 0, 0)
	require.NoError(t, err)
	r.add(a, l, nights, spent, journal, len(events))
}

// histories checks every run of an agent's workflow, and of its dreams, against its limit, and returns how late the
// server fired the agent's timers at most.
func (s *scene) histories(t *testing.T, ctx context.Context, a *week.Sleeper, nights []week.ObservedDream, limit int,
	r *report,
) (lateness time.Duration) {
	t.Helper()
	agentState := workflows.AgentID(a.Agent.Handle)
	first, err := week.First(ctx, s.client, agentState)
	require.NoError(t, err)
	runs, err := week.Runs(ctx, s.client, agentState, first)
	require.NoError(t, err)
	for _, run := range runs {
		require.LessOrEqual(t, run.Events, limit+slack, "run %s of %s", run.ID, agentState)
		r.run(run)
		lateness = max(lateness, run.Late)
	}
	for _, n := range nights {
		runs, err := week.Runs(ctx, s.client, n.ID, n.Run)
		require.NoError(t, err)
		if n.Refused {
			continue
		}
		require.Len(t, runs, 1)
		require.LessOrEqual(t, runs[0].Events, 400, n.ID)
		require.LessOrEqual(t, runs[0].Bytes, 64<<10, n.ID)
		r.dream(runs[0])
	}
	return lateness
}

// nothingLeft checks that no slot is held, no reservation open and no wake unrecorded, and returns how many slots
// were taken.
func (s *scene) nothingLeft(t *testing.T, ctx context.Context) int {
	t.Helper()
	held, err := s.Base.Store.Slots(ctx)
	require.NoError(t, err)
	require.Empty(t, held)
	open, err := s.Ledger.OpenDreams(ctx)
	require.NoError(t, err)
	require.Empty(t, open)
	untold, err := s.Base.Store.Unrecorded(ctx)
	require.NoError(t, err)
	require.Empty(t, untold)
	taken, refused, faults := s.Slots()
	require.Empty(t, faults)
	require.Zero(t, refused, "two dreams of one agent overlapped")
	require.NotZero(t, taken)
	return taken
}

package activities_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// fixture is a store, a DreamRun over it, and a switchable set of running workflows.
type fixture struct {
	t        *testing.T
	ctx      context.Context
	store    *sqlitestore.Store
	dreamRun *dreamrun.DreamRun
	agent    dream.Agent
	now      time.Time
	fleet    budget.Micros
	running  map[string]bool              // by workflow id
	ended    map[string]activities.Ending // how closed workflows say that their dreams ended
	paused   map[string]time.Time         // until when workflows wait to go on
	notified map[string]time.Time         // until when each dream waits of which the agent's workflow was notified
	here     string                       // the name of the cluster
}

const paidModel, freeModel = "house/paid", "house/free"

var night = time.Date(2026, 10, 19, 23, 0, 0, 0, time.UTC)

func build(t *testing.T) *fixture {
	t.Helper()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	h := &fixture{
		t:       t,
		ctx:     ctx,
		store:   store,
		now:     night,
		fleet:   budget.Dollar,
		running: map[string]bool{},
		agent: dream.Agent{
			ID:     "a1",
			Handle: "echo",
			Zone:   "Asia/Tokyo",
			Tier:   dream.Hardened,
			Caps:   dream.Caps{Dream: 300, Day: 400, Month: 500},
		},
	}
	require.NoError(t, store.PutAgent(ctx, h.agent))
	table := inference.Table{
		paidModel: {Name: paidModel, Price: &budget.Price{In: 1, Out: 2}},
		freeModel: {Name: freeModel, Price: &budget.Price{}},
	}
	now := func() time.Time { return h.now }
	h.dreamRun = &dreamrun.DreamRun{
		Ports: activities.Ports{
			Memory:   store,
			Presence: store,
			Guard:    &spend.Guard{Ledger: store.Ledger(), Catalog: table, Now: now},
			Catalog:  table,
			Now:      now,
		},
		Executions: h, Planner: h,
	}
	return h
}

func (h *fixture) Running(_ context.Context, workflow, _ string) (bool, error) {
	return h.running[workflow], nil
}

func (h *fixture) Ended(_ context.Context, workflow, _ string) (activities.Ending, error) {
	ending, ok := h.ended[workflow]
	if !ok {
		ending.Reason = "its workflow was terminated"
	}
	return ending, nil
}

func (h *fixture) Paused(_ context.Context, workflow, _ string) (activities.Ending, time.Time, error) {
	return activities.Ending{Outcome: dream.Interrupted}, h.paused[workflow], nil
}

func (h *fixture) TellPaused(_ context.Context, _ dream.Agent, dreamID string, until time.Time) error {
	if h.notified == nil {
		h.notified = map[string]time.Time{}
	}
	h.notified[dreamID] = until
	return nil
}

func (h *fixture) ClusterID() string { return h.here }

func (h *fixture) Plan(_ context.Context, agent string, _ time.Time) (activities.Spec, string, error) {
	return activities.Spec{Dream: "dream/echo/0001", Agent: agent}, "", nil
}

func (h *fixture) Embedder(context.Context, dream.Agent) (string, string) {
	return "", "nothing is embedded here"
}

func (h *fixture) FleetDay() budget.Micros { return h.fleet }

// spec is one that the agent may dream; its record is written.
func (h *fixture) spec(id string) activities.Spec {
	h.t.Helper()
	o := activities.Spec{
		Version:  activities.SpecVersion,
		Dream:    id,
		Agent:    h.agent.ID,
		Handle:   h.agent.Handle,
		Tier:     dream.Hardened,
		AsOf:     night,
		Day:      "2026-10-20",
		Models:   map[dream.Role]string{},
		Knobs:    dream.DefaultKnobs(),
		Budget:   300,
		DayLimit: 400,
	}
	for _, role := range dream.Roles {
		o.Models[role] = paidModel
	}
	o.Accounts = activities.DreamAccounts(id, o.Budget, h.agent, o.Day, h.fleet)
	h.record(id, h.now)
	return o
}

func (h *fixture) record(id string, at time.Time) {
	h.t.Helper()
	_, err := h.store.Commit(h.ctx, memory.Write{Agent: h.agent.ID, Cause: id, Add: []dream.Item{&dream.Record{
		Head: dream.Head{
			ID:    id,
			Agent: h.agent.ID,
			Kind:  dream.KindRecord,
			At:    at,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id,
		},
		Workflow: id, Budget: 300,
	}}})
	require.NoError(h.t, err)
}

func (h *fixture) dreamRecord(id string) *dream.Record {
	h.t.Helper()
	n, err := memory.One[*dream.Record](h.ctx, h.store, h.agent.ID, id)
	require.NoError(h.t, err)
	return n
}

func (h *fixture) begin(o activities.Spec, run string) activities.BeginResult {
	h.t.Helper()
	h.running[o.Dream] = true
	lain, err := h.dreamRun.Begin(h.ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: run})
	require.NoError(h.t, err)
	return lain
}

func (h *fixture) count(id string) []string {
	h.t.Helper()
	events, err := h.store.Events(h.ctx, h.agent.ID, 0, 0)
	require.NoError(h.t, err)
	var types []string
	for _, e := range events {
		if e.Dream == id {
			types = append(types, e.Type)
		}
	}
	return types
}

func TestABeginningIsRepeatableForASpecWithinItsLimits(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	for range 2 {
		require.Equal(t, activities.BeginResult{Remaining: 300}, h.begin(o, "r1"))
	}
	h.agent.Caps.Dream = 1
	require.NoError(t, h.store.PutAgent(h.ctx, h.agent))
	require.Empty(t, h.begin(o, "r1").Refused, "caps that are lowered later do not affect a running dream")
	require.Equal(t, []string{event.DreamStarted{}.EventType()}, h.count(o.Dream))
}

func TestASpecWrittenByHandIsHeldToTheCaps(t *testing.T) {
	t.Parallel()
	account := func(scope string, limit budget.Micros) func(*activities.Spec) {
		return func(o *activities.Spec) {
			for i, a := range o.Accounts {
				if a.Scope == scope {
					o.Accounts[i].Limit = limit
				}
			}
		}
	}
	for reason, change := range map[string]func(*activities.Spec){
		"account dream:dream/echo/0001 is missing": func(o *activities.Spec) { o.Accounts = nil },
		"account month:a1/2026-10 is missing": func(o *activities.Spec) {
			o.Accounts = append(o.Accounts[:2], o.Accounts[3:]...)
		},
		"account day:a1/2026-10-20 has the limit $0.000401":    account("day:a1/2026-10-20", 401),
		"account month:a1/2026-10 has the limit unlimited":     account("month:a1/2026-10", budget.Unlimited),
		"account fleet:2026-10-20 has the limit $1.000001":     account("fleet:2026-10-20", budget.Dollar+1),
		"account dream:dream/echo/0001 has the limit $0.00035": account("dream:dream/echo/0001", 350),
		"account fleet:2026-10-20 is named twice": func(o *activities.Spec) {
			o.Accounts = append(o.Accounts, budget.Account{Scope: "fleet:2026-10-20", Limit: 1})
		},
		"budget is $0.000301; one dream of the agent may cost $0.0003": func(o *activities.Spec) { o.Budget = 301 },
		"day_limit is unlimited": func(o *activities.Spec) { o.DayLimit = budget.Unlimited },
		`day is "2027-01-01", and as_of falls on 2026-10-20 in Asia/Tokyo`: func(o *activities.Spec) {
			o.Day = "2027-01-01"
		},
		"it is marked as free, and its generator, house/paid, has a price": func(o *activities.Spec) { o.Free = true },
		"it is marked as free, and the price of its generator is not known": func(o *activities.Spec) {
			o.Free, o.Models[dream.Generator] = true, "who/knows"
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			h := build(t)
			o := h.spec("dream/echo/0001")
			change(&o)
			lain := h.begin(o, "r1")
			require.Equal(t, dream.Aborted, lain.Refused)
			require.Contains(t, lain.Reason, reason)
			require.NotContains(t, lain.Reason, "\n")
			n := h.dreamRecord(o.Dream)
			require.Equal(t, dream.Aborted, n.Outcome)
			require.Equal(t, lain.Reason, n.Reason)
			require.Equal(t, []string{event.DreamAborted{}.EventType(), event.DreamEnded{}.EventType()},
				h.count(o.Dream))
			taken, err := h.store.Ledger().Allowance(h.ctx, h.agent.ID, o.Day)
			require.NoError(t, err)
			require.Zero(t, taken)
			slots, err := h.store.Slots(h.ctx)
			require.NoError(t, err)
			require.Empty(t, slots)
		})
	}
}

func TestASpecMayBeStricterThanItsAgentAndFreeWhenEveryModelIs(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	o.Budget, o.DayLimit, o.Free = 10, 20, true
	for i := range o.Accounts {
		o.Accounts[i].Limit = 10
	}
	for _, role := range dream.Roles {
		o.Models[role] = freeModel
	}
	require.Equal(t, activities.BeginResult{Remaining: 10}, h.begin(o, "r1"))
}

func TestADreamIsPlannedWhenThereIsNoRecentMemory(t *testing.T) {
	t.Parallel()
	h := build(t)
	live := func(id string, at time.Time) {
		_, err := h.store.Commit(h.ctx,
			memory.Write{Agent: h.agent.ID, Cause: "import", Add: []dream.Item{&dream.Episode{
				Head: dream.Head{
					ID:    id,
					Agent: h.agent.ID,
					Kind:  dream.KindEpisode,
					At:    at,
					State: dream.Live,
					Taint: dream.FromHuman,
				},
				Content: "something happened",
			}}})
		require.NoError(t, err)
	}
	plan := func() activities.PlanResult {
		p, err := h.dreamRun.Plan(h.ctx, activities.PlanRequest{Agent: h.agent.ID, Now: night, IdleTimeout: time.Hour})
		require.NoError(t, err)
		return p
	}
	p := plan()
	require.Equal(t, "dream/echo/0001", p.Spec.Dream)
	require.True(t, p.Active.IsZero())

	live("old", night.Add(-2*time.Hour))
	live("not yet", night.Add(time.Minute))
	p = plan()
	require.Equal(t, "dream/echo/0001", p.Spec.Dream)
	require.Equal(t, night.Add(-2*time.Hour), p.Active)

	live("new", night.Add(-time.Minute))
	require.Equal(t, activities.PlanResult{Active: night.Add(-time.Minute)}, plan())
}

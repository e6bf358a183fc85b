package activities_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

func (h *fixture) reconcile() int {
	h.t.Helper()
	n, err := h.dreamRun.Reconcile(h.ctx)
	require.NoError(h.t, err)
	return n
}

func (h *fixture) later(d time.Duration) { h.now = h.now.Add(d) }

func (h *fixture) allowance() budget.Micros {
	h.t.Helper()
	taken, err := h.store.Ledger().Allowance(h.ctx, h.agent.ID, "2026-10-20")
	require.NoError(h.t, err)
	return taken
}

func TestADreamThatNeverBeganIsClosedWhenItIsOldAndNotRunning(t *testing.T) {
	t.Parallel()
	h := build(t)
	left, waiting := h.spec("dream/echo/0001"), h.spec("dream/echo/0002")
	h.running[waiting.Dream] = true // waits for a worker
	h.later(4 * time.Minute)
	require.Zero(t, h.reconcile(), "it may be about to begin")
	h.later(2 * time.Minute)
	require.Equal(t, 1, h.reconcile())
	require.Zero(t, h.reconcile())
	n := h.dreamRecord(left.Dream)
	require.Equal(t, dream.Canceled, n.Outcome)
	require.Equal(t, "it was never begun", n.Reason)
	require.Equal(t, h.now, n.Ended)
	require.Equal(t, []string{event.DreamEnded{}.EventType()}, h.count(left.Dream))
	require.Equal(t, dream.Canceled, h.begin(left, "late").Refused, "a later beginning is refused")
	require.Empty(t, h.begin(waiting, "r1").Refused)
	require.Equal(t, budget.Micros(300), h.allowance(), "of the dream that began")
}

func TestADreamThatLostItsSlotBeforeItsEndIsClosed(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	require.NoError(t, h.store.FreeSlot(h.ctx, h.agent.ID, memory.Fence{Dream: o.Dream, Run: "r1"}))
	h.later(time.Hour)
	require.Zero(t, h.reconcile(), "it runs")
	h.running[o.Dream] = false
	require.Equal(t, 1, h.reconcile())
	require.Equal(t, "its workflow was terminated", h.dreamRecord(o.Dream).Reason)
}

// The store has lost that a dream was woken, and the agent's workflow may have been begun anew from what it knew.
func TestADreamWhoseInterruptionTheStoreLostWaitsAndItsAgentIsTold(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	h.running[o.Dream] = true
	require.Zero(t, h.reconcile())
	require.Empty(t, h.notified, "it dreams")
	until := h.now.Add(8 * time.Hour)
	h.paused = map[string]time.Time{o.Dream: until}
	require.Zero(t, h.reconcile())
	require.Equal(t, map[string]time.Time{o.Dream: until}, h.notified)
	record := h.dreamRecord(o.Dream)
	require.Equal(t, dream.Interrupted, record.Outcome)
	require.Equal(t, until.UTC(), record.Until)
	slots, err := h.store.Slots(h.ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
	h.notified = nil
	require.Zero(t, h.reconcile())
	require.Empty(t, h.notified, "once")
}

// The store has lost the end of a dream, or was put back to a state before it: the record takes the end from the
// workflow, with the money that the ledger knows.
func TestADreamWhoseEndTheStoreLostEndsAsItsWorkflowSays(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	h.buy(o, "1/partial-1", "a thought", 10)
	h.running[o.Dream] = false
	h.ended = map[string]activities.Ending{o.Dream: {Outcome: dream.Completed, Reason: "its workflow says so"}}
	require.Equal(t, 1, h.reconcile())
	record := h.dreamRecord(o.Dream)
	require.Equal(t, dream.Completed, record.Outcome)
	require.Equal(t, "its workflow says so", record.Reason)
	require.Equal(t, budget.Micros(10), record.Spent)
	require.Zero(t, h.reconcile())
}

// A dream goes on whose record the store has lost: its next stretch is refused, and its books are closed.
func TestADreamWithoutARecordEndsAndLeavesNothingReserved(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	o.Dream = "dream/echo/0007"
	o.Accounts = activities.DreamAccounts(o.Dream, o.Budget, h.agent, o.Day, h.fleet)
	h.buy(o, "1/partial-1", "a thought", 10)
	refused, err := h.dreamRun.Begin(h.ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: "r1", Stretch: 2})
	require.NoError(t, err)
	require.Equal(t, dream.Aborted, refused.Refused)
	require.Contains(t, refused.Reason, "the store has no record of it")
	finished, err := h.dreamRun.Finish(h.ctx, activities.FinishRequest{
		Stretch: activities.Stretch{Agent: o.Agent, Dream: o.Dream, Run: "r1"},
		Ending:  activities.Ending{Outcome: dream.Aborted},
	})
	require.NoError(t, err)
	require.Equal(t, budget.Micros(10), finished.Spent)
	require.Contains(t, finished.Reason, "the store has no record of it")
	open, err := h.store.Ledger().OpenDreams(h.ctx)
	require.NoError(t, err)
	require.Empty(t, open)
}

// Between the end of its last stretch and its closing, a dream holds no slot and already has an outcome.
func TestADreamTerminatedBeforeItIsClosedKeepsNothingReserved(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	h.buy(o, "1/partial-1", "a thought", 10)
	_, err := h.store.Arrive(h.ctx, presence.Visit{
		Agent:  o.Agent,
		Client: "guest",
		Cause:  presence.Connect,
		Now:    h.now,
		For:    time.Minute,
	})
	require.NoError(t, err)
	paused, err := h.dreamRun.Interrupt(h.ctx, activities.InterruptRequest{
		Stretch: activities.Stretch{Agent: o.Agent, Dream: o.Dream, Run: "r1"}, Number: 1, Phase: dream.Onset,
		Tallies: []dream.Tally{{Phase: dream.Onset, State: "stopped", Reason: "woken", Made: 3}},
	})
	require.NoError(t, err)
	require.Zero(t, paused.Until, "it cannot be resumed")
	n := h.dreamRecord(o.Dream)
	require.Equal(t, dream.Interrupted, n.Outcome)
	require.False(t, n.Resumable())
	h.later(time.Hour)
	require.Zero(t, h.reconcile(), "it is about to be closed")
	require.Equal(t, budget.Micros(300), h.allowance())

	h.running[o.Dream] = false
	require.Equal(t, 1, h.reconcile())
	require.Zero(t, h.reconcile())
	require.Equal(t, budget.Micros(10), h.allowance(), "what it spent")
	n = h.dreamRecord(o.Dream)
	require.Equal(t, dream.Interrupted, n.Outcome)
	require.Equal(t, "it may not be resumed", n.Reason)
	require.Equal(t, 3, n.Phases[0].Made)
	require.False(t, n.Unsettled())
	require.Equal(t, []string{"a thought"}, h.fragments(o))
	_, kept, err := h.store.Ledger().Answer(h.ctx, o.Dream+"/onset/1/partial-1")
	require.NoError(t, err)
	require.False(t, kept)
	_, err = h.store.Note(h.ctx, o.Agent, o.Dream, "order")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Contains(t, h.count(o.Dream), event.DreamEnded{}.EventType())
}

// meddling is a store in which another process writes the record just before it is closed.
type meddling struct {
	memory.Store
	before func()
}

func (m *meddling) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if m.before != nil && w.Fence == (memory.Fence{}) {
		before := m.before
		m.before = nil
		before()
	}
	return m.Store.Commit(ctx, w)
}

func TestADreamThatBeginsWhileItIsBeingClosedContinues(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	h.later(time.Hour)
	h.dreamRun.Memory = &meddling{Store: h.store, before: func() { require.Empty(t, h.begin(o, "r1").Refused) }}
	require.Zero(t, h.reconcile())
	require.Equal(t, dream.Dreaming, h.dreamRecord(o.Dream).Outcome)
}

func TestADreamWithdrawnWhileItBeginsIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	withdrawn := false
	h.dreamRun.Memory = &lying{Store: h.store, meanwhile: func() {
		if withdrawn {
			return
		}
		withdrawn = true
		n := h.dreamRecord(o.Dream)
		n.Outcome, n.Reason, n.Ended = dream.Canceled, "it was never begun: nobody answered", h.now
		_, err := h.store.Commit(h.ctx, memory.Write{Agent: h.agent.ID, Cause: o.Dream, Change: []dream.Item{n}})
		require.NoError(t, err)
	}}
	request := activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: "r1"}
	_, err := h.dreamRun.Begin(h.ctx, request)
	require.ErrorIs(t, err, memory.ErrStale, "it is retried")
	lain, err := h.dreamRun.Begin(h.ctx, request)
	require.NoError(t, err)
	require.Equal(t, dream.Canceled, lain.Refused)
	require.Equal(t, "it was never begun: nobody answered", lain.Reason)
	require.Zero(t, h.allowance())
	slots, err := h.store.Slots(h.ctx)
	require.NoError(t, err)
	require.Empty(t, slots)
}

// lying is a store that runs a function between reading the record and writing its beginning.
type lying struct {
	memory.Store
	meanwhile func()
}

func (l *lying) PutNote(ctx context.Context, agent string, f memory.Fence, key string, value []byte) ([]byte, error) {
	l.meanwhile()
	return l.Store.PutNote(ctx, agent, f, key, value)
}

func TestAnAutomaticDreamWritesItsRecordWhenItBegins(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	o.Dream = "dream/echo/0002"
	o.Accounts = activities.DreamAccounts(o.Dream, o.Budget, h.agent, o.Day, h.fleet)
	refused, err := h.dreamRun.Begin(h.ctx, activities.BeginRequest{Spec: o, Workflow: o.Dream, Run: "r1"})
	require.NoError(t, err)
	require.Equal(t, dream.Aborted, refused.Refused, "only an automatic dream may begin without a record")
	require.Contains(t, refused.Reason, "the store has no record of it")
	o.Alone = true
	for range 2 {
		require.Empty(t, h.begin(o, "r1").Refused)
	}
	n := h.dreamRecord(o.Dream)
	require.Equal(t, "r1", n.Run)
	require.Equal(t, o.Budget, n.Budget)
	require.Len(t, n.Models, len(dream.Roles))
	require.True(t, n.Paid)

	third := o
	third.Dream = "dream/echo/0003"
	require.Equal(t, dream.Canceled, h.begin(third, "r2").Refused)
	require.Equal(t, "echo is already dreaming dream/echo/0002", h.dreamRecord(third.Dream).Reason)
}

// buy puts a finished answer of a partial into the spend ledger.
func (h *fixture) buy(o activities.Spec, step, text string, cost budget.Micros) {
	h.t.Helper()
	ledger := h.store.Ledger()
	hold, err := ledger.Reserve(h.ctx, spend.Ask{
		Step:     o.Dream + "/onset/" + step,
		Agent:    o.Agent,
		Dream:    o.Dream,
		Phase:    "onset",
		Model:    paidModel,
		Day:      o.Day,
		Amount:   cost,
		Accounts: o.Accounts,
		At:       h.now,
	})
	require.NoError(h.t, err)
	paid := spend.PaidAnswer{Answer: inference.Answer{Text: text}, Attempt: hold.Attempt, Cost: cost}
	answer, err := json.Marshal(paid)
	require.NoError(h.t, err)
	require.NoError(h.t,
		ledger.Settle(h.ctx, hold, spend.Bill{State: spend.Settled, Amount: cost, Answer: answer, At: h.now}))
}

func (h *fixture) fragments(o activities.Spec) []string {
	h.t.Helper()
	found, err := h.store.Find(h.ctx,
		memory.Query{
			Agent: o.Agent, Dream: o.Dream, Kinds: []dream.Kind{dream.KindFragment},
			Sort: memory.HighestScore,
		})
	require.NoError(h.t, err)
	var texts []string
	for _, f := range memory.As[*dream.Fragment](found) {
		require.Equal(h.t, dream.FragmentDiscarded, f.Status)
		texts = append(texts, f.Content)
	}
	return texts
}

func TestPaidAnswersAreFoundHoweverTheDreamEnds(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	h.buy(o, "1/partial-1", "before", 10)
	h.running[o.Dream] = false
	next := h.spec("dream/echo/0002")
	next.Budget, next.Accounts[0].Limit = 50, 50
	require.Empty(t, h.begin(next, "r2").Refused, "it takes the slot over")
	require.Equal(t, []string{"before"}, h.fragments(o))
	require.Equal(t, budget.Micros(10), h.dreamRecord(o.Dream).Spent)

	h.buy(o, "1/partial-2", "late", 7) // by an activity that outlived its workflow
	ending := activities.Ending{Outcome: dream.Completed, Kept: 1}
	for range 2 {
		risen, err := h.dreamRun.Finish(h.ctx,
			activities.FinishRequest{
				Stretch: activities.Stretch{Agent: o.Agent, Dream: o.Dream, Run: "r1"},
				Ending:  ending,
			})
		require.NoError(t, err)
		require.Equal(t, budget.Micros(17), risen.Spent)
		require.Equal(t, []string{"before", "late"}, h.fragments(o))
		n := h.dreamRecord(o.Dream)
		require.Equal(t, dream.Canceled, n.Outcome, "its end was announced when it was closed")
		require.Equal(t, budget.Micros(17), n.Spent)
		require.Equal(t, budget.Micros(17), n.Phases[0].Spent)
	}
	slots, err := h.store.Slots(h.ctx)
	require.NoError(t, err)
	require.Equal(t, "dream/echo/0002", slots[o.Agent].Dream)
}

func TestAnEndedDreamLeavesNoAnswersInTheLedger(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *fixture, o activities.Spec){
		"finished": func(h *fixture, o activities.Spec) {
			for range 2 {
				_, err := h.dreamRun.Finish(h.ctx, activities.FinishRequest{
					Stretch: activities.Stretch{Agent: o.Agent, Dream: o.Dream, Run: "r1"},
					Ending:  activities.Ending{Outcome: dream.Exhausted, Reason: "the cap"},
				})
				require.NoError(h.t, err)
			}
		},
		"reconciled": func(h *fixture, o activities.Spec) {
			h.running[o.Dream] = false
			require.Equal(h.t, 1, h.reconcile())
		},
		"taken over": func(h *fixture, o activities.Spec) {
			h.running[o.Dream] = false
			next := h.spec("dream/echo/0002")
			next.Budget, next.Accounts[0].Limit = 50, 50
			require.Empty(h.t, h.begin(next, "r2").Refused)
		},
		"abandoned": func(h *fixture, o activities.Spec) {
			require.NoError(h.t, h.store.FreeSlot(h.ctx, h.agent.ID, memory.Fence{Dream: o.Dream, Run: "r1"}))
			h.running[o.Dream] = false
			h.later(time.Hour)
			require.Equal(h.t, 1, h.reconcile())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t)
			o := h.spec("dream/echo/0001")
			require.Empty(t, h.begin(o, "r1").Refused)
			h.buy(o, "1/partial-1", "a thought", 10)
			end(h, o)
			_, kept, err := h.store.Ledger().Answer(h.ctx, o.Dream+"/onset/1/partial-1")
			require.NoError(t, err)
			require.False(t, kept)
			require.Equal(t, []string{"a thought"}, h.fragments(o), "it was stored first")
			require.Equal(t, budget.Micros(10), h.dreamRecord(o.Dream).Spent)
		})
	}
}

func TestARunThatNeverBeganDoesNotCloseTheDreamOfAnother(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	h.buy(o, "1/partial-1", "going on", 10)
	_, err := h.dreamRun.Finish(h.ctx, activities.FinishRequest{
		Stretch: activities.Stretch{Agent: o.Agent, Dream: o.Dream, Run: "twin"},
		Ending:  activities.Ending{Outcome: dream.Aborted, Reason: "it failed"},
	})
	require.NoError(t, err)
	require.Equal(t, dream.Dreaming, h.dreamRecord(o.Dream).Outcome)
	require.Empty(t, h.fragments(o))
	require.Equal(t, budget.Micros(300), h.allowance())
	slots, err := h.store.Slots(h.ctx)
	require.NoError(t, err)
	require.Equal(t, "r1", slots[o.Agent].Run)
}

func TestDreamsOfAnotherClusterAreLeftAlone(t *testing.T) {
	t.Parallel()
	h := build(t)
	h.here = "default/one"
	o := h.spec("dream/echo/0001")
	require.Empty(t, h.begin(o, "r1").Refused)
	require.Equal(t, "default/one", h.dreamRecord(o.Dream).Cluster)
	slots, err := h.store.Slots(h.ctx)
	require.NoError(t, err)
	require.Equal(t, "default/one", slots[o.Agent].Cluster)

	h.here, h.running[o.Dream] = "default/two", false // unknown to this cluster
	h.later(time.Hour)
	require.Zero(t, h.reconcile())
	next := h.spec("dream/echo/0002")
	next.Budget, next.Accounts[0].Limit = 50, 50
	lain := h.begin(next, "r2")
	require.Equal(t, dream.Canceled, lain.Refused)
	require.Equal(t,
		"echo is already dreaming dream/echo/0001 on another Temporal cluster, default/one, which cannot be asked from here; "+
			"if that one is gone for good, "+activities.Abandoning("dream/echo/0001"), lain.Reason)
	require.Equal(t, dream.Dreaming, h.dreamRecord(o.Dream).Outcome)

	h.buy(o, "1/partial-1", "a thought", 10)
	require.NoError(t, h.dreamRun.Abandon(h.ctx, o.Agent, o.Dream))
	n := h.dreamRecord(o.Dream)
	require.Equal(t, dream.Canceled, n.Outcome)
	require.Equal(t, "it was abandoned", n.Reason)
	require.Equal(t, budget.Micros(10), n.Spent)
	require.ErrorIs(t, h.dreamRun.Abandon(h.ctx, o.Agent, o.Dream), memory.ErrNotFound)
	last := h.spec("dream/echo/0003")
	last.Budget, last.Accounts[0].Limit = 50, 50
	require.Empty(t, h.begin(last, "r3").Refused)
}

func TestADreamThatAnotherClusterIsToBeginIsNotClosedHere(t *testing.T) {
	t.Parallel()
	h := build(t)
	o := h.spec("dream/echo/0001")
	n := h.dreamRecord(o.Dream)
	n.Cluster = "default/one"
	_, err := h.store.Commit(h.ctx, memory.Write{Agent: h.agent.ID, Cause: o.Dream, Change: []dream.Item{n}})
	require.NoError(t, err)
	h.here = "default/two"
	h.later(time.Hour)
	require.Zero(t, h.reconcile())
	h.here = "default/one"
	require.Equal(t, 1, h.reconcile())
}

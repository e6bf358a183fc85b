package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// waits is a dream that was interrupted in its first stretch, with no client connected.
func (r *rig) waits() (activities.Spec, activities.Stretch) {
	r.t.Helper()
	s, request := r.woken(1, time.Hour)
	return r.putDown(s, request)
}

func (r *rig) putDown(s activities.Stretch, request activities.InterruptRequest) (activities.Spec, activities.Stretch) {
	r.t.Helper()
	ctx := context.Background()
	_, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(r.t, err)
	_, err = r.store.Dismiss(ctx, "a", tonight)
	require.NoError(r.t, err)
	run, err := core.Open(ctx, r.ports, s)
	require.NoError(r.t, err)
	return run.Spec, s
}

func (r *rig) beginAgain(o activities.Spec, s activities.Stretch) activities.BeginResult {
	r.t.Helper()
	lain, err := r.dreamRun().Begin(context.Background(), activities.BeginRequest{
		Spec:     o,
		Workflow: s.Dream,
		Run:      s.Run,
		Stretch:  2,
		Now:      tonight,
	})
	require.NoError(r.t, err)
	return lain
}

func (r *rig) nightOf(s activities.Stretch) *dream.Record {
	r.t.Helper()
	record, err := memory.One[*dream.Record](context.Background(), r.store, "a", s.Dream)
	require.NoError(r.t, err)
	return record
}

func (r *rig) slots() int {
	r.t.Helper()
	slots, err := r.store.Slots(context.Background())
	require.NoError(r.t, err)
	return len(slots)
}

func TestADreamAbandonedWhileInterruptedStaysEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o, s := r.waits()
	require.NoError(t, r.dreamRun().Abandon(context.Background(), "a", o.Dream))
	lain := r.beginAgain(o, s)
	require.Equal(t, dream.Interrupted, lain.Refused)
	require.Equal(t, "it has ended canceled: it was abandoned", lain.Reason)
	require.Equal(t, dream.Canceled, r.nightOf(s).Outcome)
	require.Zero(t, r.slots())
}

func TestADreamUndoneWhileInterruptedIsNotResumed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o, s := r.waits()
	_, err := r.store.Undo(context.Background(), "a", o.Dream)
	require.NoError(t, err)
	lain := r.beginAgain(o, s)
	require.Equal(t, dream.Interrupted, lain.Refused)
	require.Equal(t, "it was undone while it waited", lain.Reason)
	require.Zero(t, r.slots())
}

// dead says that no workflow runs.
type dead struct{ alive }

func (dead) Running(context.Context, string, string) (bool, error) { return false, nil }

func TestAnUndoneDreamWithoutWorkflowIsClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o, s := r.waits()
	_, err := r.store.Undo(ctx, "a", o.Dream)
	require.NoError(t, err)
	bed := r.dreamRun()
	bed.Executions = dead{}
	closed, err := bed.Reconcile(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, closed)
	record := r.nightOf(s)
	require.Equal(t, dream.Canceled, record.Outcome)
	require.Equal(t, dream.Archived, record.State)
	taken, err := r.store.Ledger().Allowance(ctx, "a", o.Day)
	require.NoError(t, err)
	require.Zero(t, taken)
	notes, err := r.store.Notes(ctx, "a", o.Dream, "")
	require.NoError(t, err)
	require.Empty(t, notes)
	closed, err = bed.Reconcile(ctx)
	require.NoError(t, err)
	require.Zero(t, closed)
}

// counting counts the records that a search returns.
type counting struct {
	memory.Store
	nights int
}

func (c *counting) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	items, err := c.Store.Find(ctx, q)
	c.nights += len(memory.As[*dream.Record](items))
	return items, err
}

func TestDreamsThatEndedInterruptedAreNotReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	o, s := r.waits()
	require.Equal(t, dream.RecordWaits, r.nightOf(s).Marks().Status)
	_, err := r.dreamRun().Finish(ctx,
		activities.FinishRequest{
			Stretch: s,
			Ending:  activities.Ending{Outcome: dream.Interrupted, Reason: "nobody resumed it"},
		})
	require.NoError(t, err)
	require.Equal(t, string(dream.Interrupted), r.nightOf(s).Marks().Status)
	bed, seen := r.dreamRun(), &counting{Store: r.store}
	bed.Memory, bed.Executions = seen, dead{}
	_, err = bed.Reconcile(ctx)
	require.NoError(t, err)
	require.Zero(t, seen.nights, o.Dream)
}

func TestAnotherEmbedderEndsTheInterruptedDream(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(2)
	ctx := context.Background()
	o, s := r.waits()
	vectors := []memory.Vector{
		{Item: "e0", Space: "q/f/8", V: vectorOf("e0")},
		{Item: "e1", Space: "q/f/8", V: vectorOf("e1")},
	}
	require.NoError(t, r.store.Collect(ctx, "a", vectors))
	missing, err := r.store.Move(ctx, "a", "q/f/8")
	require.NoError(t, err)
	require.Zero(t, missing)
	lain := r.beginAgain(o, s)
	require.Equal(t, dream.Interrupted, lain.Refused)
	require.Contains(t, lain.Reason, "run oneiros memory embed --agent a first")
	require.Zero(t, r.slots())
}

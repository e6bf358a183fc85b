package activities_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// keepLate stores one more snapshot of a stretch.
func (r *rig) keepLate(s activities.Stretch, key string) {
	r.t.Helper()
	body, err := json.Marshal(core.Snapshot{
		Step:    key,
		Phase:   dream.Onset,
		Partial: telling,
		Drawn:   2,
		Began:   tonight,
		Stopped: tonight,
		Epoch:   s.Epoch,
	})
	require.NoError(r.t, err)
	_, err = r.store.PutNote(context.Background(), "a", s.Fence(), memory.LateNote+key, body)
	require.NoError(r.t, err)
}

func (r *rig) waiting(s activities.Stretch) int {
	r.t.Helper()
	notes, err := r.store.Notes(context.Background(), "a", s.Dream, memory.LateNote)
	require.NoError(r.t, err)
	return len(notes)
}

// A worker died after recording the stretch and before erasing the snapshots: the repetition erases them.
func TestJudgedSnapshotsAreErasedByTheRepetition(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s, request := r.woken(1, time.Hour, telling)
	_, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	require.Zero(t, r.waiting(s))
	_, err = r.store.Dismiss(ctx, "a", tonight)
	require.NoError(t, err)
	_, err = r.store.TakeSlot(ctx, "a", memory.Slot{Fence: s.Fence(), Since: tonight}, memory.Fence{})
	require.NoError(t, err)
	r.keepLate(s, "a") // as if the erasing had not happened
	_, err = r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	require.Zero(t, r.waiting(s))
	require.Len(t, r.journals(), 1)
}

// The text of a call that did not stop in time is discarded, and makes no entry of a later wake.
func TestTheSnapshotOfALateCallIsNotJudgedInALaterStretch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	s, request := r.woken(1, time.Hour)
	_, err := r.dreamRun().Interrupt(ctx, request)
	require.NoError(t, err)
	_, err = r.store.Dismiss(ctx, "a", tonight)
	require.NoError(t, err)
	run, err := core.Open(ctx, r.ports, s)
	require.NoError(t, err)
	lain, err := r.dreamRun().Begin(ctx, activities.BeginRequest{
		Spec:     run.Spec,
		Workflow: s.Dream,
		Run:      s.Run,
		Stretch:  2,
		Now:      tonight,
	})
	require.NoError(t, err)
	require.Empty(t, lain.Refused, lain.Reason)
	r.keepLate(s, "late") // of the first stretch
	second := request
	second.Epoch, second.Number = lain.Epoch, 2
	_, err = r.store.Arrive(ctx, presence.Visit{
		Agent:  "a",
		Client: "guest",
		Cause:  presence.Connect,
		Now:    tonight,
		For:    time.Minute,
		Lock:   time.Second,
	})
	require.NoError(t, err)
	_, err = r.dreamRun().Interrupt(ctx, second)
	require.NoError(t, err)
	require.Zero(t, r.waiting(s))
	require.Empty(t, r.journals())
}

// A wake whose epoch was never raised is reported as forged.
func TestAForgedEpochIsNotRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	_, request := r.woken(1, time.Hour)
	result, err := r.dreamRun().AnnounceWake(ctx,
		activities.AnnounceWakeRequest{Agent: "a", Epoch: 1 << 40, Now: tonight, Dream: request.Dream})
	require.NoError(t, err)
	require.Equal(t, activities.AnnounceWakeResult{Forged: true, Epoch: 1}, result)
	result, err = r.dreamRun().AnnounceWake(ctx,
		activities.AnnounceWakeRequest{Agent: "a", Epoch: 1, Now: tonight, Dream: request.Dream})
	require.NoError(t, err)
	require.Equal(t, activities.AnnounceWakeResult{}, result)
	status, err := r.store.Status(ctx, "a", tonight)
	require.NoError(t, err)
	require.Equal(t, int64(1), status.Recorded)
}

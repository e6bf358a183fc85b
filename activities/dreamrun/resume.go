package dreamrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// resume begins a later stretch of an interrupted dream. If the agent's mood changed after the wake, the dream
// continues from the new mood: later experience is not taken back when the dream settles, and the shift that the wake
// applied is not applied twice. Otherwise the dream continues as if it had not been interrupted.
func (d *DreamRun) resume(ctx context.Context, run *core.Run, r activities.BeginRequest,
	record *dream.Record,
) (activities.BeginResult, error) {
	left, err := core.Remaining(ctx, run, run.Spec.Accounts)
	if err != nil {
		return activities.BeginResult{}, err
	}
	result := activities.BeginResult{Remaining: left, Epoch: run.Epoch}
	if record.Outcome == dream.Dreaming && record.Stretches >= r.Stretch {
		return result, nil
	}
	result.Reason, err = stale(ctx, run, record)
	if err != nil {
		return activities.BeginResult{}, err
	}
	if result.Reason == "" && !r.Spec.Free && left <= 0 {
		result.Reason = "nothing is left of its budget to go on with"
	}
	if result.Reason != "" {
		result.Refused = dream.Interrupted
		return result, run.FreeSlot(ctx)
	}
	affect, err := d.Memory.Affect(ctx, run.Agent)
	if err != nil {
		return activities.BeginResult{}, err
	}
	record.Outcome = dream.Dreaming
	record.Reason = ""
	record.Ended = time.Time{}
	record.Until = time.Time{}
	record.Stretches = r.Stretch
	if !affect.Same(record.Woke()) { // changed since the wake
		record.Affect(affect, affect.Since)
		record.Felt, record.Connected = max(record.Felt, record.Connected), 0
	}
	err = run.Write(ctx, memory.Write{
		Change: []dream.Item{record},
		Events: []event.Event{
			run.Event(fmt.Sprintf("sitting-%d/%s", r.Stretch, run.Run),
				event.DreamResumed{Stretch: r.Stretch, Phase: r.Phase, Left: left}),
		},
	})
	if errors.Is(err, memory.ErrWoken) { // woken between taking the slot and this write
		result.Refused, result.Awake, result.Reason = dream.Canceled, true, r.Spec.Handle+" was woken again"
		return result, run.FreeSlot(ctx)
	}
	return result, err
}

// stale is why an interrupted dream may not be resumed: it has ended or was undone, or its agent's memory has moved
// to another embedder. Empty when it may.
func stale(ctx context.Context, run *core.Run, record *dream.Record) (string, error) {
	switch {
	case record.Outcome == dream.Dreaming:
		return "its last stretch was never recorded", nil
	case !record.Resumable():
		return fmt.Sprintf("it has ended %s: %s", record.Outcome, record.Reason), nil
	case record.State != dream.Live:
		return "it was undone while it waited", nil
	}
	err := core.SameSpace(ctx, run)
	if errors.Is(err, memory.ErrSpace) {
		return err.Error(), nil
	}
	return "", err
}

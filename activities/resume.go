package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// resume begins a later stretch of an interrupted dream. If the agent's mood changed after the wake, the dream
// continues from the new mood: later experience is not taken back when the dream settles, and the shift that the wake
// applied is not applied twice. Otherwise the dream continues as if it had not been interrupted.
func (b *DreamRun) resume(ctx context.Context, s Stretch, r BeginRequest, record *dream.Record) (BeginResult, error) {
	left, err := b.remaining(ctx, r.Spec)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	result := BeginResult{Remaining: left, Epoch: s.Epoch}
	if record.Outcome == dream.Dreaming && record.Stretches >= r.Stretch {
		return result, nil
	}
	result.Reason, err = b.stale(ctx, r.Spec, record)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	if result.Reason == "" && !r.Spec.Free && left <= 0 {
		result.Reason = "nothing is left of its budget to go on with"
	}
	if result.Reason != "" {
		result.Refused = dream.Interrupted
		return result, toApplicationError(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	affect, err := b.Memory.Affect(ctx, s.Agent)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
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
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{record},
		Events: []event.Event{
			b.event(s, fmt.Sprintf("sitting-%d/%s", r.Stretch, s.Run),
				event.DreamResumed{Stretch: r.Stretch, Phase: r.Phase, Left: left}),
		},
	})
	if errors.Is(err, memory.ErrWoken) { // woken between taking the slot and this write
		result.Refused, result.Awake, result.Reason = dream.Canceled, true, r.Spec.Handle+" was woken again"
		return result, toApplicationError(b.Memory.FreeSlot(ctx, s.Agent, s.fence()))
	}
	return result, toApplicationError(err)
}

// stale is why an interrupted dream may not be resumed: it has ended or was undone, or its agent's memory has moved
// to another embedder. Empty when it may.
func (b *DreamRun) stale(ctx context.Context, spec Spec, record *dream.Record) (string, error) {
	switch {
	case record.Outcome == dream.Dreaming:
		return "its last stretch was never recorded", nil
	case !record.Resumable():
		return fmt.Sprintf("it has ended %s: %s", record.Outcome, record.Reason), nil
	case record.State != dream.Live:
		return "it was undone while it waited", nil
	}
	err := b.sameSpace(ctx, spec)
	if errors.Is(err, memory.ErrSpace) {
		return err.Error(), nil
	}
	return "", err
}

package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// beyond is what a spec asks for that its agent, the deployment or the catalogue does not allow; empty for nothing.
func (b *DreamRun) beyond(ctx context.Context, spec Spec) (string, error) {
	agent, err := b.Memory.Agent(ctx, spec.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", spec.Agent, err)
	}
	if err := spec.Within(agent, b.Planner.FleetDay(), b.Catalog); err != nil {
		return "this worker may not run the dream: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", nil
}

// over refuses a dream whose record is closed: it was refused or withdrawn before it began, or another run dreamt it.
// A dream that was withdrawn while it began leaves nothing behind.
func (b *DreamRun) over(ctx context.Context, record *dream.Record, run string) (BeginResult, error) {
	fence := memory.Fence{Dream: record.ID, Run: run}
	if record.Run != "" {
		result := BeginResult{
			Refused: dream.Canceled,
			Reason:  fmt.Sprintf("%s has been dreamt: %s", record.ID, record.Outcome),
		}
		return result, toApplicationError(b.Memory.FreeSlot(ctx, record.Agent, fence))
	}
	err := errors.Join(
		b.Guard.Ledger.GiveBack(ctx, record.ID), b.Memory.DropNotes(ctx, record.Agent, record.ID),
		b.Memory.FreeSlot(ctx, record.Agent, fence),
	)
	return BeginResult{Refused: record.Outcome, Reason: record.Reason}, toApplicationError(err)
}

// refuse closes the record of a dream that never began and gives its allowance back. It writes without a fence,
// because the slot belongs to another. The record of a dream that has begun belongs to its own run and stays.
func (b *DreamRun) refuse(ctx context.Context, spec Spec, s Stretch, outcome dream.Outcome, reason string) error {
	record, err := memory.One[*dream.Record](ctx, b.Memory, spec.Agent, spec.Dream)
	if err != nil {
		return toApplicationError(err)
	}
	if record.Run == "" && record.Outcome == dream.Dreaming {
		record.Outcome, record.Reason, record.Ended = outcome, reason, b.now(s).UTC()
		events := []event.Event{b.event(s, "refused/"+s.Run, event.DreamEnded{Outcome: outcome, Reason: reason})}
		if outcome == dream.Aborted {
			events = append([]event.Event{b.event(s, "refused/"+s.Run, event.DreamAborted{Reason: reason})}, events...)
		}
		_, err = b.Memory.Commit(ctx,
			memory.Write{Agent: spec.Agent, Cause: spec.Dream, Change: []dream.Item{record}, Events: events})
		err = errors.Join(err, b.Guard.Ledger.GiveBack(ctx, spec.Dream),
			b.Memory.DropNotes(ctx, spec.Agent, spec.Dream))
	}
	return toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, spec.Agent, s.fence())))
}

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

// beyond says what an order wants that its agent, the fleet or the catalogue does not allow; empty when nothing.
func (b *DreamRun) beyond(ctx context.Context, o Spec) (string, error) {
	agent, err := b.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", o.Agent, err)
	}
	if err := o.Within(agent, b.Planner.FleetDay(), b.Catalog); err != nil {
		return "this worker may not dream the order: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", nil
}

// over refuses a dream whose record is closed: it was refused or withdrawn before it began, or another sitting dreamt
// it. One that was withdrawn while it lay down leaves nothing behind.
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

// refuse closes the record of a dream that never began, and gives back what it had set aside of the day. It is written
// without a fence: the slot is another's. The record of a dream that has begun is its own sitting's, whoever was
// started under the same id.
func (b *DreamRun) refuse(ctx context.Context, o Spec, s Stretch, outcome dream.Outcome, reason string) error {
	record, err := memory.One[*dream.Record](ctx, b.Memory, o.Agent, o.Dream)
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
			memory.Write{Agent: o.Agent, Cause: o.Dream, Change: []dream.Item{record}, Events: events})
		err = errors.Join(err, b.Guard.Ledger.GiveBack(ctx, o.Dream), b.Memory.DropNotes(ctx, o.Agent, o.Dream))
	}
	return toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
}

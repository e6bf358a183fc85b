package dreamrun

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// beyond is what a spec asks for that its agent, the deployment or the catalogue does not allow; empty for nothing.
func (d *DreamRun) beyond(ctx context.Context, spec activities.Spec) (string, error) {
	agent, err := d.Memory.Agent(ctx, spec.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", spec.Agent, err)
	}
	if err := spec.Within(agent, d.Planner.FleetDay(), d.Catalog); err != nil {
		return "this worker may not run the dream: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", nil
}

// over refuses a dream whose record is closed: it was refused or withdrawn before it began, or another run dreamt it.
// A dream that was withdrawn while it began leaves nothing behind.
func (d *DreamRun) over(ctx context.Context, record *dream.Record, run string) (activities.BeginResult, error) {
	fence := memory.Fence{Dream: record.ID, Run: run}
	if record.Run != "" {
		result := activities.BeginResult{
			Refused: dream.Canceled,
			Reason:  fmt.Sprintf("%s has been dreamt: %s", record.ID, record.Outcome),
		}
		return result, d.Memory.FreeSlot(ctx, record.Agent, fence)
	}
	err := errors.Join(
		d.Guard.Ledger.GiveBack(ctx, record.ID), d.Memory.DropAllNotes(ctx, record.Agent, record.ID),
		d.Memory.FreeSlot(ctx, record.Agent, fence),
	)
	return activities.BeginResult{Refused: record.Outcome, Reason: record.Reason}, err
}

// refuse closes the record of a dream that never began and gives its allowance back. It writes without a fence,
// because the slot belongs to another. The record of a dream that has begun belongs to its own run and stays.
func (d *DreamRun) refuse(ctx context.Context, r activities.BeginRequest, outcome dream.Outcome,
	reason string,
) (activities.BeginResult, error) {
	result := activities.BeginResult{Refused: outcome, Reason: reason}
	run := core.At(d.Ports, stretchOf(r))
	record, err := run.Record(ctx)
	if err != nil {
		return result, err
	}
	if record.Run == "" && record.Outcome == dream.Dreaming {
		record.Outcome, record.Reason, record.Ended = outcome, reason, run.Now().UTC()
		events := []event.Event{run.Event("refused/"+run.Run, event.DreamEnded{Outcome: outcome, Reason: reason})}
		if outcome == dream.Aborted {
			events = append([]event.Event{run.Event("refused/"+run.Run, event.DreamAborted{Reason: reason})}, events...)
		}
		_, err = d.Memory.Commit(ctx,
			memory.Write{Agent: run.Agent, Cause: run.Dream, Change: []dream.Item{record}, Events: events})
		err = errors.Join(err, d.Guard.Ledger.GiveBack(ctx, run.Dream),
			d.Memory.DropAllNotes(ctx, run.Agent, run.Dream))
	}
	return result, errors.Join(err, run.FreeSlot(ctx))
}

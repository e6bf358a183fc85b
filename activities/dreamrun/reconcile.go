package dreamrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// leftBehind is how old a record without an outcome must be before it counts as abandoned. A starter that writes a
// record starts its workflow at once and withdraws the record if that fails for 20 s (starter.Begin); five minutes
// allow for hosts with different clocks and for a person who starts a prepared dream by hand.
const leftBehind = 5 * time.Minute

// Reconcile closes what dreams without a running workflow have left open: slots, records without an outcome,
// reservations. Dreams of another cluster are left alone. It returns how many dreams it closed; one that cannot be
// closed does not delay the others.
func (d *DreamRun) Reconcile(ctx context.Context) (int, error) {
	agents, err := d.Memory.Agents(ctx)
	if err != nil {
		return 0, err
	}
	return d.ReconcileAgents(ctx, agents)
}

// ReconcileAgents is Reconcile that looks for records without an outcome among these agents alone.
func (d *DreamRun) ReconcileAgents(ctx context.Context, agents []dream.Agent) (int, error) {
	slots, err := d.Memory.Slots(ctx)
	if err != nil {
		return 0, err
	}
	var faults []error
	closed := 0
	count := func(n int, err error) {
		closed += n
		if err != nil {
			faults = append(faults, err)
		}
	}
	for agent, held := range slots {
		if d.elsewhere(held.Cluster) {
			continue
		}
		count(d.freeDead(ctx, agent, held))
	}
	count(d.closeOpen(ctx, agents, slots))
	count(d.closeLeftovers(ctx))
	return closed, errors.Join(faults...)
}

// freeDead frees the slot of a dream whose workflow is gone.
func (d *DreamRun) freeDead(ctx context.Context, agent string, held memory.Slot) (int, error) {
	running, err := d.Executions.Running(ctx, held.Workflow, held.Run)
	if err != nil {
		return 0, err
	}
	if running {
		return 0, restorePause(ctx, d, agent, held)
	}
	if err := d.reap(ctx, agent, held); err != nil {
		return 0, err
	}
	if err := d.Memory.FreeSlot(ctx, agent, held.Fence); err != nil {
		return 0, err
	}
	return 1, d.forget(ctx, held.Dream)
}

// restorePause records once more that a dream was interrupted, where the store has lost that: its workflow waits to go
// on, and the record says that it dreams. Otherwise the slot would be held until nobody may resume it any more.
func restorePause(ctx context.Context, d *DreamRun, agent string, held memory.Slot) error {
	// Before the workflow is asked: a dream that goes on meanwhile has changed its record.
	record, err := memory.One[*dream.Record](ctx, d.Memory, agent, held.Dream)
	if errors.Is(err, memory.ErrNotFound) || err == nil && record.Outcome != dream.Dreaming {
		return nil
	}
	if err != nil {
		return err
	}
	paused, until, err := d.Executions.Paused(ctx, held.Workflow, held.Run)
	if err != nil || until.IsZero() {
		return err
	}
	rows, err := d.Guard.Ledger.Rows(ctx, spend.Query{Dream: record.ID})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", record.ID, err)
	}
	record.Outcome, record.Until, record.Ended = dream.Interrupted, until.UTC(), d.Now().UTC()
	record.Reason = "its interruption was not in the store; its workflow waits to go on"
	record.Spent, record.Phases = total(rows), nil
	for _, t := range paused.Tallies {
		record.Phases = append(record.Phases, sumUp(t, rows))
	}
	// The agent's workflow may have been begun anew from what the store knew.
	owner, err := d.Memory.Agent(ctx, agent)
	if err == nil {
		err = d.Executions.TellPaused(ctx, owner, record.ID, until)
	}
	if err != nil {
		return err
	}
	run := core.At(d.Ports, activities.Stretch{Agent: agent, Dream: record.ID, Run: held.Run})
	err = run.Write(ctx, memory.Write{Late: true, Change: []dream.Item{record}})
	if errors.Is(err, memory.ErrStale) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record that %s waits: %w", record.ID, err)
	}
	return run.FreeSlot(ctx)
}

// elsewhere says whether a dream belongs to another cluster than the one we can ask.
func (d *DreamRun) elsewhere(cluster string) bool {
	return activities.Elsewhere(cluster, d.Executions.ClusterID())
}

// where describes the other cluster of a dream and what to do when it is gone for good; empty for ours.
func (d *DreamRun) where(held memory.Slot) string {
	if !d.elsewhere(held.Cluster) {
		return ""
	}
	return fmt.Sprintf(" on another Temporal cluster, %s, which cannot be asked from here; if that one is gone for "+
		"good, %s", held.Cluster, activities.Abandoning(held.Dream))
}

// Abandon closes a dream whatever its cluster would answer, on behalf of a person who knows that the cluster is gone.
// If its workflow still runs, the store refuses its writes. memory.ErrNotFound when the dream has ended.
func (d *DreamRun) Abandon(ctx context.Context, agent, dreamID string) error {
	return d.end(ctx, agent, dreamID, func(*dream.Record) activities.Ending {
		return activities.Ending{Outcome: dream.Canceled, Reason: "it was abandoned"}
	})
}

// Outdated closes a dream that this build cannot go on with, as interrupted for good. The caller ends its workflow
// afterwards: until then the store refuses what it writes. memory.ErrNotFound when the dream does not go on.
func (d *DreamRun) Outdated(ctx context.Context, agent, dreamID, reason string) error {
	return d.end(ctx, agent, dreamID, func(record *dream.Record) activities.Ending {
		return activities.Ending{Outcome: dream.Interrupted, Reason: reason, Tallies: record.Phases}
	})
}

// end closes a dream that goes on, without asking its workflow.
func (d *DreamRun) end(ctx context.Context, agent, dreamID string, ending func(*dream.Record) activities.Ending) error {
	record, err := memory.One[*dream.Record](ctx, d.Memory, agent, dreamID)
	if err != nil {
		return err
	}
	if !record.Unsettled() {
		return fmt.Errorf("dream %s has ended %s: %w", dreamID, record.Outcome, memory.ErrNotFound)
	}
	slots, err := d.Memory.Slots(ctx)
	if err != nil {
		return err
	}
	fence := memory.Fence{Dream: dreamID, Run: record.Run}
	if held := slots[agent]; held.Dream == dreamID {
		fence = held.Fence
	}
	run := core.At(d.Ports, activities.Stretch{Agent: agent, Dream: dreamID, Run: fence.Run})
	if _, err := d.close(ctx, run, record, ending(record)); err != nil {
		return err
	}
	if err := d.Memory.FreeSlot(ctx, agent, fence); err != nil {
		return err
	}
	return d.forget(ctx, dreamID)
}

// reap closes a dream whose workflow has closed, and whose record is open: the workflow was terminated or timed out, or
// the store has lost the end that it recorded.
func (d *DreamRun) reap(ctx context.Context, agent string, held memory.Slot) error {
	record, err := memory.One[*dream.Record](ctx, d.Memory, agent, held.Dream)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil || !record.Unsettled() {
		return err
	}
	ending, err := d.Executions.Ended(ctx, cmp.Or(held.Workflow, record.ID), held.Run)
	switch {
	case err != nil:
		return fmt.Errorf("ask how %s ended: %w", record.ID, err)
	case ending.Outcome != "":
	case record.Run == "":
		ending = activities.Ending{Outcome: dream.Canceled, Reason: "it was never begun"}
	case record.Outcome == dream.Interrupted && !record.Resumable(): // it had ended but not yet reported it
		ending = activities.Ending{Outcome: dream.Interrupted, Reason: "it may not be resumed", Tallies: record.Phases}
	default:
		ending.Outcome = dream.Canceled
	}
	run := core.At(d.Ports, activities.Stretch{Agent: agent, Dream: held.Dream, Run: held.Run})
	_, err = d.close(ctx, run, record, ending)
	return err
}

// closeOpen closes dreams that are still open but hold no slot: their start failed before they began, or their end
// failed after the slot was freed. Dreams that were undone are included: undoing a dream does not end it.
func (d *DreamRun) closeOpen(ctx context.Context, agents []dream.Agent, slots map[string]memory.Slot) (int, error) {
	closed := 0
	var faults []error
	for _, agent := range agents {
		open, err := d.Memory.Find(ctx, memory.Query{
			Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, States: []dream.State{dream.Live, dream.Archived},
			Statuses: []string{string(dream.Dreaming), dream.RecordWaits},
		})
		if err != nil {
			return closed, err
		}
		for _, record := range memory.As[*dream.Record](open) {
			if slots[agent.ID].Dream == record.ID {
				continue
			}
			done, err := d.closeRecord(ctx, record)
			if err != nil {
				faults = append(faults, err)
			}
			if done {
				closed++
			}
		}
	}
	return closed, errors.Join(faults...)
}

// closeRecord closes an abandoned dream, unless it has begun meanwhile.
func (d *DreamRun) closeRecord(ctx context.Context, record *dream.Record) (bool, error) {
	if d.elsewhere(record.Cluster) || d.Now().Sub(record.At) < leftBehind {
		return false, nil
	}
	running, err := d.Executions.Running(ctx, record.Workflow, record.Run)
	if err != nil || running {
		return false, err
	}
	held := memory.Slot{Fence: memory.Fence{Dream: record.ID, Run: record.Run}, Workflow: record.Workflow}
	if err := d.reap(ctx, record.Agent, held); errors.Is(err, memory.ErrStale) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("close %s, which was left behind: %w", record.ID, err)
	}
	return true, d.forget(ctx, record.ID)
}

// closeLeftovers settles reservations that an activity made after its dream was closed, and did not settle itself
// because its worker died.
func (d *DreamRun) closeLeftovers(ctx context.Context) (int, error) {
	open, err := d.Guard.Ledger.OpenDreams(ctx)
	if err != nil {
		return 0, err
	}
	closed := 0
	for _, id := range open {
		rows, err := d.Guard.Ledger.Rows(ctx, spend.Query{Dream: id, Limit: 1})
		if err != nil {
			return closed, err
		}
		for _, row := range rows {
			done, err := d.closeLeft(ctx, row.Agent, id)
			if err != nil {
				return closed, err
			}
			if done {
				closed++
			}
		}
	}
	return closed, nil
}

func (d *DreamRun) closeLeft(ctx context.Context, agent, id string) (bool, error) {
	record, err := memory.One[*dream.Record](ctx, d.Memory, agent, id)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		_, _, err = d.Guard.Ledger.Close(ctx, id, d.Now())
		return err == nil, err
	case err != nil || record.Unsettled():
		return false, err
	}
	run := core.At(d.Ports, activities.Stretch{Agent: agent, Dream: id, Run: record.Run})
	_, err = d.close(ctx, run, record,
		activities.Ending{Outcome: record.Outcome, Reason: record.Reason, Tallies: record.Phases})
	if err != nil {
		return false, err
	}
	return true, d.forget(ctx, id)
}

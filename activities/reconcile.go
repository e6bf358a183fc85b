package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// leftBehind is how old a night without an outcome must be before it can count as left behind. Whoever opens a record
// asks for its workflow at once and withdraws the record when nobody answers within 20 s (starter.Begin); five minutes
// leave room for hosts whose clocks differ, and for a person who starts by hand what was frozen.
const leftBehind = 5 * time.Minute

// Reconcile closes what dreams left open whose workflows do not run: their slots, their nights without an outcome, and
// their reservations. What runs on another cluster is left to that one. It answers how many dreams it put in order;
// what it cannot put in order keeps nobody else waiting.
func (b *DreamRun) Reconcile(ctx context.Context) (int, error) {
	slots, err := b.Memory.Slots(ctx)
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
		if b.elsewhere(held.Cluster) {
			continue
		}
		count(b.freeDead(ctx, agent, held))
	}
	count(b.closeOpen(ctx, slots))
	count(b.closeLeftovers(ctx))
	return closed, errors.Join(faults...)
}

// freeDead frees a slot whose dream's workflow is gone.
func (b *DreamRun) freeDead(ctx context.Context, agent string, held memory.Slot) (int, error) {
	running, err := b.Executions.Running(ctx, held.Workflow, held.Run)
	if err != nil || running {
		return 0, err
	}
	if err := b.reap(ctx, agent, held); err != nil {
		return 0, err
	}
	if err := b.Memory.FreeSlot(ctx, agent, held.Fence); err != nil {
		return 0, err
	}
	return 1, b.forget(ctx, held.Dream)
}

// elsewhere says whether something is carried by another cluster than the one we can ask.
func (b *DreamRun) elsewhere(cluster string) bool {
	return cluster != "" && cluster != b.Executions.Here()
}

// where tells of another cluster, and what to do when it is gone for good; of ours it has nothing to tell.
func (b *DreamRun) where(cluster string) string {
	if !b.elsewhere(cluster) {
		return ""
	}
	return fmt.Sprintf(
		" on another Temporal cluster, %s, which cannot be asked from here; if that one is gone for good, abandon the dream",
		cluster)
}

// Abandon closes a dream whatever its cluster would say, by the word of a person who knows that the cluster is gone.
// Should its workflow live all the same, the store refuses what it writes. memory.ErrNotFound when the dream does not
// go on.
func (b *DreamRun) Abandon(ctx context.Context, agent, dreamID string) error {
	record, err := memory.One[*dream.Record](ctx, b.Memory, agent, dreamID)
	if err != nil {
		return err
	}
	if !record.Unsettled() {
		return fmt.Errorf("dream %s has ended %s: %w", dreamID, record.Outcome, memory.ErrNotFound)
	}
	slots, err := b.Memory.Slots(ctx)
	if err != nil {
		return err
	}
	fence := memory.Fence{Dream: dreamID, Run: record.Run}
	if held := slots[agent]; held.Dream == dreamID {
		fence = held.Fence
	}
	s := Stretch{Agent: agent, Dream: dreamID, Run: fence.Run}
	if _, err := b.close(ctx, s, record, Ending{Outcome: dream.Canceled, Reason: "it was abandoned"}); err != nil {
		return err
	}
	if err := b.Memory.FreeSlot(ctx, agent, fence); err != nil {
		return err
	}
	return b.forget(ctx, dreamID)
}

// reap closes the books of a dream whose workflow is gone without having risen: terminated, or timed out.
func (b *DreamRun) reap(ctx context.Context, agent string, held memory.Slot) error {
	record, err := memory.One[*dream.Record](ctx, b.Memory, agent, held.Dream)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil || !record.Unsettled() {
		return err
	}
	ending := Ending{Outcome: dream.Canceled, Reason: "its workflow was terminated"}
	switch {
	case record.Run == "":
		ending.Reason = "it was never begun"
	case record.Outcome == dream.Interrupted && !record.Resumable(): // it had ended already, and was about to say so
		ending = Ending{Outcome: dream.Interrupted, Reason: "it may not be resumed", Tallies: record.Phases}
	}
	s := Stretch{Agent: agent, Dream: held.Dream, Run: held.Run}
	_, err = b.close(ctx, s, record, ending)
	return err
}

// closeOpen closes the nights whose books are open and that hold no slot: their beginning broke off before they lay
// down, or their end before it was written, which is after the slot is free when a knock has ended them for good.
// Nights that were undone are looked at too: undoing a dream does not end it.
func (b *DreamRun) closeOpen(ctx context.Context, slots map[string]memory.Slot) (int, error) {
	agents, err := b.Memory.Agents(ctx)
	if err != nil {
		return 0, err
	}
	closed := 0
	var faults []error
	for _, agent := range agents {
		open, err := b.Memory.Find(ctx, memory.Query{
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
			done, err := b.closeRecord(ctx, record)
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

// closeRecord closes a night that was left behind. One that has lain down meanwhile is let be.
func (b *DreamRun) closeRecord(ctx context.Context, record *dream.Record) (bool, error) {
	if b.elsewhere(record.Cluster) || b.Now().Sub(record.At) < leftBehind {
		return false, nil
	}
	running, err := b.Executions.Running(ctx, record.Workflow, record.Run)
	if err != nil || running {
		return false, err
	}
	held := memory.Slot{Fence: memory.Fence{Dream: record.ID, Run: record.Run}, Workflow: record.Workflow}
	if err := b.reap(ctx, record.Agent, held); errors.Is(err, memory.ErrStale) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("close %s, which was left behind: %w", record.ID, err)
	}
	return true, b.forget(ctx, record.ID)
}

// closeLeftovers counts as spent what a deed reserved after its dream was closed, and died with: the slot is gone by
// then.
func (b *DreamRun) closeLeftovers(ctx context.Context) (int, error) {
	open, err := b.Guard.Ledger.OpenDreams(ctx)
	if err != nil {
		return 0, err
	}
	closed := 0
	for _, id := range open {
		rows, err := b.Guard.Ledger.Rows(ctx, spend.Query{Dream: id, Limit: 1})
		if err != nil {
			return closed, err
		}
		for _, row := range rows {
			done, err := b.closeLeft(ctx, row.Agent, id)
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

func (b *DreamRun) closeLeft(ctx context.Context, agent, id string) (bool, error) {
	record, err := memory.One[*dream.Record](ctx, b.Memory, agent, id)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		_, _, err = b.Guard.Ledger.Close(ctx, id, b.Now())
		return err == nil, err
	case err != nil || record.Unsettled():
		return false, err
	}
	s := Stretch{Agent: agent, Dream: id, Run: record.Run}
	_, err = b.close(ctx, s, record, Ending{Outcome: record.Outcome, Reason: record.Reason, Tallies: record.Phases})
	if err != nil {
		return false, err
	}
	return true, b.forget(ctx, id)
}

package dreamrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// stretchOf is the stretch that is to begin; its epoch is not known yet.
func stretchOf(r activities.BeginRequest) activities.Stretch {
	return activities.Stretch{Agent: r.Spec.Agent, Dream: r.Spec.Dream, Run: r.Run, Now: r.Now}
}

// Begin begins a stretch; it is the first activity of each. The first stretch of a dream takes the agent's dreaming
// slot, reserves the day's allowance and writes the record; a spec that its agent, the deployment or the catalogue does
// not allow is refused as aborted. A later stretch takes the slot again and resumes the dream. Repeating Begin for the
// same stretch changes nothing.
func (d *DreamRun) Begin(ctx context.Context, r activities.BeginRequest) (activities.BeginResult, error) {
	result, err := d.begin(ctx, r)
	if errors.Is(err, memory.ErrWoken) { // between taking the slot and writing the record
		return d.refuseAwake(ctx, r, "was woken before the dream began")
	}
	return result, err
}

func (d *DreamRun) begin(ctx context.Context, r activities.BeginRequest) (activities.BeginResult, error) {
	run := &core.Run{Ports: d.Ports, Stretch: stretchOf(r), Spec: r.Spec}
	if r.Spec.Alone && r.Stretch < 2 {
		if err := d.openRecord(ctx, run); err != nil {
			return activities.BeginResult{}, err
		}
	}
	record, err := run.Record(ctx)
	switch missing := errors.Is(err, memory.ErrNotFound); {
	case missing && r.Stretch > 1:
		return unrecorded, nil
	case err != nil && !missing:
		return activities.BeginResult{}, err
	case err == nil && hasEnded(record, r): // also while the agent is awake, or dreams another dream
		return ended(record), nil
	case err == nil && alreadyOver(record, r):
		return late(record, r), nil
	}
	held, err := d.takeSlot(ctx, run, r.Workflow)
	switch {
	case errors.Is(err, memory.ErrAwake):
		return d.refuseAwake(ctx, r, "is awake: it was woken before the dream began")
	case errors.Is(err, memory.ErrTaken):
		return d.refuse(ctx, r, dream.Canceled,
			fmt.Sprintf("%s is already dreaming %s%s", r.Spec.Handle, held.Dream, d.where(held)))
	case err != nil:
		return activities.BeginResult{}, err
	}
	run.Epoch = held.Epoch
	record, err = run.Record(ctx)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return unrecorded, run.FreeSlot(ctx)
	case err != nil:
		return activities.BeginResult{}, errors.Join(err, run.FreeSlot(ctx))
	case record.Outcome != dream.Dreaming && record.Run != r.Run:
		return d.over(ctx, record, r.Run)
	case alreadyOver(record, r) && record.Outcome == dream.Dreaming:
		return late(record, r), nil
	case hasEnded(record, r):
		return ended(record), run.FreeSlot(ctx)
	case alreadyOver(record, r):
		return late(record, r), run.FreeSlot(ctx)
	case r.Stretch > 1:
		return d.resume(ctx, run, r, record)
	}
	return d.beginFirst(ctx, run, r, record)
}

// noRecord is why a dream ends whose record is not in the store.
const noRecord = "the store has no record of it: it was put back to an earlier state, or lost its newest writes"

// unrecorded refuses a stretch of a dream whose record is not in the store.
var unrecorded = activities.BeginResult{Refused: dream.Aborted, Reason: noRecord}

// beginFirst begins the first stretch of a dream that holds the slot.
func (d *DreamRun) beginFirst(ctx context.Context, run *core.Run, r activities.BeginRequest,
	record *dream.Record,
) (activities.BeginResult, error) {
	spec := r.Spec
	if record.Run == r.Run && record.Outcome == dream.Dreaming {
		// It has begun, and the answer was lost. Whatever has happened since, such as a wake, meets a running dream.
		left, err := core.Remaining(ctx, run, spec.Accounts)
		return activities.BeginResult{Remaining: left, Epoch: run.Epoch}, err
	}
	faults, err := d.beyond(ctx, spec)
	if err != nil {
		return activities.BeginResult{}, errors.Join(err, run.FreeSlot(ctx))
	}
	if faults != "" {
		return d.refuse(ctx, r, dream.Aborted, faults)
	}
	body, err := json.Marshal(spec)
	if err != nil {
		return activities.BeginResult{}, fmt.Errorf("write the spec of %s: %w", spec.Dream, err)
	}
	if _, err := run.PutNote(ctx, core.SpecNote, body); err != nil {
		return activities.BeginResult{}, err
	}
	if !spec.Free {
		err = d.Guard.Ledger.Allow(ctx, spec.Agent, spec.Day, spec.Dream, spec.Budget, spec.DayLimit)
		if over, ok := spend.AsOverCap(err); ok {
			return d.refuse(ctx, r, dream.Exhausted, over.Error())
		}
		if err != nil {
			return activities.BeginResult{}, err
		}
	}
	d.resolvePredictions(ctx, run)
	if err := core.LearnMarkers(ctx, run); err != nil {
		return activities.BeginResult{}, err
	}
	if err := newProber(run).before(ctx); err != nil {
		return activities.BeginResult{}, err
	}
	affect, err := d.Memory.Affect(ctx, spec.Agent)
	if err != nil {
		return activities.BeginResult{}, err
	}
	episodes, err := memory.CountEpisodes(ctx, d.Memory, spec.Agent)
	if err != nil {
		return activities.BeginResult{}, err
	}
	record.Workflow, record.Cluster, record.Run = r.Workflow, d.Executions.ClusterID(), r.Run
	record.Affect(affect, spec.AsOf)
	record.Stretches, record.Open, record.Episodes = 1, true, &episodes
	err = run.Write(ctx, memory.Write{
		Change: []dream.Item{record},
		Events: []event.Event{run.Event("begin/"+r.Run, started(spec))},
	})
	if err != nil {
		return activities.BeginResult{}, err
	}
	left, err := core.Remaining(ctx, run, run.Spec.Accounts)
	return activities.BeginResult{Remaining: left, Epoch: run.Epoch}, err
}

// resolvePredictions counts the agent's claims and resolves its open predictions that a program can decide by the time
// as of which the dream is dreamt, so that the dream learns from them, and drops those that are more than may be open.
// A failure does not stop the dream: the server looks again within a minute.
func (d *DreamRun) resolvePredictions(ctx context.Context, run *core.Run) {
	resolver := d.Resolver()
	resolver.Now = func() time.Time { return run.Spec.AsOf }
	_, looked := resolver.LookUp(ctx, run.Agent)
	_, dropped := resolver.DropSurplus(ctx, run.Agent)
	if err := errors.Join(looked, dropped); err != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("open predictions could not be resolved before the dream", "error", err)
	}
}

// refuseAwake refuses a stretch because its agent is awake. The record of a later stretch stays as it is.
func (d *DreamRun) refuseAwake(ctx context.Context, r activities.BeginRequest,
	reason string,
) (activities.BeginResult, error) {
	result := activities.BeginResult{Refused: dream.Canceled, Reason: r.Spec.Handle + " " + reason, Awake: true}
	if r.Stretch > 1 {
		return result, nil
	}
	refused, err := d.refuse(ctx, r, result.Refused, result.Reason)
	refused.Awake = true
	return refused, err
}

// alreadyOver says whether the stretch to begin is over already. A worker that was suspended while another one ran the
// stretch would otherwise begin it a second time, with no workflow behind it.
func alreadyOver(record *dream.Record, r activities.BeginRequest) bool {
	n := max(1, r.Stretch)
	return record.Run == r.Run && (record.Stretches > n || record.Stretches == n && record.Outcome == dream.Interrupted)
}

// late refuses a stretch that is over already, as of a workflow that was reset to a point before its end.
func late(record *dream.Record, r activities.BeginRequest) activities.BeginResult {
	before := "before it was woken"
	if record.Stretches > max(1, r.Stretch) {
		before = fmt.Sprintf("before its stretch %d", record.Stretches)
	}
	return activities.BeginResult{
		Refused: dream.Interrupted,
		Reason:  "its workflow was reset to a point " + before + ", from which it cannot go on",
	}
}

// hasEnded says whether the dream has ended in the stretch to begin, or in a later one.
func hasEnded(record *dream.Record, r activities.BeginRequest) bool {
	return record.Run == r.Run && max(1, record.Stretches) >= max(1, r.Stretch) &&
		record.Outcome != dream.Dreaming && record.Outcome != dream.Interrupted
}

// ended refuses a stretch of a dream whose workflow was reset after the dream had ended. It tells how the dream ended.
func ended(record *dream.Record) activities.BeginResult {
	return activities.BeginResult{
		Refused: record.Outcome,
		Reason: fmt.Sprintf("it had ended %s before its workflow was reset, which dreams and pays nothing again; "+
			"oneiros dreams redream %s dreams it anew", record.Outcome, record.ID),
		Spent:   record.Spent,
		Tallies: record.Phases,
	}
}

// openRecord writes the record of an automatic dream, of which planning has written nothing, so that an abandoned plan
// leaves nothing behind. An existing record is kept.
func (d *DreamRun) openRecord(ctx context.Context, run *core.Run) error {
	affect, err := d.Memory.Affect(ctx, run.Agent)
	if err != nil {
		return err
	}
	record := run.Spec.Record("", affect, run.Now())
	record.Cluster = d.Executions.ClusterID()
	if _, err := d.Memory.Commit(ctx,
		memory.Write{Agent: run.Agent, Cause: run.Dream, Add: []dream.Item{record}}); err != nil {
		return fmt.Errorf("open the record of %s: %w", run.Dream, err)
	}
	return nil
}

// takeSlot takes the dreaming slot, if necessary from a dream whose workflow has closed: it closes the record of that
// dream first, and drops its recorded answers afterwards. Whether a dream of another cluster still runs cannot be known
// here, so its slot is left alone.
func (d *DreamRun) takeSlot(ctx context.Context, run *core.Run, workflow string) (memory.Slot, error) {
	want := memory.Slot{
		Fence: memory.Fence{Dream: run.Dream, Run: run.Run}, Workflow: workflow,
		Cluster: d.Executions.ClusterID(), Since: run.Now(),
	}
	held, err := d.Memory.TakeSlot(ctx, run.Agent, want, memory.Fence{})
	if !errors.Is(err, memory.ErrTaken) || d.elsewhere(held.Cluster) {
		return held, err
	}
	running, lookErr := d.Executions.Running(ctx, held.Workflow, held.Run)
	if lookErr != nil {
		return held, fmt.Errorf("ask whether %s still runs: %w", held.Workflow, lookErr)
	}
	if running {
		return held, err
	}
	if err := d.reap(ctx, run.Agent, held); err != nil {
		return held, err
	}
	taken, err := d.Memory.TakeSlot(ctx, run.Agent, want, held.Fence)
	if err == nil {
		d.release(ctx, held.Dream)
	}
	return taken, err
}

// started announces a dream and the dream that it continues from.
func started(spec activities.Spec) event.DreamStarted {
	e := event.DreamStarted{Tier: spec.Tier, Seed: spec.Seed, Budget: spec.Budget}
	if spec.Redreams != nil {
		e.Redreams, e.From = spec.Redreams.Dream, spec.Redreams.From
	}
	return e
}

package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// BeginRequest begins a stretch.
type BeginRequest struct {
	Spec     Spec        `json:"order"`
	Workflow string      `json:"workflow"`
	Run      string      `json:"run"`
	Stretch  int         `json:"sitting,omitempty"` // 2, 3, … when a dream is resumed
	Now      time.Time   `json:"now,omitzero"`      // the workflow's time
	Phase    dream.Phase `json:"phase,omitempty"`   // the phase in which it continues
}

// stretch is the stretch that is to begin; its epoch is not known yet.
func (r BeginRequest) stretch() Stretch {
	return Stretch{Agent: r.Spec.Agent, Dream: r.Spec.Dream, Run: r.Run, Now: r.Now}
}

// BeginResult says whether the dream may run.
type BeginResult struct {
	Refused   dream.Outcome `json:"refused,omitempty"` // canceled, exhausted or aborted; empty: it may run
	Reason    string        `json:"reason,omitempty"`
	Remaining budget.Micros `json:"remaining"` // what all caps above the phases still allow
	Epoch     int64         `json:"epoch,omitempty"`
	Awake     bool          `json:"awake,omitempty"` // refused because the agent is held awake
}

// LieDown begins a dream: it takes the agent's dreaming slot, reserves the day's allowance and writes the record. A
// spec that would spend more than its agent may is refused as aborted. It is the first activity of every stretch;
// repeating it changes nothing.
func (b *DreamRun) LieDown(ctx context.Context, r BeginRequest) (BeginResult, error) {
	result, err := b.begin(ctx, r)
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == FailWoken { // woken between taking the slot and writing the record
		reason := r.Spec.Handle + " was woken before the dream began"
		return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true},
			b.refuse(ctx, r.Spec, r.stretch(), dream.Canceled, reason)
	}
	return result, err
}

func (b *DreamRun) begin(ctx context.Context, r BeginRequest) (BeginResult, error) {
	spec := r.Spec
	s := r.stretch()
	if spec.Alone && r.Stretch < 2 {
		if err := b.open(ctx, spec, b.now(s)); err != nil {
			return BeginResult{}, toApplicationError(err)
		}
	}
	if r.Stretch > 1 {
		record, err := memory.One[*dream.Record](ctx, b.Memory, spec.Agent, spec.Dream)
		if err != nil {
			return BeginResult{}, toApplicationError(err)
		}
		if alreadyOver(record, r) {
			return late(r), nil
		}
	}
	held, err := b.takeSlot(ctx, s, r.Workflow)
	if errors.Is(err, memory.ErrAwake) {
		reason := spec.Handle + " is awake: it was woken before the dream began"
		if r.Stretch > 1 {
			return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true}, nil
		}
		return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true},
			b.refuse(ctx, spec, r.stretch(), dream.Canceled, reason)
	}
	if errors.Is(err, memory.ErrTaken) {
		reason := fmt.Sprintf("%s is already dreaming %s%s", spec.Handle, held.Dream, b.where(held.Cluster))
		return BeginResult{Refused: dream.Canceled, Reason: reason},
			b.refuse(ctx, spec, r.stretch(), dream.Canceled, reason)
	}
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	s.Epoch = held.Epoch
	record, err := memory.One[*dream.Record](ctx, b.Memory, spec.Agent, spec.Dream)
	if err != nil {
		return BeginResult{}, toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, spec.Agent, s.fence())))
	}
	if record.Outcome != dream.Dreaming && record.Run != r.Run {
		return b.over(ctx, record, r.Run)
	}
	if alreadyOver(record, r) {
		if record.Outcome == dream.Dreaming {
			return late(r), nil
		}
		return late(r), toApplicationError(b.Memory.FreeSlot(ctx, spec.Agent, s.fence()))
	}
	if r.Stretch > 1 {
		return b.resume(ctx, s, r, record)
	}
	if record.Run != r.Run { // caps that are lowered later do not affect a running dream
		faults, err := b.beyond(ctx, spec)
		if err != nil {
			return BeginResult{}, toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, spec.Agent, s.fence())))
		}
		if faults != "" {
			return BeginResult{Refused: dream.Aborted, Reason: faults},
				b.refuse(ctx, spec, r.stretch(), dream.Aborted, faults)
		}
	}
	body, err := json.Marshal(spec)
	if err != nil {
		return BeginResult{}, fmt.Errorf("write the spec of %s: %w", spec.Dream, err)
	}
	if _, err := b.Memory.PutNote(ctx, spec.Agent, s.fence(), specNote, body); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	if !spec.Free {
		err = b.Guard.Ledger.Allow(ctx, spec.Agent, spec.Day, spec.Dream, spec.Budget, spec.DayLimit)
		if over, ok := spend.AsOverCap(err); ok {
			return BeginResult{Refused: dream.Exhausted, Reason: over.Error()},
				b.refuse(ctx, spec, r.stretch(), dream.Exhausted, over.Error())
		}
		if err != nil {
			return BeginResult{}, toApplicationError(err)
		}
	}
	if err := b.learn(ctx, spec, s); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	if err := b.before(ctx, spec, s); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	affect, err := b.Memory.Affect(ctx, spec.Agent)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	record.Workflow, record.Cluster, record.Run = r.Workflow, b.Executions.ClusterID(), r.Run
	record.Affect(affect, spec.AsOf)
	record.Stretches, record.Open = 1, true
	episodes, err := everLived(ctx, b.Memory, spec.Agent)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	record.Episodes = &episodes
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{record},
		Events: []event.Event{b.event(s, "begin/"+r.Run, started(spec))},
	})
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	left, err := b.remaining(ctx, spec)
	return BeginResult{Remaining: left, Epoch: s.Epoch}, toApplicationError(err)
}

// alreadyOver says whether the stretch to begin is over already. A worker that was suspended while another one ran the
// stretch would otherwise begin it a second time, with no workflow behind it.
func alreadyOver(record *dream.Record, r BeginRequest) bool {
	n := max(1, r.Stretch)
	return record.Run == r.Run && (record.Stretches > n || record.Stretches == n && record.Outcome == dream.Interrupted)
}

// late refuses a stretch that is over already.
func late(r BeginRequest) BeginResult {
	return BeginResult{
		Refused: dream.Interrupted,
		Reason:  fmt.Sprintf("stretch %d of %s is over already", max(1, r.Stretch), r.Spec.Dream),
	}
}

// open writes the record of an automatic dream, of which planning has written nothing, so that an abandoned plan
// leaves nothing behind. An existing record is kept.
func (b *DreamRun) open(ctx context.Context, spec Spec, now time.Time) error {
	affect, err := b.Memory.Affect(ctx, spec.Agent)
	if err != nil {
		return err
	}
	record := spec.Record("", affect, now)
	record.Cluster = b.Executions.ClusterID()
	if _, err := b.Memory.Commit(ctx,
		memory.Write{Agent: spec.Agent, Cause: spec.Dream, Add: []dream.Item{record}}); err != nil {
		return fmt.Errorf("open the record of %s: %w", spec.Dream, err)
	}
	return nil
}

// takeSlot takes the dreaming slot, if necessary from a dream whose workflow has closed, after releasing what that
// dream had reserved. Whether a dream of another cluster still runs cannot be known here, so its slot is left alone.
func (b *DreamRun) takeSlot(ctx context.Context, s Stretch, workflow string) (memory.Slot, error) {
	want := memory.Slot{
		Fence: memory.Fence{Dream: s.Dream, Run: s.Run}, Workflow: workflow,
		Cluster: b.Executions.ClusterID(), Since: b.now(s),
	}
	held, err := b.Memory.TakeSlot(ctx, s.Agent, want, memory.Fence{})
	if !errors.Is(err, memory.ErrTaken) || b.elsewhere(held.Cluster) {
		return held, err
	}
	running, lookErr := b.Executions.Running(ctx, held.Workflow, held.Run)
	if lookErr != nil {
		return held, fmt.Errorf("ask whether %s still runs: %w", held.Workflow, lookErr)
	}
	if running {
		return held, err
	}
	if err := b.reap(ctx, s.Agent, held); err != nil {
		return held, err
	}
	taken, err := b.Memory.TakeSlot(ctx, s.Agent, want, held.Fence)
	if err == nil {
		b.release(ctx, held.Dream)
	}
	return taken, err
}

// started announces a dream and the dream that it continues from.
func started(spec Spec) event.DreamStarted {
	e := event.DreamStarted{Tier: spec.Tier, Seed: spec.Seed, Budget: spec.Budget}
	if spec.Redreams != nil {
		e.Redreams, e.From = spec.Redreams.Dream, spec.Redreams.From
	}
	return e
}

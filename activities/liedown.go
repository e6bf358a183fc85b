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

// BeginRequest begins a sitting.
type BeginRequest struct {
	Spec     Spec        `json:"order"`
	Workflow string      `json:"workflow"`
	Run      string      `json:"run"`
	Stretch  int         `json:"sitting,omitempty"` // 2, 3, … of a dream that goes on after an interruption
	Now      time.Time   `json:"now,omitzero"`      // the workflow's
	Phase    dream.Phase `json:"phase,omitempty"`   // where it goes on
}

// seat is the sitting that is to begin; its epoch is not known yet.
func (r BeginRequest) seat() Stretch {
	return Stretch{Agent: r.Spec.Agent, Dream: r.Spec.Dream, Run: r.Run, Now: r.Now}
}

// BeginResult says whether the dream may go on.
type BeginResult struct {
	Refused   dream.Outcome `json:"refused,omitempty"` // canceled, exhausted or aborted; empty: go on
	Reason    string        `json:"reason,omitempty"`
	Remaining budget.Micros `json:"remaining"` // what every cap above the phases still allows
	Epoch     int64         `json:"epoch,omitempty"`
	Awake     bool          `json:"awake,omitempty"` // refused because somebody holds the agent awake
}

// LieDown takes the agent's dreaming slot (O2) and the day's allowance, and writes the beginning of the night. An order
// that would spend more than its agent may is refused as aborted. It is the first deed of every dream; done twice it
// changes nothing.
func (b *DreamRun) LieDown(ctx context.Context, r BeginRequest) (BeginResult, error) {
	result, err := b.begin(ctx, r)
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == FailWoken { // between taking the slot and writing the beginning
		reason := r.Spec.Handle + " was woken before the dream lay down"
		return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true},
			b.refuse(ctx, r.Spec, r.seat(), dream.Canceled, reason)
	}
	return result, err
}

func (b *DreamRun) begin(ctx context.Context, r BeginRequest) (BeginResult, error) {
	o := r.Spec
	s := r.seat()
	if o.Alone && r.Stretch < 2 {
		if err := b.open(ctx, o, b.now(s)); err != nil {
			return BeginResult{}, toApplicationError(err)
		}
	}
	if r.Stretch > 1 {
		record, err := memory.One[*dream.Record](ctx, b.Memory, o.Agent, o.Dream)
		if err != nil {
			return BeginResult{}, toApplicationError(err)
		}
		if lain(record, r) {
			return late(r), nil
		}
	}
	held, err := b.takeSlot(ctx, s, r.Workflow)
	if errors.Is(err, memory.ErrAwake) {
		reason := o.Handle + " is awake: somebody woke it before the dream lay down"
		if r.Stretch > 1 {
			return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true}, nil
		}
		return BeginResult{Refused: dream.Canceled, Reason: reason, Awake: true},
			b.refuse(ctx, o, r.seat(), dream.Canceled, reason)
	}
	if errors.Is(err, memory.ErrTaken) {
		reason := fmt.Sprintf("%s is already dreaming %s%s", o.Handle, held.Dream, b.where(held.Cluster))
		return BeginResult{Refused: dream.Canceled, Reason: reason}, b.refuse(ctx, o, r.seat(), dream.Canceled, reason)
	}
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	s.Epoch = held.Epoch
	record, err := memory.One[*dream.Record](ctx, b.Memory, o.Agent, o.Dream)
	if err != nil {
		return BeginResult{}, toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
	}
	if record.Outcome != dream.Dreaming && record.Run != r.Run {
		return b.over(ctx, record, r.Run)
	}
	if lain(record, r) {
		if record.Outcome == dream.Dreaming {
			return late(r), nil
		}
		return late(r), toApplicationError(b.Memory.FreeSlot(ctx, o.Agent, s.fence()))
	}
	if r.Stretch > 1 {
		return b.goOn(ctx, s, r, record)
	}
	if record.Run != r.Run { // caps that are lowered later do not reach into a running dream (decision 6)
		faults, err := b.beyond(ctx, o)
		if err != nil {
			return BeginResult{}, toApplicationError(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
		}
		if faults != "" {
			return BeginResult{Refused: dream.Aborted, Reason: faults},
				b.refuse(ctx, o, r.seat(), dream.Aborted, faults)
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		return BeginResult{}, fmt.Errorf("write down the order of %s: %w", o.Dream, err)
	}
	if _, err := b.Memory.PutNote(ctx, o.Agent, s.fence(), specNote, body); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	if !o.Free {
		err = b.Guard.Ledger.Allow(ctx, o.Agent, o.Day, o.Dream, o.Budget, o.DayLimit)
		if over, ok := spend.AsOverCap(err); ok {
			return BeginResult{Refused: dream.Exhausted, Reason: over.Error()},
				b.refuse(ctx, o, r.seat(), dream.Exhausted, over.Error())
		}
		if err != nil {
			return BeginResult{}, toApplicationError(err)
		}
	}
	if err := b.learn(ctx, o, s); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	if err := b.before(ctx, o, s); err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	affect, err := b.Memory.Affect(ctx, o.Agent)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	record.Workflow, record.Cluster, record.Run = r.Workflow, b.Executions.Here(), r.Run
	record.Affect(affect, o.AsOf)
	record.Stretches, record.Open = 1, true
	episodes, err := everLived(ctx, b.Memory, o.Agent)
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	record.Episodes = &episodes
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{record},
		Events: []event.Event{b.event(s, "begin/"+r.Run, started(o))},
	})
	if err != nil {
		return BeginResult{}, toApplicationError(err)
	}
	left, err := b.remaining(ctx, o)
	return BeginResult{Remaining: left, Epoch: s.Epoch}, toApplicationError(err)
}

// lain says whether the sitting that is to begin is over already. A worker that stood still for so long that another
// did this in its place would begin it once more, and nobody would dream it.
func lain(record *dream.Record, r BeginRequest) bool {
	n := max(1, r.Stretch)
	return record.Run == r.Run && (record.Stretches > n || record.Stretches == n && record.Outcome == dream.Interrupted)
}

func late(r BeginRequest) BeginResult {
	return BeginResult{
		Refused: dream.Interrupted,
		Reason:  fmt.Sprintf("sitting %d of %s is over already", max(1, r.Stretch), r.Spec.Dream),
	}
}

// open writes the record of a dream that begins by itself: nothing of it was written when it was planned, so that a
// plan which comes to nothing leaves nothing behind. A record that exists stays as it is.
func (b *DreamRun) open(ctx context.Context, o Spec, now time.Time) error {
	affect, err := b.Memory.Affect(ctx, o.Agent)
	if err != nil {
		return err
	}
	record := o.Record("", affect, now)
	record.Cluster = b.Executions.Here()
	if _, err := b.Memory.Commit(ctx,
		memory.Write{Agent: o.Agent, Cause: o.Dream, Add: []dream.Item{record}}); err != nil {
		return fmt.Errorf("open the record of %s: %w", o.Dream, err)
	}
	return nil
}

// takeSlot takes the slot, and takes it over from a dream whose workflow has closed, booking what that one left open.
// Of a dream on another cluster nobody here can say whether it has: its slot is its own.
func (b *DreamRun) takeSlot(ctx context.Context, s Stretch, workflow string) (memory.Slot, error) {
	want := memory.Slot{
		Fence: memory.Fence{Dream: s.Dream, Run: s.Run}, Workflow: workflow,
		Cluster: b.Executions.Here(), Since: b.now(s),
	}
	held, err := b.Memory.TakeSlot(ctx, s.Agent, want, memory.Fence{})
	if !errors.Is(err, memory.ErrTaken) || b.elsewhere(held.Cluster) {
		return held, err
	}
	running, lookErr := b.Executions.Running(ctx, held.Workflow, held.Run)
	if lookErr != nil {
		return held, fmt.Errorf("look whether %s still runs: %w", held.Workflow, lookErr)
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

// started announces a dream, and which one it goes on from.
func started(o Spec) event.DreamStarted {
	e := event.DreamStarted{Tier: o.Tier, Seed: o.Seed, Budget: o.Budget}
	if o.Redreams != nil {
		e.Redreams, e.From = o.Redreams.Dream, o.Redreams.From
	}
	return e
}

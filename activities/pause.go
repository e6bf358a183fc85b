package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// PauseRequest ends a stretch that was woken.
type PauseRequest struct {
	Stretch
	// the wake that reached the workflow; zero when it reached only the activities
	Wake    Wake          `json:"wake"`
	Number  int           `json:"number"` // of the stretch, from 1
	Phase   dream.Phase   `json:"phase"`
	Cycle   int           `json:"cycle,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
	Cuts    []Cut         `json:"cuts,omitempty"`
	Light   bool          `json:"light,omitempty"`
	Forced  bool          `json:"forced,omitempty"`
	TTL     time.Duration `json:"ttl"`

	Onset bool `json:"onset,omitempty"` // an alarm during the onset ends the onset
}

// PauseResult is until when the dream may be resumed, and what woke it.
type PauseResult struct {
	Wake  Wake          `json:"wake"`
	Until time.Time     `json:"until,omitzero"` // zero: it cannot be resumed
	Left  budget.Micros `json:"left"`           // what all caps still allow
	Spent budget.Micros `json:"spent"`

	Tallies []dream.Tally `json:"tallies,omitempty"` // of the phases, from the spend ledger
}

// Pause ends a stretch that was woken: it judges the text of interrupted calls, keeps it in the journal or erases it,
// records the times of the wake, and frees the slot. Repeating it changes nothing.
func (b *DreamRun) Pause(ctx context.Context, r PauseRequest) (PauseResult, error) {
	result := PauseResult{Wake: r.Wake}
	record, err := memory.One[*dream.Record](ctx, b.Memory, r.Agent, r.Dream)
	if err != nil {
		return result, toApplicationError(err)
	}
	if record.Stretches > r.Number { // done late by a suspended worker: the slot belongs to a later stretch
		result.Until, result.Spent, result.Tallies = record.Until, record.Spent, record.Phases
		return result, nil
	}
	spec, err := b.spec(ctx, r.Stretch)
	if err != nil {
		return result, toApplicationError(err)
	}
	result.Left, err = b.remaining(ctx, spec)
	if err != nil {
		return result, toApplicationError(err)
	}
	last, err := b.roused(ctx, r, spec.Holds, &result)
	if err != nil {
		return result, toApplicationError(err)
	}
	judged, err := b.weigh(ctx, r.Stretch, r.Number, b.now(r.Stretch))
	if err != nil {
		return result, toApplicationError(err)
	}
	// left by a worker that died before erasing them
	if record.Outcome == dream.Interrupted && record.Stretches == r.Number {
		result.Until, result.Spent, result.Tallies = record.Until, record.Spent, record.Phases
		return result, toApplicationError(b.putDown(ctx, r, judged))
	}
	if err := b.book(ctx, r, record, spec, &result, last, judged); err != nil {
		return result, toApplicationError(err)
	}
	return result, toApplicationError(b.putDown(ctx, r, judged))
}

// putDown erases the judged snapshots and frees the slot, in parallel because a client is waiting.
func (b *DreamRun) putDown(ctx context.Context, r PauseRequest, j judgedSnapshots) error {
	var erased error
	var beside sync.WaitGroup
	if len(j.keys) > 0 { // without keys DropNotes would drop all notes of the dream
		beside.Go(func() {
			erased = b.Memory.DropNotes(ctx, r.Agent, r.Dream, j.keys...)
			if erased != nil {
				erased = fmt.Errorf("erase what was judged of %s: %w", r.Dream, erased)
			}
		})
	}
	err := b.Memory.FreeSlot(ctx, r.Agent, r.fence())
	beside.Wait()
	return errors.Join(erased, err)
}

// roused finds what woke the agent, and raises the epoch if nothing has: then a signal without an epoch reached the
// dream itself.
func (b *DreamRun) roused(ctx context.Context, r PauseRequest, holds *Holds,
	result *PauseResult,
) (presence.Wake, error) {
	status, err := b.Presence.Status(ctx, r.Agent, b.now(r.Stretch))
	if err != nil {
		return presence.Wake{}, fmt.Errorf("ask what woke %s: %w", r.Agent, err)
	}
	if status.Epoch <= r.Epoch {
		request := RouseRequest{Agent: r.Agent, Wake: r.Wake, Now: r.Now}
		if request.Wake.Hold <= 0 {
			request.Wake.Hold = holds.of(r.Wake.Cause)
		}
		if holds != nil {
			request.Lock = holds.Lock
		}
		raised, err := b.Rouse(ctx, request)
		if err != nil {
			return presence.Wake{}, err
		}
		result.Wake = raised.Wake
		status, err = b.Presence.Status(ctx, r.Agent, b.now(r.Stretch))
		if err != nil {
			return presence.Wake{}, fmt.Errorf("ask what woke %s: %w", r.Agent, err)
		}
	}
	last := presence.Wake{Agent: r.Agent, Epoch: status.Epoch, Cause: r.Wake.Cause, At: r.Wake.At}
	if status.Last != nil {
		last = *status.Last
	}
	w := &result.Wake
	w.Epoch = last.Epoch
	if w.Cause == "" {
		w.Cause, w.Client = last.Cause, last.Client
	}
	if w.At.IsZero() {
		w.At = last.At
	}
	if w.Cause == presence.Alarm && w.Trigger == "" {
		w.Trigger = strings.TrimPrefix(last.Client, alarmed)
	}
	return last, nil
}

// book writes the record, the events and the journal entry of an interrupted stretch in one step.
func (b *DreamRun) book(ctx context.Context, r PauseRequest, record *dream.Record, spec Spec, result *PauseResult,
	last presence.Wake, j judgedSnapshots,
) error {
	now := b.now(r.Stretch)
	rows, err := b.Guard.Ledger.Rows(ctx, spend.Query{Dream: r.Dream})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", r.Dream, err)
	}
	record.Spent = 0
	for _, row := range rows {
		record.Spent += row.Counted
	}
	record.Phases = nil
	for _, t := range r.Tallies {
		record.Phases = append(record.Phases, sumUp(t, rows))
	}
	if err := b.counted(ctx, r.Stretch, record.Phases, nil); err != nil {
		return err
	}
	if spec.ResumeTTL > 0 && r.TTL > 0 && (spec.Free || result.Left > 0) {
		result.Until = now.Add(spec.ResumeTTL)
	}
	record.Outcome = dream.Interrupted
	record.Ended = now.UTC()
	record.Until = result.Until.UTC()
	record.Stretches = r.Number
	record.Reason = becauseOf(result.Wake)
	if last.Dream == r.Dream {
		record.After, record.AfterAt = last.Affect, last.At.UTC()
	}
	moved, found, err := b.shifted(ctx, r, record, last)
	if err != nil {
		return err
	}
	if moved {
		record.Connected, err = b.felt(ctx, r, spec, record, last)
		if err != nil {
			return err
		}
	}
	result.Spent, result.Tallies = record.Spent, record.Phases

	times := r.times(result.Wake, now)
	interrupted := event.DreamInterrupted{
		Cause:        string(result.Wake.Cause),
		Epoch:        result.Wake.Epoch,
		Stretch:      r.Number,
		Phase:        r.Phase,
		Cycle:        r.Cycle,
		Light:        r.Light,
		Forced:       r.Forced,
		Receipt:      milliseconds(times.Receipt),
		Stop:         milliseconds(times.Stop),
		Preserve:     milliseconds(times.Preserve),
		Switch:       milliseconds(times.Switch),
		Partials:     j.partials,
		Significance: j.significance,
		Until:        result.Until.UTC(),
		DeltaUnknown: !found,
	}
	if found && moved {
		interrupted.Delta = last.Delta
	}
	w := memory.Write{Late: true, Change: []dream.Item{record}}
	if j.entry != nil {
		j.entry.Wake = &times
		interrupted.Journal = j.entry.ID
		w.Add = append(w.Add, j.entry)
	}
	activityName := fmt.Sprintf("sitting-%d/%s", r.Number, r.Run)
	if r.Onset && result.Wake.Cause == presence.Alarm {
		w.Events = append(w.Events, b.event(r.Stretch, activityName, event.AlarmAbort{
			Trigger: result.Wake.Trigger, Fragments: r.Kept, Spent: spentIn(record.Phases, dream.Onset),
		}))
	}
	w.Events = append(w.Events, b.event(r.Stretch, activityName, interrupted))
	return b.write(ctx, r.Stretch, w)
}

// spentIn is what a phase has cost so far.
func spentIn(tallies []dream.Tally, phase dream.Phase) budget.Micros {
	var spent budget.Micros
	for _, t := range tallies {
		if t.Phase == phase {
			spent += t.Spent
		}
	}
	return spent
}

// becauseOf is what woke a dream, in the words of its record.
func becauseOf(w Wake) string {
	switch {
	case w.Cause == presence.Alarm && w.Trigger != "":
		return "an alarm: " + w.Trigger
	case w.Cause == presence.Alarm:
		return "an alarm"
	case w.Cause == presence.Connect:
		return "somebody connected"
	default:
		return "an operator woke it"
	}
}

// times are the four phases of the wake, as far as their times are known: request and epoch from the process that
// woke the agent, stop and snapshot from the activities, the rest from here.
func (r PauseRequest) times(w Wake, now time.Time) dream.WakeTimes {
	t := dream.WakeTimes{Light: r.Light, Forced: r.Forced}
	at, raised := w.At, w.Raised
	var stopped, saved time.Time
	for _, c := range r.Cuts {
		if at.IsZero() || !c.At.IsZero() && c.At.Before(at) {
			at = c.At
		}
		if raised.IsZero() {
			raised = c.Raised
		}
		if c.Stopped.After(stopped) {
			stopped = c.Stopped
		}
		if c.Saved.After(saved) {
			saved = c.Saved
		}
	}
	marks := []time.Time{at, raised, stopped, saved, now}
	into := []*time.Duration{&t.Receipt, &t.Stop, &t.Preserve, &t.Switch}
	before := time.Time{}
	for i, mark := range marks {
		if mark.IsZero() {
			continue
		}
		if !before.IsZero() && i > 0 {
			*into[i-1] = max(0, mark.Sub(before))
		}
		before = mark
	}
	return t
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

package dreamrun

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Interrupt ends a stretch that was woken: it judges the text of interrupted calls, keeps it in the journal or erases
// it, records the times of the wake, and frees the slot. Repeating it changes nothing.
func (d *DreamRun) Interrupt(ctx context.Context, r activities.InterruptRequest) (activities.InterruptResult, error) {
	result := activities.InterruptResult{Wake: r.Wake}
	run := core.At(d.Ports, r.Stretch)
	record, err := run.Record(ctx)
	if err != nil {
		return result, err
	}
	if record.Stretches > r.Number { // done late by a suspended worker: the slot belongs to a later stretch
		result.Until, result.Spent, result.Tallies = record.Until, record.Spent, record.Phases
		return result, nil
	}
	if err := run.Load(ctx); err != nil {
		return result, err
	}
	result.Left, err = core.Remaining(ctx, run, run.Spec.Accounts)
	if err != nil {
		return result, err
	}
	last, err := d.wokenBy(ctx, run, r, &result)
	if err != nil {
		return result, err
	}
	judged, err := judgeSnapshots(ctx, run, r.Number, run.Now())
	if err != nil {
		return result, err
	}
	// left by a worker that died before erasing them
	if record.Outcome == dream.Interrupted && record.Stretches == r.Number {
		result.Until, result.Spent, result.Tallies = record.Until, record.Spent, record.Phases
		return result, putDown(ctx, run, r, judged)
	}
	if err := book(ctx, run, r, record, &result, last, judged); err != nil {
		return result, err
	}
	return result, putDown(ctx, run, r, judged)
}

// putDown erases the judged snapshots and frees the slot, in parallel because a client is waiting.
func putDown(ctx context.Context, run *core.Run, r activities.InterruptRequest, j judgedSnapshots) error {
	var erased error
	var beside sync.WaitGroup
	if len(j.keys) > 0 {
		beside.Go(func() {
			erased = run.Memory.DropNotes(ctx, r.Agent, r.Dream, j.keys)
			if erased != nil {
				erased = fmt.Errorf("erase what was judged of %s: %w", r.Dream, erased)
			}
		})
	}
	err := run.FreeSlot(ctx)
	beside.Wait()
	return errors.Join(erased, err)
}

// wokenBy finds what woke the agent, and raises the epoch if nothing has: then a signal without an epoch reached the
// dream itself.
func (d *DreamRun) wokenBy(ctx context.Context, run *core.Run, r activities.InterruptRequest,
	result *activities.InterruptResult,
) (presence.Wake, error) {
	holds := run.Spec.Holds
	status, err := d.Presence.Status(ctx, r.Agent, run.Now())
	if err != nil {
		return presence.Wake{}, fmt.Errorf("ask what woke %s: %w", r.Agent, err)
	}
	if status.Epoch <= r.Epoch {
		request := activities.RaiseEpochRequest{Agent: r.Agent, Wake: r.Wake, Now: r.Now}
		if request.Wake.Hold <= 0 {
			request.Wake.Hold = holds.Of(r.Wake.Cause)
		}
		if holds != nil {
			request.Lock = holds.Lock
		}
		raised, err := d.RaiseEpoch(ctx, request)
		if err != nil {
			return presence.Wake{}, err
		}
		result.Wake = raised.Wake
		status, err = d.Presence.Status(ctx, r.Agent, run.Now())
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
		w.Trigger = strings.TrimPrefix(last.Client, presence.AlarmClient)
	}
	return last, nil
}

// book writes the record, the events and the journal entry of an interrupted stretch in one step.
func book(ctx context.Context, run *core.Run, r activities.InterruptRequest, record *dream.Record,
	result *activities.InterruptResult, last presence.Wake, j judgedSnapshots,
) error {
	now := run.Now()
	rows, err := run.Guard.Ledger.Rows(ctx, spend.Query{Dream: r.Dream})
	if err != nil {
		return fmt.Errorf("sum up %s: %w", r.Dream, err)
	}
	record.Spent = total(rows)
	record.Phases = nil
	for _, t := range r.Tallies {
		record.Phases = append(record.Phases, sumUp(t, rows))
	}
	if err := counted(ctx, run, record.Phases, nil); err != nil {
		return err
	}
	if run.Spec.ResumeTTL > 0 && r.TTL > 0 && (run.Spec.Free || result.Left > 0) {
		result.Until = now.Add(run.Spec.ResumeTTL)
	}
	record.Outcome = dream.Interrupted
	record.Ended = now.UTC()
	record.Until = result.Until.UTC()
	record.Stretches = r.Number
	record.Reason = becauseOf(result.Wake)
	if last.Dream == r.Dream {
		record.After, record.AfterAt = last.Affect, last.At.UTC()
	}
	moved, found, err := shifted(ctx, run, r, record, last)
	if err != nil {
		return err
	}
	if moved {
		record.Connected, err = feltCycle(ctx, run, r, record, last)
		if err != nil {
			return err
		}
	}
	result.Spent, result.Tallies = record.Spent, record.Phases

	times := timesOf(r, result.Wake, now)
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
		w.Events = append(w.Events, run.Event(activityName, event.AlarmAbort{
			Trigger: result.Wake.Trigger, Fragments: r.Kept, Spent: spentIn(record.Phases, dream.Onset),
		}))
	}
	w.Events = append(w.Events, run.Event(activityName, interrupted))
	return run.Write(ctx, w)
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
func becauseOf(w activities.Wake) string {
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

// timesOf are the four phases of the wake, as far as their times are known: request and epoch from the process that
// woke the agent, stop and snapshot from the activities, the rest from here.
func timesOf(r activities.InterruptRequest, w activities.Wake, now time.Time) dream.WakeTimes {
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

package dreamrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/onset"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Finish closes a dream and frees the slot. It is the last activity of every dream; repeating it changes nothing. A run
// other than the one that began the dream closes nothing.
func (d *DreamRun) Finish(ctx context.Context, r activities.FinishRequest) (activities.FinishResult, error) {
	run := core.At(d.Ports, r.Stretch)
	// any stretch of the run: it may have begun one without receiving the answer
	held := memory.Fence{Dream: r.Dream, Run: r.Run}
	record, err := run.Record(ctx)
	if errors.Is(err, memory.ErrNotFound) {
		result, err := finishUnrecorded(ctx, run, r.Ending)
		return result, errors.Join(err, d.Memory.FreeSlot(ctx, r.Agent, held))
	}
	if err != nil {
		return activities.FinishResult{}, err
	}
	if record.Run != "" && record.Run != r.Run {
		return activities.FinishResult{Spent: record.Spent, Tallies: record.Phases},
			d.Memory.FreeSlot(ctx, r.Agent, held)
	}
	result, err := d.close(ctx, run, record, r.Ending)
	if err != nil {
		return result, err
	}
	if err := d.Memory.FreeSlot(ctx, r.Agent, held); err != nil {
		return result, err
	}
	d.release(ctx, r.Dream)
	return result, nil
}

// finishUnrecorded closes the books of a dream whose record is not in the store, so that nothing stays reserved. What it
// spent is what the store knows of it.
func finishUnrecorded(ctx context.Context, run *core.Run, e activities.Ending) (activities.FinishResult, error) {
	lost, _, err := run.Guard.Ledger.Close(ctx, run.Dream, run.Now())
	if err != nil {
		return activities.FinishResult{}, fmt.Errorf("close the books of %s: %w", run.Dream, err)
	}
	rows, err := run.Guard.Ledger.Rows(ctx, spend.Query{Dream: run.Dream})
	if err != nil {
		return activities.FinishResult{}, fmt.Errorf("sum up %s: %w", run.Dream, err)
	}
	record := &dream.Record{Head: dream.Head{ID: run.Dream, Agent: run.Agent}}
	err = settleAllowance(ctx, run, record, e, rows)
	return activities.FinishResult{Spent: total(rows), Lost: lost, Reason: noRecord}, err
}

// release drops what was kept for a running dream. A failure is only logged.
func (d *DreamRun) release(ctx context.Context, dreamID string) {
	if err := d.forget(ctx, dreamID); err != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("the recorded answers of an ended dream could not be removed", "dream", dreamID,
			"error", err)
	}
}

// forget drops the recorded answers of a closed dream: their results are in memory by now.
func (d *DreamRun) forget(ctx context.Context, dreamID string) error {
	core.CacheOf(d.Ports).Drop(dreamID)
	if err := d.Guard.Ledger.Forget(ctx, dreamID); err != nil {
		return fmt.Errorf("forget the answers of %s: %w", dreamID, err)
	}
	return nil
}

// emptyAlarm is how many empty dreams in a row raise an alarm.
func emptyAlarm(ctx context.Context, r *core.Run) int {
	if err := r.Load(ctx); err == nil && r.Spec.Knobs.EmptyAlarm > 0 {
		return r.Spec.Knobs.EmptyAlarm
	}
	return dream.DefaultEmptyAlarm
}

// countEmptyDreams counts the empty dreams in a row up to this one; 0 if this one was not empty. Refused, cancelled and
// aborted dreams are ignored.
func countEmptyDreams(ctx context.Context, run *core.Run, record *dream.Record) (event.EmptyDreamsRepeated, error) {
	alarm := event.EmptyDreamsRepeated{}
	if record.Outcome != dream.Empty {
		return alarm, nil
	}
	items, err := run.Memory.Find(ctx,
		memory.Query{Agent: record.Agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: 50})
	if err != nil {
		return alarm, fmt.Errorf("look at the nights before %s: %w", record.ID, err)
	}
	alarm.Dreams = 1
	for _, before := range memory.As[*dream.Record](items) {
		switch {
		case before.ID == record.ID:
		case before.Outcome == dream.Empty:
			alarm.Dreams++
		case before.Outcome == dream.Completed || before.Outcome == dream.Exhausted:
			return alarm, nil
		}
	}
	return alarm, nil
}

// settleAllowance gives back the part of the day's allowance that a dream did not spend; an aborted dream gives back
// all of it. What was spent counts against the hard caps in any case.
func settleAllowance(ctx context.Context, run *core.Run, record *dream.Record, e activities.Ending,
	rows []spend.Row,
) error {
	ledger := run.Guard.Ledger
	if err := ledger.GiveBack(ctx, record.ID); err != nil {
		return fmt.Errorf("give back the allowance of %s: %w", record.ID, err)
	}
	spent := total(rows)
	if e.Outcome == dream.Aborted || spent == 0 {
		return nil
	}
	if err := ledger.Allow(ctx, record.Agent, rows[0].Day, record.ID, spent, budget.Unlimited); err != nil {
		return fmt.Errorf("take what %s spent from the day's allowance: %w", record.ID, err)
	}
	return nil
}

func (d *DreamRun) close(ctx context.Context, run *core.Run, record *dream.Record,
	e activities.Ending,
) (activities.FinishResult, error) {
	requested, ends := e.Outcome, record.Outcome == dream.Dreaming || record.Resumable()
	// closed before: a task that was lost after that repeats what led to the end without the dream's notes
	earlier := !ends &&
		(record.Outcome != e.Outcome || record.Outcome != dream.Interrupted && record.Reason != e.Reason)
	if earlier {
		e.Outcome, e.Reason = record.Outcome, record.Reason
	}
	ledger := d.Guard.Ledger
	lost, _, err := ledger.Close(ctx, run.Dream, run.Now())
	if err != nil {
		return activities.FinishResult{}, fmt.Errorf("close the books of %s: %w", run.Dream, err)
	}
	rows, err := ledger.Rows(ctx, spend.Query{Dream: run.Dream})
	if err != nil {
		return activities.FinishResult{}, fmt.Errorf("sum up %s: %w", run.Dream, err)
	}
	if err := settleAllowance(ctx, run, record, e, rows); err != nil {
		return activities.FinishResult{}, err
	}
	discarded, events, err := unjudged(ctx, run, record, rows)
	if err != nil {
		return activities.FinishResult{}, err
	}
	var undone []event.Event
	if ends {
		record, e, undone, err = undoIfWorse(ctx, run, record, e)
		if err != nil {
			return activities.FinishResult{}, err
		}
	}
	setEnd(record, e, ends, run.Now().UTC())
	judged, err := judgeSnapshots(ctx, run, max(1, record.Stretches), run.Now())
	if err != nil {
		return activities.FinishResult{}, err
	}
	discarded = withEntry(discarded, judged, record)
	record.Depth, err = depthOf(ctx, run)
	if err != nil {
		return activities.FinishResult{}, err
	}
	record.Spent, record.Phases = total(rows), finalTallies(e, rows, record.Ended)
	if err := counted(ctx, run, record.Phases, discarded); err != nil {
		return activities.FinishResult{}, err
	}
	ended, err := announceEnd(ctx, run, record, e, ends, undone)
	if err != nil {
		return activities.FinishResult{}, err
	}
	w := memory.Write{Late: true, Add: discarded, Change: []dream.Item{record}, Events: append(events, ended...)}
	err = run.Write(ctx, w)
	if errors.Is(err, memory.ErrFenced) {
		err = closeUnfenced(ctx, run, w, rows, events)
	}
	if err != nil {
		return activities.FinishResult{}, err
	}
	if err := d.Memory.DropAllNotes(ctx, run.Agent, run.Dream); err != nil {
		return activities.FinishResult{}, fmt.Errorf("drop the notes of %s: %w", run.Dream, err)
	}
	result := finished(record, e, requested, lost)
	if earlier { // also where only the reason is another one
		result.Outcome, result.Reason = record.Outcome, record.Reason
	}
	return result, nil
}

// setEnd writes an end into the record, and that nothing is left to apply.
func setEnd(record *dream.Record, e activities.Ending, ends bool, now time.Time) {
	if ends || record.Outcome == dream.Interrupted && e.Outcome == dream.Interrupted {
		record.Outcome, record.Reason = e.Outcome, e.Reason
		record.Ended, record.Until = now, time.Time{}
	}
	record.Connected, record.Open = 0, false
}

// withEntry adds the entry of a last stretch that ended by cancellation and not by a wake. What an undone dream
// discarded is recorded with the rest of it, as archived.
func withEntry(discarded []dream.Item, judged judgedSnapshots, record *dream.Record) []dream.Item {
	if judged.entry != nil {
		discarded = append(discarded, judged.entry)
	}
	if record.Outcome == dream.Undone {
		for _, item := range discarded {
			item.Header().State = dream.Archived
		}
	}
	return discarded
}

// finished is what the workflow learns of an end that is recorded.
func finished(record *dream.Record, e activities.Ending, requested dream.Outcome,
	lost int,
) activities.FinishResult {
	result := activities.FinishResult{Spent: record.Spent, Lost: lost, Tallies: record.Phases}
	if record.Outcome != requested {
		result.Outcome = record.Outcome
	}
	if result.Outcome != "" || record.Outcome == e.Outcome {
		result.Reason = record.Reason
	}
	return result
}

// announceEnd are the events of an end: what undid the dream, its outcome, and before them an abort and an alarm about
// empty dreams, since watchers stop at the end event. A dream that had ended has announced its alarm already.
func announceEnd(ctx context.Context, run *core.Run, record *dream.Record, e activities.Ending, ends bool,
	undone []event.Event,
) ([]event.Event, error) {
	announce := func(p event.Payload) event.Event { return run.Event("end/"+run.Run, p) }
	ended := append(undone,
		announce(event.DreamEnded{Outcome: e.Outcome, Reason: e.Reason, Spent: record.Spent, Kept: e.Kept}))
	if e.Outcome == dream.Aborted {
		aborted := announce(event.DreamAborted{Phase: lastPhase(e.Tallies), Reason: e.Reason})
		ended = append([]event.Event{aborted}, ended...)
	}
	if ends {
		ended = append(measured(ctx, run, record, e), ended...)
	}
	alarm, err := countEmptyDreams(ctx, run, record)
	if err != nil {
		return nil, err
	}
	if ends && alarm.Dreams >= emptyAlarm(ctx, run) {
		ended = append([]event.Event{announce(alarm)}, ended...)
		record.Reason = fmt.Sprintf("%s, %d nights in a row now", record.Reason, alarm.Dreams)
	}
	return ended, nil
}

// closeUnfenced closes the record of a dream that holds no slot: it never began, or another dream has its slot. If
// that other one has closed the record, only later purchases and their cost are added.
func closeUnfenced(ctx context.Context, run *core.Run, w memory.Write, rows []spend.Row,
	events []event.Event,
) error {
	w, err := run.Held(ctx, w)
	if err != nil {
		return err
	}
	record, err := run.Record(ctx)
	if err != nil {
		return err
	}
	if record.Outcome != dream.Dreaming && record.Outcome != dream.Interrupted {
		record.Spent = total(rows)
		for i, t := range record.Phases {
			record.Phases[i] = sumUp(t, rows)
		}
		w.Change, w.Events = []dream.Item{record}, events
	}
	w.Agent, w.Cause, w.Late = run.Agent, run.Dream, false
	if _, err := run.Memory.Commit(ctx, w); err != nil {
		return fmt.Errorf("close the record of %s: %w", run.Dream, err)
	}
	return nil
}

// unjudged makes discarded fragments of paid partials that never reached the observer, so that every paid answer can
// be found.
func unjudged(ctx context.Context, run *core.Run, record *dream.Record,
	rows []spend.Row,
) ([]dream.Item, []event.Event, error) {
	at := &core.Run{Stretch: run.Stretch, Spec: activities.Spec{AsOf: record.AsOf}}
	var found []dream.Item
	var events []event.Event
	seen := map[string]bool{}
	for _, row := range rows {
		_, step, ok := strings.Cut(row.Step, "/"+string(dream.Onset)+"/")
		if !ok || !givesPartials(step) || seen[row.Step] {
			continue
		}
		seen[row.Step] = true
		answer, err := core.Bought(ctx, run.Guard.Ledger, row.Step)
		if err != nil {
			return nil, nil, err
		}
		if answer.Attempt == 0 {
			continue
		}
		partials, err := partialsIn(ctx, run, step, answer.Text)
		if err != nil {
			return nil, nil, err
		}
		for _, one := range partials {
			f := &dream.Fragment{
				Head:    at.Head(dream.Onset, dream.KindFragment, core.FragmentStep(one.cycle, one.turn), nil),
				Content: one.text, Cycle: one.cycle, Stage: dream.Peak, Status: dream.FragmentDiscarded,
				Reason: core.NotJudged,
			}
			if existing, err := run.Get(ctx, f.ID); err != nil {
				return nil, nil, err
			} else if len(existing) > 0 {
				continue
			}
			found = append(found, f)
			events = append(events,
				run.Event(strings.TrimPrefix(f.ID, run.Dream+"/"),
					event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason}))
		}
	}
	return found, events, nil
}

func lastPhase(tallies []dream.Tally) dream.Phase {
	if len(tallies) == 0 {
		return ""
	}
	return tallies[len(tallies)-1].Phase
}

// givesPartials says whether a step of the onset produces partials.
func givesPartials(step string) bool {
	return strings.Contains(step, "/partial-") || strings.HasSuffix(strings.TrimSuffix(step, core.Repairing), "/ideas")
}

// paidPartial is a paid partial: its turn and its text.
type paidPartial struct {
	cycle, turn int
	text        string
}

// partialsIn are the partials in the answer of a step of the onset: one, all those of a cycle, or none.
func partialsIn(ctx context.Context, r *core.Run, step, answer string) ([]paidPartial, error) {
	var cycle, turn int
	if _, err := fmt.Sscanf(step, "%d/partial-%d", &cycle, &turn); err == nil {
		return []paidPartial{{cycle, turn, answer}}, nil
	}
	if _, err := fmt.Sscanf(step, "%d/ideas", &cycle); err != nil ||
		strings.TrimSuffix(step, core.Repairing) != core.IdeasStep(cycle) {
		return nil, nil
	}
	err := r.Load(ctx)
	if errors.Is(err, memory.ErrNotFound) { // the dream never began, or its notes were removed
		r.Spec.Knobs = dream.DefaultKnobs()
	} else if err != nil {
		return nil, err
	}
	model, _ := r.Catalog.Lookup(r.Spec.Models[dream.Generator]) // an unknown model has no tokenizer
	var all []paidPartial
	for i, one := range core.ReadIdeas(answer, r.Spec.Knobs.Partials) {
		all = append(all, paidPartial{cycle, i + 1, inference.CutAtTokens(model, one.Text, r.Spec.Knobs.PartialTokens)})
	}
	return all, nil
}

// depthOf is the depth that a dream chose, for its record; nil when it never chose one.
func depthOf(ctx context.Context, r *core.Run) (*dream.Depth, error) {
	body, err := r.Note(ctx, core.DepthNote)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", r.Dream, err)
	}
	var f onset.DepthChoice
	if err := json.Unmarshal(body, &f); err != nil {
		return nil, fmt.Errorf("read how deep %s went: %w", r.Dream, err)
	}
	return &f.Aim, nil
}

package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Ending is how a dream ends.
type Ending struct {
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
}

// FinishRequest is the input of DreamRun.Rise.
type FinishRequest struct {
	Stretch
	Ending Ending `json:"ending"`
}

// FinishResult is what the dream cost, over all phases and caps.
type FinishResult struct {
	Spent   budget.Micros `json:"spent"`
	Lost    int           `json:"lost"` // attempts without a known result; they count in full
	Tallies []dream.Tally `json:"tallies,omitempty"`
	Outcome dream.Outcome `json:"outcome,omitempty"` // if it differs from the requested one: the dream was undone
	// the record's reason, which includes earlier dreams; empty: the request's
	Reason string `json:"reason,omitempty"`
}

// Rise closes a dream and frees the slot. It is the last activity of every dream; repeating it changes nothing. A run
// other than the one that began the dream closes nothing.
func (b *DreamRun) Rise(ctx context.Context, r FinishRequest) (FinishResult, error) {
	record, err := memory.One[*dream.Record](ctx, b.Memory, r.Agent, r.Dream)
	if err != nil {
		return FinishResult{}, toApplicationError(err)
	}
	// any stretch of the run: it may have begun one without receiving the answer
	held := memory.Fence{Dream: r.Dream, Run: r.Run}
	if record.Run != "" && record.Run != r.Run {
		return FinishResult{Spent: record.Spent, Tallies: record.Phases},
			toApplicationError(b.Memory.FreeSlot(ctx, r.Agent, held))
	}
	result, err := b.close(ctx, r.Stretch, record, r.Ending)
	if err != nil {
		return result, toApplicationError(err)
	}
	if err := b.Memory.FreeSlot(ctx, r.Agent, held); err != nil {
		return result, toApplicationError(err)
	}
	b.release(ctx, r.Dream)
	return result, nil
}

// release drops what was kept for a running dream. A failure is only logged.
func (b *DreamRun) release(ctx context.Context, dreamID string) {
	if err := b.forget(ctx, dreamID); err != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("the recorded answers of an ended dream could not be removed", "dream", dreamID,
			"error", err)
	}
}

// forget drops the recorded answers of a closed dream: their results are in memory by now.
func (b *DreamRun) forget(ctx context.Context, dreamID string) error {
	b.cache.drop(dreamID)
	if err := b.Guard.Ledger.Forget(ctx, dreamID); err != nil {
		return fmt.Errorf("forget the answers of %s: %w", dreamID, err)
	}
	return nil
}

// emptyAlarm is how many empty dreams in a row raise an alarm.
func (p Ports) emptyAlarm(ctx context.Context, s Stretch) int {
	if spec, err := p.spec(ctx, s); err == nil && spec.Knobs.EmptyAlarm > 0 {
		return spec.Knobs.EmptyAlarm
	}
	return dream.DefaultEmptyAlarm
}

// nothingAgain counts the empty dreams in a row up to this one; 0 if this one was not empty. Refused, cancelled and
// aborted dreams are ignored.
func (b *DreamRun) nothingAgain(ctx context.Context, record *dream.Record) (event.NothingAgain, error) {
	alarm := event.NothingAgain{}
	if record.Outcome != dream.Empty {
		return alarm, nil
	}
	items, err := b.Memory.Find(ctx,
		memory.Query{Agent: record.Agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: 50})
	if err != nil {
		return alarm, fmt.Errorf("look at the nights before %s: %w", record.ID, err)
	}
	alarm.Nights = 1
	for _, before := range memory.As[*dream.Record](items) {
		switch {
		case before.ID == record.ID:
		case before.Outcome == dream.Empty:
			alarm.Nights++
		case before.Outcome == dream.Completed || before.Outcome == dream.Exhausted:
			return alarm, nil
		}
	}
	return alarm, nil
}

// settleAllowance gives back the part of the day's allowance that a dream did not spend; an aborted dream gives back
// all of it. What was spent counts against the hard caps in any case.
func (b *DreamRun) settleAllowance(ctx context.Context, record *dream.Record, e Ending, rows []spend.Row) error {
	ledger := b.Guard.Ledger
	if err := ledger.GiveBack(ctx, record.ID); err != nil {
		return fmt.Errorf("give back the allowance of %s: %w", record.ID, err)
	}
	var spent budget.Micros
	for _, row := range rows {
		spent += row.Counted
	}
	if e.Outcome == dream.Aborted || spent == 0 {
		return nil
	}
	if err := ledger.Allow(ctx, record.Agent, rows[0].Day, record.ID, spent, budget.Unlimited); err != nil {
		return fmt.Errorf("take what %s spent from the day's allowance: %w", record.ID, err)
	}
	return nil
}

func (b *DreamRun) close(ctx context.Context, s Stretch, record *dream.Record, e Ending) (FinishResult, error) {
	ledger := b.Guard.Ledger
	lost, _, err := ledger.Close(ctx, s.Dream, b.now(s))
	if err != nil {
		return FinishResult{}, fmt.Errorf("close the books of %s: %w", s.Dream, err)
	}
	rows, err := ledger.Rows(ctx, spend.Query{Dream: s.Dream})
	if err != nil {
		return FinishResult{}, fmt.Errorf("sum up %s: %w", s.Dream, err)
	}
	if err := b.settleAllowance(ctx, record, e, rows); err != nil {
		return FinishResult{}, err
	}
	unjudged, events, err := b.unjudged(ctx, s, record, rows)
	if err != nil {
		return FinishResult{}, err
	}
	ends := record.Outcome == dream.Dreaming || record.Resumable()
	var undone []event.Event
	if ends {
		record, e, undone, err = b.undoIfWorse(ctx, s, record, e)
		if err != nil {
			return FinishResult{}, err
		}
	}
	if ends || record.Outcome == dream.Interrupted && e.Outcome == dream.Interrupted {
		record.Outcome, record.Reason = e.Outcome, e.Reason
		record.Ended, record.Until = b.now(s).UTC(), time.Time{}
	}
	judged, err := b.weigh(ctx, s, max(1, record.Stretches), b.now(s))
	if err != nil {
		return FinishResult{}, err
	}
	if judged.entry != nil { // the last stretch ended by cancellation, not by a wake
		unjudged = append(unjudged, judged.entry)
	}
	if record.Outcome == dream.Undone {
		for _, item := range unjudged { // recorded with the rest
			item.Header().State = dream.Archived
		}
	}
	record.Connected, record.Open = 0, false // nothing is left to apply
	record.Depth, err = b.depthOf(ctx, s.Agent, s.Dream)
	if err != nil {
		return FinishResult{}, err
	}
	record.Spent, record.Phases = 0, finalTallies(e, rows, record.Ended)
	if err := b.counted(ctx, s, record.Phases, unjudged); err != nil {
		return FinishResult{}, err
	}
	for _, row := range rows {
		record.Spent += row.Counted
	}
	ended := append(undone,
		b.event(s, "end/"+s.Run,
			event.DreamEnded{Outcome: e.Outcome, Reason: e.Reason, Spent: record.Spent, Kept: e.Kept}))
	if e.Outcome == dream.Aborted {
		ended = append(
			[]event.Event{
				b.event(s, "end/"+s.Run, event.DreamAborted{Phase: lastPhase(e.Tallies), Reason: e.Reason}),
			}, ended...)
	}
	if alarm, err := b.nothingAgain(ctx, record); err != nil {
		return FinishResult{}, err
	} else if ends && alarm.Nights >= b.emptyAlarm(ctx, s) { // a dream that had ended has announced it already
		ended = append([]event.Event{b.event(s, "end/"+s.Run, alarm)}, ended...) // watchers stop at the end event
		record.Reason = fmt.Sprintf("%s, %d nights in a row now", record.Reason, alarm.Nights)
	}
	w := memory.Write{Late: true, Add: unjudged, Change: []dream.Item{record}, Events: append(events, ended...)}
	err = b.write(ctx, s, w)
	if errors.Is(err, memory.ErrFenced) {
		err = b.closeUnfenced(ctx, s, w, rows, events)
	}
	if err != nil {
		return FinishResult{}, err
	}
	if err := b.Memory.DropNotes(ctx, s.Agent, s.Dream); err != nil {
		return FinishResult{}, fmt.Errorf("drop the notes of %s: %w", s.Dream, err)
	}
	result := FinishResult{Spent: record.Spent, Lost: lost, Tallies: record.Phases}
	if record.Outcome == dream.Undone {
		result.Outcome, result.Reason = record.Outcome, record.Reason
	}
	if record.Outcome == e.Outcome {
		result.Reason = record.Reason
	}
	return result, nil
}

// closeUnfenced closes the record of a dream that holds no slot: it never began, or another dream has its slot. If
// that other one has closed the record, only later purchases and their cost are added.
func (b *DreamRun) closeUnfenced(ctx context.Context, s Stretch, w memory.Write, rows []spend.Row,
	events []event.Event,
) error {
	w, err := b.held(ctx, s, w)
	if err != nil {
		return err
	}
	record, err := memory.One[*dream.Record](ctx, b.Memory, s.Agent, s.Dream)
	if err != nil {
		return err
	}
	if record.Outcome != dream.Dreaming && record.Outcome != dream.Interrupted {
		record.Spent = 0
		for _, row := range rows {
			record.Spent += row.Counted
		}
		for i, t := range record.Phases {
			record.Phases[i] = sumUp(t, rows)
		}
		w.Change, w.Events = []dream.Item{record}, events
	}
	w.Agent, w.Cause, w.Late = s.Agent, s.Dream, false
	if _, err := b.Memory.Commit(ctx, w); err != nil {
		return fmt.Errorf("close the record of %s: %w", s.Dream, err)
	}
	return nil
}

// unjudged makes discarded fragments of paid partials that never reached the observer, so that every paid answer can
// be found.
func (b *DreamRun) unjudged(ctx context.Context, s Stretch, record *dream.Record,
	rows []spend.Row,
) ([]dream.Item, []event.Event, error) {
	spec := Spec{Dream: record.ID, Agent: record.Agent, AsOf: record.AsOf}
	var found []dream.Item
	var events []event.Event
	seen := map[string]bool{}
	for _, row := range rows {
		_, step, ok := strings.Cut(row.Step, "/"+string(dream.Onset)+"/")
		if !ok || !givesPartials(step) || seen[row.Step] {
			continue
		}
		seen[row.Step] = true
		answer, err := bought(ctx, b.Guard.Ledger, row.Step)
		if err != nil {
			return nil, nil, err
		}
		if answer.Attempt == 0 {
			continue
		}
		partials, err := b.partialsIn(ctx, s, step, answer.Text)
		if err != nil {
			return nil, nil, err
		}
		for _, one := range partials {
			f := &dream.Fragment{
				Head:    head(spec, dream.Onset, dream.KindFragment, fragmentStep(one.cycle, one.turn), nil),
				Content: one.text, Cycle: one.cycle, Stage: dream.Peak, Status: dream.FragmentDiscarded,
				Reason: notJudged,
			}
			if existing, err := b.Memory.Get(ctx, s.Agent, f.ID); err != nil {
				return nil, nil, err
			} else if len(existing) > 0 {
				continue
			}
			found = append(found, f)
			events = append(events,
				b.event(s, strings.TrimPrefix(f.ID, s.Dream+"/"),
					event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason}))
		}
	}
	return found, events, nil
}

// bought is the recorded answer of a step; Attempt is 0 when there is none.
func bought(ctx context.Context, ledger spend.Ledger, step string) (spend.PaidAnswer, error) {
	var paid spend.PaidAnswer
	body, ok, err := ledger.Answer(ctx, step)
	if err != nil || !ok {
		return paid, err
	}
	if err := json.Unmarshal(body, &paid); err != nil {
		return paid, fmt.Errorf("read the answer kept for %s: %w", step, err)
	}
	return paid, nil
}

func lastPhase(tallies []dream.Tally) dream.Phase {
	if len(tallies) == 0 {
		return ""
	}
	return tallies[len(tallies)-1].Phase
}

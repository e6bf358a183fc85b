package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
	"github.com/seed-56a03226/oneiros/internal/purse"
)

// Lives says which workflows still run.
type Lives interface {
	// Running is false when the run has closed or was never known.
	Running(ctx context.Context, workflow, run string) (bool, error)
}

// Planner freezes an order for a dream that nobody asked for by hand.
type Planner interface {
	// Plan answers with an empty order and a reason when the agent should not dream now.
	Plan(ctx context.Context, agent string) (Order, string, error)
	// FleetDay is the deployment's cap of all agents together in one day.
	FleetDay() budget.Micros
}

// Bed is where a dream begins and ends: slot, allowance, record.
type Bed struct {
	Ports
	Lives   Lives
	Planner Planner
}

// LieDownRequest begins a sitting.
type LieDownRequest struct {
	Order    Order  `json:"order"`
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// LieDownResult says whether the dream may go on.
type LieDownResult struct {
	Refused   dream.Outcome `json:"refused,omitempty"` // canceled, exhausted or aborted; empty: go on
	Reason    string        `json:"reason,omitempty"`
	Remaining budget.Micros `json:"remaining"` // what every cap above the phases still allows
}

// LieDown takes the agent's dreaming slot (O2) and the day's allowance, and writes the beginning of the night. An order
// that would spend more than its agent may is refused as aborted. It is the first deed of every dream; done twice it
// changes nothing.
func (b *Bed) LieDown(ctx context.Context, r LieDownRequest) (LieDownResult, error) {
	o := r.Order
	s := Sitting{Agent: o.Agent, Dream: o.Dream, Run: r.Run}
	held, err := b.takeSlot(ctx, s, r.Workflow)
	if errors.Is(err, memory.ErrTaken) {
		reason := fmt.Sprintf("%s is already dreaming %s", o.Handle, held.Dream)
		return LieDownResult{Refused: dream.Canceled, Reason: reason}, b.refuse(ctx, o, r.Run, dream.Canceled, reason)
	}
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	night, err := memory.One[*dream.Night](ctx, b.Memory, o.Agent, o.Dream)
	if err != nil {
		return LieDownResult{}, tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
	}
	if night.Outcome != dream.Dreaming && night.Run != r.Run {
		return b.over(ctx, night, r.Run)
	}
	if night.Run != r.Run { // caps that are lowered later do not reach into a running dream (decision 9)
		faults, err := b.beyond(ctx, o)
		if err != nil {
			return LieDownResult{}, tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
		}
		if faults != "" {
			return LieDownResult{Refused: dream.Aborted, Reason: faults}, b.refuse(ctx, o, r.Run, dream.Aborted, faults)
		}
	}
	body, err := json.Marshal(o)
	if err != nil {
		return LieDownResult{}, fmt.Errorf("write down the order of %s: %w", o.Dream, err)
	}
	if _, err := b.Memory.PutNote(ctx, o.Agent, s.fence(), orderNote, body); err != nil {
		return LieDownResult{}, tell(err)
	}
	if !o.Free {
		err = b.Purse.Ledger.Allow(ctx, o.Agent, o.Day, o.Dream, o.Budget, o.DayLimit)
		if over, ok := purse.AsOverCap(err); ok {
			return LieDownResult{Refused: dream.Exhausted, Reason: over.Error()}, b.refuse(ctx, o, r.Run, dream.Exhausted, over.Error())
		}
		if err != nil {
			return LieDownResult{}, tell(err)
		}
	}
	affect, err := b.Memory.Affect(ctx, o.Agent)
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	night.Workflow, night.Run, night.Before, night.After = r.Workflow, r.Run, affect.PAD, affect.PAD
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{night},
		Events: []event.Event{b.event(s, "begin/"+r.Run, event.DreamStarted{Tier: o.Tier, Seed: o.Seed, Budget: o.Budget})},
	})
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	left, err := b.remaining(ctx, o)
	return LieDownResult{Remaining: left}, tell(err)
}

// beyond says what an order wants that its agent, the fleet or the catalogue does not allow; empty when nothing.
func (b *Bed) beyond(ctx context.Context, o Order) (string, error) {
	agent, err := b.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", o.Agent, err)
	}
	if err := o.Within(agent, b.Planner.FleetDay(), b.Catalog); err != nil {
		return "the order is not within its limits: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", nil
}

// over refuses a dream whose record is closed: it was refused or withdrawn before it began, or another sitting dreamt it.
func (b *Bed) over(ctx context.Context, night *dream.Night, run string) (LieDownResult, error) {
	result := LieDownResult{Refused: night.Outcome, Reason: night.Reason}
	if night.Run != "" {
		result = LieDownResult{Refused: dream.Canceled, Reason: fmt.Sprintf("%s has been dreamt: %s", night.ID, night.Outcome)}
	}
	return result, tell(b.Memory.FreeSlot(ctx, night.Agent, memory.Fence{Dream: night.ID, Run: run}))
}

// takeSlot takes the slot, and takes it over from a dream whose workflow has closed, booking what that one left open.
func (b *Bed) takeSlot(ctx context.Context, s Sitting, workflow string) (memory.Slot, error) {
	want := memory.Slot{Fence: memory.Fence{Dream: s.Dream, Run: s.Run}, Workflow: workflow, Since: b.Now()}
	held, err := b.Memory.TakeSlot(ctx, s.Agent, want, memory.Fence{})
	if !errors.Is(err, memory.ErrTaken) {
		return held, err
	}
	running, lookErr := b.Lives.Running(ctx, held.Workflow, held.Run)
	if lookErr != nil {
		return held, fmt.Errorf("look whether %s still runs: %w", held.Workflow, lookErr)
	}
	if running {
		return held, err
	}
	if err := b.bury(ctx, s.Agent, held); err != nil {
		return held, err
	}
	return b.Memory.TakeSlot(ctx, s.Agent, want, held.Fence)
}

// bury closes the books of a dream whose workflow is gone without having risen: terminated, or timed out.
func (b *Bed) bury(ctx context.Context, agent string, held memory.Slot) error {
	night, err := memory.One[*dream.Night](ctx, b.Memory, agent, held.Dream)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil || night.Outcome != dream.Dreaming {
		return err
	}
	s := Sitting{Agent: agent, Dream: held.Dream, Run: held.Run}
	_, err = b.close(ctx, s, night, Ending{Outcome: dream.Canceled, Reason: "its workflow was terminated"})
	return err
}

// Reconcile frees the slots of dreams whose workflows have closed, and closes whatever such dreams left open in the
// ledger. It answers how many dreams it put in order.
func (b *Bed) Reconcile(ctx context.Context) (int, error) {
	slots, err := b.Memory.Slots(ctx)
	if err != nil {
		return 0, err
	}
	buried := 0
	for agent, held := range slots {
		running, err := b.Lives.Running(ctx, held.Workflow, held.Run)
		if err != nil {
			return buried, err
		}
		if running {
			continue
		}
		if err := b.bury(ctx, agent, held); err != nil {
			return buried, err
		}
		if err := b.Memory.FreeSlot(ctx, agent, held.Fence); err != nil {
			return buried, err
		}
		buried++
	}
	closed, err := b.closeLeftovers(ctx)
	return buried + closed, err
}

// closeLeftovers counts as spent what a deed reserved after its dream was buried, and died with: the slot is gone by then.
func (b *Bed) closeLeftovers(ctx context.Context) (int, error) {
	open, err := b.Purse.Ledger.OpenDreams(ctx)
	if err != nil {
		return 0, err
	}
	closed := 0
	for _, id := range open {
		rows, err := b.Purse.Ledger.Rows(ctx, purse.Query{Dream: id, Limit: 1})
		if err != nil {
			return closed, err
		}
		for _, row := range rows {
			night, err := memory.One[*dream.Night](ctx, b.Memory, row.Agent, id)
			if err != nil && !errors.Is(err, memory.ErrNotFound) {
				return closed, err
			}
			if err == nil && night.Outcome == dream.Dreaming {
				continue
			}
			if _, _, err := b.Purse.Ledger.Close(ctx, id, b.Now()); err != nil {
				return closed, err
			}
			closed++
		}
	}
	return closed, nil
}

// refuse closes the record of a dream that never began. It is written without a fence: the slot is another's. The record
// of a dream that has begun is its own sitting's, whoever was started under the same id.
func (b *Bed) refuse(ctx context.Context, o Order, run string, outcome dream.Outcome, reason string) error {
	night, err := memory.One[*dream.Night](ctx, b.Memory, o.Agent, o.Dream)
	if err != nil {
		return tell(err)
	}
	if night.Run == "" && night.Outcome == dream.Dreaming {
		night.Outcome, night.Reason, night.Ended = outcome, reason, b.Now().UTC()
		s := Sitting{Agent: o.Agent, Dream: o.Dream}
		events := []event.Event{b.event(s, "refused/"+run, event.DreamEnded{Outcome: outcome, Reason: reason})}
		if outcome == dream.Aborted {
			events = append([]event.Event{b.event(s, "refused/"+run, event.DreamAborted{Reason: reason})}, events...)
		}
		_, err = b.Memory.Commit(ctx, memory.Write{Agent: o.Agent, Cause: o.Dream, Change: []dream.Item{night}, Events: events})
		err = errors.Join(err, b.Memory.DropNotes(ctx, o.Agent, o.Dream))
	}
	return tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, memory.Fence{Dream: o.Dream, Run: run})))
}

func (b *Bed) remaining(ctx context.Context, o Order) (budget.Micros, error) {
	left := budget.Unlimited
	for _, account := range o.Accounts {
		if account.Limit == budget.Unlimited {
			continue
		}
		balance, err := b.Purse.Ledger.Balance(ctx, account.Scope)
		if err != nil {
			return 0, fmt.Errorf("read account %s: %w", account.Scope, err)
		}
		left = min(left, max(0, account.Limit-balance.Reserved-balance.Spent))
	}
	return left, nil
}

// Ending is how a dream ends.
type Ending struct {
	Outcome dream.Outcome `json:"outcome"`
	Reason  string        `json:"reason,omitempty"`
	Kept    int           `json:"kept"`
	Tallies []dream.Tally `json:"tallies,omitempty"`
}

// RiseRequest ends a sitting.
type RiseRequest struct {
	Sitting
	Ending Ending `json:"ending"`
}

// RiseResult is what the dream cost, all caps and phases together.
type RiseResult struct {
	Spent   budget.Micros `json:"spent"`
	Lost    int           `json:"lost"` // attempts whose end nobody knows; they count in full
	Tallies []dream.Tally `json:"tallies,omitempty"`
}

// Rise closes the books of a dream and frees the slot. It is the last deed of every dream; done twice it changes nothing.
func (b *Bed) Rise(ctx context.Context, r RiseRequest) (RiseResult, error) {
	night, err := memory.One[*dream.Night](ctx, b.Memory, r.Agent, r.Dream)
	if err != nil {
		return RiseResult{}, tell(err)
	}
	result, err := b.close(ctx, r.Sitting, night, r.Ending)
	if err != nil {
		return result, tell(err)
	}
	return result, tell(b.Memory.FreeSlot(ctx, r.Agent, r.fence()))
}

func (b *Bed) close(ctx context.Context, s Sitting, night *dream.Night, e Ending) (RiseResult, error) {
	ledger := b.Purse.Ledger
	lost, _, err := ledger.Close(ctx, s.Dream, b.Now())
	if err != nil {
		return RiseResult{}, fmt.Errorf("close the books of %s: %w", s.Dream, err)
	}
	rows, err := ledger.Rows(ctx, purse.Query{Dream: s.Dream})
	if err != nil {
		return RiseResult{}, fmt.Errorf("sum up %s: %w", s.Dream, err)
	}
	if e.Outcome == dream.Aborted {
		if err := ledger.GiveBack(ctx, s.Dream); err != nil {
			return RiseResult{}, fmt.Errorf("give back the allowance of %s: %w", s.Dream, err)
		}
	}
	unjudged, told, err := b.unjudged(ctx, s, night, rows)
	if err != nil {
		return RiseResult{}, err
	}
	if night.Outcome == dream.Dreaming {
		night.Outcome, night.Reason, night.Ended = e.Outcome, e.Reason, b.Now().UTC()
	}
	night.Spent, night.Phases = 0, finalTallies(e, rows, night.Ended)
	for _, row := range rows {
		night.Spent += row.Counted
	}
	events := told
	if e.Outcome == dream.Aborted {
		events = append(events, b.event(s, "end/"+s.Run, event.DreamAborted{Phase: lastPhase(e.Tallies), Reason: e.Reason}))
	}
	events = append(events, b.event(s, "end/"+s.Run, event.DreamEnded{Outcome: e.Outcome, Reason: e.Reason, Spent: night.Spent, Kept: e.Kept}))
	w := memory.Write{Add: unjudged, Change: []dream.Item{night}, Events: events}
	if err = b.write(ctx, s, w); errors.Is(err, memory.ErrFenced) {
		err = b.closeUnfenced(ctx, s, w)
	}
	if err != nil {
		return RiseResult{}, err
	}
	if err := b.Memory.DropNotes(ctx, s.Agent, s.Dream); err != nil {
		return RiseResult{}, fmt.Errorf("drop the notes of %s: %w", s.Dream, err)
	}
	return RiseResult{Spent: night.Spent, Lost: lost, Tallies: night.Phases}, nil
}

// closeUnfenced closes the record of a dream that holds no slot: one that never came to lie down. Whoever took a slot over
// has closed the record of the dream that held it.
func (b *Bed) closeUnfenced(ctx context.Context, s Sitting, w memory.Write) error {
	night, err := memory.One[*dream.Night](ctx, b.Memory, s.Agent, s.Dream)
	if err != nil || night.Outcome != dream.Dreaming {
		return err
	}
	w.Agent, w.Cause = s.Agent, s.Dream
	if _, err := b.Memory.Commit(ctx, w); err != nil {
		return fmt.Errorf("close the record of %s: %w", s.Dream, err)
	}
	return nil
}

// unjudged makes discarded fragments of the partials that were paid for and finished, but never reached the observer, so
// that every answer that was bought can be found (H5).
func (b *Bed) unjudged(ctx context.Context, s Sitting, night *dream.Night, rows []purse.Row) ([]dream.Item, []event.Event, error) {
	o := Order{Dream: night.ID, Agent: night.Agent, AsOf: night.AsOf}
	var found []dream.Item
	var told []event.Event
	seen := map[string]bool{}
	for _, row := range rows {
		_, step, ok := strings.Cut(row.Step, "/"+string(dream.Onset)+"/")
		if !ok || !strings.Contains(step, "/partial-") || seen[row.Step] {
			continue
		}
		seen[row.Step] = true
		said, err := bought(ctx, b.Purse.Ledger, row.Step)
		if err != nil {
			return nil, nil, err
		}
		if said.Attempt == 0 {
			continue
		}
		var cycle, turn int
		if _, err := fmt.Sscanf(step, "%d/partial-%d", &cycle, &turn); err != nil {
			return nil, nil, fmt.Errorf("read step %s: %w", row.Step, err)
		}
		f := &dream.Fragment{
			Head:    head(o, dream.Onset, dream.KindFragment, fragmentStep(cycle, turn), nil),
			Content: said.Text, Cycle: cycle, Stage: dream.Peak, Status: dream.FragmentDiscarded,
			Reason: notJudged,
		}
		if known, err := b.Memory.Get(ctx, s.Agent, f.ID); err != nil {
			return nil, nil, err
		} else if len(known) > 0 {
			continue
		}
		found = append(found, f)
		told = append(told, b.event(s, strings.TrimPrefix(f.ID, s.Dream+"/"), event.FragmentDiscarded{Fragment: f.ID, Reason: f.Reason}))
	}
	return found, told, nil
}

// bought is the finished answer of a step; its attempt is 0 when there is none.
func bought(ctx context.Context, ledger purse.Ledger, step string) (purse.Paid, error) {
	var paid purse.Paid
	body, ok, err := ledger.Answer(ctx, step)
	if err != nil || !ok {
		return paid, err
	}
	if err := json.Unmarshal(body, &paid); err != nil {
		return paid, fmt.Errorf("read the answer kept for %s: %w", step, err)
	}
	return paid, nil
}

// Running asks whether a workflow still runs.
func (b *Bed) Running(ctx context.Context, r RunningRequest) (bool, error) {
	return b.Lives.Running(ctx, r.Workflow, r.Run)
}

// RunningRequest names a workflow run.
type RunningRequest struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// PlanResult is an order, or why there is none.
type PlanResult struct {
	Order  Order  `json:"order"`
	Reason string `json:"reason,omitempty"` // not empty: do not dream now
}

// Plan freezes an order for a dream that starts by itself.
func (b *Bed) Plan(ctx context.Context, agent string) (PlanResult, error) {
	order, reason, err := b.Planner.Plan(ctx, agent)
	return PlanResult{Order: order, Reason: reason}, tell(err)
}

func lastPhase(tallies []dream.Tally) dream.Phase {
	if len(tallies) == 0 {
		return ""
	}
	return tallies[len(tallies)-1].Phase
}

// MoodRequest asks how the agent feels.
type MoodRequest struct {
	Agent string `json:"agent"`
}

// Feel re-reads the agent's affect (H5: at every cycle boundary).
func (b *Bed) Feel(ctx context.Context, r MoodRequest) (mood.PAD, error) {
	affect, err := b.Memory.Affect(ctx, r.Agent)
	return affect.PAD, tell(err)
}

package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
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
	// Here names the cluster and namespace that it looks at; empty when that is not known. Of workflows that run elsewhere it
	// knows nothing.
	Here() string
}

// Planner freezes an order for a dream that nobody asked for by hand.
type Planner interface {
	// Plan answers with an empty order and a reason when the agent should not dream now. It writes no record.
	Plan(ctx context.Context, agent string, now time.Time) (Order, string, error)
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
	Order    Order       `json:"order"`
	Workflow string      `json:"workflow"`
	Run      string      `json:"run"`
	Sitting  int         `json:"sitting,omitempty"` // 2, 3, … of a dream that goes on after an interruption
	Now      time.Time   `json:"now,omitzero"`      // the workflow's
	Phase    dream.Phase `json:"phase,omitempty"`   // where it goes on
}

// seat is the sitting that is to begin; its epoch is not known yet.
func (r LieDownRequest) seat() Sitting {
	return Sitting{Agent: r.Order.Agent, Dream: r.Order.Dream, Run: r.Run, Now: r.Now}
}

// LieDownResult says whether the dream may go on.
type LieDownResult struct {
	Refused   dream.Outcome `json:"refused,omitempty"` // canceled, exhausted or aborted; empty: go on
	Reason    string        `json:"reason,omitempty"`
	Remaining budget.Micros `json:"remaining"` // what every cap above the phases still allows
	Epoch     int64         `json:"epoch,omitempty"`
	Awake     bool          `json:"awake,omitempty"` // refused because somebody holds the agent awake
}

// LieDown takes the agent's dreaming slot (O2) and the day's allowance, and writes the beginning of the night. An order
// that would spend more than its agent may is refused as aborted. It is the first deed of every dream; done twice it
// changes nothing.
func (b *Bed) LieDown(ctx context.Context, r LieDownRequest) (LieDownResult, error) {
	result, err := b.lie(ctx, r)
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == FailWoken { // between taking the slot and writing the beginning
		reason := r.Order.Handle + " was woken before the dream lay down"
		return LieDownResult{Refused: dream.Canceled, Reason: reason, Awake: true}, b.refuse(ctx, r.Order, r.seat(), dream.Canceled, reason)
	}
	return result, err
}

func (b *Bed) lie(ctx context.Context, r LieDownRequest) (LieDownResult, error) {
	o := r.Order
	s := r.seat()
	if o.Alone && r.Sitting < 2 {
		if err := b.open(ctx, o, b.now(s)); err != nil {
			return LieDownResult{}, tell(err)
		}
	}
	held, err := b.takeSlot(ctx, s, r.Workflow)
	if errors.Is(err, memory.ErrAwake) {
		reason := o.Handle + " is awake: somebody woke it before the dream lay down"
		if r.Sitting > 1 {
			return LieDownResult{Refused: dream.Canceled, Reason: reason, Awake: true}, nil
		}
		return LieDownResult{Refused: dream.Canceled, Reason: reason, Awake: true}, b.refuse(ctx, o, r.seat(), dream.Canceled, reason)
	}
	if errors.Is(err, memory.ErrTaken) {
		reason := fmt.Sprintf("%s is already dreaming %s%s", o.Handle, held.Dream, b.where(held.Cluster))
		return LieDownResult{Refused: dream.Canceled, Reason: reason}, b.refuse(ctx, o, r.seat(), dream.Canceled, reason)
	}
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	s.Epoch = held.Epoch
	night, err := memory.One[*dream.Night](ctx, b.Memory, o.Agent, o.Dream)
	if err != nil {
		return LieDownResult{}, tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
	}
	if night.Outcome != dream.Dreaming && night.Run != r.Run {
		return b.over(ctx, night, r.Run)
	}
	if r.Sitting > 1 {
		return b.goOn(ctx, s, r, night)
	}
	if night.Run != r.Run { // caps that are lowered later do not reach into a running dream (decision 9)
		faults, err := b.beyond(ctx, o)
		if err != nil {
			return LieDownResult{}, tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
		}
		if faults != "" {
			return LieDownResult{Refused: dream.Aborted, Reason: faults}, b.refuse(ctx, o, r.seat(), dream.Aborted, faults)
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
			return LieDownResult{Refused: dream.Exhausted, Reason: over.Error()}, b.refuse(ctx, o, r.seat(), dream.Exhausted, over.Error())
		}
		if err != nil {
			return LieDownResult{}, tell(err)
		}
	}
	affect, err := b.Memory.Affect(ctx, o.Agent)
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	night.Workflow, night.Cluster, night.Run, night.Before, night.After = r.Workflow, b.Lives.Here(), r.Run, affect.PAD, affect.PAD
	night.Sittings, night.Open = 1, true
	err = b.write(ctx, s, memory.Write{
		Change: []dream.Item{night},
		Events: []event.Event{b.event(s, "begin/"+r.Run, event.DreamStarted{Tier: o.Tier, Seed: o.Seed, Budget: o.Budget})},
	})
	if err != nil {
		return LieDownResult{}, tell(err)
	}
	left, err := b.remaining(ctx, o)
	return LieDownResult{Remaining: left, Epoch: s.Epoch}, tell(err)
}

// open writes the record of a dream that begins by itself: nothing of it was written when it was planned, so that a plan
// which comes to nothing leaves nothing behind. A record that exists stays as it is.
func (b *Bed) open(ctx context.Context, o Order, now time.Time) error {
	affect, err := b.Memory.Affect(ctx, o.Agent)
	if err != nil {
		return err
	}
	night := o.Night("", affect.PAD, now)
	night.Cluster = b.Lives.Here()
	if _, err := b.Memory.Commit(ctx, memory.Write{Agent: o.Agent, Cause: o.Dream, Add: []dream.Item{night}}); err != nil {
		return fmt.Errorf("open the record of %s: %w", o.Dream, err)
	}
	return nil
}

// beyond says what an order wants that its agent, the fleet or the catalogue does not allow; empty when nothing.
func (b *Bed) beyond(ctx context.Context, o Order) (string, error) {
	agent, err := b.Memory.Agent(ctx, o.Agent)
	if err != nil {
		return "", fmt.Errorf("read agent %s: %w", o.Agent, err)
	}
	if err := o.Within(agent, b.Planner.FleetDay(), b.Catalog); err != nil {
		return "this worker may not dream the order: " + strings.ReplaceAll(err.Error(), "\n", "; "), nil
	}
	return "", nil
}

// over refuses a dream whose record is closed: it was refused or withdrawn before it began, or another sitting dreamt it.
// One that was withdrawn while it lay down leaves nothing behind.
func (b *Bed) over(ctx context.Context, night *dream.Night, run string) (LieDownResult, error) {
	fence := memory.Fence{Dream: night.ID, Run: run}
	if night.Run != "" {
		result := LieDownResult{Refused: dream.Canceled, Reason: fmt.Sprintf("%s has been dreamt: %s", night.ID, night.Outcome)}
		return result, tell(b.Memory.FreeSlot(ctx, night.Agent, fence))
	}
	err := errors.Join(
		b.Purse.Ledger.GiveBack(ctx, night.ID), b.Memory.DropNotes(ctx, night.Agent, night.ID), b.Memory.FreeSlot(ctx, night.Agent, fence),
	)
	return LieDownResult{Refused: night.Outcome, Reason: night.Reason}, tell(err)
}

// takeSlot takes the slot, and takes it over from a dream whose workflow has closed, booking what that one left open. Of a
// dream on another cluster nobody here can say whether it has: its slot is its own.
func (b *Bed) takeSlot(ctx context.Context, s Sitting, workflow string) (memory.Slot, error) {
	want := memory.Slot{Fence: memory.Fence{Dream: s.Dream, Run: s.Run}, Workflow: workflow, Cluster: b.Lives.Here(), Since: b.now(s)}
	held, err := b.Memory.TakeSlot(ctx, s.Agent, want, memory.Fence{})
	if !errors.Is(err, memory.ErrTaken) || b.elsewhere(held.Cluster) {
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
	taken, err := b.Memory.TakeSlot(ctx, s.Agent, want, held.Fence)
	if err == nil {
		b.letGo(ctx, held.Dream)
	}
	return taken, err
}

// refuse closes the record of a dream that never began, and gives back what it had set aside of the day. It is written
// without a fence: the slot is another's. The record of a dream that has begun is its own sitting's, whoever was started
// under the same id.
func (b *Bed) refuse(ctx context.Context, o Order, s Sitting, outcome dream.Outcome, reason string) error {
	night, err := memory.One[*dream.Night](ctx, b.Memory, o.Agent, o.Dream)
	if err != nil {
		return tell(err)
	}
	if night.Run == "" && night.Outcome == dream.Dreaming {
		night.Outcome, night.Reason, night.Ended = outcome, reason, b.now(s).UTC()
		events := []event.Event{b.event(s, "refused/"+s.Run, event.DreamEnded{Outcome: outcome, Reason: reason})}
		if outcome == dream.Aborted {
			events = append([]event.Event{b.event(s, "refused/"+s.Run, event.DreamAborted{Reason: reason})}, events...)
		}
		_, err = b.Memory.Commit(ctx, memory.Write{Agent: o.Agent, Cause: o.Dream, Change: []dream.Item{night}, Events: events})
		err = errors.Join(err, b.Purse.Ledger.GiveBack(ctx, o.Dream), b.Memory.DropNotes(ctx, o.Agent, o.Dream))
	}
	return tell(errors.Join(err, b.Memory.FreeSlot(ctx, o.Agent, s.fence())))
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

// Running asks whether a workflow still runs.
func (b *Bed) Running(ctx context.Context, r RunningRequest) (bool, error) {
	return b.Lives.Running(ctx, r.Workflow, r.Run)
}

// RunningRequest names a workflow run.
type RunningRequest struct {
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
}

// PlanRequest asks for a dream that starts by itself.
type PlanRequest struct {
	Agent       string        `json:"agent"`
	Now         time.Time     `json:"now"`
	IdleTimeout time.Duration `json:"idle_timeout"`

	Resume  *Sitting `json:"resume,omitempty"`  // go on with this interrupted dream instead of planning one
	Windows []string `json:"windows,omitempty"` // when dreams by themselves may begin, in the agent's zone; none: always
	Quiet   []string `json:"quiet,omitempty"`   // and when never

	Jitter time.Duration `json:"jitter,omitempty"` // after the hours open, so that not every agent of a zone begins at once
}

// PlanResult is an order, or why there is none. With neither order nor reason the agent is not idle: it lived something.
type PlanResult struct {
	Order  Order     `json:"order"`
	Reason string    `json:"reason,omitempty"` // not empty: do not dream now
	Active time.Time `json:"active"`           // when the newest thing that the agent remembers was lived, or somebody was seen; zero for nothing

	Awake     time.Time `json:"awake,omitzero"`      // somebody holds the agent awake until then, and nobody told its life
	NotBefore time.Time `json:"not_before,omitzero"` // the hours are quiet until then
	Resume    bool      `json:"resume,omitempty"`    // go on with the interrupted dream
}

// Plan freezes an order for a dream that starts by itself, when the agent is idle by what it remembers, too: whoever brings
// memories in need not say so. It writes nothing, so that it may be done twice: the record is
// opened when the dream lies down.
func (b *Bed) Plan(ctx context.Context, r PlanRequest) (PlanResult, error) {
	newest, err := b.Memory.Find(ctx, memory.Query{Agent: r.Agent, Kinds: []dream.Kind{dream.KindEpisode}, Until: r.Now, Limit: 1})
	if err != nil {
		return PlanResult{}, tell(err)
	}
	var result PlanResult
	for _, episode := range newest {
		result.Active = episode.Header().At
	}
	if r.Resume == nil && result.Active.Add(r.IdleTimeout).After(r.Now) {
		return result, nil
	}
	if speaks, err := b.against(ctx, r, &result); speaks || err != nil {
		return result, tell(err)
	}
	if r.Resume != nil {
		result.Resume = true
		return result, nil
	}
	result.Order, result.Reason, err = b.Planner.Plan(ctx, r.Agent, r.Now)
	return result, tell(err)
}

// against asks what forbids a dream by itself now: somebody who holds the agent awake, or the hours.
func (b *Bed) against(ctx context.Context, r PlanRequest, result *PlanResult) (bool, error) {
	standing, err := b.Presence.Standing(ctx, r.Agent, r.Now)
	if err != nil {
		return true, fmt.Errorf("ask who is connected to %s: %w", r.Agent, err)
	}
	if standing.Awake(r.Now) {
		result.Awake = standing.Until()
		return true, nil
	}
	if r.Resume == nil && standing.Seen.After(result.Active) { // who came while an alarm held it awake told its life nothing
		if result.Active = standing.Seen; result.Active.Add(r.IdleTimeout).After(r.Now) {
			return true, nil
		}
	}
	if len(r.Windows)+len(r.Quiet) == 0 {
		return false, nil
	}
	agent, err := b.Memory.Agent(ctx, r.Agent)
	if err != nil {
		return true, fmt.Errorf("read agent %s: %w", r.Agent, err)
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return true, fmt.Errorf("zone %q of %s: %w: %w", agent.Zone, agent.Handle, ErrSettings, err)
	}
	windows, err := circadian.ParseHours(r.Windows)
	if err != nil {
		return true, fmt.Errorf("dream windows: %w: %w", ErrSettings, err)
	}
	quiet, err := circadian.ParseHours(r.Quiet)
	if err != nil {
		return true, fmt.Errorf("quiet hours: %w: %w", ErrSettings, err)
	}
	open, next := circadian.Open(r.Now, zone, windows, quiet)
	if !open {
		result.NotBefore = circadian.Rhythm{Jitter: r.Jitter}.Opening(r.Now, zone, windows, quiet)
		result.Reason = "these are quiet hours until " + next.In(zone).Format("Mon 15:04")
	}
	return !open, nil
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

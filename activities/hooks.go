package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Types exchanged between a dream and its hooks.
type (
	Border      = dream.Border      // where hooks are called
	HookEntry   = dream.HookEntry   // the input of the entry hook
	HookCapture = dream.HookCapture // the input of the capture hook: the fragments of a cycle
	Captured    = dream.Captured    // one of these fragments
	Concern     = dream.Concern     // why a hook holds a fragment
	HookExit    = dream.HookExit    // the input of the exit hook
)

// The borders at which hooks are called.
const (
	AtEntry   = dream.AtEntry
	AtCapture = dream.AtCapture
	AtExit    = dream.AtExit
)

// Borders in the order of a dream.
var Borders = dream.Borders

// What applies when a hook does not answer in time: the onset runs or is vetoed, fragments pass or are held.
const (
	SilentAllow  = "allow"
	SilentRefuse = "refuse"
)

// Limits of a hook's timeout. A wake does not wait for a hook: it cancels the call, which is repeated when the dream
// is resumed.
const (
	ShortestHook = 100 * time.Millisecond
	LongestHook  = 8 * time.Second
)

// HookRule is a hook in a dream's spec.
type HookRule struct {
	Name    string        `json:"name"`
	At      []Border      `json:"at"`
	Timeout time.Duration `json:"timeout"`
	Silent  string        `json:"silent"`         // SilentAllow or SilentRefuse; without effect at the exit
	Text    bool          `json:"text,omitempty"` // the hook receives the text of fragments, not only their numbers
}

// Validate returns every fault of a rule.
func (r HookRule) Validate() error {
	var faults []error
	if r.Name == "" || strings.ContainsAny(r.Name, "/ \t\n") {
		faults = append(faults, fmt.Errorf("hook name %q must be a word without a slash", r.Name))
	}
	if len(r.At) == 0 {
		faults = append(faults, fmt.Errorf("hook %s has no border; use some of %v", r.Name, Borders))
	}
	for _, at := range r.At {
		if !slices.Contains(Borders, at) {
			faults = append(faults, fmt.Errorf("hook %s has the border %q; the borders are %v", r.Name, at, Borders))
		}
	}
	if r.Timeout < ShortestHook || r.Timeout > LongestHook {
		faults = append(faults,
			fmt.Errorf("hook %s has a timeout of %s; it must lie between %s and %s", r.Name, r.Timeout, ShortestHook,
				LongestHook))
	}
	if r.Silent != SilentAllow && r.Silent != SilentRefuse {
		faults = append(faults,
			fmt.Errorf("hook %s says %q when silent; say %s or %s", r.Name, r.Silent, SilentAllow, SilentRefuse))
	}
	return errors.Join(faults...)
}

// Hook is called at the borders of a dream. It receives copies, so it can answer but change nothing. It must be safe
// for concurrent use and should stop when its context ends, by its timeout or a wake.
type Hook interface {
	// Entry may veto the onset by returning a reason; "" lets it run.
	Entry(ctx context.Context, e HookEntry) (veto string, err error)
	// Capture may hold fragments for review by returning a reason for each; all others pass.
	Capture(ctx context.Context, c HookCapture) ([]Concern, error)
	// Exit receives the result of the dream.
	Exit(ctx context.Context, x HookExit) error
}

// Hooks are the hooks configured in this process, by name.
type Hooks map[string]Hook

// HookActivities has the activities that call hooks.
type HookActivities struct{ Ports }

// EntryRequest is the input of HookActivities.Enter.
type EntryRequest struct {
	Stretch
	Onset     budget.Micros `json:"onset"`
	Remaining budget.Micros `json:"remaining"`
	Cycles    int           `json:"cycles"`
	Gathered  GatherResult  `json:"gathered"`
}

// Enter calls every entry hook. If one vetoes, Done.Scope is its name and Done.Reason its reason; both are empty when
// the onset may run. The first answers are recorded and used by every repetition.
func (f *HookActivities) Enter(ctx context.Context, r EntryRequest) (StepResult, error) {
	spec, err := f.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	answers, err := f.ask(ctx, r.Stretch, spec, AtEntry, "hooks/entry",
		func(ctx context.Context, h Hook, _ HookRule) (answered, error) {
			veto, err := h.Entry(ctx, HookEntry{
				Agent:     spec.Handle,
				Dream:     spec.Dream,
				Tier:      spec.Tier,
				AsOf:      spec.AsOf,
				Budget:    spec.Budget,
				Onset:     r.Onset,
				Remaining: r.Remaining,
				Behaviour: spec.Behaviour,
				Depths:    depthTable(),
				Cycles:    r.Cycles,
				Affect:    r.Gathered.Affect,
				Bias:      r.Gathered.Bias,
				Memories:  r.Gathered.Shown,
			})
			return answered{Veto: veto}, err
		})
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	var result StepResult
	for _, a := range answers {
		if a.Fault != "" && a.Silent == SilentRefuse {
			a.Veto = "it gave no answer, and its silence refuses: " + a.Fault
		}
		if a.Veto != "" && result.Scope == "" {
			result.Scope, result.Reason = a.Hook, a.Veto
		}
	}
	return result,
		toApplicationError(
			f.write(ctx, r.Stretch, memory.Write{Events: f.silences(r.Stretch, AtEntry, "entry", answers)}))
}

// depthTable is what an onset may do under each behaviour, for hooks.
func depthTable() map[dream.Behaviour]dream.DepthBound {
	table := map[dream.Behaviour]dream.DepthBound{}
	for _, b := range dream.Behaviours {
		row := hypnagogia.Bounds(b)
		table[b] = dream.DepthBound{
			CyclesLeast: row.CyclesLeast, CyclesMost: row.CyclesMost, Wall: row.Onset,
			Allowed: row.Allowed,
		}
	}
	return table
}

// ReviewRequest is the input of HookActivities.Review.
type ReviewRequest struct {
	Stretch
	Cycle     int      `json:"cycle"`
	Fragments []string `json:"fragments"`
}

// Review shows the kept fragments of a cycle to every capture hook and holds those that a hook is concerned about:
// they are flagged, announced, never developed, and remain visible to people. Nothing is removed.
func (f *HookActivities) Review(ctx context.Context, r ReviewRequest) (StepResult, error) {
	spec, err := f.spec(ctx, r.Stretch)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	items, err := f.Memory.Get(ctx, r.Agent, r.Fragments...)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	fragments := memory.As[*dream.Fragment](items)
	border := fmt.Sprintf("hooks/capture-%d", r.Cycle)
	answers, err := f.ask(ctx, r.Stretch, spec, AtCapture, border,
		func(ctx context.Context, h Hook, rule HookRule) (answered, error) {
			concerns, err := h.Capture(ctx,
				HookCapture{
					Agent: spec.Handle, Dream: spec.Dream, Cycle: r.Cycle,
					Fragments: captured(fragments, rule.Text),
				})
			return answered{Concerns: concerns, Fault: astray(concerns, r.Fragments)}, err
		})
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	w := memory.Write{Events: f.silences(r.Stretch, AtCapture, border, answers)}
	var result StepResult
	for _, fragment := range fragments {
		changed := false
		for _, a := range answers {
			reason, concerned := a.about(fragment.ID)
			flag := dream.Flag{By: "hook/" + a.Hook, Reason: reason, Bars: true}
			if !concerned || slices.Contains(fragment.Flags, flag) {
				continue
			}
			fragment.Flags, changed = append(fragment.Flags, flag), true
			w.Events = append(w.Events, f.event(r.Stretch, strings.TrimPrefix(fragment.ID, r.Dream+"/")+"/"+flag.By,
				event.FragmentFlagged{Fragment: fragment.ID, By: flag.By, Bars: true}))
		}
		if changed {
			w.Change = append(w.Change, fragment)
		}
		_, barred := fragment.Barred()
		result.Made = append(result.Made, Made{ID: fragment.ID, Score: fragment.Verdict.Composite, Kept: !barred})
	}
	return result, toApplicationError(f.write(ctx, r.Stretch, w))
}

func captured(fragments []*dream.Fragment, text bool) []Captured {
	shown := make([]Captured, len(fragments))
	for i, f := range fragments {
		shown[i] = Captured{
			ID:         f.ID,
			Stage:      f.Stage,
			Novelty:    f.Verdict.Novelty,
			Composite:  f.Verdict.Composite,
			Confidence: f.Confidence,
			Sources:    slices.Clone(f.Sources),
			Taint:      f.Taint,
			Model:      f.Settings.Model,
		}
		if text {
			shown[i].Text = f.Content
		}
	}
	return shown
}

// ExitRequest is the input of HookActivities.Leave.
type ExitRequest struct {
	Stretch
	Ending Ending        `json:"ending"`
	Cost   FinishResult  `json:"cost"`
	Rules  []HookRule    `json:"rules"` // from the spec, whose note may be removed by now
	Handle string        `json:"handle"`
	Budget budget.Micros `json:"budget"`
}

// Leave calls every exit hook. No workflow waits for the answers; a hook that could not be reached is recorded in an
// event.
func (f *HookActivities) Leave(ctx context.Context, r ExitRequest) error {
	x := HookExit{
		Agent:   r.Handle,
		Dream:   r.Dream,
		Outcome: r.Ending.Outcome,
		Reason:  r.Ending.Reason,
		Budget:  r.Budget,
		Spent:   r.Cost.Spent,
		Phases:  r.Cost.Tallies,
	}
	if err := f.count(ctx, r.Stretch, &x); err != nil {
		return toApplicationError(err)
	}
	answers := f.every(ctx, rulesAt(r.Rules, AtExit), func(ctx context.Context, h Hook, _ HookRule) (answered, error) {
		return answered{}, h.Exit(ctx, x)
	})
	events := f.silences(r.Stretch, AtExit, "exit", answers)
	if len(events) == 0 {
		return nil
	}
	_, err := f.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: r.Dream, Events: events})
	return toApplicationError(err)
}

// count fills in what the dream has made.
func (f *HookActivities) count(ctx context.Context, s Stretch, x *HookExit) error {
	items, err := f.Memory.Find(ctx, memory.Query{Agent: s.Agent, Dream: s.Dream, Kinds: []dream.Kind{
		dream.KindFragment, dream.KindScenario, dream.KindHypothesis, dream.KindRecord,
	}})
	if err != nil {
		return fmt.Errorf("count what %s made: %w", s.Dream, err)
	}
	for _, item := range items {
		switch i := item.(type) {
		case *dream.Fragment:
			if i.Status != dream.FragmentDiscarded {
				x.Fragments++
			}
			if _, barred := i.Barred(); barred {
				x.Held++
			}
		case *dream.Scenario:
			if i.Kept {
				x.Scenarios++
			}
		case *dream.Hypothesis:
			x.Hypotheses++
		case *dream.Record:
			x.Stretches = i.Stretches
		}
	}
	return nil
}

func rulesAt(rules []HookRule, at Border) []HookRule {
	var matching []HookRule
	for _, r := range rules {
		if slices.Contains(r.At, at) {
			matching = append(matching, r)
		}
	}
	return matching
}

// ask calls the hooks of a border once: the answers are recorded, and a repeated activity reads them.
func (f *HookActivities) ask(
	ctx context.Context, s Stretch, spec Spec, at Border, note string,
	how func(context.Context, Hook, HookRule) (answered, error),
) ([]answered, error) {
	body, err := f.Memory.Note(ctx, s.Agent, s.Dream, note)
	if errors.Is(err, memory.ErrNotFound) {
		answers := f.every(ctx, rulesAt(spec.Hooks, at), how)
		if ctx.Err() != nil { // woken, or the worker stops: a missing answer is not silence
			return nil, context.Cause(ctx)
		}
		body, err = json.Marshal(answers)
		if err == nil {
			body, err = f.Memory.PutNote(ctx, s.Agent, s.fence(), note, body)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask the hooks of the %s: %w", at, err)
	}
	var answers []answered
	if err := json.Unmarshal(body, &answers); err != nil {
		return nil, fmt.Errorf("read what the hooks of the %s said: %w", at, err)
	}
	return answers, nil
}

// every calls hooks in parallel, each with its own timeout, and returns the answers in order.
func (f *HookActivities) every(ctx context.Context, rules []HookRule,
	how func(context.Context, Hook, HookRule) (answered, error),
) []answered {
	answers := make([]answered, len(rules))
	var pending sync.WaitGroup
	for i, rule := range rules {
		pending.Go(func() {
			answers[i] = f.one(ctx, rule, how)
			answers[i].Hook, answers[i].Silent = rule.Name, rule.Silent
		})
	}
	pending.Wait()
	for _, a := range answers {
		if a.Fault != "" && ctx.Err() == nil && activity.IsActivity(ctx) { // the event contains no words of a hook
			activity.GetLogger(ctx).Warn("a hook gave no answer", "hook", a.Hook, "reason", a.Fault, "instead",
				a.Silent)
		}
	}
	return answers
}

// noting is the part of an activity's time that is not given to hooks, so that their answers, or their silence, can
// be recorded: an activity that timed out would be repeated and its defaults would never apply.
const noting = 500 * time.Millisecond

// one calls a hook and continues after its timeout, even if the hook does not return.
func (f *HookActivities) one(ctx context.Context, rule HookRule,
	how func(context.Context, Hook, HookRule) (answered, error),
) answered {
	hook, found := f.Hooks[rule.Name]
	if !found {
		return answered{Fault: "the worker has no hook of this name"}
	}
	within := rule.Timeout
	if end, bounded := ctx.Deadline(); bounded {
		within = max(0, min(within, time.Until(end)-noting))
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answer := make(chan answered, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				answer <- answered{Fault: fmt.Sprintf("it panicked: %v", fault)}
			}
		}()
		a, err := how(ctx, hook, rule)
		if err != nil {
			a = answered{Fault: err.Error()}
		}
		answer <- a.worded()
	}()
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		return answered{Fault: fmt.Sprintf("no answer within %s", within.Round(time.Millisecond))}
	}
}

// silences announces hooks without a usable answer and the default that was applied.
func (f *HookActivities) silences(s Stretch, at Border, activityName string, answers []answered) []event.Event {
	var events []event.Event
	for _, a := range answers {
		if a.Fault != "" {
			events = append(events,
				f.event(s, activityName+"/"+a.Hook,
					event.HookSilent{Hook: a.Hook, Border: string(at), Default: a.Silent}))
		}
	}
	return events
}

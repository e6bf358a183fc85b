// Package hooks holds the activities that call hooks at the borders of a dream.
package hooks

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

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Hooks has the activities that call hooks.
type Hooks struct{ activities.Ports }

// hooksRun is what an activity of a call of hooks works with.
type hooksRun struct{ *core.Run }

func (f *Hooks) open(ctx context.Context, s activities.Stretch) (hooksRun, error) {
	run, err := core.Open(ctx, f.Ports, s)
	return hooksRun{run}, err
}

// Entry calls every entry hook. If one vetoes, CallOutcome.Scope is its name and CallOutcome.Reason its reason; both
// are empty when the onset may run. The first answers are recorded and used by every repetition.
func (f *Hooks) Entry(ctx context.Context, r activities.EntryHookRequest) (activities.StepResult, error) {
	run, err := f.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	answers, err := run.ask(ctx, activities.AtEntry, "hooks/entry",
		func(ctx context.Context, h activities.Hook, _ activities.HookRule) (answered, error) {
			veto, err := h.Entry(ctx, activities.HookEntry{
				Agent:     run.Spec.Handle,
				Dream:     run.Dream,
				Tier:      run.Spec.Tier,
				AsOf:      run.Spec.AsOf,
				Budget:    run.Spec.Budget,
				Onset:     r.Onset,
				Remaining: r.Remaining,
				Behaviour: run.Spec.Behaviour,
				Depths:    depthTable(),
				Cycles:    r.Cycles,
				Affect:    r.Gathered.Affect,
				Bias:      r.Gathered.Bias,
				Memories:  r.Gathered.Shown,
			})
			return answered{Veto: veto}, err
		})
	if err != nil {
		return activities.StepResult{}, err
	}
	var result activities.StepResult
	for _, a := range answers {
		if a.Fault != "" && a.Silent == activities.SilentRefuse {
			a.Veto = "it gave no answer, and its silence refuses: " + a.Fault
		}
		if a.Veto != "" && result.Scope == "" {
			result.Scope, result.Reason = a.Hook, a.Veto
		}
	}
	return result, run.Write(ctx, memory.Write{Events: run.silences(activities.AtEntry, "entry", answers)})
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

// Capture shows the kept fragments of a cycle to every capture hook and holds those that a hook is concerned about:
// they are flagged, announced, never developed, and remain visible to people. Nothing is removed.
func (f *Hooks) Capture(ctx context.Context, r activities.CaptureHookRequest) (activities.StepResult, error) {
	run, err := f.open(ctx, r.Stretch)
	if err != nil {
		return activities.StepResult{}, err
	}
	items, err := run.Get(ctx, r.Fragments...)
	if err != nil {
		return activities.StepResult{}, err
	}
	fragments := memory.As[*dream.Fragment](items)
	border := fmt.Sprintf("hooks/capture-%d", r.Cycle)
	answers, err := run.ask(ctx, activities.AtCapture, border,
		func(ctx context.Context, h activities.Hook, rule activities.HookRule) (answered, error) {
			concerns, err := h.Capture(ctx,
				activities.HookCapture{
					Agent: run.Spec.Handle, Dream: run.Dream, Cycle: r.Cycle,
					Fragments: captured(fragments, rule.Text),
				})
			return answered{Concerns: concerns, Fault: astray(concerns, r.Fragments)}, err
		})
	if err != nil {
		return activities.StepResult{}, err
	}
	w := memory.Write{Events: run.silences(activities.AtCapture, border, answers)}
	var result activities.StepResult
	for _, fragment := range fragments {
		changed := false
		for _, a := range answers {
			reason, concerned := a.about(fragment.ID)
			flag := dream.Flag{By: "hook/" + a.Hook, Reason: reason, Bars: true}
			if !concerned || slices.Contains(fragment.Flags, flag) {
				continue
			}
			fragment.Flags, changed = append(fragment.Flags, flag), true
			w.Events = append(w.Events, run.Event(strings.TrimPrefix(fragment.ID, r.Dream+"/")+"/"+flag.By,
				event.FragmentFlagged{Fragment: fragment.ID, By: flag.By, Bars: true}))
		}
		if changed {
			w.Change = append(w.Change, fragment)
		}
		_, barred := fragment.Barred()
		result.Made = append(result.Made,
			activities.MadeItem{ID: fragment.ID, Score: fragment.Verdict.Composite, Kept: !barred})
	}
	return result, run.Write(ctx, w)
}

func captured(fragments []*dream.Fragment, text bool) []activities.Captured {
	shown := make([]activities.Captured, len(fragments))
	for i, f := range fragments {
		shown[i] = activities.Captured{
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

// Exit calls every exit hook. No workflow waits for the answers; a hook that could not be reached is recorded in an
// event.
func (f *Hooks) Exit(ctx context.Context, r activities.ExitHookRequest) error {
	x := activities.HookExit{
		Agent:   r.Handle,
		Dream:   r.Dream,
		Outcome: r.Ending.Outcome,
		Reason:  r.Ending.Reason,
		Budget:  r.Budget,
		Spent:   r.Cost.Spent,
		Phases:  r.Cost.Tallies,
	}
	run := hooksRun{core.At(f.Ports, r.Stretch)}
	if err := run.count(ctx, &x); err != nil {
		return err
	}
	answers := run.every(ctx, rulesAt(r.Rules, activities.AtExit),
		func(ctx context.Context, h activities.Hook, _ activities.HookRule) (answered, error) {
			return answered{}, h.Exit(ctx, x)
		})
	events := run.silences(activities.AtExit, "exit", answers)
	if len(events) == 0 {
		return nil
	}
	_, err := f.Memory.Commit(ctx, memory.Write{Agent: r.Agent, Cause: r.Dream, Events: events})
	return err
}

// count fills in what the dream has made.
func (f hooksRun) count(ctx context.Context, x *activities.HookExit) error {
	items, err := f.Memory.Find(ctx, memory.Query{Agent: f.Agent, Dream: f.Dream, Kinds: []dream.Kind{
		dream.KindFragment, dream.KindScenario, dream.KindHypothesis, dream.KindRecord,
	}})
	if err != nil {
		return fmt.Errorf("count what %s made: %w", f.Dream, err)
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

func rulesAt(rules []activities.HookRule, at activities.Border) []activities.HookRule {
	var matching []activities.HookRule
	for _, r := range rules {
		if slices.Contains(r.At, at) {
			matching = append(matching, r)
		}
	}
	return matching
}

// ask calls the hooks of a border once: the answers are recorded, and a repeated activity reads them.
func (f hooksRun) ask(ctx context.Context, at activities.Border, note string,
	how func(context.Context, activities.Hook, activities.HookRule) (answered, error),
) ([]answered, error) {
	body, err := f.Note(ctx, note)
	if errors.Is(err, memory.ErrNotFound) {
		answers := f.every(ctx, rulesAt(f.Spec.Hooks, at), how)
		if ctx.Err() != nil { // woken, or the worker stops: a missing answer is not silence
			return nil, context.Cause(ctx)
		}
		body, err = json.Marshal(answers)
		if err == nil {
			body, err = f.PutNote(ctx, note, body)
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
func (f hooksRun) every(ctx context.Context, rules []activities.HookRule,
	how func(context.Context, activities.Hook, activities.HookRule) (answered, error),
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
func (f hooksRun) one(ctx context.Context, rule activities.HookRule,
	how func(context.Context, activities.Hook, activities.HookRule) (answered, error),
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
func (f hooksRun) silences(at activities.Border, activityName string, answers []answered) []event.Event {
	var events []event.Event
	for _, a := range answers {
		if a.Fault != "" {
			events = append(events,
				f.Event(activityName+"/"+a.Hook,
					event.HookTimedOut{Hook: a.Hook, Border: string(at), Default: a.Silent}))
		}
	}
	return events
}

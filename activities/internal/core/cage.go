package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// ByPolicy is the prefix of a policy rule in Flag.By.
const ByPolicy = "policy/"

// cage is the policy that is frozen in a spec; nil for specs without one. It is never read again during a dream, so
// that neither the dream nor a changed file can alter it.
func (r *Run) cage() (*policy.Cage, error) {
	if r.Spec.Policy == nil {
		return nil, nil
	}
	return policy.New(*r.Spec.Policy)
}

// flagsOf checks texts against the policy: one flag for each rule that they break. Each text is checked once in a
// dream.
func flagsOf(ctx context.Context, r *Run, c *policy.Cage, texts ...string) []dream.Flag {
	var flags []dream.Flag
	for _, text := range texts {
		var broken []dream.Flag
		checked := false
		r.Cached(ctx, func(v *CachedRun) { broken, checked = v.flags[text] })
		if !checked {
			for _, v := range c.Check(text) {
				reason := fmt.Sprintf("%s: %q", v.What, v.Where)
				broken = append(broken, dream.Flag{By: ByPolicy + v.Rule, Reason: reason, Bars: true})
			}
			r.Cached(ctx, func(v *CachedRun) { v.flags[text] = broken })
		}
		for _, one := range broken {
			if !slices.ContainsFunc(flags, func(f dream.Flag) bool { return f.By == one.By }) {
				flags = append(flags, one)
			}
		}
	}
	return flags
}

// Tag checks a judged fragment against the policy and flags it. A flagged fragment stays visible to people and is
// never developed. A discarded fragment is not checked, since it is not developed anyway.
func Tag(ctx context.Context, r *Run, f *dream.Fragment, w *memory.Write) error {
	if f.Status == dream.FragmentDiscarded {
		return nil
	}
	c, err := r.cage()
	if err != nil {
		return fmt.Errorf("read the policy of %s: %w", r.Dream, err)
	}
	Flag(r, f, flagsOf(ctx, r, c, f.Content), w)
	if flag, barred := f.Barred(); barred {
		f.Reason = flag.Barring()
	}
	return nil
}

// Flag adds each flag once to a fragment and announces it, without any text of the fragment.
func Flag(r *Run, f *dream.Fragment, flags []dream.Flag, w *memory.Write) {
	for _, flag := range flags {
		if slices.ContainsFunc(f.Flags, func(existing dream.Flag) bool { return existing.By == flag.By }) {
			continue
		}
		f.Flags = append(f.Flags, flag)
		w.Events = append(w.Events, r.Event(strings.TrimPrefix(f.ID, r.Dream+"/")+"/"+flag.By,
			event.FragmentFlagged{Fragment: f.ID, By: flag.By, Bars: flag.Bars}))
	}
}

// MayDevelop says whether a fragment may be developed: it is not barred, and it passes the policy of this dream,
// which is checked again because the fragment may come from a dream with another policy.
func MayDevelop(ctx context.Context, r *Run, f *dream.Fragment) (bool, error) {
	if _, barred := f.Barred(); barred || unheld(r, f) {
		return false, nil
	}
	c, err := r.cage()
	return err == nil && len(flagsOf(ctx, r, c, f.Content)) == 0, err
}

// mayWeave removes what later phases may not build on: barred fragments and texts that break the policy.
func (r *Run) mayWeave(ctx context.Context, items []dream.Item) ([]dream.Item, error) {
	c, err := r.cage()
	if err != nil {
		return nil, fmt.Errorf("read the policy of %s: %w", r.Dream, err)
	}
	return slices.DeleteFunc(slices.Clone(items), func(item dream.Item) bool {
		if f, ok := item.(*dream.Fragment); ok {
			if _, barred := f.Barred(); barred || unheld(r, f) {
				return true
			}
		}
		return len(flagsOf(ctx, r, c, checkedTexts(item)...)) > 0
	}), nil
}

// MaySurface says whether the text of an interrupted call may become a journal entry.
func MaySurface(ctx context.Context, r *Run, text string) (bool, error) {
	err := r.Load(ctx)
	if errors.Is(err, memory.ErrNotFound) { // the dream never began, or its notes were removed
		return true, nil
	}
	if err != nil {
		return false, err
	}
	c, err := r.cage()
	return err == nil && len(flagsOf(ctx, r, c, text)) == 0, err
}

// Sift handles items of a step that the policy bars: they are archived with their flags, so that a person can read
// them, and neither kept nor staged nor surfaced. What depends on them is dropped as well: the prediction of a
// scenario, the promotion of a fragment, the announcement. It returns the remaining items.
func (r *Run) Sift(ctx context.Context, items []dream.Item, w *memory.Write) ([]dream.Item, error) {
	c, err := r.cage()
	if err != nil || c == nil {
		return items, err
	}
	var kept []dream.Item
	barred := map[string]bool{}
	for _, item := range items {
		if on, ok := item.(*dream.Prediction); ok && barred[on.Scenario] {
			continue
		}
		flags := flagsOf(ctx, r, c, checkedTexts(item)...)
		if len(flags) == 0 {
			kept = append(kept, item)
			continue
		}
		head := item.Header()
		barred[head.ID] = true
		setAside(item, flags)
		w.Add = append(w.Add, item)
		for _, flag := range flags {
			w.Events = append(w.Events, r.Event(strings.TrimPrefix(head.ID, r.Dream+"/")+"/"+flag.By,
				event.OutputBarred{Item: head.ID, Kind: head.Kind, By: flag.By}))
		}
	}
	if len(barred) == 0 {
		return items, nil
	}
	w.Events = slices.DeleteFunc(w.Events,
		func(e event.Event) bool { return e.Type != event.OutputBarred{}.EventType() && refersTo(e, barred) })
	w.Change = slices.DeleteFunc(w.Change, func(item dream.Item) bool {
		f, ok := item.(*dream.Fragment)
		// the items that it would have replaced stay as they are
		return ok && barred[f.Hypothesis] || barred[item.Header().NewerID]
	})
	return kept, nil
}

// checkedTexts are the texts of an item that are checked against the policy: everything that a dream wrote into it.
func checkedTexts(item dream.Item) []string {
	switch i := item.(type) {
	case *dream.Scenario:
		return []string{i.Content, i.Premise}
	case *dream.Hypothesis:
		return []string{i.Claim, i.FirstStep}
	case *dream.Prediction:
		return []string{i.Claim, i.Criterion, i.Trace}
	}
	return []string{item.Text()}
}

// setAside archives an item with the flags that bar it.
func setAside(item dream.Item, flags []dream.Flag) {
	item.Header().State = dream.Archived
	why := flags[0].Barring()
	switch i := item.(type) {
	case *dream.Scenario:
		i.Flags, i.Reason = flags, why
	case *dream.Hypothesis:
		i.Flags, i.Status = flags, dream.HypothesisBarred
	case *dream.Prediction:
		i.Flags, i.Status = flags, dream.PredictionVoid
	case *dream.Journal:
		i.Flags = flags
	case *dream.Gist:
		i.Flags = flags
	}
}

// refersTo says whether an event refers to one of these items.
func refersTo(e event.Event, ids map[string]bool) bool {
	for id := range ids {
		if bytes.Contains(e.Data, []byte(`"`+id+`"`)) {
			return true
		}
	}
	return false
}

// unheld says whether the policy bars a fragment because the rules in words were never applied to it.
func unheld(r *Run, f *dream.Fragment) bool {
	return r.Spec.Policy != nil && r.Spec.Policy.Unclear == policy.Bar && f.HeldTo != r.Spec.Policy.Words()
}

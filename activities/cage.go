package activities

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// byPolicy begins the name of a rule in a flag.
const byPolicy = "policy/"

// cage holds texts against the policy that is frozen in an order. Nothing is read anew: a dream cannot change it, and
// neither can a file that changes while it runs. Orders of before there was one bar nothing.
func cage(o Spec) (*policy.Cage, error) {
	if o.Policy == nil {
		return nil, nil
	}
	return policy.New(*o.Policy)
}

// flagsOf are what the policy says of a text: one flag for each rule that it breaks.
func flagsOf(c *policy.Cage, texts ...string) []dream.Flag {
	var flags []dream.Flag
	for _, text := range texts {
		for _, v := range c.Check(text) {
			by := byPolicy + v.Rule
			if !slices.ContainsFunc(flags, func(f dream.Flag) bool { return f.By == by }) {
				flags = append(flags, dream.Flag{By: by, Reason: fmt.Sprintf("%s: %q", v.What, v.Where), Bars: true})
			}
		}
	}
	return flags
}

// tag marks a fragment that the observer has judged with what the policy says of it. It stays where a person can see it
// and is never developed. One that was discarded is developed by nobody: it is not looked at.
func (p Ports) tag(ctx context.Context, s Stretch, f *dream.Fragment, w *memory.Write) error {
	if f.Status == dream.FragmentDiscarded {
		return nil
	}
	o, err := p.spec(ctx, s)
	if err != nil {
		return err
	}
	c, err := cage(o)
	if err != nil {
		return fmt.Errorf("read the policy of %s: %w", o.Dream, err)
	}
	p.flag(s, f, flagsOf(c, f.Content), w)
	if flag, barred := f.Barred(); barred {
		f.Reason = barredBy(flag)
	}
	return nil
}

// barredBy is the reason of what a flag bars.
func barredBy(flag dream.Flag) string { return "barred by " + flag.By }

// flag adds flags to a fragment, each once, and announces them without a word of it.
func (p Ports) flag(s Stretch, f *dream.Fragment, flags []dream.Flag, w *memory.Write) {
	for _, flag := range flags {
		if slices.ContainsFunc(f.Flags, func(existing dream.Flag) bool { return existing.By == flag.By }) {
			continue
		}
		f.Flags = append(f.Flags, flag)
		w.Events = append(w.Events, p.event(s, strings.TrimPrefix(f.ID, s.Dream+"/")+"/"+flag.By,
			event.FragmentFlagged{Fragment: f.ID, By: flag.By, Bars: flag.Bars}))
	}
}

// mayDevelop says whether a fragment may be developed: nobody has barred it, and the policy of this dream does not
// either. That is asked anew, because a fragment may come from a dream that had another.
func mayDevelop(o Spec, f *dream.Fragment) (bool, error) {
	if _, barred := f.Barred(); barred || unheld(o, f) {
		return false, nil
	}
	c, err := cage(o)
	return len(c.Check(f.Content)) == 0, err
}

// mayWeave leaves out what later phases may not rest on: barred fragments, and every text that breaks the policy.
func (p Ports) mayWeave(ctx context.Context, s Stretch, items []dream.Item) ([]dream.Item, error) {
	o, err := p.spec(ctx, s)
	if err != nil {
		return nil, err
	}
	c, err := cage(o)
	if err != nil {
		return nil, fmt.Errorf("read the policy of %s: %w", o.Dream, err)
	}
	return slices.DeleteFunc(slices.Clone(items), func(item dream.Item) bool {
		if f, ok := item.(*dream.Fragment); ok {
			if _, barred := f.Barred(); barred || unheld(o, f) {
				return true
			}
		}
		return len(flagsOf(c, spokenBy(item)...)) > 0
	}), nil
}

// maySurface says whether words that an interrupted call had said may become an entry of the journal.
func (p Ports) maySurface(ctx context.Context, s Stretch, text string) (bool, error) {
	o, err := p.spec(ctx, s)
	if errors.Is(err, memory.ErrNotFound) { // it never lay down, or its notes are gone
		return true, nil
	}
	if err != nil {
		return false, err
	}
	c, err := cage(o)
	return len(c.Check(text)) == 0, err
}

// sift keeps what the policy bars out of what a step made: it is archived with its flags, so that a person can read it,
// and neither kept nor staged nor surfaced. What rests on it goes with it: the prediction of a scenario, the promotion
// of a fragment, the announcement. It answers what remains.
func (p Ports) sift(s Stretch, o Spec, items []dream.Item, w *memory.Write) ([]dream.Item, error) {
	c, err := cage(o)
	if err != nil || c == nil {
		return items, err
	}
	var kept []dream.Item
	barred := map[string]bool{}
	for _, item := range items {
		if on, ok := item.(*dream.Prediction); ok && barred[on.Scenario] {
			continue
		}
		flags := flagsOf(c, spokenBy(item)...)
		if len(flags) == 0 {
			kept = append(kept, item)
			continue
		}
		head := item.Header()
		barred[head.ID] = true
		setAside(item, flags)
		w.Add = append(w.Add, item)
		for _, flag := range flags {
			w.Events = append(w.Events, p.event(s, strings.TrimPrefix(head.ID, s.Dream+"/")+"/"+flag.By,
				event.OutputBarred{Item: head.ID, Kind: head.Kind, By: flag.By}))
		}
	}
	if len(barred) == 0 {
		return items, nil
	}
	w.Events = slices.DeleteFunc(w.Events,
		func(e event.Event) bool { return e.Type != event.OutputBarred{}.EventType() && tells(e, barred) })
	w.Change = slices.DeleteFunc(w.Change, func(item dream.Item) bool {
		f, ok := item.(*dream.Fragment)
		// what would have taken its place does not count
		return ok && barred[f.Hypothesis] || barred[item.Header().NewerID]
	})
	return kept, nil
}

// spokenBy are the words of an item that the policy is held against: all that a dream wrote into it.
func spokenBy(item dream.Item) []string {
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
	why := barredBy(flags[0])
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

// tells says whether an event is about one of these items.
func tells(e event.Event, ids map[string]bool) bool {
	for id := range ids {
		if bytes.Contains(e.Data, []byte(`"`+id+`"`)) {
			return true
		}
	}
	return false
}

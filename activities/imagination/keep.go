package imagination

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Keep ends a search: the best scenarios are kept, every other one gets a reason, and the fragments that kept ones
// develop are marked. It makes no paid call and returns all scenarios, best first.
func (m *Imagination) Keep(ctx context.Context, r activities.KeepRequest) (activities.StepResult, error) {
	run := searchRun{core.At(m.Ports, r.Stretch)}
	items, err := run.Get(ctx, r.Scenarios...)
	if err != nil {
		return activities.StepResult{}, err
	}
	all := memory.As[*dream.Scenario](items)
	if len(all) > 0 {
		all[len(all)-1].Ended = r.Reason
	}
	made, err := run.settle(ctx, all, r.Keep)
	return activities.StepResult{Made: made}, err
}

// settle decides which scenarios are kept and announces it.
func (m searchRun) settle(ctx context.Context, all []*dream.Scenario, keep int) ([]activities.MadeItem, error) {
	decide(all, keep)
	w := memory.Write{}
	var made []activities.MadeItem
	developed := map[string]bool{}
	for _, s := range core.Ranked(all) {
		w.Change = append(w.Change, s)
		w.Events = append(w.Events,
			m.Event(strings.TrimPrefix(s.ID, m.Dream+"/"), event.ScenarioImagined{
				Scenario:  s.ID,
				Score:     s.Score,
				Kept:      s.Kept,
				Synthetic: s.Synthetic,
				Operation: s.Operation,
				Parents:   s.Parents,
			}))
		made = append(made, activities.MadeItem{ID: s.ID, Score: s.Score, Kept: s.Kept})
		if !s.Kept {
			continue
		}
		seeds, err := m.Get(ctx, s.Develops()...)
		if err != nil {
			return nil, err
		}
		for _, f := range memory.As[*dream.Fragment](seeds) {
			if !developed[f.ID] {
				developed[f.ID] = true
				f.Status, f.Scenario = dream.FragmentDeveloped, s.ID
				w.Change = append(w.Change, f)
			}
		}
	}
	return made, m.Write(ctx, w)
}

// decide marks the kept scenarios and gives every other one its reason.
func decide(all []*dream.Scenario, keep int) {
	for i, fate := range hypnagogia.SearchOf(all).KeepDecisions(keep) {
		s := all[i]
		s.Kept = fate.Kept
		if s.Kept {
			s.Reason = ""
			continue
		}
		switch fate.Why {
		case hypnagogia.DroppedUnweighed:
			if s.Reason == "" {
				s.Reason = "it was not weighed"
			}
		case hypnagogia.DroppedWorthless:
			s.Reason = "it is worth nothing"
		case hypnagogia.DroppedBelowParents:
			own, other := distinguish(s.Score, all[fate.By].Score)
			s.Reason = fmt.Sprintf("left: it scored %s, and %s that it came from %s", own, numbered(all[fate.By]),
				other)
		case hypnagogia.DroppedReplaced:
			s.Reason = fmt.Sprintf("%s grew out of it and stands in its place", numbered(all[fate.By]))
		case hypnagogia.DroppedByRank:
			s.Reason = fmt.Sprintf("rank %d of %d, %d are kept", fate.Rank, fate.Of, keep)
		}
	}
}

// distinguish formats two scores with two decimals, or with as many as it takes to distinguish them.
func distinguish(a, b float64) (string, string) {
	for places := 2; places <= 6; places++ {
		own, other := fmt.Sprintf("%.*f", places, a), fmt.Sprintf("%.*f", places, b)
		if own != other || a == b {
			return own, other
		}
	}
	return fmt.Sprint(a), fmt.Sprint(b)
}

// numbered names a scenario within its dream.
func numbered(s *dream.Scenario) string {
	return "scenario " + s.ID[strings.LastIndex(s.ID, "/")+1:]
}

package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// KeepRequest is the input of Imagination.Keep.
type KeepRequest struct {
	Stretch
	Scenarios []string `json:"scenarios"` // all of the search, in order of creation
	Keep      int      `json:"keep"`
	Why       string   `json:"why,omitempty"` // why the search ended
}

// Keep ends a search: the best scenarios are kept, every other one gets a reason, and the fragments that kept ones
// develop are marked. It makes no paid call and returns all scenarios, best first.
func (m *Imagination) Keep(ctx context.Context, r KeepRequest) (StepResult, error) {
	items, err := m.Memory.Get(ctx, r.Agent, r.Scenarios...)
	if err != nil {
		return StepResult{}, toApplicationError(err)
	}
	all := memory.As[*dream.Scenario](items)
	if len(all) > 0 {
		all[len(all)-1].Ended = r.Why
	}
	made, err := m.settle(ctx, r.Stretch, all, r.Keep)
	return StepResult{Made: made}, toApplicationError(err)
}

// settle decides which scenarios are kept and announces it.
func (m *Imagination) settle(ctx context.Context, stretch Stretch, all []*dream.Scenario, keep int) ([]Made, error) {
	decide(all, keep)
	w := memory.Write{}
	var made []Made
	developed := map[string]bool{}
	for _, s := range ranked(all) {
		w.Change = append(w.Change, s)
		w.Events = append(w.Events,
			m.event(stretch, strings.TrimPrefix(s.ID, stretch.Dream+"/"), event.ScenarioImagined{
				Scenario:  s.ID,
				Score:     s.Score,
				Kept:      s.Kept,
				Synthetic: s.Synthetic,
				Operation: s.Operation,
				Parents:   s.Parents,
			}))
		made = append(made, Made{ID: s.ID, Score: s.Score, Kept: s.Kept})
		if !s.Kept {
			continue
		}
		seeds, err := m.Memory.Get(ctx, stretch.Agent, s.Develops()...)
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
	return made, m.write(ctx, stretch, w)
}

// decide marks the kept scenarios and gives every other one its reason.
func decide(all []*dream.Scenario, keep int) {
	for i, fate := range hypnagogia.SearchOf(all).Fates(keep) {
		s := all[i]
		s.Kept = fate.Kept
		if s.Kept {
			s.Reason = ""
			continue
		}
		switch fate.Why {
		case hypnagogia.WhyUnweighed:
			if s.Reason == "" {
				s.Reason = "it was not weighed"
			}
		case hypnagogia.WhyNothing:
			s.Reason = "it is worth nothing"
		case hypnagogia.WhyLeft:
			own, other := distinguish(s.Score, all[fate.By].Score)
			s.Reason = fmt.Sprintf("left: it scored %s, and %s that it came from %s", own, numbered(all[fate.By]),
				other)
		case hypnagogia.WhyGrown:
			s.Reason = fmt.Sprintf("%s grew out of it and stands in its place", numbered(all[fate.By]))
		case hypnagogia.WhyRank:
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

// ranked sorts scenarios best first; equal scores are ordered by text.
func ranked(all []*dream.Scenario) []*dream.Scenario {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *dream.Scenario) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Content, b.Content))
	})
	return sorted
}

func textsOf[T dream.Item](items []T) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.Text()
	}
	return texts
}

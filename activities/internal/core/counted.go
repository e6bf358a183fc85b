package core

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prompt"
)

// Counted returns what goes together in the agent's episodes more often than chance, the most telling first, and what
// was claimed before last. Episodes of dreams and of the agent itself do not count. What an open prediction from before
// the dream says already is left out, and what has been found to hold no more often than chance. It is counted anew by
// each process, since a note would keep words of memories that were removed.
func (r *Run) Counted(ctx context.Context) ([]claims.Association, error) {
	var existing *[]claims.Association
	r.Cached(ctx, func(v *CachedRun) { existing = v.counted })
	if existing != nil {
		return *existing, nil
	}
	items, err := r.Memory.Find(ctx, memory.Query{
		Agent: r.Agent,
		Kinds: []dream.Kind{dream.KindEpisode},
		Sort:  memory.Newest,
		Limit: claims.MostTexts,
		Until: r.Spec.AsOf.Add(1),
	})
	if err != nil {
		return nil, fmt.Errorf("read the episodes to count: %w", err)
	}
	var texts []claims.Text
	for _, e := range slices.Backward(memory.As[*dream.Episode](items)) {
		if !e.Dreamt() && (e.Taint == dream.FromHuman || e.Taint == dream.FromTool) {
			texts = append(texts, claims.Text{ID: e.ID, At: e.At, Content: e.Content})
		}
	}
	open, err := openPredictions(ctx, r)
	if err != nil {
		return nil, err
	}
	claimed, err := r.Memory.Find(ctx, memory.Query{
		Agent: r.Agent, Kinds: []dream.Kind{dream.KindClaim}, States: []dream.State{dream.Live, dream.Archived},
	})
	if err != nil {
		return nil, fmt.Errorf("read what is claimed: %w", err)
	}
	without, repeated := map[string]bool{}, map[string]int{}
	for _, c := range memory.As[*dream.Claim](claimed) {
		key := claims.Key(c.Check)
		without[key] = c.Status == dream.ClaimDropped || c.Status == dream.ClaimRetired
		repeated[key] = 1
	}
	for _, p := range open {
		if p.Check != nil && p.Dream != r.Dream {
			without[claims.Key(*p.Check)] = true
		}
	}
	counted := slices.DeleteFunc(claims.Associate(texts), func(a claims.Association) bool {
		return without[claims.Key(a.Check)]
	})
	slices.SortStableFunc(counted, func(a, b claims.Association) int {
		return repeated[claims.Key(a.Check)] - repeated[claims.Key(b.Check)]
	})
	r.Cached(ctx, func(v *CachedRun) { v.counted = &counted })
	return counted, nil
}

// Deal returns what one of so many parts of a dream is shown of what was counted: every so manieth, so that no two
// parts claim the same.
func Deal(counted []claims.Association, part, parts int) []claims.Association {
	var dealt []claims.Association
	for i := part; i < len(counted); i += parts {
		dealt = append(dealt, counted[i])
	}
	return dealt
}

// The parts of a dream to which regularities are dealt.
const (
	CountedForward = iota
	CountedBackward
	CountedImagined
	CountedParts
)

// CountedLines are regularities as lines of a prompt, with the ids of the episodes that show them.
func CountedLines(counted []claims.Association) (lines []prompt.Line, behind []string) {
	texts := make([]string, len(counted))
	for i, a := range counted {
		texts[i] = prompt.Regularity(claims.Describe(a.Check), a.Hits, a.Trials, a.Base, a.Days())
		behind = append(behind, a.Evidence...)
	}
	return prompt.Lines("x", texts...), dream.DistinctIDs(behind)
}

// RestsOn notes the episodes that show what a prediction says, if it was counted.
func RestsOn(p *dream.Prediction, counted []claims.Association) {
	for _, a := range counted {
		if p.Check != nil && claims.Key(*p.Check) == claims.Key(a.Check) {
			p.Sources = dream.DistinctIDs(append(slices.Clone(a.Evidence), p.Sources...))
			p.Episodes = dream.DistinctIDs(append(slices.Clone(a.Evidence), p.Episodes...))
		}
	}
}

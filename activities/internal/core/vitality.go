package core

import (
	"context"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// MoodAfter is the mood that a dream leaves: the waking mood, moved part of the way toward the tone of the kept
// fragments.
func MoodAfter(ctx context.Context, r *Run, kept []*dream.Fragment, record *dream.Record) (mood.PAD, error) {
	dreamt, err := tone(ctx, r, kept, record)
	return record.Before.Toward(dreamt, r.Spec.Knobs.MoodShift), err
}

// tone is the mean affect of the lived memories behind the kept fragments; without any, the waking mood. Fragments
// whose shift a wake has already applied are left out.
func tone(ctx context.Context, r *Run, fragments []*dream.Fragment, record *dream.Record) (mood.PAD, error) {
	waking := record.Before
	var sum mood.PAD
	n := 0.0
	counted := slices.DeleteFunc(slices.Clone(fragments), func(f *dream.Fragment) bool { return f.Cycle < record.Felt })
	var ids []string
	for _, f := range counted {
		ids = append(ids, f.Sources...)
	}
	items, err := r.Get(ctx, dream.DistinctIDs(ids)...)
	if err != nil {
		return waking, err
	}
	sources := map[string]*dream.Episode{}
	for _, e := range memory.As[*dream.Episode](items) {
		sources[e.ID] = e
	}
	for _, f := range counted {
		for _, id := range f.Sources {
			e := sources[id]
			if e == nil { // it is no episode, or was removed
				continue
			}
			sum.Pleasure += e.Affect.Pleasure
			sum.Arousal += e.Affect.Arousal
			sum.Dominance += e.Affect.Dominance
			n++
		}
	}
	if n == 0 {
		return waking, nil
	}
	return mood.PAD{Pleasure: sum.Pleasure / n, Arousal: sum.Arousal / n, Dominance: sum.Dominance / n}, nil
}

package core

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// WordOrder is the order of words in the episodes that a dream chooses from.
func WordOrder(ctx context.Context, r *Run) (hypnagogia.WordOrder, error) {
	var existing *hypnagogia.WordOrder
	r.Cached(ctx, func(v *CachedRun) { existing = v.wordOrder })
	if existing != nil {
		return *existing, nil
	}
	episodes, err := r.Pool(ctx)
	if err != nil {
		return hypnagogia.WordOrder{}, err
	}
	var texts []string
	for _, e := range episodes {
		if e.Taint != dream.FromDream {
			texts = append(texts, hypnagogia.PartsOf(e)...)
		}
	}
	o := hypnagogia.OrderOf(texts)
	r.Cached(ctx, func(v *CachedRun) { v.wordOrder = &o })
	return o, nil
}

// NothingShown is the number of no gathering: what REM and the return read.
const NothingShown = -1

// MemoryTexts are what a text may have copied: the episodes that the dream chooses from, and the lines of a prompt,
// each with the id of the item behind it. cycle is the number of the gathering that the lines are of.
func MemoryTexts(ctx context.Context, r *Run, cycle int, shown Remembered) (hypnagogia.MemoryTexts, error) {
	var t hypnagogia.MemoryTexts
	found := false
	r.Cached(ctx, func(v *CachedRun) { t, found = v.texts[cycle] })
	if found {
		return t, nil
	}
	episodes, err := r.Pool(ctx)
	if err != nil {
		return t, err
	}
	if cycle == NothingShown {
		texts := make([][]string, len(episodes))
		for i, e := range episodes {
			texts[i] = hypnagogia.PartsOf(e)
		}
		t = hypnagogia.MemoryTextsOf(texts)
	} else {
		t, err = MemoryTexts(ctx, r, NothingShown, Remembered{})
		if err != nil {
			return t, err
		}
		at, lines := map[string]int32{}, map[int32][]string{}
		for i, e := range episodes {
			at[e.ID] = int32(i)
		}
		for i, line := range shown.Lines {
			n, found := at[shown.Behind[i]]
			if !found {
				n = int32(len(at))
				at[shown.Behind[i]] = n
			}
			lines[n] = append(lines[n], line.Text)
		}
		t = t.With(lines)
	}
	r.Cached(ctx, func(v *CachedRun) { v.texts[cycle] = t })
	return t, nil
}

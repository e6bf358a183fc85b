package dreamrun

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// takenNote freezes what a dream takes over.
const takenNote = "taken"

// ReusePhases lists what a dream takes over from the one it continues. The first result is frozen.
func (d *DreamRun) ReusePhases(ctx context.Context,
	r activities.ReusePhasesRequest,
) (activities.ReusePhasesResult, error) {
	run, err := core.Open(ctx, d.Ports, r.Stretch)
	if err != nil || run.Spec.Redreams == nil {
		return activities.ReusePhasesResult{}, err
	}
	var taken activities.ReusePhasesResult
	ids, err := run.Frozen(ctx, takenNote, func() ([]string, error) {
		items, err := TakenOver(ctx, d.Memory, r.Agent, *run.Spec.Redreams)
		return core.IdsOf(items), err
	})
	if err != nil {
		return taken, err
	}
	items, err := d.Memory.Get(ctx, r.Agent, ids...)
	return GroupTakenOver(items), err
}

// TakenOver are the items that a dream takes over. Items that the other dream took over itself are read from where they
// were made. ErrNoRedream when a dream on the way still runs or was undone, memory.ErrNotFound when it does not
// exist.
func TakenOver(ctx context.Context, store memory.DreamStore, agent string, from dream.Redream) ([]dream.Item, error) {
	var taken []dream.Item
	for _, phase := range dream.Phases {
		if !from.Taken(phase) {
			break
		}
		made, err := dreamtIn(ctx, store, agent, from.Dream, phase)
		if err != nil {
			return nil, err
		}
		taken = append(taken, made...)
	}
	return taken, nil
}

// dreamtIn is what a phase of a dream has made and kept, or what it took over.
func dreamtIn(ctx context.Context, store memory.DreamStore, agent, id string, phase dream.Phase) ([]dream.Item, error) {
	for range 1000 { // a longer chain is a cycle
		record, err := memory.One[*dream.Record](ctx, store, agent, id)
		switch {
		case err != nil:
			return nil, err
		case record.State != dream.Live:
			return nil, fmt.Errorf("%s was undone: it %w", id, activities.ErrNoRedream)
		case record.Outcome == dream.Dreaming:
			return nil, fmt.Errorf("%s still goes on: it %w until it is over", id, activities.ErrNoRedream)
		case record.Unsettled():
			return nil, fmt.Errorf("%s was woken and may go on: it %w until it is over", id, activities.ErrNoRedream)
		}
		if !record.Redreams.Taken(phase) {
			items, err := store.Find(ctx,
				memory.Query{
					Agent: agent, Dream: id, States: []dream.State{dream.Live, dream.Proposed},
					Sort: memory.Oldest,
				})
			if err != nil {
				return nil, fmt.Errorf("read what %s has made: %w", id, err)
			}
			return slices.DeleteFunc(items,
				func(item dream.Item) bool { return item.Header().Phase != phase || !goesOn(item) }), nil
		}
		id = record.Redreams.Dream
	}
	return nil, fmt.Errorf("%s goes on from itself: it %w", id, activities.ErrNoRedream)
}

// goesOn says whether later phases use an item.
func goesOn(item dream.Item) bool {
	switch i := item.(type) {
	case *dream.Fragment:
		return i.Status != dream.FragmentDiscarded
	case *dream.Scenario:
		return i.Kept
	case *dream.Prediction:
		return i.Phase == dream.NREM
	case *dream.Hypothesis:
		return i.Status != dream.HypothesisRefuted
	}
	return false
}

// GroupTakenOver groups items by how later phases use them. Held fragments are not developed.
func GroupTakenOver(items []dream.Item) activities.ReusePhasesResult {
	var t activities.ReusePhasesResult
	fragments := memory.As[*dream.Fragment](items)
	slices.SortStableFunc(fragments,
		func(a, b *dream.Fragment) int { return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.ID, b.ID)) })
	for _, f := range fragments {
		_, barred := f.Barred()
		made := activities.MadeItem{ID: f.ID, Score: f.Verdict.Composite, Kept: true, Chosen: !barred && chosen(f)}
		t.Fragments = append(t.Fragments, made)
		if made.Chosen {
			t.Selected = append(t.Selected, made)
		}
	}
	for _, p := range memory.As[*dream.Prediction](items) {
		t.Patterns = append(t.Patterns, activities.MadeItem{ID: p.ID, Score: p.Confidence, Kept: true})
	}
	for _, s := range core.Ranked(memory.As[*dream.Scenario](items)) {
		t.Scenarios = append(t.Scenarios, activities.MadeItem{ID: s.ID, Score: s.Score, Kept: true})
	}
	for _, h := range memory.As[*dream.Hypothesis](items) {
		t.Staged = append(t.Staged, activities.MadeItem{ID: h.ID, Score: h.Confidence, Kept: true})
	}
	return t
}

// chosen says whether lucid capture rated a fragment promote; older fragments show it by their status.
func chosen(f *dream.Fragment) bool {
	if f.Rating != nil {
		return f.Rating.Rated == core.Promote
	}
	return f.Status != dream.FragmentRaw && f.Status != dream.FragmentDiscarded
}

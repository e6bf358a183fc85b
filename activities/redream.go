package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// TakeOverRequest is the input of DreamRun.TakeOver.
type TakeOverRequest struct{ Stretch }

// TakeOverResult lists the items taken over. They are not copied: they still belong to the other dream.
type TakeOverResult struct {
	Fragments []Made `json:"fragments,omitempty"` // kept, in order of capture
	Selected  []Made `json:"selected,omitempty"`  // those rated promote at lucid capture
	Patterns  []Made `json:"patterns,omitempty"`
	Scenarios []Made `json:"scenarios,omitempty"` // kept, best first
	Staged    []Made `json:"staged,omitempty"`
}

// Empty says whether there is nothing to continue with.
func (t TakeOverResult) Empty() bool {
	return len(t.Fragments)+len(t.Patterns)+len(t.Scenarios)+len(t.Staged) == 0
}

// takenNote freezes what a dream takes over.
const takenNote = "taken"

// TakeOver lists what a dream takes over from the one it continues. The first result is frozen.
func (b *DreamRun) TakeOver(ctx context.Context, r TakeOverRequest) (TakeOverResult, error) {
	spec, err := b.spec(ctx, r.Stretch)
	if err != nil || spec.Redreams == nil {
		return TakeOverResult{}, toApplicationError(err)
	}
	var taken TakeOverResult
	ids, err := b.frozen(ctx, r.Stretch, takenNote, func() ([]string, error) {
		items, err := TakenOver(ctx, b.Memory, r.Agent, *spec.Redreams)
		return idsOf(items), err
	})
	if err != nil {
		return taken, toApplicationError(err)
	}
	items, err := b.Memory.Get(ctx, r.Agent, ids...)
	return GroupTakenOver(items), toApplicationError(err)
}

// ErrNoRedream says that a dream cannot be continued from a phase.
var ErrNoRedream = errors.New("cannot be dreamt anew")

// TakenOver are the items that a dream takes over. Items that the other dream took over itself are read from where they
// were made. ErrNoRedream when a dream on the way still runs or was undone, memory.ErrNotFound when it does not
// exist.
func TakenOver(ctx context.Context, store memory.Store, agent string, from dream.Redream) ([]dream.Item, error) {
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
func dreamtIn(ctx context.Context, store memory.Store, agent, id string, phase dream.Phase) ([]dream.Item, error) {
	for range 1000 { // a longer chain is a cycle
		record, err := memory.One[*dream.Record](ctx, store, agent, id)
		switch {
		case err != nil:
			return nil, err
		case record.State != dream.Live:
			return nil, fmt.Errorf("%s was undone: it %w", id, ErrNoRedream)
		case record.Outcome == dream.Dreaming:
			return nil, fmt.Errorf("%s still goes on: it %w until it is over", id, ErrNoRedream)
		case record.Unsettled():
			return nil, fmt.Errorf("%s was woken and may go on: it %w until it is over", id, ErrNoRedream)
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
	return nil, fmt.Errorf("%s goes on from itself: it %w", id, ErrNoRedream)
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
func GroupTakenOver(items []dream.Item) TakeOverResult {
	var t TakeOverResult
	fragments := memory.As[*dream.Fragment](items)
	slices.SortStableFunc(fragments,
		func(a, b *dream.Fragment) int { return cmp.Or(cmp.Compare(a.Cycle, b.Cycle), cmp.Compare(a.ID, b.ID)) })
	for _, f := range fragments {
		_, barred := f.Barred()
		made := Made{ID: f.ID, Score: f.Verdict.Composite, Kept: true, Chosen: !barred && chosen(f)}
		t.Fragments = append(t.Fragments, made)
		if made.Chosen {
			t.Selected = append(t.Selected, made)
		}
	}
	for _, p := range memory.As[*dream.Prediction](items) {
		t.Patterns = append(t.Patterns, Made{ID: p.ID, Score: p.Confidence, Kept: true})
	}
	for _, s := range ranked(memory.As[*dream.Scenario](items)) {
		t.Scenarios = append(t.Scenarios, Made{ID: s.ID, Score: s.Score, Kept: true})
	}
	for _, h := range memory.As[*dream.Hypothesis](items) {
		t.Staged = append(t.Staged, Made{ID: h.ID, Score: h.Confidence, Kept: true})
	}
	return t
}

// chosen says whether lucid capture rated a fragment promote; older fragments show it by their status.
func chosen(f *dream.Fragment) bool {
	if f.Rating != nil {
		return f.Rating.Rated == promote
	}
	return f.Status != dream.FragmentRaw && f.Status != dream.FragmentDiscarded
}

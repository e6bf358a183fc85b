package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// DraftNote is the key prefix of items that a journal-only dream has made and needs until it ends.
const DraftNote = "draft/"

// Held adapts a write to the dream's review mode (Spec.Review) and removes changes to the records of other dreams. A
// dream without notes has ended; what is written then is its record.
func (r *Run) Held(ctx context.Context, w memory.Write) (memory.Write, error) {
	w.Change = slices.DeleteFunc(slices.Clone(w.Change),
		func(item dream.Item) bool { return ofAnother(r.Stretch, item.Header()) })
	if !outlives(r.Stretch, w) {
		return w, nil
	}
	err := r.Load(ctx)
	if errors.Is(err, memory.ErrNotFound) {
		return w, nil
	}
	if err != nil || !r.Spec.Review.Holds() {
		return w, err
	}
	w.Affect, w.OnWake = nil, nil
	if r.Spec.Review == dream.JournalOnly {
		return drafted(ctx, r, w)
	}
	return proposed(r, w), nil
}

// ofAnother says whether an item belongs to the record of another dream, which this dream continues and must not
// change.
func ofAnother(s activities.Stretch, h *dream.Head) bool {
	return h.Dream != "" && h.Dream != s.Dream && !h.Kind.Outlives()
}

// outlives says whether a write has effects beyond the end of the dream.
func outlives(s activities.Stretch, w memory.Write) bool {
	return w.Affect != nil || w.OnWake != nil ||
		slices.ContainsFunc(w.Add, func(item dream.Item) bool { return item.Header().Kind.Outlives() }) ||
		slices.ContainsFunc(w.Change, func(item dream.Item) bool { return item.Header().Dream != s.Dream })
}

// proposed stores everything that would outlive the dream as a proposal that does not count yet.
func proposed(r *Run, w memory.Write) memory.Write {
	changes := w.Change
	w.Add, w.Change = slices.Clone(w.Add), nil
	for _, item := range changes {
		h := item.Header()
		if h.Dream == r.Dream {
			w.Change = append(w.Change, item)
		} else if h.Kind == dream.KindSemantic &&
			h.State == dream.Archived { // the only change that dreams make to items that are not theirs
			w.Add = append(w.Add, archiving(r, h))
		}
	}
	w.Events = withoutEvents(w.Events, event.HypothesisStaged{}, event.ItemArchived{})
	for _, item := range w.Add {
		h := item.Header()
		// what the policy bars is archived already
		if h.State == dream.Live && (h.Kind.Outlives() || h.Kind == dream.KindProposal) {
			h.State = dream.Proposed
			w.Events = append(w.Events,
				r.Event("review/"+strings.TrimPrefix(h.ID, r.Dream+"/"),
					event.ReviewRequested{Item: h.ID, Kind: h.Kind}))
		}
	}
	return w
}

func archiving(r *Run, of *dream.Head) *dream.Proposal {
	return &dream.Proposal{
		Head: r.Head(dream.NREM, dream.KindProposal, "archive/"+of.ID, []string{of.ID}),
		Does: dream.ProposeArchive, Of: of.ID, Was: of.Revision, Newer: of.NewerID,
	}
}

// drafted reduces a write to the journal and the record. Other items become drafts until the dream ends.
func drafted(ctx context.Context, r *Run, w memory.Write) (memory.Write, error) {
	removed := map[string]bool{}
	all := w.Add
	w.Add = nil
	for _, item := range all {
		h := item.Header()
		// what the policy bars stays on record
		if !h.Kind.Outlives() || h.Kind == dream.KindJournal || h.State != dream.Live {
			w.Add = append(w.Add, item)
			continue
		}
		removed[h.ID] = true
		body, err := json.Marshal(item)
		if err == nil {
			body, err = json.Marshal(draft{h.Kind, body})
		}
		if err == nil {
			_, err = r.PutNote(ctx, DraftNote+h.ID, body)
		}
		if err != nil {
			return w, fmt.Errorf("note the draft of %s: %w", h.ID, err)
		}
	}
	w.Change = slices.DeleteFunc(w.Change, func(item dream.Item) bool {
		f, ok := item.(*dream.Fragment)
		return item.Header().Dream != r.Dream || ok && removed[f.Hypothesis]
	})
	w.Vectors = slices.DeleteFunc(slices.Clone(w.Vectors), func(v memory.Vector) bool { return removed[v.Item] })
	w.Events = withoutEvents(w.Events, event.HypothesisStaged{}, event.PatternFound{}, event.GistExtracted{},
		event.ItemArchived{})
	return w, nil
}

// draft is an item that only its own dream can see.
type draft struct {
	Kind dream.Kind      `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// withoutEvents removes events of these types.
func withoutEvents(events []event.Event, types ...event.Payload) []event.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool {
		return slices.ContainsFunc(types, func(p event.Payload) bool { return p.EventType() == e.Type })
	})
}

// Made reads items, including the dream's drafts, in the order of ids.
func (r *Run) Made(ctx context.Context, ids ...string) ([]dream.Item, error) {
	items, err := r.Get(ctx, ids...)
	if err != nil || len(items) == len(ids) {
		return items, err
	}
	existing := map[string]dream.Item{}
	for _, item := range items {
		existing[item.Header().ID] = item
	}
	items = nil
	for _, id := range ids {
		item, ok := existing[id]
		if !ok {
			item, err = readDraft(ctx, r, id)
			if err != nil {
				return nil, err
			}
		}
		if item != nil {
			items = append(items, item)
		}
	}
	return items, nil
}

// readDraft reads one draft; nil when there is none.
func readDraft(ctx context.Context, r *Run, id string) (dream.Item, error) {
	if !strings.HasPrefix(id, r.Dream+"/") {
		return nil, nil
	}
	body, err := r.Note(ctx, DraftNote+id)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, nil
	}
	var d draft
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("read the draft of %s: %w", id, err)
	}
	return dream.Decode(d.Kind, d.Body)
}

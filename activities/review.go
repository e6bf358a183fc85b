package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/mood"
)

// draftNote is the key prefix of items that a journal-only dream has made and needs until it ends.
const draftNote = "draft/"

// held adapts a write to the dream's review mode (Spec.Review) and removes changes to the records of other dreams. A
// dream without notes has ended; what is written then is its record.
func (p Ports) held(ctx context.Context, s Stretch, w memory.Write) (memory.Write, error) {
	w.Change = slices.DeleteFunc(slices.Clone(w.Change),
		func(item dream.Item) bool { return ofAnother(s, item.Header()) })
	if !outlives(s, w) {
		return w, nil
	}
	spec, err := p.spec(ctx, s)
	if errors.Is(err, memory.ErrNotFound) {
		return w, nil
	}
	if err != nil || !spec.Review.Holds() {
		return w, err
	}
	w.Affect, w.Waking = nil, nil
	if spec.Review == dream.JournalOnly {
		return p.drafted(ctx, s, w)
	}
	return p.proposed(spec, s, w), nil
}

// ofAnother says whether an item belongs to the record of another dream, which this dream continues and must not
// change.
func ofAnother(s Stretch, h *dream.Head) bool {
	return h.Dream != "" && h.Dream != s.Dream && !h.Kind.Outlives()
}

// outlives says whether a write has effects beyond the end of the dream.
func outlives(s Stretch, w memory.Write) bool {
	return w.Affect != nil || w.Waking != nil ||
		slices.ContainsFunc(w.Add, func(item dream.Item) bool { return item.Header().Kind.Outlives() }) ||
		slices.ContainsFunc(w.Change, func(item dream.Item) bool { return item.Header().Dream != s.Dream })
}

// proposed stores everything that would outlive the dream as a proposal that does not count yet.
func (p Ports) proposed(spec Spec, s Stretch, w memory.Write) memory.Write {
	changes := w.Change
	w.Add, w.Change = slices.Clone(w.Add), nil
	for _, item := range changes {
		h := item.Header()
		if h.Dream == s.Dream {
			w.Change = append(w.Change, item)
		} else if h.Kind == dream.KindSemantic &&
			h.State == dream.Archived { // the only change that dreams make to items that are not theirs
			w.Add = append(w.Add, archiving(spec, h))
		}
	}
	w.Events = withoutEvents(w.Events, event.HypothesisStaged{}, event.ItemArchived{})
	for _, item := range w.Add {
		h := item.Header()
		// what the policy bars is archived already
		if h.State == dream.Live && (h.Kind.Outlives() || h.Kind == dream.KindProposal) {
			h.State = dream.Proposed
			w.Events = append(w.Events,
				p.event(s, "review/"+strings.TrimPrefix(h.ID, s.Dream+"/"),
					event.ReviewAsked{Item: h.ID, Kind: h.Kind}))
		}
	}
	return w
}

func archiving(spec Spec, of *dream.Head) *dream.Proposal {
	return &dream.Proposal{
		Head: head(spec, dream.NREM, dream.KindProposal, "archive/"+of.ID, []string{of.ID}),
		Does: dream.ProposeArchive, Of: of.ID, Was: of.Revision, Newer: of.NewerID,
	}
}

// moodProposal proposes to let a dream move the mood; nil without review, or when the mood would not change.
func moodProposal(spec Spec, from, to mood.PAD) []dream.Item {
	if spec.Review != dream.ReviewAsk || from == to {
		return nil
	}
	return []dream.Item{&dream.Proposal{
		Head: head(spec, dream.Return, dream.KindProposal, "mood", nil), Does: dream.ProposeMood, From: &from, To: &to,
	}}
}

// drafted reduces a write to the journal and the record. Other items become drafts until the dream ends.
func (p Ports) drafted(ctx context.Context, s Stretch, w memory.Write) (memory.Write, error) {
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
			_, err = p.Memory.PutNote(ctx, s.Agent, s.fence(), draftNote+h.ID, body)
		}
		if err != nil {
			return w, fmt.Errorf("note the draft of %s: %w", h.ID, err)
		}
	}
	w.Change = slices.DeleteFunc(w.Change, func(item dream.Item) bool {
		f, ok := item.(*dream.Fragment)
		return item.Header().Dream != s.Dream || ok && removed[f.Hypothesis]
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

// made reads items, including the dream's drafts, in the order of ids.
func (p Ports) made(ctx context.Context, s Stretch, ids ...string) ([]dream.Item, error) {
	items, err := p.Memory.Get(ctx, s.Agent, ids...)
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
			item, err = p.draft(ctx, s, id)
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

// draft reads one draft; nil when there is none.
func (p Ports) draft(ctx context.Context, s Stretch, id string) (dream.Item, error) {
	if !strings.HasPrefix(id, s.Dream+"/") {
		return nil, nil
	}
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, draftNote+id)
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

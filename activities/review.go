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

// draftNote begins the keys of what a dream that writes only its journal has made and needs until it is over.
const draftNote = "draft/"

// held makes of a write what the dream's order lets it be (Order.Review), and leaves alone what other dreams have on
// record. A dream whose notes are gone is over: what is written of it then is its record.
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

// ofAnother says whether an item is on the record of another dream, which stays as it is when a dream goes on from
// that.
func ofAnother(s Stretch, h *dream.Head) bool {
	return h.Dream != "" && h.Dream != s.Dream && !h.Kind.Outlives()
}

// outlives says whether something in a write goes on to count when the dream is over.
func outlives(s Stretch, w memory.Write) bool {
	return w.Affect != nil || w.Waking != nil ||
		slices.ContainsFunc(w.Add, func(item dream.Item) bool { return item.Header().Kind.Outlives() }) ||
		slices.ContainsFunc(w.Change, func(item dream.Item) bool { return item.Header().Dream != s.Dream })
}

// proposed keeps everything that would outlive the dream, and lets none of it count.
func (p Ports) proposed(o Spec, s Stretch, w memory.Write) memory.Write {
	changes := w.Change
	w.Add, w.Change = slices.Clone(w.Add), nil
	for _, item := range changes {
		h := item.Header()
		if h.Dream == s.Dream {
			w.Change = append(w.Change, item)
		} else if h.Kind == dream.KindSemantic &&
			h.State == dream.Archived { // the one change that dreams make of what is not their own
			w.Add = append(w.Add, archiving(o, h))
		}
	}
	w.Events = unsaid(w.Events, event.HypothesisStaged{}, event.ItemArchived{})
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

func archiving(o Spec, of *dream.Head) *dream.Proposal {
	return &dream.Proposal{
		Head: head(o, dream.NREM, dream.KindProposal, "archive/"+of.ID, []string{of.ID}),
		Does: dream.ProposeArchive, Of: of.ID, Was: of.Revision, Newer: of.NewerID,
	}
}

// moodProposal asks to let a dream move the mood; nil when nobody has to be asked, or nothing would move.
func moodProposal(o Spec, from, to mood.PAD) []dream.Item {
	if o.Review != dream.ReviewAsk || from == to {
		return nil
	}
	return []dream.Item{&dream.Proposal{
		Head: head(o, dream.Return, dream.KindProposal, "mood", nil), Does: dream.ProposeMood, From: &from, To: &to,
	}}
}

// drafted keeps of a write the journal and the record. What the dream itself still needs is noted until it is over.
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
	w.Events = unsaid(w.Events, event.HypothesisStaged{}, event.PatternFound{}, event.GistExtracted{},
		event.ItemArchived{})
	return w, nil
}

// draft is an item that only its own dream sees.
type draft struct {
	Kind dream.Kind      `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// unsaid leaves out events of what has not been done.
func unsaid(events []event.Event, types ...event.Payload) []event.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool {
		return slices.ContainsFunc(types, func(p event.Payload) bool { return p.EventType() == e.Type })
	})
}

// made reads what a dream has made or drawn on, its drafts too, in the order of ids.
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

// draft reads one back; nil when there is none.
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

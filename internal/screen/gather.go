package screen

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// AddItems sorts what a dream made into the report, whatever state it is in now.
func (r *DreamReport) AddItems(items []dream.Item) {
	for _, item := range items {
		if item.Header().State == dream.Proposed {
			r.Waiting++
		}
		switch item := item.(type) {
		case *dream.Fragment:
			r.Fragments = append(r.Fragments, item)
		case *dream.Prediction:
			r.Predictions = append(r.Predictions, item)
		case *dream.Scenario:
			r.Scenarios = append(r.Scenarios, item)
		case *dream.Hypothesis:
			r.Hypotheses = append(r.Hypotheses, item)
		case *dream.Gist:
			r.Gists = append(r.Gists, item)
		case *dream.Playbook:
			r.Playbook = append(r.Playbook, item)
		case *dream.Journal:
			r.Journal = append(r.Journal, item)
		}
	}
}

// AddEvents reads from the events of the dream, in order, what it archived and how much it strengthened. What was
// restored since is left out, and so is what was forgotten. Get reads items by their ids.
func (r *DreamReport) AddEvents(events []event.Event, get func(ids ...string) ([]dream.Item, error)) error {
	for _, e := range events {
		var renewed event.MemoriesRenewed
		if e.Type == renewed.EventType() && json.Unmarshal(e.Data, &renewed) == nil {
			r.Strengthened += renewed.Memories
		}
		var reviewed event.ReasoningReviewed
		if e.Type == reviewed.EventType() && json.Unmarshal(e.Data, &reviewed) == nil {
			items, err := get(reviewed.Prediction)
			if err != nil {
				return err
			}
			for _, item := range items {
				if p, ok := item.(*dream.Prediction); ok && p.Quadrant() != "" {
					r.Reviewed = append(r.Reviewed, p)
				}
			}
			continue
		}
		var payload event.ItemArchived
		if e.Type != payload.EventType() || json.Unmarshal(e.Data, &payload) != nil {
			continue
		}
		items, err := get(payload.Item, payload.Newer)
		if err != nil {
			return err
		}
		a := Archived{ID: payload.Item, Kind: payload.Kind, Reason: payload.Reason}
		for _, item := range items {
			switch h := item.Header(); {
			case h.ID != payload.Item:
				a.Newer = item.Text()
			case h.State == dream.Archived:
				a.Text = item.Text()
			}
		}
		if a.Text != "" {
			r.Archived = append(r.Archived, a)
		}
	}
	return nil
}

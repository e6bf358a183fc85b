package review

import (
	"context"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Reviewed is the write of what a dream found of the reasoning behind a resolved prediction, which stands in it
// already: the prediction, the hypotheses that rest on it, since luck gives them no credit, and the events.
func (k Resolver) Reviewed(ctx context.Context, p *dream.Prediction) (memory.Write, error) {
	w := memory.Write{Change: []dream.Item{p}}
	name, at, of := "reasoning/"+p.ID+"/"+strconv.Itoa(p.Revision)+"/", p.Reasoning.At, p.Reasoning.Dream
	found := event.ReasoningReviewed{Prediction: p.ID, Quadrant: p.Quadrant(), By: p.Reasoning.By}
	w.Events = append(w.Events, event.New(name+found.EventType(), p.Agent, of, at, found))
	if p.Quadrant() != dream.MisalignedCorrect {
		return w, nil
	}
	moved, err := k.moved(ctx, p, true)
	if err != nil {
		return w, err
	}
	return w, k.writeMoved(ctx, &w, moved, p, name, of, at)
}

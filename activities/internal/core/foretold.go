package core

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Foretold returns the id of another open prediction of the agent that says the same, and else notes this one as
// said; empty when there is none. Two predictions say the same when a program would look up the same for both; without
// a check, when their claims have the same words.
func (r *Run) Foretold(ctx context.Context, p *dream.Prediction) (string, error) {
	// the answer has been paid for, so it is kept even if the caller has gone
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	defer cancel()
	says, found, loaded := saying(p), "", false
	look := func(v *CachedRun) {
		loaded, found = v.foretold != nil, v.foretold[says]
		if loaded && found == "" {
			v.foretold[says] = p.ID
		}
	}
	r.Cached(ctx, look)
	if !loaded {
		open, err := openPredictions(ctx, r)
		if err != nil {
			return "", err
		}
		all := map[string]string{}
		for _, other := range open {
			if key := saying(other); key != "" {
				all[key] = other.ID
			}
		}
		r.Cached(ctx, func(v *CachedRun) {
			if v.foretold == nil {
				v.foretold = all
			}
			look(v)
		})
	}
	if found == p.ID { // an earlier attempt of this activity
		return "", nil
	}
	return found, nil
}

// openPredictions are the agent's predictions that were open when this was first asked in the dream.
func openPredictions(ctx context.Context, r *Run) ([]*dream.Prediction, error) {
	var open []*dream.Prediction
	r.Cached(ctx, func(v *CachedRun) { open = v.open })
	if open != nil {
		return open, nil
	}
	items, err := r.Memory.Find(ctx, memory.Query{
		Agent: r.Agent, Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionOpen},
	})
	if err != nil {
		return nil, fmt.Errorf("read what is foretold: %w", err)
	}
	open = append([]*dream.Prediction{}, memory.As[*dream.Prediction](items)...)
	r.Cached(ctx, func(v *CachedRun) { v.open = open })
	return open, nil
}

// saying identifies what a prediction says; empty for one whose claim is in the fragment that it names.
func saying(p *dream.Prediction) string {
	if p.Check != nil {
		return "check " + claims.Key(*p.Check)
	}
	return strings.Join(strings.Fields(strings.ToLower(p.Claim)), " ")
}

package review

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/quality"
)

// DreamQuality is what an agent's dreams yield.
type DreamQuality struct {
	Dreams  int              `json:"dreams"` // the newest, at most quality.Dreams
	Metrics []quality.Metric `json:"metrics"`
	Yield   quality.Yield    `json:"yield"`

	Reasoning quality.Reasoning `json:"reasoning"`
}

// Quality measures the newest dreams of an agent that have run to their end and were not undone. ending is one that is
// about to end, in the state that it will be kept in; nil for none.
func Quality(ctx context.Context, store memory.DreamStore, agent string, ending *dream.Record) (DreamQuality, error) {
	records, err := find[*dream.Record](ctx, store, "the dreams", dream.KindRecord, memory.Query{
		Agent: agent, Limit: quality.Dreams,
		Statuses: []string{string(dream.Completed), string(dream.Empty), string(dream.Exhausted)},
	})
	if err != nil {
		return DreamQuality{}, err
	}
	w := quality.Window{Records: records}
	if ending != nil {
		w.Records = append([]*dream.Record{ending}, w.Records...)
		w.Records = w.Records[:min(len(w.Records), quality.Dreams)]
	}
	q := DreamQuality{Dreams: len(w.Records)}
	if len(w.Records) > 0 {
		if err := readWindow(ctx, store, agent, &w); err != nil {
			return DreamQuality{}, err
		}
	}
	q.Metrics = quality.Measure(w)
	found, err := resolved(ctx, store, agent, dream.PredictionRight, dream.PredictionWrong)
	if err != nil {
		return DreamQuality{}, err
	}
	outcomes := prediction.Outcomes(found)
	q.Reasoning = quality.ReasoningOf(found)
	claimed, err := Claims(ctx, store, agent)
	if err != nil {
		return DreamQuality{}, err
	}
	q.Yield = quality.YieldOf(creativeOf(outcomes), claimed)
	return q, nil
}

// Consequence is what the yield of an agent's dreams changes; nothing where the deployment does not follow it.
func (k Resolver) Consequence(ctx context.Context, agent string) (quality.Consequence, error) {
	if !k.Rules.FollowYield {
		return quality.Consequence{}, nil
	}
	found, err := resolved(ctx, k.Memory, agent, dream.PredictionRight, dream.PredictionWrong)
	return quality.YieldOf(creativeOf(prediction.Outcomes(found)), nil).Consequence(), err
}

// creativeOf are the outcomes of what dreams predicted.
func creativeOf(outcomes []prediction.Outcome) []quality.Outcome {
	var creative []quality.Outcome
	for _, o := range outcomes {
		if o.Source == dream.Creative {
			creative = append(creative, quality.Outcome{At: o.ResolvedAt, Right: o.Right})
		}
	}
	return creative
}

// readWindow reads what the dreams of a window made.
func readWindow(ctx context.Context, store memory.DreamStore, agent string, w *quality.Window) error {
	of, first := map[string]bool{}, w.Records[0].At
	for _, r := range w.Records {
		of[r.ID] = true
		if r.At.Before(first) {
			first = r.At
		}
	}
	items, err := store.Find(ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindFragment, dream.KindHypothesis}, Since: first,
		States: []dream.State{dream.Live, dream.Archived},
	})
	if err != nil {
		return fmt.Errorf("read what the dreams of %s made: %w", agent, err)
	}
	for _, item := range items {
		if !of[item.Header().Dream] {
			continue
		}
		switch item := item.(type) {
		case *dream.Fragment:
			w.Fragments = append(w.Fragments, item)
		case *dream.Hypothesis:
			w.Hypotheses = append(w.Hypotheses, item)
		}
	}
	return nil
}

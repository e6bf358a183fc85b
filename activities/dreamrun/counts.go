package dreamrun

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// yields are the kinds that each phase counts as made. The return makes nothing: what surfaces exists already.
var yields = map[dream.Phase][]dream.Kind{
	dream.Onset: {dream.KindFragment}, dream.NREM: {dream.KindPrediction, dream.KindGist},
	dream.REM:         {dream.KindScenario},
	dream.Integration: {dream.KindHypothesis},
}

// counted replaces the counts of interrupted phases by what the store holds: the workflow counts only at the end of a
// cycle or phase, so items kept since then would be missing. more is about to be written.
func counted(ctx context.Context, run *core.Run, tallies []dream.Tally, more []dream.Item) error {
	for i, t := range tallies {
		kinds := yields[t.Phase]
		if t.State != stillRunning && t.State != brokenOff || len(kinds) == 0 {
			continue
		}
		items, err := run.Memory.Find(ctx,
			memory.Query{
				Agent: run.Agent, Dream: run.Dream, Kinds: kinds,
				States: []dream.State{dream.Live, dream.Proposed},
			})
		if err != nil {
			return fmt.Errorf("count what %s of %s has kept: %w", t.Phase, run.Dream, err)
		}
		made, kept := 0, 0
		for _, item := range append(items, more...) {
			if item.Header().Phase != t.Phase {
				continue
			}
			switch f := item.(type) {
			case *dream.Fragment:
				made, kept = made+1, kept+one(f.Status != dream.FragmentDiscarded)
			case *dream.Scenario:
				made, kept = made+1, kept+one(f.Kept)
			case *dream.Prediction, *dream.Gist, *dream.Hypothesis:
				made, kept = made+1, kept+1
			}
		}
		tallies[i].Made, tallies[i].Kept = max(t.Made, made), max(t.Kept, kept)
	}
	return nil
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

package view

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// statuses of the kinds that have any.
var statuses = map[dream.Kind][]string{
	dream.KindFragment: {
		dream.FragmentRaw, dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted,
		dream.FragmentDiscarded,
	},
	dream.KindScenario: {"kept", "dropped"},
	dream.KindHypothesis: {
		dream.HypothesisStaged, dream.HypothesisPromoted, dream.HypothesisRefuted,
		dream.HypothesisRested, dream.HypothesisLapsed, dream.HypothesisRetired,
	},
	dream.KindPrediction: {
		dream.PredictionOpen,
		dream.PredictionRight,
		dream.PredictionWrong,
		dream.PredictionVoid,
	},
	dream.KindClaim: {
		dream.ClaimTried, dream.ClaimPassed, dream.ClaimRetired, dream.ClaimDropped, dream.ClaimLapsed,
	},
	dream.KindMarker: {string(dream.CameOutWell), string(dream.CameOutBadly)},
	dream.KindRecord: {
		string(dream.Completed), string(dream.Empty), string(dream.Exhausted), string(dream.Aborted),
		string(dream.Canceled), string(dream.Interrupted), string(dream.Undone), dream.RecordWaits,
	},
}

// statusesOf lists the statuses that memories of these kinds may have; of all kinds when none is named.
func statusesOf(kinds []dream.Kind) []string {
	if len(kinds) == 0 {
		kinds = dream.Kinds
	}
	var all []string
	for _, kind := range kinds {
		for _, status := range statuses[kind] {
			if !cli.OneOf(status, all) {
				all = append(all, status)
			}
		}
	}
	return all
}

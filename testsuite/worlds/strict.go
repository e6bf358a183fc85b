package worlds

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// PlayStrict is Play with the preset strict: each claim is a hypothesis in prose, and each of its outcomes is one of a
// prediction that rests on an episode of its own and was decided by one of its own. So three confirmations promote it,
// whatever chance is.
func PlayStrict(w World, inducer *Inducer) []*Fate {
	seen := map[string]bool{}
	var all []*hypothesis
	for day := 3; day < w.Days; day++ {
		now := Start.Add(time.Duration(day)*Day + 2*time.Hour)
		undecided := 0
		for _, h := range all {
			h.advance(w, now)
			if h.Trials < prediction.Attempts {
				undecided++
			}
		}
		for _, check := range inducer.Night(w) {
			id := claims.ID("world", check)
			if seen[id] || undecided >= claims.MostTried {
				continue
			}
			seen[id] = true
			all = append(all, newHypothesis(w, check, now))
			undecided++
		}
	}
	fates := make([]*Fate, len(all))
	for i, h := range all {
		fates[i] = h.Fate
		if h.HasPassed() {
			h.Trials = prediction.Attempts
		}
	}
	return fates
}

// hypothesis is a claim that is judged as one in prose.
type hypothesis struct {
	*Fate
	judged *dream.Hypothesis
}

func newHypothesis(w World, check dream.Check, now time.Time) *hypothesis {
	f := watch(w, check, now, Gate{})
	return &hypothesis{f, &dream.Hypothesis{
		Head:       dream.Head{ID: f.ID, At: now, State: dream.Live},
		Confidence: prediction.StagedConfidence(0),
		Status:     dream.HypothesisStaged,
	}}
}

// advance counts the outcomes since the last night. Those of a hypothesis that was not promoted are counted on, for the
// rate at which such come true.
func (h *hypothesis) advance(w World, now time.Time) {
	always := func(time.Time, time.Time) bool { return true }
	for _, r := range claims.Trials(h.Check, h.From, now, claims.Length, w.Lived, always) {
		h.From = r.At
		switch r.Outcome {
		case claims.Right:
			h.Hits++
		case claims.Wrong:
			h.Misses++
		case claims.Open, claims.Void:
			continue
		}
		h.Trials++
		h.test(r.At, r.Outcome == claims.Right)
	}
}

// test applies one outcome as the product does.
func (h *hypothesis) test(at time.Time, isRight bool) {
	id := fmt.Sprintf("%s/%d", h.ID, h.Trials)
	p := &dream.Prediction{
		Head:       dream.Head{ID: id, At: h.At},
		Status:     dream.PredictionWrong,
		ResolvedAt: &at,
	}
	if isRight {
		p.Status = dream.PredictionRight
	}
	wasPromoted := h.judged.Status == dream.HypothesisPromoted
	prediction.Test(h.judged, p, prediction.Support{Sources: []string{id}, Events: []string{id}}, true)
	h.Passed = h.judged.Promoted
	if h.judged.Status == dream.HypothesisRetired && wasPromoted {
		h.Status, h.Ended = dream.ClaimRetired, at
	}
	if wasPromoted {
		h.follow(dream.ClaimOutcome{At: at, Right: isRight})
	}
}

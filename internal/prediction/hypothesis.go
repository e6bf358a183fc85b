package prediction

import (
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// The life of a hypothesis.
const (
	stagedLow, stagedHigh = .2, .3
	confirmation          = .1
	contradiction         = .05
	PromotedFrom          = .7
	RefutedBelow          = .1
)

// Stage holds the first confidence of a hypothesis between .2 and .3 (H14).
func Stage(c float64) float64 { return clamp(c, stagedLow, stagedHigh) }

// Confirm raises a confidence by .1.
func Confirm(c float64) float64 { return step(c, confirmation) }

// Contradict lowers a confidence by .05.
func Contradict(c float64) float64 { return step(c, -contradiction) }

// Status is what a confidence makes of a hypothesis: promoted from .7 on, refuted below .1, staged between.
func Status(c float64) string {
	switch {
	case c >= PromotedFrom:
		return dream.HypothesisPromoted
	case c < RefutedBelow:
		return dream.HypothesisRefuted
	default:
		return dream.HypothesisStaged
	}
}

// Test moves a hypothesis by what became of a prediction it rests on, and answers whether that moved it: by +.1 when it
// came true, by -.05 when it did not. Each prediction counts once, however often it is told; when its outcome is turned
// round or taken back, so is the step. Only what is staged can be moved by a prediction that it was not tested by
// before. What falls below .1 is refuted and archived. What reaches .7 is promoted: that makes no entry of the playbook
// (E3 decides on those).
func Test(h *dream.Hypothesis, predictionID, status string) bool {
	confirmed, contradicted := slices.Contains(h.Confirmed, predictionID), slices.Contains(h.Contradicted, predictionID)
	found := confirmed || contradicted
	if !found && (h.Status != dream.HypothesisStaged || h.State == dream.Archived) {
		return false
	}
	right, wrong := status == dream.PredictionRight, status == dream.PredictionWrong
	if confirmed == right && contradicted == wrong {
		return false
	}
	by := 0.0
	h.Confirmed, by = retold(h.Confirmed, predictionID, confirmed, right, confirmation, by)
	h.Contradicted, by = retold(h.Contradicted, predictionID, contradicted, wrong, -contradiction, by)
	was := h.Status
	h.Confidence = step(h.Confidence, by)
	h.Status = Status(h.Confidence)
	switch {
	case h.Status == dream.HypothesisRefuted:
		h.State = dream.Archived
	case was == dream.HypothesisRefuted:
		h.State = dream.Live
	}
	return true
}

// retold takes a prediction out of a list, or puts it in, and adds what that moves.
func retold(list []string, id string, was, is bool, worth, by float64) ([]string, float64) {
	switch {
	case was && !is:
		return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == id }), by - worth
	case is && !was:
		return append(slices.Clone(list), id), by + worth
	}
	return list, by
}

// RestsOn says whether a hypothesis was made from a prediction, or from the fragment or the scenario that the
// prediction was made from.
func RestsOn(h *dream.Hypothesis, p *dream.Prediction) bool {
	return slices.ContainsFunc(h.Sources, func(id string) bool {
		return id != "" && (id == p.ID || id == p.Fragment || id == p.Scenario)
	})
}

// step stays in [0, 1] and rounds to millionths, so that steps of a tenth meet their bounds exactly.
func step(c, by float64) float64 { return clamp(math.Round((c+by)*1e6)/1e6, 0, 1) }

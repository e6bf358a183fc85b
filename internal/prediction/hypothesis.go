package prediction

import (
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Confidence of a hypothesis: its range when staged, the steps of an outcome, and its limits.
const (
	stagedLow, stagedHigh = .2, .3
	confirmation          = .1
	contradiction         = .05
	PromotedFrom          = .7
	RefutedBelow          = .1
)

// StagedConfidence clamps the first confidence of a hypothesis between 0.2 and 0.3.
func StagedConfidence(c float64) float64 { return clamp(c, stagedLow, stagedHigh) }

// Confirm raises a confidence by 0.1.
func Confirm(c float64) float64 { return step(c, confirmation) }

// Contradict lowers a confidence by 0.05.
func Contradict(c float64) float64 { return step(c, -contradiction) }

// Status is the status of a hypothesis by its confidence: promoted from 0.7, refuted below 0.1, otherwise staged.
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

// Test applies the outcome of a prediction to a hypothesis that rests on it, and returns whether it changed: +0.1
// when it came true, -0.05 when it did not. Each prediction counts once; a reversed or withdrawn outcome reverses its
// step. A hypothesis that is no longer staged accepts only such corrections. Below 0.1 it is refuted and archived. At
// 0.7 it is promoted, which makes no playbook entry.
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
	h.Confirmed, by = toggled(h.Confirmed, predictionID, confirmed, right, confirmation, by)
	h.Contradicted, by = toggled(h.Contradicted, predictionID, contradicted, wrong, -contradiction, by)
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

// toggled adds a prediction to a list or removes it, and returns the change of confidence.
func toggled(list []string, id string, was, is bool, worth, by float64) ([]string, float64) {
	switch {
	case was && !is:
		return slices.DeleteFunc(slices.Clone(list), func(other string) bool { return other == id }), by - worth
	case is && !was:
		return append(slices.Clone(list), id), by + worth
	}
	return list, by
}

// RestsOn says whether a hypothesis was made from a prediction, or from the prediction's fragment or scenario.
func RestsOn(h *dream.Hypothesis, p *dream.Prediction) bool {
	return slices.ContainsFunc(h.Sources, func(id string) bool {
		return id != "" && (id == p.ID || id == p.Fragment || id == p.Scenario)
	})
}

// step stays in [0, 1] and rounds to millionths, so that steps of a tenth reach the limits exactly.
func step(c, by float64) float64 { return clamp(math.Round((c+by)*1e6)/1e6, 0, 1) }

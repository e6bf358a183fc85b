package prediction

import (
	"math"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// The life of a hypothesis (H14).
const (
	stagedLow, stagedHigh = .2, .3
	confirmation          = .1
	contradiction         = .05
	PromotedFrom          = .7
	RefutedBelow          = .1
)

// Stage holds the first confidence of a hypothesis between .2 and .3 (H14).
func Stage(c float64) float64 { return clamp(c, stagedLow, stagedHigh) }

// Confirm raises a confidence by .1 (H14).
func Confirm(c float64) float64 { return step(c, confirmation) }

// Contradict lowers a confidence by .05 (H14).
func Contradict(c float64) float64 { return step(c, -contradiction) }

// Status is what a confidence makes of a hypothesis: promoted from .7 on, refuted below .1, staged between (H14).
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

// step stays in [0, 1] and rounds to millionths, so that steps of a tenth meet their bounds exactly.
func step(c, by float64) float64 { return clamp(math.Round((c+by)*1e6)/1e6, 0, 1) }

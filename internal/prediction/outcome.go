package prediction

import (
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Outcome is a prediction that reality has judged, with what is needed to learn from it.
type Outcome struct {
	Prediction string      `json:"prediction_id"`
	Dream      string      `json:"dream,omitempty"` // that foretold it; empty when a person or a tool did
	Source     string      `json:"source"`          // dream.Creative or dream.Analytical
	Phase      dream.Phase `json:"phase,omitempty"`
	// set when it came from the onset; the fragment knows its cycle and stage
	Fragment   string    `json:"fragment_id,omitempty"`
	Scenario   string    `json:"scenario_id,omitempty"`
	Confidence float64   `json:"confidence"`
	Right      bool      `json:"right"`
	Made       time.Time `json:"made_at"`
	ResolvedAt time.Time `json:"resolved_at"`
}

// Outcomes takes the outcomes out of an agent's predictions, the one resolved first in front; ties go by when they were
// made, then by claim. Open and void predictions have none, and what was archived (its dream was undone) counts no
// more.
func Outcomes(items []*dream.Prediction) []Outcome {
	judged := slices.DeleteFunc(slices.Clone(items), func(p *dream.Prediction) bool { return !judged(p) })
	slices.SortStableFunc(judged, func(a, b *dream.Prediction) int {
		return sooner(a.ResolvedAt.Compare(*b.ResolvedAt), a, b)
	})
	out := make([]Outcome, len(judged))
	for i, p := range judged {
		out[i] = Outcome{
			Prediction: p.ID,
			Dream:      p.Dream,
			Source:     p.Source,
			Phase:      p.Phase,
			Fragment:   p.Fragment,
			Scenario:   p.Scenario,
			Confidence: p.Confidence,
			Right:      p.Status == dream.PredictionRight,
			Made:       p.At,
			ResolvedAt: *p.ResolvedAt,
		}
	}
	return out
}

func judged(p *dream.Prediction) bool {
	return (p.Status == dream.PredictionRight || p.Status == dream.PredictionWrong) && p.ResolvedAt != nil &&
		p.State != dream.Archived
}

func sooner(resolved int, a, b *dream.Prediction) int {
	switch {
	case resolved != 0:
		return resolved
	case !a.At.Equal(b.At):
		return a.At.Compare(b.At)
	case a.Claim < b.Claim:
		return -1
	case a.Claim > b.Claim:
		return 1
	}
	return 0
}

// Residual of an outcome is 1 or 0 minus confidence, in [-1, 1].
func (o Outcome) Residual() float64 { return Residual(o.Right, o.Confidence) }

// Residuals of outcomes, in their order.
func Residuals(outcomes []Outcome) []float64 {
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		out[i] = o.Residual()
	}
	return out
}

// Recent are the outcomes resolved last, at most so many of them, in their order.
func Recent(outcomes []Outcome, most int) []Outcome {
	return outcomes[max(0, len(outcomes)-max(0, most)):]
}

// Until are the outcomes that were known at a time: what a law that is asked about a past night may see.
func Until(outcomes []Outcome, at time.Time) []Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return o.ResolvedAt.After(at) })
}

// After are the outcomes that were known only after a time: what no dream before it has seen.
func After(outcomes []Outcome, at time.Time) []Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return !o.ResolvedAt.After(at) })
}

// Surprise is the mean size of residuals, in [0, 1]: how far off the expectations were. Without outcomes nothing is
// known, and it answers false.
func Surprise(outcomes []Outcome) (float64, bool) {
	if len(outcomes) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, o := range outcomes {
		sum += math.Abs(o.Residual())
	}
	return sum / float64(len(outcomes)), true
}

// Accuracy is the share of outcomes that came true. Without outcomes it answers false.
func Accuracy(outcomes []Outcome) (float64, bool) {
	if len(outcomes) == 0 {
		return 0, false
	}
	right := 0
	for _, o := range outcomes {
		if o.Right {
			right++
		}
	}
	return float64(right) / float64(len(outcomes)), true
}

package prediction

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Outcome is a resolved prediction, with what can be learned from it.
type Outcome struct {
	Prediction string      `json:"prediction_id"`
	Dream      string      `json:"dream,omitempty"` // the dream that made it; empty for a person or a tool
	Source     string      `json:"source"`          // dream.Creative or dream.Analytical
	Phase      dream.Phase `json:"phase,omitempty"`
	// set for an onset's prediction; the fragment has its cycle and stage
	Fragment   string    `json:"fragment_id,omitempty"`
	Scenario   string    `json:"scenario_id,omitempty"`
	Confidence float64   `json:"confidence"`
	Right      bool      `json:"right"`
	Made       time.Time `json:"made_at"`
	ResolvedAt time.Time `json:"resolved_at"`
	Episodes   []string  `json:"-"` // the episodes it rests on
}

// Outcomes are the outcomes of an agent's predictions in the order of their resolution; ties are ordered by creation,
// then by claim. Open, void and archived predictions have none.
func Outcomes(items []*dream.Prediction) []Outcome {
	judged := slices.DeleteFunc(slices.Clone(items), func(p *dream.Prediction) bool { return !judged(p) })
	slices.SortStableFunc(judged, func(a, b *dream.Prediction) int {
		return cmp.Or(a.ResolvedAt.Compare(*b.ResolvedAt), a.At.Compare(b.At), cmp.Compare(a.Claim, b.Claim))
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
			Episodes:   p.Episodes,
		}
	}
	return out
}

func judged(p *dream.Prediction) bool {
	return (p.Status == dream.PredictionRight || p.Status == dream.PredictionWrong) && p.ResolvedAt != nil &&
		p.State != dream.Archived
}

// Residual of an outcome is 1 or 0 minus confidence, in [-1, 1].
func (o Outcome) Residual() float64 { return Residual(o.Right, o.Confidence) }

// Surprise of an outcome, in [0, 1]: 0 when the prediction came true, and otherwise twice its confidence, at most 1. In
// the mean that is 2p(1-p) for calibrated predictions of confidence p, as it is for the size of residuals. But a dream
// that is right with an unlikely claim has a large residual and is not surprised.
func (o Outcome) Surprise() float64 {
	if o.Right {
		return 0
	}
	return math.Max(0, math.Min(1, 2*o.Confidence))
}

// Surprises of outcomes, in their order.
func Surprises(outcomes []Outcome) []float64 {
	return each(outcomes, Outcome.Surprise)
}

func each(outcomes []Outcome, of func(Outcome) float64) []float64 {
	out := make([]float64, len(outcomes))
	for i, o := range outcomes {
		out[i] = of(o)
	}
	return out
}

// asMany is how many outcomes weigh as much as the surprise that an episode had by itself; our choice.
const asMany = 1

// SurpriseOf is how surprising episodes were, by the outcomes of predictions that rest on each. The fewer there are,
// the more counts stored, the surprise that the episode had when it was remembered; without any it is all that counts.
func SurpriseOf(outcomes []Outcome) func(episode string, stored float64) float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	for _, o := range outcomes {
		for _, id := range o.Episodes {
			sum[id] += o.Surprise()
			n[id]++
		}
	}
	return func(episode string, stored float64) float64 {
		return (sum[episode] + asMany*stored) / (n[episode] + asMany)
	}
}

// Residuals of outcomes, in their order.
func Residuals(outcomes []Outcome) []float64 {
	return each(outcomes, Outcome.Residual)
}

// Recent are the outcomes resolved last, at most so many of them, in order.
func Recent(outcomes []Outcome, most int) []Outcome {
	return outcomes[max(0, len(outcomes)-max(0, most)):]
}

// KnownAt are the outcomes known at a time, for rules that are applied to the past.
func KnownAt(outcomes []Outcome, at time.Time) []Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return o.ResolvedAt.After(at) })
}

// After are the outcomes known only after a time, which an earlier dream has not seen.
func After(outcomes []Outcome, at time.Time) []Outcome {
	return slices.DeleteFunc(slices.Clone(outcomes), func(o Outcome) bool { return !o.ResolvedAt.After(at) })
}

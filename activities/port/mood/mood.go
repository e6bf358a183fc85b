// Package mood holds affect as pleasure, arousal and dominance: distance, decay, events, and which memories a mood
// prefers.
package mood

import (
	"fmt"
	"math"
)

// PAD is a point of affect (Mehrabian and Russell): each axis lies in [-1, 1], zero is neutral.
type PAD struct {
	Pleasure  float64 `json:"pleasure"`
	Arousal   float64 `json:"arousal"`
	Dominance float64 `json:"dominance"`
}

// Validate names the first axis outside [-1, 1].
func (m PAD) Validate() error {
	for _, axis := range []struct {
		name  string
		value float64
	}{{"pleasure", m.Pleasure}, {"arousal", m.Arousal}, {"dominance", m.Dominance}} {
		if math.IsNaN(axis.value) || axis.value < -1 || axis.value > 1 {
			return fmt.Errorf("affect %s is %v; it must lie between -1 and 1", axis.name, axis.value)
		}
	}
	return nil
}

// Cosine is the similarity of direction in [-1, 1]; 0 when either mood is neutral.
func (m PAD) Cosine(o PAD) float64 {
	dot := m.Pleasure*o.Pleasure + m.Arousal*o.Arousal + m.Dominance*o.Dominance
	norm := m.norm() * o.norm()
	if norm == 0 {
		return 0
	}
	return math.Max(-1, math.Min(1, dot/norm))
}

// Distance is Euclidean, in [0, 2√3].
func (m PAD) Distance(o PAD) float64 {
	return PAD{m.Pleasure - o.Pleasure, m.Arousal - o.Arousal, m.Dominance - o.Dominance}.norm()
}

// Toward moves the given share (0 none, 1 all) of the way to o, clamped to the valid range.
func (m PAD) Toward(o PAD, share float64) PAD {
	step := func(a, b float64) float64 { return math.Max(-1, math.Min(1, a+(b-a)*share)) }
	return PAD{step(m.Pleasure, o.Pleasure), step(m.Arousal, o.Arousal), step(m.Dominance, o.Dominance)}
}

func (m PAD) norm() float64 {
	return math.Sqrt(m.Pleasure*m.Pleasure + m.Arousal*m.Arousal + m.Dominance*m.Dominance)
}

// Bias is the effect of affect on the choice of memories.
type Bias string

// The three biases.
const (
	Threat      Bias = "threat"      // high arousal, negative pleasure
	Opportunity Bias = "opportunity" // high arousal, positive pleasure
	Broad       Bias = "broad"       // everything else: the most creative
)

// Thresholds of the biases.
const (
	arousedAbove     = .3
	displeasedBelow  = -.2
	pleasedAbove     = .2
	RebiasAfterShift = .15 // affect that moved further than this (Distance) needs a new choice of memories
)

// Bias is the bias of this mood.
func (m PAD) Bias() Bias {
	switch {
	case m.Arousal > arousedAbove && m.Pleasure < displeasedBelow:
		return Threat
	case m.Arousal > arousedAbove && m.Pleasure > pleasedAbove:
		return Opportunity
	default:
		return Broad
	}
}

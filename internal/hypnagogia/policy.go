package hypnagogia

import (
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Policy chooses the depth of an onset: Intercept + Surprise·s + Change·c, held in [0, 1], with a third for each
// stage down to the peak.
type Policy struct {
	Intercept float64 `json:"intercept"`
	Surprise  float64 `json:"surprise"` // per unit of surprise
	Change    float64 `json:"change"`   // added in full for a change of regime that was just detected
	Cycles    Cycles  `json:"cycles"`
}

// Cycles is the number of Dali cycles by the deepest stage of the onset.
type Cycles struct {
	Shallow      int `json:"shallow"`
	Transitional int `json:"transitional"`
	Peak         int `json:"peak"`
}

// At is the number of one stage.
func (c Cycles) At(s dream.Stage) int {
	switch s {
	case dream.Shallow:
		return c.Shallow
	case dream.Transitional:
		return c.Transitional
	case dream.Peak, dream.TooDeep:
	}
	return c.Peak
}

// With is a copy with another number for one stage.
func (c Cycles) With(s dream.Stage, n int) Cycles {
	switch s {
	case dream.Shallow:
		c.Shallow = n
	case dream.Transitional:
		c.Transitional = n
	case dream.Peak, dream.TooDeep:
		c.Peak = n
	}
	return c
}

// Prior is the policy without data. Its numbers are our choice, derived from the expected confidences: calibrated
// predictions with confidences of 0.15 and 0.25 have a mean absolute residual of about 0.25, which must stay shallow;
// a residual of 0.5 is chance, which must reach the peak. The line through depth 0.25 at surprise 0.25 and 0.75 at
// 0.5 does both. A change of regime alone adds a stage and a half. The peak has all cycles of the knobs, each stage
// above it a third of them less.
func Prior(cycles int) Policy {
	part := func(thirds int) int { return max(min(cycles, 1), int(math.Round(float64(cycles*thirds)/3))) }
	return Policy{
		Intercept: -.25, Surprise: 2, Change: .5,
		Cycles: Cycles{Shallow: part(1), Transitional: part(2), Peak: cycles},
	}
}

// Limit is the range that a parameter may be learned in.
type Limit struct{ Least, Most float64 }

// Clamp clamps a value to the range.
func (l Limit) Clamp(v float64) float64 { return math.Max(l.Least, math.Min(l.Most, v)) }

// The ranges of learned parameters; our choice. Surprise always deepens and a change of regime never makes shallower:
// half a point of surprise adds between 0.25 and the whole range.
var (
	InterceptLimit = Limit{-.5, .5}
	SurpriseLimit  = Limit{.5, 3}
	ChangeLimit    = Limit{0, 1}
)

// DepthNoise is how far random variation moves the depth, up or down: nearly half a stage. Without variation nothing
// could be learned.
const DepthNoise = .15

// Term is one term of a depth: its input, its weight and what it adds.
type Term struct {
	Name   string  `json:"name"`
	Sensed float64 `json:"sensed"`
	Weight float64 `json:"weight"`
	Adds   float64 `json:"adds"`
}

// Terms are the terms of the policy's depth, in order; their sum is held in [0, 1].
func (p Policy) Terms(s DepthInput) []Term {
	return []Term{
		{"intercept", 1, p.Intercept, p.Intercept},
		{"surprise", s.Surprise, p.Surprise, p.Surprise * s.Surprise},
		{"change", s.Change, p.Change, p.Change * s.Change},
	}
}

// Depth is the sum of the terms and of chance, in [0, 1].
func (p Policy) Depth(s DepthInput, chance float64) float64 {
	sum := chance
	for _, t := range p.Terms(s) {
		sum += t.Adds
	}
	return unit(thousandths(sum))
}

// StageOf is the stage of a depth in [0, 1]: a third each; a limit belongs to the deeper stage.
func StageOf(depth float64) dream.Stage {
	switch {
	case depth < 1./3:
		return dream.Shallow
	case depth < 2./3:
		return dream.Transitional
	default:
		return dream.Peak
	}
}

// Aim is the depth of a dream by the policy, within the bounds of the agent's behaviour and the cycles of the knobs.
// Without cycles there is only the induction, which is at most transitional.
func (p Policy) Aim(s DepthInput, chance float64, behaviour dream.Behaviour, cycles int) dream.Depth {
	bound := Bounds(behaviour)
	d := dream.Depth{Depth: p.Depth(s, chance), Surprise: s.Surprise, Change: s.Change, Chance: chance}
	d.Stage = StageOf(d.Depth)
	if deeper(d.Stage, bound.Deepest) {
		d.Stage = bound.Deepest
	}
	if !bound.Allowed {
		return dream.Depth{Stage: dream.Shallow, Surprise: s.Surprise, Change: s.Change}
	}
	d.Cycles = max(p.Cycles.At(d.Stage), bound.CyclesLeast)
	if bound.CyclesMost > 0 {
		d.Cycles = min(d.Cycles, bound.CyclesMost)
	}
	d.Cycles = min(d.Cycles, cycles)
	if d.Cycles < 1 && d.Stage == dream.Peak {
		d.Stage = dream.Transitional
	}
	return d
}

// Validate returns what is wrong with a policy from a spec.
func (p Policy) Validate() error {
	for _, c := range []struct {
		name  string
		value float64
		limit Limit
	}{
		{"intercept", p.Intercept, InterceptLimit},
		{"surprise", p.Surprise, SurpriseLimit},
		{"change", p.Change, ChangeLimit},
	} {
		if !(c.value >= c.limit.Least && c.value <= c.limit.Most) {
			return fmt.Errorf("depth policy: %s is %v; it must lie between %v and %v", c.name, c.value, c.limit.Least,
				c.limit.Most)
		}
	}
	if c := p.Cycles; min(c.Shallow, c.Transitional, c.Peak) < 0 {
		return fmt.Errorf("depth policy: cycles are %d, %d and %d; none may be negative", c.Shallow, c.Transitional,
			c.Peak)
	}
	return nil
}

// rank orders the stages from shallow to deep.
func rank(s dream.Stage) int {
	switch s {
	case dream.Shallow:
		return 1
	case dream.Transitional:
		return 2
	case dream.Peak:
		return 3
	case dream.TooDeep:
		return 4
	}
	return 0
}

func deeper(a, b dream.Stage) bool { return rank(a) > rank(b) }

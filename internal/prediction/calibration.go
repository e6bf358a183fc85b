package prediction

import (
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Rolling is the number of recent creative outcomes in the rolling accuracy.
const Rolling = 100

// Record is the calibration of a group of predictions.
type Record struct {
	Outcomes   int     `json:"outcomes"`
	Right      int     `json:"right"`
	Accuracy   float64 `json:"accuracy"`           // share that came true
	Low        float64 `json:"accuracy_low"`       // 95 % interval of the accuracy
	High       float64 `json:"accuracy_high"`      //
	Confidence float64 `json:"mean_confidence"`    // mean stated confidence
	Expected   float64 `json:"expected,omitempty"` // the accuracy that is expected of the phase; 0: none
	Brier      float64 `json:"brier"`
	// accuracy minus confidence: positive means underconfident, negative overconfident
	Bias float64 `json:"mean_residual"`
}

// PhaseRecord is the calibration of one phase's creative predictions.
type PhaseRecord struct {
	Phase dream.Phase `json:"phase"`
	Record
}

// Scores are the calibration figures of an agent.
type Scores struct {
	Phases     []PhaseRecord `json:"phases"`     // in order, those that have outcomes
	Creative   Record        `json:"creative"`   // all phases together
	Rolling    Record        `json:"rolling"`    // the last 100 of those
	Analytical Record        `json:"analytical"` // of people and tools
	Last       *time.Time    `json:"last_resolved_at,omitempty"`
}

// Calibration compares every phase's outcomes with the expected accuracy (see Expected).
func Calibration(outcomes []Outcome) Scores {
	var s Scores
	creative, phases := []Outcome{}, map[dream.Phase][]Outcome{}
	var analytical []Outcome
	for _, o := range outcomes {
		if o.Source == dream.Analytical {
			analytical = append(analytical, o)
			continue
		}
		creative = append(creative, o)
		phases[o.Phase] = append(phases[o.Phase], o)
	}
	s.Phases = []PhaseRecord{}
	for _, phase := range dream.Phases {
		if of := phases[phase]; len(of) > 0 {
			r := recordOf(of)
			r.Expected = Expected(phase)
			s.Phases = append(s.Phases, PhaseRecord{Phase: phase, Record: r})
		}
	}
	s.Creative, s.Rolling, s.Analytical = recordOf(creative), recordOf(Recent(creative, Rolling)), recordOf(analytical)
	if len(outcomes) > 0 {
		last := outcomes[len(outcomes)-1].ResolvedAt
		s.Last = &last
	}
	return s
}

func recordOf(outcomes []Outcome) Record {
	r := Record{Outcomes: len(outcomes), High: 1}
	if len(outcomes) == 0 {
		return r
	}
	n, confidence := float64(len(outcomes)), 0.0
	for _, o := range outcomes {
		if o.Right {
			r.Right++
		}
		confidence += o.Confidence
	}
	r.Accuracy, r.Confidence = float64(r.Right)/n, confidence/n
	r.Bias = r.Accuracy - r.Confidence
	r.Brier, _ = Brier(Residuals(outcomes)...)
	r.Low, r.High = within(r.Right, len(outcomes))
	return r
}

// within is Wilson's score interval of a share at 95 %, which is wide for few outcomes.
func within(right, all int) (low, high float64) {
	const z = 1.959964
	n, p := float64(all), float64(right)/float64(all)
	middle, spread := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return math.Max(0, (middle-spread)/(1+z*z/n)), math.Min(1, (middle+spread)/(1+z*z/n))
}

// Reading is how a record compares with the expected accuracy.
type Reading string

// The readings.
const (
	NoneYet    Reading = "no outcomes yet"
	Unexpected Reading = "nothing is expected"
	AsExpected Reading = "as expected" // the expected accuracy lies within the interval
	Better     Reading = "better than expected"
	Worse      Reading = "worse than expected"
)

// Read compares a record with its expected accuracy.
func (r Record) Read() Reading {
	switch {
	case r.Outcomes == 0:
		return NoneYet
	case r.Expected == 0:
		return Unexpected
	case r.Low > r.Expected:
		return Better
	case r.High < r.Expected:
		return Worse
	}
	return AsExpected
}

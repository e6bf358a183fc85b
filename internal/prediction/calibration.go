package prediction

import (
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Rolling is the number of recent creative outcomes in the rolling accuracy.
const Rolling = 100

// Record is the calibration of a group of predictions.
type Record struct {
	Outcomes   int     `json:"outcomes"`
	Right      int     `json:"right"`
	Void       int     `json:"void"`               // resolved as neither correct nor incorrect
	VoidShare  float64 `json:"void_share"`         // of all that were resolved; 0 when none was
	Accuracy   float64 `json:"accuracy"`           // share that came true
	Low        float64 `json:"accuracy_low"`       // 95 % interval of the accuracy
	High       float64 `json:"accuracy_high"`      //
	Confidence float64 `json:"mean_confidence"`    // mean stated confidence
	Expected   float64 `json:"expected,omitempty"` // the accuracy that is expected of the phase; 0: none
	Brier      float64 `json:"brier"`
	// 1 - Brier / the Brier score of always saying the share that came true: above 0 the confidences knew more than that
	// share. Nil where all or none came true, since then saying that share is perfect
	Skill *float64 `json:"skill,omitempty"`
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
	Phases     []PhaseRecord `json:"phases"`     // in order, those of which a prediction was resolved
	Creative   Record        `json:"creative"`   // all phases together
	Rolling    Record        `json:"rolling"`    // the last 100 of those
	Analytical Record        `json:"analytical"` // of people and tools
	Last       *time.Time    `json:"last_resolved_at,omitempty"`
}

// Calibration compares what was resolved of every phase with the accuracy expected of it (see Expected). Open and
// archived predictions do not count.
func Calibration(predictions []*dream.Prediction) Scores {
	outcomes := Outcomes(predictions)
	void := slices.DeleteFunc(slices.Clone(predictions), func(p *dream.Prediction) bool { return !voided(p) })
	dreamt := func(o Outcome) bool { return o.Source != dream.Analytical }
	dreamtVoid := func(p *dream.Prediction) bool { return p.Source != dream.Analytical }
	s := Scores{
		Phases:     []PhaseRecord{},
		Creative:   recordOf(only(outcomes, dreamt), only(void, dreamtVoid)),
		Analytical: recordOf(only(outcomes, not(dreamt)), only(void, not(dreamtVoid))),
	}
	for _, phase := range dream.Phases {
		r := recordOf(
			only(outcomes, func(o Outcome) bool { return dreamt(o) && o.Phase == phase }),
			only(void, func(p *dream.Prediction) bool { return dreamtVoid(p) && p.Phase == phase }))
		if r.Outcomes+r.Void > 0 {
			r.Expected = Expected(phase)
			s.Phases = append(s.Phases, PhaseRecord{Phase: phase, Record: r})
		}
	}
	recent := Recent(only(outcomes, dreamt), Rolling)
	s.Rolling = recordOf(recent, only(void, func(p *dream.Prediction) bool {
		return dreamtVoid(p) && (len(recent) < Rolling || !p.ResolvedAt.Before(recent[0].ResolvedAt))
	}))
	if len(outcomes) > 0 {
		last := outcomes[len(outcomes)-1].ResolvedAt
		s.Last = &last
	}
	return s
}

func voided(p *dream.Prediction) bool {
	return p.Status == dream.PredictionVoid && p.ResolvedAt != nil && p.State != dream.Archived
}

func only[T any](list []T, wanted func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), not(wanted))
}

func not[T any](f func(T) bool) func(T) bool { return func(v T) bool { return !f(v) } }

func recordOf(outcomes []Outcome, void []*dream.Prediction) Record {
	r := Record{Outcomes: len(outcomes), Void: len(void), High: 1}
	if r.Void > 0 {
		r.VoidShare = float64(r.Void) / float64(r.Outcomes+r.Void)
	}
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
	r.Skill = skill(r.Brier, r.Accuracy)
	r.Low, r.High = within(r.Right, len(outcomes))
	return r
}

// skill is the Brier skill score against the base rate.
func skill(brier, base float64) *float64 {
	if base <= 0 || base >= 1 {
		return nil
	}
	value := 1 - brier/(base*(1-base))
	return &value
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

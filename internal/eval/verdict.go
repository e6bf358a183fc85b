package eval

import "github.com/seed-56a03226/oneiros/activities/port/budget"

// Word is the word of a verdict.
type Word string

// The words of a verdict.
const (
	Helps        Word = "helps"
	Harms        Word = "harms"
	NoDifference Word = "no difference seen"
	TooLittle    Word = "too little to say"
)

// Verdict is what a result means.
type Verdict struct {
	Plan string       `json:"plan_hash"` // configuration hash of the plan
	Raw  Recall       `json:"raw"`       // of the arm that the others are compared with
	Arms []Assessment `json:"arms"`      // all others, in the order of the result
}

// Recall counts the questions that an arm was asked.
type Recall struct {
	Questions int `json:"questions"`
	Found     int `json:"found"` // the right memory was among the first ten
	First     int `json:"first"` // it was the first
}

// Estimate is a difference between two shares, with its interval of 95 %.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Assessment is what one arm is found to be worth.
type Assessment struct {
	Name   string        `json:"name"`
	Word   Word          `json:"word"`
	Reason string        `json:"reason"` // one sentence with figures
	Spent  budget.Micros `json:"spent_micros"`

	Claims   int `json:"claims"`   // known at the split
	Passed   int `json:"passed"`   // of these
	Judged   int `json:"judged"`   // claims with outcomes of their own and of their decoys
	Groups   int `json:"groups"`   // of judged claims that share a name
	Outcomes int `json:"outcomes"` // of the judged claims
	Hits     int `json:"hits"`     // that came true

	Rate   float64 `json:"rate"`   // share of the outcomes that came true
	Chance float64 `json:"chance"` // the same of decoys, each claim weighing as much as its own outcomes
	// rate less chance; absent without judged claims
	Lift *Estimate `json:"lift,omitempty"`
	// lift less that of the placebo; absent where fewer than two groups of the placebo's claims were decided
	OverPlacebo *Estimate `json:"over_placebo,omitempty"`
	// lift of what had passed; for information, nothing is decided by it
	PassedLift *Estimate `json:"passed_lift,omitempty"`

	Recall Recall `json:"recall"`
	Lost   int    `json:"lost"`   // questions that raw finds among the first ten and this arm does not
	Gained int    `json:"gained"` // the reverse
	// share of questions found among the first ten, less that of raw; absent without questions
	RecallChange *Estimate `json:"recall_change,omitempty"`
}

// Arm returns the assessment of an arm by its name.
func (v Verdict) Arm(name string) (Assessment, bool) {
	for _, a := range v.Arms {
		if a.Name == name {
			return a, true
		}
	}
	return Assessment{}, false
}

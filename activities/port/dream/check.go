package dream

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// PredictionRules are the settings of a deployment for resolving predictions.
type PredictionRules struct {
	// Trust names whose words are evidence; none: everybody's who has a key, and what was imported.
	Trust []string
	// JudgeDaily is the most that judging the predictions of one agent may cost a day; 0: no model judges.
	JudgeDaily budget.Micros
	// MostOpen is how many predictions of an agent may be open when a dream begins; 0: any number.
	MostOpen int
	// Gate is what may be promoted; empty: GateMeasured.
	Gate string
	// FollowYield lets dreams that begin by themselves come earlier and imagine more while many of them come true.
	FollowYield bool
}

// The presets of the gate.
const (
	GateMeasured = "measured" // what a program can check, when it comes true more often than chance
	GateStrict   = "strict"   // also what is in prose, after three independent confirmations
)

// Check is a condition that a program can look up in what an agent lived: after an episode that names When, one names
// Then within a time; or, without When, episodes name Then until the horizon.
type Check struct {
	// When begins the wait: the first episode after the prediction that names it. Empty: the prediction begins it.
	When string `json:"when,omitempty"`
	// Then is what must be named.
	Then string `json:"then"`
	// Within is how long after When; zero: in the same episode. Without When it must be zero: the horizon bounds it.
	Within time.Duration `json:"within,omitempty"`
	// Least is in how many episodes Then must be named; zero means one.
	Least int `json:"at_least,omitempty"`
	// Not turns the outcome round: the prediction is right when all that does not happen.
	Not bool `json:"not,omitempty"`
}

package activities

import (
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// StepRequest is the part of a request that most paid steps share.
type StepRequest struct {
	Stretch
	Limit       budget.Micros `json:"limit"` // the phase's cap
	Cycle       int           `json:"cycle,omitempty"`
	Turn        int           `json:"turn,omitempty"`
	Temperature float64       `json:"temperature"`
	Source      int           `json:"source,omitempty"` // the cycle whose gathering is used
	Drift       float64       `json:"drift,omitempty"`  // for a judge: the temperature of the partial
	Tone        mood.PAD      `json:"tone"`

	// for a partial: the temperature of its judge, who is asked by the same activity; nil: by an activity of its own
	JudgeTemperature *float64 `json:"judge_temperature,omitempty"`

	Phase dream.Phase `json:"phase,omitempty"` // the phase that embeds memories; empty: the onset

	// the stage of the step; empty: derived from the temperature, and the peak for a partial
	Stage dream.Stage `json:"stage,omitempty"`
}

// StepResult is what a paid step made.
type StepResult struct {
	CallOutcome
	Made []MadeItem `json:"made,omitempty"`

	// nothing was done: another process is embedding what is needed
	Waiting bool `json:"waiting,omitempty"`

	Ideas int `json:"ideas,omitempty"` // number of partials that one call produced, as turns 1, 2, … of its cycle

	Judged *StepResult `json:"judged,omitempty"` // for a partial: its verdict, when the same activity got one
}

// GatherRequest is the input of Onset.Gather.
type GatherRequest struct {
	Stretch
	Cycle int `json:"cycle"`
	// affect at the last gathering; memories are gathered again only when it moved by more than 0.15
	Since  *mood.PAD `json:"since,omitempty"`
	Deeper *Deeper   `json:"deeper,omitempty"` // announced before the cycle
}

// GatherResult summarises what was chosen. The pieces themselves are in the cycle's note in the store.
type GatherResult struct {
	Cycle         int       `json:"cycle"` // the cycle whose note holds the pieces
	Bias          mood.Bias `json:"bias"`
	Affect        mood.PAD  `json:"affect"`
	Selected      int       `json:"selected"`
	Shown         int       `json:"shown"`
	WithoutVector int       `json:"bare"` // memories without a vector, at most as many as a dream reads
	Same          bool      `json:"same"` // affect has not moved: the previous gathering applies

	Behaviour dream.Behaviour `json:"behaviour,omitempty"` // the agent's behaviour now, if it limits the dream
	// the depth of the onset, returned by the first gathering; nil: the peak
	Depth *dream.Depth `json:"depth,omitempty"`
}

// CaptureRequest is the input of Onset.Capture and Onset.CheckPolicy.
type CaptureRequest struct {
	StepRequest
	Fragments []string `json:"fragments"` // ids, in order of capture
}

// TogetherRequest is the input of Onset.JudgeTogether.
type TogetherRequest struct {
	StepRequest
	Turns []Turn `json:"turns"`
}

// Turn is one partial of a cycle.
type Turn struct {
	Turn  int     `json:"turn"`
	Drift float64 `json:"drift"` // the temperature it was made at
}

// DepthRule is how a dream chooses its depth, frozen in its spec: the part that outcomes do not change.
type DepthRule struct {
	Prior hypnagogia.Policy `json:"prior"`
}

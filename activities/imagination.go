package activities

import (
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// BranchRequest is the input of Imagination.Branch.
type BranchRequest struct {
	StepRequest
	Fragment string `json:"fragment,omitempty"` // the fragment to develop; empty: only a what-if
}

// GrowRequest is the input of Imagination.Refine and Imagination.Merge.
type GrowRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"` // one to refine, or two to merge
}

// KeepRequest is the input of Imagination.Keep.
type KeepRequest struct {
	Stretch
	Scenarios []string `json:"scenarios"` // all of the search, in order of creation
	Keep      int      `json:"keep"`
	Reason    string   `json:"why,omitempty"` // why the search ended
}

// SurveyRequest is the input of Imagination.Survey.
type SurveyRequest struct {
	Stretch
	Limit budget.Micros `json:"limit"` // the phase's cap
	// candidates for development, in order; empty after the first round
	Fragments []string `json:"fragments,omitempty"`
}

// SurveyResult is what a round of the search is planned with.
type SurveyResult struct {
	// the candidates that may be developed, in the order of the request
	Seeds  []string                `json:"seeds,omitempty"`
	Budget hypnagogia.SearchBudget `json:"means"`
}

// ScoreRequest is the input of Imagination.Score.
type ScoreRequest struct {
	StepRequest
	Scenarios []string `json:"scenarios"` // to be scored, in order of creation
	// every other scenario of the search, in order of creation: already scored
	Beside []string `json:"beside,omitempty"`
	Keep   int      `json:"keep"`
}

package activities

import (
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// ConsolidateRequest is the input of Integration.Consolidate and Awakening.Surface.
type ConsolidateRequest struct {
	StepRequest
	Items []string `json:"items"` // patterns, kept scenarios and selected fragments, best first
}

// SettleMoodRequest is the input of Awakening.SettleMood.
type SettleMoodRequest struct {
	Stretch
	Insights []string `json:"insights"` // ids of journal entries
	Kept     []string `json:"kept"`     // ids of the fragments whose tones made the dream's mood
	Selected int      `json:"selected"`
	Shown    int      `json:"shown"`
}

// SettleMoodResult is how the mood changed.
type SettleMoodResult struct {
	Before mood.PAD `json:"before"`
	After  mood.PAD `json:"after"`
	Delta  float64  `json:"delta"`
}

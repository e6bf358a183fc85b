package view

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/workflows"
)

// PublicRule is one rule of a feed.
type PublicRule struct {
	dream.Rule
	Window   *int64  `json:"window,omitempty"` // never set; hides the field in nanoseconds
	WindowMS float64 `json:"window_ms,omitempty"`
}

// PublicFeedState is the state of the feed's probe.
type PublicFeedState struct {
	workflows.FeedState
	Settings PublicFeedSettings `json:"settings"`
	Pulled   time.Time          `json:"pulled,omitzero"`   // the last pull
	Received time.Time          `json:"received,omitzero"` // the last accepted reading

	RequestedAt *int `json:"requested_at,omitempty"` // never set; these two hide the names of the workflow's state
	LastReading *int `json:"last_reading,omitempty"`
}

// PublicFeedSettings are the settings of a feed's probe for --json.
type PublicFeedSettings struct {
	EveryMS float64      `json:"every_ms,omitempty"`
	Rules   []PublicRule `json:"rules"`
}

// PublicRules returns rules for --json.
func PublicRules(rules []dream.Rule) []PublicRule {
	result := make([]PublicRule, len(rules))
	for i, r := range rules {
		result[i] = PublicRule{Rule: r, WindowMS: cli.Millis(r.Window)}
	}
	return result
}

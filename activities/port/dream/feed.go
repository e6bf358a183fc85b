package dream

import "time"

// Feed is an external source of readings, numbers and states, that agents follow. Readings are pulled or pushed.
type Feed struct {
	Name string `json:"name"`
	// where a JSON document is pulled from; empty: readings are only pushed
	URL   string        `json:"url,omitempty"`
	Path  string        `json:"path,omitempty"`  // where in the document the readings are
	Every time.Duration `json:"every,omitempty"` // interval of pulls
	Rules []Rule        `json:"rules,omitempty"`
}

// Rule is an alarm of a feed.
type Rule struct {
	Name string `json:"name"`
	// of the readings; empty: every metric by itself, which for most feeds is the only one
	Metric string   `json:"metric,omitempty"`
	Kind   RuleKind `json:"kind"`
	Number float64  `json:"number,omitempty"` // the change or threshold; relative changes as a fraction: .05 is 5 %
	// for above and below: how far the number must come back over the threshold before the rule can fire again
	Margin float64       `json:"margin,omitempty"`
	Window time.Duration `json:"window,omitempty"` // of a change; for stale, the longest silence
	State  string        `json:"state,omitempty"`  // for a state rule
	Quiet  bool          `json:"quiet,omitempty"`  // it wakes nobody, and only resolves predictions that watch it
}

// RuleKind is the condition of a rule.
type RuleKind string

// The kinds of rules.
const (
	RiseFall     RuleKind = "change"          // the number moved by at least Number within Window, up or down
	RelativeMove RuleKind = "relative_change" // the same, as a fraction of the earlier number
	RelativeDrop RuleKind = "relative_drop"   // the same, downwards only
	Above        RuleKind = "above"
	Below        RuleKind = "below"
	StateIs      RuleKind = "state"
	Stale        RuleKind = "stale" // no reading for Window
)

// Reading is one value of a feed: a number or a state.
type Reading struct {
	At     time.Time `json:"at"`
	Metric string    `json:"metric,omitempty"`
	Number *float64  `json:"number,omitempty"`
	State  string    `json:"state,omitempty"`
}

package dream

import "time"

// Feed is something outside that agents are told about: numbers and states, pushed or pulled.
type Feed struct {
	Name  string        `json:"name"`
	URL   string        `json:"url,omitempty"`   // where to pull a JSON document from; empty: it is only pushed
	Path  string        `json:"path,omitempty"`  // where in the document the readings are
	Every time.Duration `json:"every,omitempty"` // how often it is pulled
	Rules []Rule        `json:"rules,omitempty"`
}

// Rule is one alarm over a feed.
type Rule struct {
	Name string `json:"name"`
	// of the readings; empty: each by itself, which is the feed's only one for most
	Metric string   `json:"metric,omitempty"`
	Kind   RuleKind `json:"kind"`
	Number float64  `json:"number,omitempty"` // the change or threshold; relative changes as a share: .05 is 5 %
	// of above and below: how far back over the threshold the number must come before the rule fires again
	Margin float64       `json:"margin,omitempty"`
	Window time.Duration `json:"window,omitempty"` // of a change, and the longest silence of staleness
	State  string        `json:"state,omitempty"`  // of a state rule
	Quiet  bool          `json:"quiet,omitempty"`  // it wakes nobody: it only resolves the predictions that watch it
}

// RuleKind is what a rule looks at.
type RuleKind string

// The kinds of rules.
const (
	RiseFall     RuleKind = "change"          // the number moved by at least Number within Window, up or down
	RelativeMove RuleKind = "relative_change" // likewise, as a share of the earlier number
	RelativeDrop RuleKind = "relative_drop"   // likewise, downwards only
	Above        RuleKind = "above"
	Below        RuleKind = "below"
	StateIs      RuleKind = "state"
	Stale        RuleKind = "stale" // nothing was heard for Window
)

// Reading is one thing that a feed said: a number or a state.
type Reading struct {
	At     time.Time `json:"at"`
	Metric string    `json:"metric,omitempty"`
	Number *float64  `json:"number,omitempty"`
	State  string    `json:"state,omitempty"`
}

package console

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// publicFeed is a feed for --json: durations are in milliseconds.
type publicFeed struct {
	feedLine
	Every   *int64           `json:"every,omitempty"` // never set; hides the field in nanoseconds
	EveryMS float64          `json:"every_ms,omitempty"`
	Rules   []publicRule     `json:"rules"`
	State   *publicFeedState `json:"state,omitempty"`
}

// publicRule is one rule of a feed.
type publicRule struct {
	dream.Rule
	Window   *int64  `json:"window,omitempty"` // never set; hides the field in nanoseconds
	WindowMS float64 `json:"window_ms,omitempty"`
}

// publicFeedState is the state of the feed's probe.
type publicFeedState struct {
	workflows.FeedState
	Settings publicFeedSettings `json:"settings"`
	Pulled   time.Time          `json:"pulled,omitzero"`   // the last pull
	Received time.Time          `json:"received,omitzero"` // the last accepted reading

	RequestedAt *int `json:"asked,omitempty"` // never set; these two hide the stored names
	Heard       *int `json:"heard,omitempty"`
}

type publicFeedSettings struct {
	EveryMS float64      `json:"every_ms,omitempty"`
	Rules   []publicRule `json:"rules"`
}

func (l feedLine) public() publicFeed {
	p := publicFeed{feedLine: l, EveryMS: millis(l.Every), Rules: publicRules(l.Rules)}
	if l.State != nil {
		s := l.State.Settings
		p.State = &publicFeedState{
			FeedState: *l.State,
			Settings:  publicFeedSettings{millis(s.Every), publicRules(s.Rules)},
			Pulled:    l.State.RequestedAt,
			Received:  l.State.LastReading,
		}
	}
	return p
}

func publicRules(rules []dream.Rule) []publicRule {
	result := make([]publicRule, len(rules))
	for i, r := range rules {
		result[i] = publicRule{Rule: r, WindowMS: millis(r.Window)}
	}
	return result
}

// millis converts a duration for --json.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

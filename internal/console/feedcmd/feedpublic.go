package feedcmd

import (
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
)

// publicFeed is a feed for --json: durations are in milliseconds.
type publicFeed struct {
	feedLine
	Every   *int64                `json:"every,omitempty"` // never set; hides the field in nanoseconds
	EveryMS float64               `json:"every_ms,omitempty"`
	Rules   []view.PublicRule     `json:"rules"`
	State   *view.PublicFeedState `json:"state,omitempty"`
}

func (l feedLine) public() publicFeed {
	p := publicFeed{feedLine: l, EveryMS: cli.Millis(l.Every), Rules: view.PublicRules(l.Rules)}
	if l.State != nil {
		s := l.State.Settings
		p.State = &view.PublicFeedState{
			FeedState: *l.State,
			Settings:  view.PublicFeedSettings{EveryMS: cli.Millis(s.Every), Rules: view.PublicRules(s.Rules)},
			Pulled:    l.State.RequestedAt,
			Received:  l.State.LastReading,
		}
	}
	return p
}

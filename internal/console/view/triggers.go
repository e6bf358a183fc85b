package view

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// Calls says when a trigger fires.
func Calls(t dream.Trigger) string {
	switch t.Kind {
	case dream.OnSchedule:
		return t.Schedule
	case dream.OnEpisodes:
		return cli.Count(t.Episodes, "new episode")
	case dream.OnEvent:
		if t.Feed != "" {
			return "rule " + t.Feed + "/" + t.Rule
		}
		if t.Residual > 0 {
			return fmt.Sprintf("%s, residual %s or more", t.Event, cli.Score(t.Residual))
		}
		return t.Event
	case dream.OnRequest:
		return "on request"
	}
	return "when idle"
}

// triggerLine is the state of a trigger.
type triggerLine struct {
	dream.Trigger
	Due   *time.Time `json:"due,omitempty"` // when it fires next; of one that has fired, when its dream may begin
	Fires bool       `json:"fires"`         // it will fire, or has fired
	Now   string     `json:"now"`           // why it fires, or does not
}

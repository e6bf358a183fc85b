package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Names of a feed's probe on the wire.
const (
	FeedType = "Feed"

	SignalReading      = "reading"  // on a feed: readings that were pushed, a list of dream.Reading
	SignalFeedSettings = "settings" // on a feed: new FeedSettings
	SignalStop         = "stop"     // on a feed: look whether the store still has you
	QueryFeed          = "feed"     // on a feed: FeedState
)

// FeedID is the workflow id of a feed's probe: "feed/eth".
func FeedID(name string) string { return "feed/" + name }

// FeedRequest begins, or goes on with, the probe of a feed.
type FeedRequest struct {
	Feed     string       `json:"feed"`
	Settings FeedSettings `json:"settings"`
	Carried  *FeedState   `json:"carried,omitempty"` // set by continue-as-new only
}

// FeedSettings are what a probe needs to know of its feed, frozen when they are sent. The URL is not among them: it may
// hold a secret, and the deed that asks reads it from the store.
type FeedSettings struct {
	Every time.Duration `json:"every,omitempty"` // how often it is asked; 0: it is only pushed
	Rules []dream.Rule  `json:"rules,omitempty"`
}

func (s FeedSettings) validate() error {
	var faults []error
	if s.Every != 0 && (s.Every < alarm.Soonest || s.Every > alarm.Slowest) {
		faults = append(faults,
			fmt.Errorf("every is %s; it must be %s to %s, or 0 for a feed that is only pushed", s.Every,
				alarm.Soonest, alarm.Slowest))
	}
	if len(s.Rules) > alarm.MostRules {
		faults = append(faults, fmt.Errorf("there are %d rules; %d at most", len(s.Rules), alarm.MostRules))
	}
	for _, r := range s.Rules {
		faults = append(faults, alarm.Validate(r))
	}
	return errors.Join(faults...)
}

// FeedState is where a probe stands; all of it crosses continue-as-new.
type FeedState struct {
	Settings    FeedSettings  `json:"settings"`
	Watch       alarm.Watch   `json:"watch"`
	RequestedAt time.Time     `json:"asked,omitzero"` // when it was last asked
	Heard       time.Time     `json:"heard,omitzero"` // when it last said something
	Readings    int           `json:"readings"`       // that a rule takes, heard since Watch.Since
	Refused     int           `json:"refused"`        // that said nothing or too much, or are of another time
	Refusal     string        `json:"refusal,omitempty"`
	Turned      time.Time     `json:"turned,omitzero"`  // when the last one was refused
	Untaken     alarm.Untaken `json:"untaken,omitzero"` // that no rule takes
	Failures    int           `json:"failures"`         // of asking and of sounding
	InARow      int           `json:"in_a_row"`         // failures of asking since it last answered
	Failure     string        `json:"failure,omitempty"`
	Failed      time.Time     `json:"failed,omitzero"`
	Alarms      int           `json:"alarms"`
	Hints       int           `json:"hints,omitempty"`    // of quiet rules, which wake nobody
	Last        *Sounding     `json:"last,omitempty"`     // the newest alarm
	Sounding    []Sounding    `json:"sounding,omitempty"` // alarms that have not reached everybody yet
}

// Sounding is an alarm on its way to the agents that follow the feed.
type Sounding struct {
	Rule   string         `json:"rule"`
	Kind   dream.RuleKind `json:"kind"`
	What   string         `json:"what"` // as a person would tell it: "price: 100 to 106"
	At     time.Time      `json:"at"`
	Agents int            `json:"agents"` // that it reached; 0 while it is on its way
	Quiet  bool           `json:"quiet,omitempty"`
}

// Feed is the one probe of a feed: it asks when it is time, hears what is pushed, and sounds an alarm when a rule
// becomes true. It ends when the store has the feed no more.
func Feed(ctx workflow.Context, r FeedRequest) error {
	p := new(probe)
	if err := p.setup(ctx, r); err != nil {
		return err
	}
	return p.run(ctx)
}

// RegisterFeed lists the workflow of feeds.
func RegisterFeed(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Feed, workflow.RegisterOptions{Name: FeedType})
}

// RegisterFeeds lists the deeds of feeds: "Feed.Pull", "Feed.Read", "Feed.Sound".
func RegisterFeeds(r worker.ActivityRegistry, p activities.Ports, fetch activities.Fetcher, alarms activities.Alarms) {
	r.RegisterActivityWithOptions(&activities.Feed{Ports: p, Fetch: fetch, Alarms: alarms}, prefixed("Feed."))
}

// show writes the summary for Temporal's own tools.
func (p *probe) show(ctx workflow.Context) {
	s := p.state
	texts := []string{fmt.Sprintf("%d readings", s.Readings)}
	if !s.Heard.IsZero() {
		texts[0] += ", the last at " + s.Heard.UTC().Format(time.RFC3339)
	}
	alarms := fmt.Sprintf("%d alarms", s.Alarms)
	if s.Last != nil {
		alarms += fmt.Sprintf(", the last at %s: %s (%d agents)", s.Last.At.UTC().Format(time.RFC3339), s.Last.What,
			s.Last.Agents)
	}
	texts = append(texts, alarms)
	if s.Hints > 0 {
		texts = append(texts, fmt.Sprintf("%d times a quiet rule", s.Hints))
	}
	if s.Untaken.Readings > 0 {
		texts = append(texts, fmt.Sprintf("%d readings that no rule takes", s.Untaken.Readings))
	}
	if s.Failures > 0 {
		texts = append(texts,
			fmt.Sprintf("%d failures, the last at %s: %s", s.Failures, s.Failed.UTC().Format(time.RFC3339), s.Failure))
	}
	if s.InARow > 0 {
		texts = append(texts, fmt.Sprintf("%d in a row", s.InARow))
	}
	workflow.SetCurrentDetails(ctx, strings.Join(texts, "; "))
}

// longestFailure is how much of a failure a probe remembers, in bytes.
const longestFailure = 300

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// patience is how long an alarm is sounded that does not reach everybody. Whoever cannot be woken by then is told by
// the next.
const patience = 10 * time.Minute

// asking is the shape of a deed that asks a feed, at most twice: soon over, and tried once more when our own store
// failed, because the next time to ask is near.
func asking(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second, ScheduleToCloseTimeout: time.Minute, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumAttempts: 2,
			NonRetryableErrorTypes: finally,
		},
	})
}

// sounding is the shape of a deed that wakes agents: tried until everybody is reached, for as long as it matters.
func sounding(ctx workflow.Context, within time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, ScheduleToCloseTimeout: max(time.Second, within), Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
			NonRetryableErrorTypes: finally,
		},
	})
}

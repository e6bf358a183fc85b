package workflows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/alarm"
)

// Wire names of a feed's workflow.
const (
	FeedType = "Feed"

	SignalReading      = "reading"  // on a feed: pushed readings, a list of dream.Reading
	SignalFeedSettings = "settings" // on a feed: new FeedSettings
	SignalStop         = "stop"     // on a feed: check whether the store still has it
	QueryFeed          = "feed"     // on a feed: FeedState
)

// FeedID is the workflow id of a feed: "feed/eth".
func FeedID(name string) string { return "feed/" + name }

// FeedRequest is the input of the feed workflow.
type FeedRequest struct {
	Feed     string       `json:"feed"`
	Settings FeedSettings `json:"settings"`
	Carried  *FeedState   `json:"carried,omitempty"` // set by continue-as-new only
}

// FeedSettings are what the workflow needs to know of its feed, as it was when they were sent. The URL is not among
// them because it may hold a secret: the pull activity reads it from the store.
type FeedSettings struct {
	Every time.Duration `json:"every,omitempty"` // interval of pulls; 0: readings are only pushed
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

// FeedState is the state of a feed's workflow. All of it is carried across continue-as-new.
type FeedState struct {
	Settings    FeedSettings `json:"settings"`
	Watch       alarm.Watch  `json:"watch"`
	RequestedAt time.Time    `json:"requested_at,omitzero"` // the last pull
	LastReading time.Time    `json:"last_reading,omitzero"` // the last accepted reading
	Readings    int          `json:"readings"`              // matched by a rule, since Watch.Since
	// readings that were malformed, too large or of a wrong time
	Refused    int                  `json:"refused"`
	Refusal    string               `json:"refusal,omitempty"`
	RefusedAt  time.Time            `json:"refused_at,omitzero"` // when the last reading was refused
	Unused     alarm.UnusedReadings `json:"unused,omitzero"`     // readings that no rule matches
	Failures   int                  `json:"failures"`            // of pulls and of soundings
	InARow     int                  `json:"in_a_row"`            // pulls that failed since the last success
	Failure    string               `json:"failure,omitempty"`
	Failed     time.Time            `json:"failed,omitzero"`
	Alarms     int                  `json:"alarms"`
	Hints      int                  `json:"hints,omitempty"`      // firings of quiet rules, which wake nobody
	Last       *RaisedAlarm         `json:"last,omitempty"`       // the newest alarm
	Delivering []RaisedAlarm        `json:"delivering,omitempty"` // alarms that have not reached every agent yet
}

// RaisedAlarm is an alarm that is being delivered to the agents that follow the feed.
type RaisedAlarm struct {
	Rule   string         `json:"rule"`
	Kind   dream.RuleKind `json:"kind"`
	What   string         `json:"what"` // what happened, in words: "price: 100 to 106"
	At     time.Time      `json:"at"`
	Agents int            `json:"agents"` // how many it reached; 0 until delivery is done
	Quiet  bool           `json:"quiet,omitempty"`
}

// Feed is the workflow of a feed: it pulls at its interval, judges pulled and pushed readings, and sounds an alarm
// when a rule becomes true. It ends when the store no longer has the feed.
func Feed(ctx workflow.Context, r FeedRequest) error {
	p := new(probe)
	if err := p.setup(ctx, r); err != nil {
		return err
	}
	return p.run(ctx)
}

// RegisterFeed registers the feed workflow.
func RegisterFeed(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(Feed, pinned(FeedType))
}

// show writes the summary that Temporal's tools display.
func (p *probe) show(ctx workflow.Context) {
	s := p.state
	texts := []string{fmt.Sprintf("%d readings", s.Readings)}
	if !s.LastReading.IsZero() {
		texts[0] += ", the last at " + s.LastReading.UTC().Format(time.RFC3339)
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
	if s.Unused.Readings > 0 {
		texts = append(texts, fmt.Sprintf("%d readings that no rule takes", s.Unused.Readings))
	}
	if s.Failures > 0 {
		texts = append(texts,
			fmt.Sprintf("%d failures, the last at %s: %s", s.Failures, s.Failed.UTC().Format(time.RFC3339), s.Failure))
	}
	if s.InARow > 0 {
		texts = append(texts, fmt.Sprintf("%d in a row", s.InARow))
	}
	setDetails(ctx, strings.Join(texts, "; "))
}

// longestFailure is the most bytes of a failure that the state keeps.
const longestFailure = 300

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// patience is how long an alarm is retried that does not reach every agent. An agent that cannot be woken by then
// learns of the next alarm only.
const patience = 10 * time.Minute

// pollOptions is the option set of a pull: short, and retried once only when our own store failed, because the next
// pull is near.
func pollOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second, ScheduleToCloseTimeout: time.Minute, Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumAttempts: 2,
			NonRetryableErrorTypes: nonRetryable,
		},
	})
}

// alarmOptions is the option set of an activity that wakes agents: retried until every agent is reached or the alarm is
// too old.
func alarmOptions(ctx workflow.Context, within time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute, ScheduleToCloseTimeout: max(time.Second, within), Summary: summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
			NonRetryableErrorTypes: nonRetryable,
		},
	})
}

// Package feeds holds the activities of feeds: reading them, and delivering the alarms of their rules.
package feeds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// Feed has the activities of a feed's workflow: reading the feed and waking the agents that follow it.
type Feed struct {
	activities.Ports
	Fetch  activities.Fetcher
	Alarms activities.Alarms
	Pause  time.Duration // the delay before an immediate retry of a failed read; 0: a second
}

// PollRequest is the input of Feed.Poll. The URL stays in the store, since it may hold a secret.
type PollRequest struct {
	Feed  string       `json:"feed"`
	Rules []dream.Rule `json:"rules"`
}

// PollResult is what a feed returned for the metrics that rules use. A failure of the feed itself is a result, not an
// error, so that a feed that is down for a week does not fill the log.
type PollResult struct {
	Readings []dream.Reading `json:"readings,omitempty"`
	Rest     []dream.Reading `json:"rest,omitempty"`    // readings that no rule uses, the first of them
	More     int             `json:"more,omitempty"`    // how many of those are left out
	Fault    string          `json:"fault,omitempty"`   // why the feed could not be read
	Removed  bool            `json:"removed,omitempty"` // the feed, or its URL, was removed from the store
}

// Limits of a pull.
const (
	mostRest = 8           // readings without a rule that are carried: enough to name a typo
	seldom   = time.Minute // a feed pulled at most this often is retried once before it counts as failed
)

// Poll reads a feed. It returns an error only when the deployment's own store fails.
func (f *Feed) Poll(ctx context.Context, r PollRequest) (PollResult, error) {
	if f.Feeds == nil || f.Fetch == nil {
		return PollResult{}, errors.New("this worker reads no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound), err == nil && feed.URL == "":
		return PollResult{Removed: true}, nil
	case err != nil:
		return PollResult{}, fmt.Errorf("read feed %s: %w", r.Feed, err)
	}
	answer, err := f.ask(ctx, feed)
	switch {
	case ctx.Err() != nil:
		return PollResult{}, fmt.Errorf("ask feed %s: %w", r.Feed, ctx.Err())
	case err != nil:
		return PollResult{Fault: err.Error()}, nil
	}
	answer = alarm.WithMetrics(answer, r.Rules)
	var result PollResult
	result.Readings, result.Rest = alarm.SplitReadings(answer, r.Rules)
	if len(result.Readings) > alarm.MostReadings {
		return PollResult{
			Fault: fmt.Sprintf(
				"it returned %d readings that rules use; at most %d are allowed: make the path more specific, "+
					"or name metrics in the rules",
				len(result.Readings), alarm.MostReadings),
		}, nil
	}
	result.More = len(result.Rest) - mostRest
	if result.More > 0 {
		result.Rest = result.Rest[:mostRest]
	}
	result.More = max(0, result.More)
	return result, nil
}

// ask reads a feed, and retries once when the next pull is far away.
func (f *Feed) ask(ctx context.Context, feed dream.Feed) ([]dream.Reading, error) {
	answer, err := f.Fetch.Fetch(ctx, feed)
	if err == nil || feed.Every < seldom {
		return answer, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(cmp.Or(f.Pause, time.Second)):
	}
	return f.Fetch.Fetch(ctx, feed)
}

// AlarmRequest reports that a rule has fired.
type AlarmRequest struct {
	Feed string         `json:"feed"`
	Rule string         `json:"rule"`
	Kind dream.RuleKind `json:"kind"`
	At   time.Time      `json:"at"` // when it fired; with feed and rule it identifies the alarm

	What  string `json:"what,omitempty"`  // what happened, in words
	Quiet bool   `json:"quiet,omitempty"` // it wakes nobody
}

// AlarmResult is what an alarm reached.
type AlarmResult struct {
	Agents   int `json:"agents"` // agents that follow the feed and are awake now
	Resolved int `json:"resolved,omitempty"`
}

// wakesAtOnce is how many agents are woken in parallel.
const wakesAtOnce = 16

// DeliverAlarm wakes every agent that follows the feed, unless the rule is quiet, and writes the alarm into its log;
// predictions that watch the rule are resolved by it. An agent that cannot be woken does not keep others from waking;
// the activity then fails, and its retry announces nothing twice.
func (f *Feed) DeliverAlarm(ctx context.Context, r AlarmRequest) (AlarmResult, error) {
	if f.Alarms == nil && !r.Quiet {
		return AlarmResult{}, errors.New("this worker raises no alarms; start one that does")
	}
	agents, err := f.Memory.Agents(ctx)
	if err != nil {
		return AlarmResult{}, fmt.Errorf("read who follows feed %s: %w", r.Feed, err)
	}
	var (
		result AlarmResult
		faults []string
		mu     sync.Mutex
		all    sync.WaitGroup
		free   = make(chan struct{}, wakesAtOnce)
	)
	for _, agent := range agents {
		if agent.Feed != r.Feed {
			continue
		}
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			resolved, err := f.reach(ctx, agent, r)
			mu.Lock()
			defer mu.Unlock()
			result.Resolved += resolved
			if err != nil {
				faults = append(faults, err.Error())
				return
			}
			if !r.Quiet {
				result.Agents++
			}
		})
	}
	all.Wait()
	if len(faults) > 0 {
		if r.Quiet {
			return result,
				fmt.Errorf("rule %s/%s: %d agents were not reached; the first: %s", r.Feed, r.Rule, len(faults),
					faults[0])
		}
		return result,
			fmt.Errorf("alarm %s/%s: %d agents were woken and %d were not; the first: %s", r.Feed, r.Rule,
				result.Agents, len(faults), faults[0])
	}
	return result, nil
}

// reach wakes one agent unless the rule is quiet, and resolves its predictions, even if it cannot be woken.
func (f *Feed) reach(ctx context.Context, agent dream.Agent, r AlarmRequest) (resolved int, err error) {
	if !r.Quiet {
		err = f.rouse(ctx, agent, r)
	}
	resolved, resolveErr := f.Resolver().ApplyFiredRule(ctx, agent.ID, r.Feed, r.Rule, r.What, r.At)
	return resolved, errors.Join(err, resolveErr, f.call(ctx, agent, r))
}

// rouse wakes one agent. The alarm is logged even if the agent could not be woken.
func (f *Feed) rouse(ctx context.Context, agent dream.Agent, r AlarmRequest) error {
	err := f.Alarms.Alarm(ctx, agent.ID, r.Feed+"/"+r.Rule)
	id := strings.Join([]string{"feed", r.Feed, r.Rule, strconv.FormatInt(r.At.UnixNano(), 10), "AlarmRaised"}, "/")
	_, wrote := f.Memory.Commit(ctx, memory.Write{Agent: agent.ID, Cause: "feed/" + r.Feed, Events: []event.Event{
		event.New(id, agent.ID, "", r.At, event.AlarmRaised{Feed: r.Feed, Rule: r.Rule, Kind: string(r.Kind)}),
	}})
	if err := errors.Join(err, wrote); err != nil {
		return fmt.Errorf("wake %s: %w", agent.Handle, err)
	}
	return nil
}

// FeedSettingsRequest is the input of Feed.LoadSettings.
type FeedSettingsRequest struct {
	Feed string `json:"feed"`
}

// FeedSettingsResult is a feed's settings without what may be secret.
type FeedSettingsResult struct {
	Removed bool          `json:"removed,omitempty"`
	Every   time.Duration `json:"every,omitempty"` // 0: the feed has no URL
	Rules   []dream.Rule  `json:"rules,omitempty"`
}

// LoadSettings says whether a feed still exists, and returns its rules.
func (f *Feed) LoadSettings(ctx context.Context, r FeedSettingsRequest) (FeedSettingsResult, error) {
	if f.Feeds == nil {
		return FeedSettingsResult{}, errors.New("this worker reads no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	if errors.Is(err, memory.ErrNotFound) {
		return FeedSettingsResult{Removed: true}, nil
	}
	if err != nil {
		return FeedSettingsResult{}, fmt.Errorf("read feed %s: %w", r.Feed, err)
	}
	if feed.URL == "" {
		feed.Every = 0
	}
	return FeedSettingsResult{Every: feed.Every, Rules: feed.Rules}, nil
}

// call passes a fired rule to an agent that has a trigger for it.
func (f *Feed) call(ctx context.Context, agent dream.Agent, r AlarmRequest) error {
	if !agent.Auto {
		return nil
	}
	for _, t := range agent.Triggered() {
		if t.Kind != dream.OnEvent || t.Feed != r.Feed || t.Rule != r.Rule {
			continue
		}
		at := cmp.Or(r.At, f.Now()).UTC()
		fire := triggers.Fire{
			Trigger: t.Name,
			Kind:    t.Kind,
			At:      at,
			Key:     r.Feed + "/" + r.Rule + "/" + strconv.FormatInt(at.UnixNano(), 10),
			Reason:  "rule " + r.Feed + "/" + r.Rule + " fired",
		}
		if err := f.Alarms.Call(ctx, agent, fire); err != nil {
			return fmt.Errorf("pass to %s that %s/%s fired: %w", agent.Handle, r.Feed, r.Rule, err)
		}
	}
	return nil
}

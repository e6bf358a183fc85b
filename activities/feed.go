package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Fetcher reads a feed. Its errors are recorded in histories: of the URL they may contain only the host, and nothing
// of the answer.
type Fetcher interface {
	Fetch(ctx context.Context, f dream.Feed) ([]dream.Reading, error)
}

// Alarms wakes an agent because of a trigger, "feed/rule", or calls it when one of its own triggers waits for the
// rule. Repeating it is harmless.
type Alarms interface {
	Callers
	Alarm(ctx context.Context, agentID, trigger string) error
}

// Feed has the activities of a feed's workflow: reading the feed and waking the agents that follow it.
type Feed struct {
	Ports
	Fetch  Fetcher
	Alarms Alarms
	Pause  time.Duration // the delay before an immediate retry of a failed read; 0: a second
}

// PullRequest is the input of Feed.Pull. The URL stays in the store, since it may hold a secret.
type PullRequest struct {
	Feed  string       `json:"feed"`
	Rules []dream.Rule `json:"rules"`
}

// PullResult is what a feed returned for the metrics that rules use. A failure of the feed itself is a result, not an
// error, so that a feed that is down for a week does not fill the log.
type PullResult struct {
	Readings []dream.Reading `json:"readings,omitempty"`
	Rest     []dream.Reading `json:"rest,omitempty"`  // readings that no rule uses, the first of them
	More     int             `json:"more,omitempty"`  // how many of those are left out
	Fault    string          `json:"fault,omitempty"` // why the feed could not be read
	Removed  bool            `json:"gone,omitempty"`  // the feed, or its URL, was removed from the store
}

// Limits of a pull.
const (
	mostRest = 8           // readings without a rule that are carried: enough to name a typo
	seldom   = time.Minute // a feed pulled at most this often is retried once before it counts as failed
)

// Pull reads a feed. It returns an error only when the deployment's own store fails.
func (f *Feed) Pull(ctx context.Context, r PullRequest) (PullResult, error) {
	if f.Feeds == nil || f.Fetch == nil {
		return PullResult{}, errors.New("this worker reads no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound), err == nil && feed.URL == "":
		return PullResult{Removed: true}, nil
	case err != nil:
		return PullResult{}, toApplicationError(fmt.Errorf("read feed %s: %w", r.Feed, err))
	}
	answer, err := f.ask(ctx, feed)
	switch {
	case ctx.Err() != nil:
		return PullResult{}, fmt.Errorf("ask feed %s: %w", r.Feed, ctx.Err())
	case err != nil:
		return PullResult{Fault: err.Error()}, nil
	}
	answer = alarm.WithMetrics(answer, r.Rules)
	result := PullResult{Readings: alarm.Watched(answer, r.Rules), Rest: alarm.Unwatched(answer, r.Rules)}
	if len(result.Readings) > alarm.MostReadings {
		return PullResult{
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

// SoundRequest reports that a rule has fired.
type SoundRequest struct {
	Feed string         `json:"feed"`
	Rule string         `json:"rule"`
	Kind dream.RuleKind `json:"kind"`
	At   time.Time      `json:"at"` // when it fired; with feed and rule it identifies the alarm

	What  string `json:"what,omitempty"`  // what happened, in words
	Quiet bool   `json:"quiet,omitempty"` // it wakes nobody
}

// SoundResult is what an alarm reached.
type SoundResult struct {
	Agents   int `json:"agents"` // agents that follow the feed and are awake now
	Resolved int `json:"resolved,omitempty"`
}

// wakesAtOnce is how many agents are woken in parallel.
const wakesAtOnce = 16

// Sound wakes every agent that follows the feed, unless the rule is quiet, and writes the alarm into its log;
// predictions that watch the rule are resolved by it. An agent that cannot be woken does not keep others from waking;
// the activity then fails, and its retry announces nothing twice.
func (f *Feed) Sound(ctx context.Context, r SoundRequest) (SoundResult, error) {
	if f.Alarms == nil && !r.Quiet {
		return SoundResult{}, errors.New("this worker raises no alarms; start one that does")
	}
	agents, err := f.Memory.Agents(ctx)
	if err != nil {
		return SoundResult{}, fmt.Errorf("read who follows feed %s: %w", r.Feed, err)
	}
	var (
		result SoundResult
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
func (f *Feed) reach(ctx context.Context, agent dream.Agent, r SoundRequest) (resolved int, err error) {
	if !r.Quiet {
		err = f.rouse(ctx, agent, r)
	}
	resolved, resolveErr := NewResolver(f.Ports).Fired(ctx, agent.ID, r.Feed, r.Rule, r.What, r.At)
	return resolved, errors.Join(err, resolveErr, f.call(ctx, agent, r))
}

// rouse wakes one agent. The alarm is logged even if the agent could not be woken.
func (f *Feed) rouse(ctx context.Context, agent dream.Agent, r SoundRequest) error {
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

// ReadRequest is the input of Feed.Read.
type ReadRequest struct {
	Feed string `json:"feed"`
}

// ReadResult is a feed's settings without what may be secret.
type ReadResult struct {
	Removed bool          `json:"gone,omitempty"`
	Every   time.Duration `json:"every,omitempty"` // 0: the feed has no URL
	Rules   []dream.Rule  `json:"rules,omitempty"`
}

// Read says whether a feed still exists, and returns its rules.
func (f *Feed) Read(ctx context.Context, r ReadRequest) (ReadResult, error) {
	if f.Feeds == nil {
		return ReadResult{}, errors.New("this worker reads no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	if errors.Is(err, memory.ErrNotFound) {
		return ReadResult{Removed: true}, nil
	}
	if err != nil {
		return ReadResult{}, fmt.Errorf("read feed %s: %w", r.Feed, err)
	}
	if feed.URL == "" {
		feed.Every = 0
	}
	return ReadResult{Every: feed.Every, Rules: feed.Rules}, nil
}

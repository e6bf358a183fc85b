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

// Fetcher asks a feed what it says now. Its errors go into histories: they hold nothing of the URL but its host, and
// nothing of the answer.
type Fetcher interface {
	Fetch(ctx context.Context, f dream.Feed) ([]dream.Reading, error)
}

// Alarms wakes an agent because of a trigger, "feed/rule", or calls it where one of its own triggers waits for the
// rule. Waking one that is awake changes little, so it may be done again.
type Alarms interface {
	Callers
	Alarm(ctx context.Context, agentID, trigger string) error
}

// Feed does the deeds of a probe: it asks the feed, and wakes whoever follows it.
type Feed struct {
	Ports
	Fetch  Fetcher
	Alarms Alarms
	Pause  time.Duration // before a feed that did not answer is asked once more; 0: a second
}

// PullRequest asks what a feed says now. Its URL stays in the store, as it may hold a secret.
type PullRequest struct {
	Feed  string       `json:"feed"`
	Rules []dream.Rule `json:"rules"`
}

// PullResult is what a feed said of the metrics that rules look at. What is the feed's own fault is a result and no
// error, so that a feed which is broken for a week does not fill the log with it.
type PullResult struct {
	Readings []dream.Reading `json:"readings,omitempty"`
	Rest     []dream.Reading `json:"rest,omitempty"`  // that no rule looks at, the first of them
	More     int             `json:"more,omitempty"`  // of those, how many are left out
	Fault    string          `json:"fault,omitempty"` // why it could not be read
	Gone     bool            `json:"gone,omitempty"`  // the store has it no more, or it has no URL any more
}

// Bounds of a pull.
const (
	mostRest = 8           // what no rule looks at is carried so far: enough to name a typo
	seldom   = time.Minute // a feed that is asked at least this rarely is asked once more before it has failed
)

// Pull asks a feed. Its error is the deployment's own: its store does not answer.
func (f *Feed) Pull(ctx context.Context, r PullRequest) (PullResult, error) {
	if f.Feeds == nil || f.Fetch == nil {
		return PullResult{}, errors.New("this worker asks no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound), err == nil && feed.URL == "":
		return PullResult{Gone: true}, nil
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
	answer = alarm.Named(answer, r.Rules)
	result := PullResult{Readings: alarm.Watched(answer, r.Rules), Rest: alarm.Unwatched(answer, r.Rules)}
	if len(result.Readings) > alarm.MostReadings {
		return PullResult{
			Fault: fmt.Sprintf(
				"it says %d things that its rules look at; %d at most: let the path end nearer, or name metrics in the rules",
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

// ask asks a feed, and once more when the next time to ask is far.
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

// SoundRequest tells that a rule has fired.
type SoundRequest struct {
	Feed string         `json:"feed"`
	Rule string         `json:"rule"`
	Kind dream.RuleKind `json:"kind"`
	At   time.Time      `json:"at"` // when it fired; with feed and rule it names the alarm

	What  string `json:"what,omitempty"`  // what happened, as a person would tell it
	Quiet bool   `json:"quiet,omitempty"` // it wakes nobody
}

// SoundResult says whom it reached.
type SoundResult struct {
	Agents   int `json:"agents"` // that follow the feed and were woken or awake
	Resolved int `json:"resolved,omitempty"`
}

// ringing is how many agents are woken at once.
const ringing = 16

// Sound wakes every agent that follows the feed, unless the rule is quiet, and writes into its log that the alarm was
// raised; the predictions that watch the rule are resolved by it. One agent that cannot be woken keeps no other from
// waking; the deed then fails, and done again it announces nothing twice.
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
		free   = make(chan struct{}, ringing)
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
				fmt.Errorf("rule %s/%s: %d agents were not told; the first: %s", r.Feed, r.Rule, len(faults), faults[0])
		}
		return result,
			fmt.Errorf("alarm %s/%s: %d agents were woken and %d were not; the first: %s", r.Feed, r.Rule,
				result.Agents, len(faults), faults[0])
	}
	return result, nil
}

// reach wakes one agent unless the rule is quiet, and tells its predictions, which hear of it even if the agent cannot
// be woken.
func (f *Feed) reach(ctx context.Context, agent dream.Agent, r SoundRequest) (resolved int, err error) {
	if !r.Quiet {
		err = f.rouse(ctx, agent, r)
	}
	resolved, result := Reckon(f.Ports).Fired(ctx, agent.ID, r.Feed, r.Rule, r.What, r.At)
	return resolved, errors.Join(err, result, f.call(ctx, agent, r))
}

// rouse wakes one agent. Its log tells of the alarm although it could not be woken.
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

// ReadRequest asks for the rules of a feed.
type ReadRequest struct {
	Feed string `json:"feed"`
}

// ReadResult is a feed as the store has it now, but for what may be secret of it.
type ReadResult struct {
	Gone  bool          `json:"gone,omitempty"`
	Every time.Duration `json:"every,omitempty"` // 0: it has no URL
	Rules []dream.Rule  `json:"rules,omitempty"`
}

// Read looks whether a feed still is, and what its rules are.
func (f *Feed) Read(ctx context.Context, r ReadRequest) (ReadResult, error) {
	if f.Feeds == nil {
		return ReadResult{}, errors.New("this worker knows no feeds; start one that does")
	}
	feed, err := f.Feeds.Feed(ctx, r.Feed)
	if errors.Is(err, memory.ErrNotFound) {
		return ReadResult{Gone: true}, nil
	}
	if err != nil {
		return ReadResult{}, fmt.Errorf("read feed %s: %w", r.Feed, err)
	}
	if feed.URL == "" {
		feed.Every = 0
	}
	return ReadResult{Every: feed.Every, Rules: feed.Rules}, nil
}

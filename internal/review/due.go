package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// ApplyFiredRule applies a fired feed rule to an agent's open predictions and returns how many it resolved.
func (k Resolver) ApplyFiredRule(ctx context.Context, agent, feed, rule, what string, at time.Time) (int, error) {
	open, err := k.open(ctx, memory.Query{Agent: agent})
	if err != nil {
		return 0, err
	}
	resolved := 0
	var faults []error
	for _, p := range open {
		if v, ok := prediction.Fired(p, feed, rule, what, at, k.now(at)); ok {
			done, err := k.resolveIfOpen(ctx, p, v)
			resolved, faults = resolved+done, append(faults, err)
		}
	}
	return resolved, errors.Join(faults...)
}

// ResolveOverdue resolves every prediction of every agent whose horizon has passed and returns how many. One that
// cannot be resolved does not delay the others.
func (k Resolver) ResolveOverdue(ctx context.Context) (int, error) {
	agents, err := k.Memory.Agents(ctx)
	if err != nil {
		return 0, err
	}
	return k.ResolveOverdueOf(ctx, agents)
}

// ResolveOverdueOf is ResolveOverdue for these agents alone.
func (k Resolver) ResolveOverdueOf(ctx context.Context, agents []dream.Agent) (int, error) {
	lapsed, now := 0, k.Now()
	var faults []error
	for _, agent := range agents {
		passed, err := k.open(ctx, memory.Query{Agent: agent.ID, DueBefore: now.Add(1), Sort: memory.SoonestDue})
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if slices.ContainsFunc(passed, func(p *dream.Prediction) bool { return p.Checked() }) {
			found, err := k.LookUp(ctx, agent.ID)
			lapsed, faults = lapsed+len(found.Decided), append(faults, err)
		}
		for _, p := range passed {
			done, err := k.lapse(ctx, agent, p, now)
			lapsed, faults = lapsed+done, append(faults, err)
		}
	}
	return lapsed, errors.Join(faults...)
}

func (k Resolver) lapse(ctx context.Context, agent dream.Agent, p *dream.Prediction, now time.Time) (int, error) {
	if _, due := prediction.Lapsed(p, "", now); !due {
		return 0, nil
	}
	if k.Rules.JudgeDaily > 0 && prediction.IsProse(p) && now.Before(p.Horizon.Add(prediction.Grace)) {
		return 0, nil // the judge may be asking about it
	}
	noVerdict, err := k.cannotFire(ctx, agent, p)
	if err != nil {
		return 0, err
	}
	v, _ := prediction.Lapsed(p, noVerdict, now)
	return k.resolveIfOpen(ctx, p, v)
}

// resolveIfOpen resolves an open prediction; one that was resolved or undone meanwhile is left alone.
func (k Resolver) resolveIfOpen(ctx context.Context, p *dream.Prediction, v prediction.Verdict) (int, error) {
	done, err := k.Resolve(ctx, p.Agent, p.ID, v)
	switch {
	case errors.Is(err, prediction.ErrResolved), errors.Is(err, memory.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("resolve %s of %s: %w", p.ID, p.Agent, err)
	case !done.Changed:
		return 0, nil
	}
	return 1, nil
}

func (k Resolver) open(ctx context.Context, q memory.Query) ([]*dream.Prediction, error) {
	q.Statuses = []string{dream.PredictionOpen}
	return find[*dream.Prediction](ctx, k.Memory, "the open predictions", dream.KindPrediction, q)
}

// now is the clock's time, unless the process that read the feed is ahead.
func (k Resolver) now(at time.Time) time.Time {
	if now := k.Now(); now.After(at) {
		return now
	}
	return at
}

// cannotFire is why the rule that a prediction watches could not fire for an agent; empty when it could.
func (k Resolver) cannotFire(ctx context.Context, agent dream.Agent, p *dream.Prediction) (string, error) {
	if p.Watch == nil {
		return "", nil
	}
	err := k.checkRule(ctx, agent, *p.Watch)
	var unwatchable *watchError
	switch {
	case errors.As(err, &unwatchable):
		return unwatchable.why, nil
	case err != nil:
		return "", err
	}
	return k.neverRead(ctx, p)
}

// ReadingTimes knows when a feed last sent a reading; memory.ErrNotFound when no process reads the feed.
type ReadingTimes interface {
	LastReading(ctx context.Context, feed string) (time.Time, error)
}

// neverRead is the reason when a feed has sent nothing since it is watched; empty when it has, when that is unknown,
// and for a rule about silence. A feed that fell silent later is not detected.
func (k Resolver) neverRead(ctx context.Context, p *dream.Prediction) (string, error) {
	if k.Times == nil {
		return "", nil
	}
	feed, err := k.Feeds.Feed(ctx, p.Watch.Feed)
	if err != nil {
		return "", fmt.Errorf("read feed %s: %w", p.Watch.Feed, err)
	}
	if slices.ContainsFunc(feed.Rules,
		func(r dream.Rule) bool { return r.Name == p.Watch.Rule && r.Kind == dream.Stale }) {
		return "", nil
	}
	last, err := k.Times.LastReading(ctx, feed.Name)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return "no process reads feed " + feed.Name, nil
	case err != nil:
		return "", fmt.Errorf("ask when feed %s was last read: %w", feed.Name, err)
	case last.Before(p.Watch.Since) || last.Before(p.At):
		return fmt.Sprintf("feed %s has sent nothing since it was watched", feed.Name), nil
	}
	return "", nil
}

// watchError is why a rule cannot be watched.
type watchError struct {
	why     string
	missing bool // the feed or the rule does not exist
}

func (e *watchError) Error() string { return e.why }

func (e *watchError) Unwrap() error {
	if e.missing {
		return memory.ErrNotFound
	}
	return ErrNotFollowed
}

// ErrNotFollowed says that an agent does not follow the feed that a prediction is to watch.
var ErrNotFollowed = errors.New("unheard")

// checkRule returns a watchError when an agent cannot watch a rule.
func (k Resolver) checkRule(ctx context.Context, agent dream.Agent, w dream.Watch) error {
	if k.Feeds == nil {
		return errors.New("this process has no feeds")
	}
	feed, err := k.Feeds.Feed(ctx, w.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return &watchError{fmt.Sprintf("there is no feed %s", w.Feed), true}
	case err != nil:
		return fmt.Errorf("read feed %s: %w", w.Feed, err)
	case !slices.ContainsFunc(feed.Rules, func(r dream.Rule) bool { return r.Name == w.Rule }):
		return &watchError{fmt.Sprintf("feed %s has no rule %s", w.Feed, w.Rule), true}
	case agent.Feed != w.Feed:
		return &watchError{fmt.Sprintf("%s does not follow feed %s", agent.Handle, w.Feed), false}
	}
	return nil
}

package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Fired tells an agent's open predictions that a rule over its feed fired, and answers how many that resolved.
func (k Reckoning) Fired(ctx context.Context, agent, feed, rule, what string, at time.Time) (int, error) {
	open, err := k.open(ctx, memory.Query{Agent: agent})
	if err != nil {
		return 0, err
	}
	resolved := 0
	var faults []error
	for _, p := range open {
		if v, ok := prediction.Fired(p, feed, rule, what, at, k.now(at)); ok {
			done, err := k.settle(ctx, p, v)
			resolved, faults = resolved+done, append(faults, err)
		}
	}
	return resolved, errors.Join(faults...)
}

// Lapse resolves every prediction of every agent whose horizon has passed, and answers how many. What it cannot resolve
// keeps nobody else waiting.
func (k Reckoning) Lapse(ctx context.Context) (int, error) {
	agents, err := k.Memory.Agents(ctx)
	if err != nil {
		return 0, err
	}
	lapsed, now := 0, k.Now()
	var faults []error
	for _, agent := range agents {
		due, err := k.open(ctx, memory.Query{Agent: agent.ID, DueBefore: now.Add(1), Order: memory.SoonestDue})
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, p := range due {
			done, err := k.lapse(ctx, agent, p, now)
			lapsed, faults = lapsed+done, append(faults, err)
		}
	}
	return lapsed, errors.Join(faults...)
}

func (k Reckoning) lapse(ctx context.Context, agent dream.Agent, p *dream.Prediction, now time.Time) (int, error) {
	if _, due := prediction.Lapsed(p, "", now); !due {
		return 0, nil
	}
	unheard, err := k.unheard(ctx, agent, p)
	if err != nil {
		return 0, err
	}
	v, _ := prediction.Lapsed(p, unheard, now)
	return k.settle(ctx, p, v)
}

// settle resolves what is open, and leaves alone what somebody else has resolved or undone meanwhile.
func (k Reckoning) settle(ctx context.Context, p *dream.Prediction, v prediction.Verdict) (int, error) {
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

func (k Reckoning) open(ctx context.Context, q memory.Query) ([]*dream.Prediction, error) {
	q.Kinds, q.Statuses = []dream.Kind{dream.KindPrediction}, []string{dream.PredictionOpen}
	items, err := k.Memory.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the open predictions of %s: %w", q.Agent, err)
	}
	return memory.As[*dream.Prediction](items), nil
}

// now is the clock's time, which may be behind that of the process that heard the feed.
func (k Reckoning) now(at time.Time) time.Time {
	if now := k.Now(); now.After(at) {
		return now
	}
	return at
}

// unheard says why the rule that a prediction watches could not fire for an agent; empty when it could.
func (k Reckoning) unheard(ctx context.Context, agent dream.Agent, p *dream.Prediction) (string, error) {
	if p.Watch == nil {
		return "", nil
	}
	err := k.hears(ctx, agent, *p.Watch)
	var deaf *deafError
	switch {
	case errors.As(err, &deaf):
		return deaf.why, nil
	case err != nil:
		return "", err
	}
	return k.silent(ctx, p)
}

// Hearing is a world of which it is known when a feed was heard last: memory.ErrNotFound when nobody listens to it.
type Hearing interface {
	Heard(ctx context.Context, feed string) (time.Time, error)
}

// silent says that a feed has said nothing for as long as it was watched; empty when it has, when nobody can tell, and
// of a rule about silence. A feed that fell silent later is not found out.
func (k Reckoning) silent(ctx context.Context, p *dream.Prediction) (string, error) {
	world, tells := k.World.(Hearing)
	if !tells {
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
	received, err := world.Heard(ctx, feed.Name)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return "nobody listens to feed " + feed.Name, nil
	case err != nil:
		return "", fmt.Errorf("ask when feed %s was heard: %w", feed.Name, err)
	case received.Before(p.Watch.Since) || received.Before(p.At):
		return fmt.Sprintf("nothing was heard of feed %s since it was watched", feed.Name), nil
	}
	return "", nil
}

// deafError is why a rule cannot be heard.
type deafError struct {
	why     string
	missing bool // the feed or the rule does not exist
}

func (e *deafError) Error() string { return e.why }

func (e *deafError) Unwrap() error {
	if e.missing {
		return memory.ErrNotFound
	}
	return ErrUnheard
}

// ErrUnheard says that an agent does not follow the feed that is to be watched for it.
var ErrUnheard = errors.New("unheard")

// hears says what is in the way of an agent hearing a rule: a deafError.
func (k Reckoning) hears(ctx context.Context, agent dream.Agent, w dream.Watch) error {
	if k.Feeds == nil {
		return errors.New("no feeds are known here")
	}
	feed, err := k.Feeds.Feed(ctx, w.Feed)
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return &deafError{fmt.Sprintf("there is no feed %s", w.Feed), true}
	case err != nil:
		return fmt.Errorf("read feed %s: %w", w.Feed, err)
	case !slices.ContainsFunc(feed.Rules, func(r dream.Rule) bool { return r.Name == w.Rule }):
		return &deafError{fmt.Sprintf("feed %s has no rule %s", w.Feed, w.Rule), true}
	case agent.Feed != w.Feed:
		return &deafError{fmt.Sprintf("%s does not follow feed %s", agent.Handle, w.Feed), false}
	}
	return nil
}

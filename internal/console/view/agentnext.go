package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Next applies the rules of dreaming by itself to what is known of the agent's past.
func Next(ctx context.Context, app *cli.App, a dream.Agent, l AgentView) (nextDream, error) {
	o := outlook{now: app.Now(), agent: a, settings: app.Settings, past: circadian.LastTimes{Active: l.Status.Seen}}
	dreams := 0
	if l.AgentState != nil {
		o.settings = l.AgentState.Settings
		o.triggering = l.AgentState.Triggering
		o.answered = true
		dreams = l.AgentState.Dreams
		o.past.Dream, o.past.Try = l.AgentState.LastDream, l.AgentState.LastTry
		if l.AgentState.LastActive.After(o.past.Active) {
			o.past.Active = l.AgentState.LastActive
		}
	} else if err := remembered(ctx, app, a, &o.past); err != nil {
		return nextDream{}, err
	}
	s := o.settings
	if l.Interrupted != nil {
		o.past.Expires = l.Interrupted.Until
	}
	next := nextDream{Against: l.obstacles(a, s, o.now)}
	var err, wrong error
	o.windows, err = circadian.ParseHours(s.Windows)
	o.quiet, wrong = circadian.ParseHours(s.Quiet)
	if err := errors.Join(err, wrong); err != nil {
		return next, fmt.Errorf("hours of %s: %w", a.Handle, err)
	}
	next.Against = append(next.Against, o.delays()...)
	urgency, fresh, err := needs(ctx, app, a)
	if err != nil {
		return next, fmt.Errorf("urgency of %s: %w", a.Handle, err)
	}
	o.urgency, o.fresh, next.Urgency = &urgency, fresh, &urgency
	if s.UrgencyRule != nil && s.UrgencyRule.Idle > 0 {
		next.Threshold = s.UrgencyRule.Threshold(urgency)
	}
	o.rhythm = circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter,
		Jitter: circadian.Jitter(a.ID, dreams, s.Jitter),
	}
	next.Triggers = o.lines()
	earliest := o.now
	if until := l.Status.Until(); until.After(o.now) {
		earliest = until
	}
	due := o.rhythm.Begin(earliest, o.past, cli.Location(a.Zone), o.windows, o.quiet)
	next.Resume = due.Resume
	if l.State == workflows.Sleeping {
		next.Missed = o.missed(a.Auto || s.Auto)
	}
	at, by := o.first(next.Triggers, due, a.Auto || s.Auto)
	if l.State == workflows.Dreaming || at.IsZero() {
		return next, nil
	}
	at = at.UTC()
	if at.Before(earliest) {
		at = earliest.UTC()
	}
	next.At, next.By = &at, by
	return next, nil
}

// remembered reads the past as far as the store has it.
func remembered(ctx context.Context, app *cli.App, a dream.Agent, past *circadian.LastTimes) error {
	n, err := LastDream(ctx, app, a)
	if err != nil {
		return err
	}
	if n != nil {
		past.Dream = n.Ended
	}
	lived, err := app.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: 1})
	for _, item := range lived {
		if at := item.Header().At; at.After(past.Active) {
			past.Active = at
		}
	}
	return err
}

// obstacles lists what keeps the agent from dreaming by itself.
func (l AgentView) obstacles(a dream.Agent, s workflows.Settings, now time.Time) []string {
	reasons := []string{}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if l.State == workflows.Dreaming {
		say("it dreams")
	}
	if !a.Auto && !s.Auto && l.Interrupted == nil {
		say("dreaming by itself is switched off (oneiros agents edit %s --auto)", a.Handle)
	}
	if until := l.Status.Until(); until.After(now) {
		say("it is held awake until %s", cli.Clock(until, now, a.Zone))
	}
	if l.Source == "store" {
		say("%s", l.Why)
	}
	for _, c := range l.Left {
		if c.Left <= 0 && c.Limit != budget.Unlimited && l.Vitality < 1 {
			say("the cap of its %s is used up", c.Of)
		}
	}
	if !hypnagogia.Bounds(l.Behaviour).Allowed {
		say("no onset begins while it is %s", l.Behaviour)
	}
	if l.AgentState != nil && l.AgentState.LastReason != "" {
		say("last time: %s", l.AgentState.LastReason)
	}
	return reasons
}

// OnsetText says what the agent's next onset may do: as many cycles as configured, bounded by its behavioural phase.
// With adaptive depth there are fewer where the agent was surprised less.
func OnsetText(b dream.Behaviour, k dream.Knobs, tier dream.Tier) string {
	bound := hypnagogia.Bounds(b)
	if !bound.Allowed {
		return "no onset"
	}
	if tier == dream.Core {
		return "one induction and no Dali cycle within " + cli.Span(bound.Onset)
	}
	most := hypnagogia.Bounded(k, b).Cycles
	text := fmt.Sprintf("%s within %s", cli.Count(most, "Dali cycle"), cli.Span(bound.Onset))
	if k.Depth == dream.DepthAdaptive && most > 1 {
		text = "up to " + text
	}
	return text
}

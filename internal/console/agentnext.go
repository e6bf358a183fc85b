package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/workflows"
)

// next applies the law of the agent's own rhythm to what is known of its past.
func (app *App) next(ctx context.Context, h *House, a dream.Agent, l agentLife) (nextDream, error) {
	now, s := app.Now(), h.Settings
	past, dreams := circadian.Past{Active: l.Standing.Seen}, 0
	if l.Life != nil {
		s, dreams = l.Life.Settings, l.Life.Dreams
		past.Dream, past.Try = l.Life.LastDream, l.Life.LastTry
		if l.Life.LastActive.After(past.Active) {
			past.Active = l.Life.LastActive
		}
	} else if err := remembered(ctx, h, a, &past); err != nil {
		return nextDream{}, err
	}
	if l.Interrupted != nil {
		past.Expires = l.Interrupted.Until
	}
	next := nextDream{Against: l.against(a, s, now)}
	windows, err := circadian.ParseHours(s.Windows)
	quiet, wrong := circadian.ParseHours(s.Quiet)
	if err := errors.Join(err, wrong); err != nil {
		return next, fmt.Errorf("hours of %s: %w", a.Handle, err)
	}
	rhythm := circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter, Jitter: circadian.Jitter(a.ID, dreams, s.Jitter),
	}
	earliest := now
	if until := l.Standing.Until(); until.After(now) {
		earliest = until
	}
	due := rhythm.Begin(earliest, past, location(a.Zone), windows, quiet)
	next.Resume = due.Resume
	if l.State == workflows.Dreaming || !due.Resume && !(a.Auto || s.Auto) || due.At.IsZero() {
		return next, nil
	}
	at := due.At.UTC()
	if at.Before(earliest) {
		at = earliest.UTC()
	}
	next.At = &at
	return next, nil
}

// remembered is the past as far as the store knows it.
func remembered(ctx context.Context, h *House, a dream.Agent, past *circadian.Past) error {
	found, err := h.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindNight}, Limit: 1})
	for _, n := range memory.As[*dream.Night](found) {
		past.Dream = n.Ended
	}
	if err != nil {
		return err
	}
	lived, err := h.Store.Find(ctx, memory.Query{Agent: a.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: 1})
	for _, item := range lived {
		if at := item.Header().At; at.After(past.Active) {
			past.Active = at
		}
	}
	return err
}

// against lists what keeps the agent from dreaming by itself.
func (l agentLife) against(a dream.Agent, s workflows.Settings, now time.Time) []string {
	reasons := []string{}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	if l.State == workflows.Dreaming {
		say("it dreams")
	}
	if !a.Auto && !s.Auto && l.Interrupted == nil {
		say("dreaming by itself is switched off (oneiros agents edit %s --auto)", a.Handle)
	}
	if until := l.Standing.Until(); until.After(now) {
		say("it is held awake until %s", clock(until, now, a.Zone))
	}
	if l.Known == "store" {
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
	if l.Life != nil && l.Life.LastReason != "" {
		say("last time: %s", l.Life.LastReason)
	}
	return reasons
}

// may tells what a behavioural phase allows.
func may(b dream.Behaviour) string {
	bound := hypnagogia.Bounds(b)
	if !bound.Allowed {
		return "no onset"
	}
	return fmt.Sprintf("%s within %s", strings.Join(uniq(fmt.Sprint(bound.CyclesLeast), fmt.Sprint(bound.CyclesMost)), " to ")+" Dali "+cycles(bound.CyclesMost), span(bound.Onset))
}

func uniq(a, b string) []string {
	if a == b {
		return []string{a}
	}
	return []string{a, b}
}

func cycles(n int) string {
	if n == 1 {
		return "cycle"
	}
	return "cycles"
}

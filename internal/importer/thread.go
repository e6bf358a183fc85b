package importer

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// thread completes episodes in order. It holds each one until it has the next, because what follows may be the
// outcome.
type thread struct {
	agent  string
	zone   *time.Location
	done   func(*dream.Episode, *draft) error
	before *draft
	held   *draft
}

func (t *thread) take(d *draft) error {
	if err := t.release(d); err != nil {
		return err
	}
	t.held = d
	return nil
}

func (t *thread) end() error { return t.release(nil) }

func (t *thread) release(next *draft) error {
	d := t.held
	if d == nil {
		return nil
	}
	if !d.exact {
		t.complete(d, neighbour(t.before, d), neighbour(next, d))
	}
	t.before, t.held = d, nil
	return t.done(&d.ep, d)
}

// neighbour is a draft of the same session within a day; exchanges have their own neighbours.
func neighbour(other, d *draft) *draft {
	if other == nil || d.turns != nil || other.turns != nil || d.ep.Session == "" || other.ep.Session != d.ep.Session {
		return nil
	}
	if gap := other.ep.At.Sub(d.ep.At).Abs(); gap > 24*time.Hour {
		return nil
	}
	return other
}

// complete fills what the source lacks and names it in Derived, in this order: at, context, action, outcome,
// salience, surprise, affect.
func (t *thread) complete(d, before, next *draft) {
	ep := &d.ep
	if ep.ID == "" {
		ep.ID = d.id(t.agent)
	}
	ep.Agent, ep.Kind = t.agent, dream.KindEpisode
	ep.At = ep.At.UTC()
	if ep.State == "" {
		ep.State = dream.Live
	}
	mark := func(name string, derived bool) {
		if derived {
			ep.Derived = append(ep.Derived, name)
		}
	}
	ep.Derived = nil
	mark("at", d.undated)
	mark("context", ep.Context == "")
	mark("action", ep.Action == "")
	mark("outcome", ep.Outcome == "")
	mark("salience", !d.salient)
	mark("surprise", !d.surprise)
	mark("affect", !d.felt)
	if ep.Context == "" {
		ep.Context = d.contextOf(before, t.zone)
	}
	if ep.Outcome == "" {
		ep.Outcome = d.outcomeOf(next)
	}
	if ep.Action == "" {
		ep.Action = d.actionOf(next)
	}
	if !d.felt {
		var tokens []word
		spoken := d.voices(nil)
		for _, v := range spoken {
			tokens = words(v.text, tokens)
		}
		ep.Affect = affectOf(tokens, exclamations(spoken))
	}
}

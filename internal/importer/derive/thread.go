package derive

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Thread completes episodes in order. It holds each one until it has the next, because what follows may be the
// outcome.
type Thread struct {
	Agent  string
	Zone   *time.Location
	Done   func(*dream.Episode, *Draft) error
	before *Draft
	held   *Draft
}

// Take adds the next episode.
func (t *Thread) Take(d *Draft) error {
	if err := t.release(d); err != nil {
		return err
	}
	t.held = d
	return nil
}

// End completes the last episode.
func (t *Thread) End() error { return t.release(nil) }

func (t *Thread) release(next *Draft) error {
	d := t.held
	if d == nil {
		return nil
	}
	if !d.Exact {
		t.complete(d, neighbour(t.before, d), neighbour(next, d))
	}
	t.before, t.held = d, nil
	return t.Done(&d.Episode, d)
}

// neighbour is a draft of the same session within a day; exchanges have their own neighbours.
func neighbour(other, d *Draft) *Draft {
	if other == nil || d.Turns != nil || other.Turns != nil || d.Episode.Session == "" || other.Episode.Session != d.Episode.Session {
		return nil
	}
	if gap := other.Episode.At.Sub(d.Episode.At).Abs(); gap > 24*time.Hour {
		return nil
	}
	return other
}

// complete fills what the source lacks and names it in Derived, in this order: at, context, action, outcome,
// salience, surprise, affect.
func (t *Thread) complete(d, before, next *Draft) {
	ep := &d.Episode
	if ep.ID == "" {
		ep.ID = d.id(t.Agent)
	}
	ep.Agent, ep.Kind = t.Agent, dream.KindEpisode
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
	mark("at", d.Undated)
	mark("context", ep.Context == "")
	mark("action", ep.Action == "")
	mark("outcome", ep.Outcome == "")
	mark("salience", !d.Salient)
	mark("surprise", !d.Surprise)
	mark("affect", !d.Felt)
	if ep.Context == "" {
		ep.Context = d.contextOf(before, t.Zone)
	}
	if ep.Outcome == "" {
		ep.Outcome = d.outcomeOf(next)
	}
	if ep.Action == "" {
		ep.Action = d.actionOf(next)
	}
	if !d.Felt {
		var tokens []word
		spoken := d.voices(nil)
		for _, v := range spoken {
			tokens = words(v.Text, tokens)
		}
		ep.Affect = affectOf(tokens, exclamations(spoken))
	}
}

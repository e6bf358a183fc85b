package hypnagogia

import (
	"math/rand/v2"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// RecombinedEvent is an event that never happened: the context of one episode, the action of another, the outcome of a
// third or of one of the two. Sources are the episodes' ids in that order, each once: two or three.
type RecombinedEvent struct {
	Context, Action, Outcome string
	Sources                  []string
}

// Recombine makes up to n of them, without blank fields, duplicates, or events that really happened. If the episodes
// do not allow more, the result is shorter, and empty when fewer than two can take part.
func Recombine(episodes []*dream.Episode, n int, r *rand.Rand) []RecombinedEvent {
	const triesEach = 16 // small memories repeat themselves soon
	cast := newCast(episodes)
	var out []RecombinedEvent
	for tries := 0; len(out) < n && tries < n*triesEach; tries++ {
		one, ok := cast.draw(r)
		if !ok {
			break
		}
		scene := [3]string{one.Context, one.Action, one.Outcome}
		if !cast.scenes[scene] {
			cast.scenes[scene] = true
			out = append(out, one)
		}
	}
	return out
}

// cast lists the episodes that can provide each part, and every known scene.
type cast struct {
	contexts, actions, outcomes []*dream.Episode
	scenes                      map[[3]string]bool
}

func newCast(episodes []*dream.Episode) cast {
	c := cast{scenes: map[[3]string]bool{}}
	seen := map[string]bool{}
	for _, e := range episodes {
		if e == nil || seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		scene := [3]string{strings.TrimSpace(e.Context), strings.TrimSpace(e.Action), strings.TrimSpace(e.Outcome)}
		c.scenes[scene] = true
		for _, part := range []struct {
			text string
			list *[]*dream.Episode
		}{{e.Context, &c.contexts}, {e.Action, &c.actions}, {e.Outcome, &c.outcomes}} {
			if strings.TrimSpace(part.text) != "" {
				*part.list = append(*part.list, e)
			}
		}
	}
	if len(c.actions) == 1 { // the only episode with an action cannot provide the context as well
		c.contexts = without(c.contexts, c.actions[0])
	}
	return c
}

// draw picks two different episodes for context and action; an outcome always exists outside of the two or in one of
// them. Two and three sources are equally likely if both are possible.
func (c cast) draw(r *rand.Rand) (RecombinedEvent, bool) {
	if len(c.contexts) == 0 || len(c.actions) == 0 || len(c.outcomes) == 0 {
		return RecombinedEvent{}, false
	}
	context := pick(c.contexts, r)
	action := pick(without(c.actions, context), r)
	third := without(c.outcomes, context, action)
	outcome := context
	switch {
	case len(third) > 0 && (r.IntN(2) == 1 || len(third) == len(c.outcomes)):
		outcome = pick(third, r)
	case strings.TrimSpace(context.Outcome) == "":
		outcome = action
	}
	sources := []string{context.ID, action.ID}
	if outcome != context && outcome != action {
		sources = append(sources, outcome.ID)
	}
	return RecombinedEvent{
		Context: strings.TrimSpace(context.Context), Action: strings.TrimSpace(action.Action),
		Outcome: strings.TrimSpace(outcome.Outcome), Sources: sources,
	}, true
}

func pick(from []*dream.Episode, r *rand.Rand) *dream.Episode { return from[r.IntN(len(from))] }

func without(from []*dream.Episode, not ...*dream.Episode) []*dream.Episode {
	kept := make([]*dream.Episode, 0, len(from))
	for _, e := range from {
		if e != not[0] && e != not[len(not)-1] {
			kept = append(kept, e)
		}
	}
	return kept
}

// ChangedEpisode is one episode with a part to be imagined differently: what was done, or how it came out.
type ChangedEpisode struct {
	Context, Action, Outcome string
	Part                     string // ChangedAction or ChangedOutcome
	Source                   string // the episode's id
}

// The parts that can be turned.
const (
	ChangedAction  = "action"
	ChangedOutcome = "outcome"
)

// ChangeEpisode draws an episode with an action and an outcome, surprising ones more often, and one of the two parts
// to be imagined differently. False when no episode has both.
func ChangeEpisode(episodes []*dream.Episode, alpha float64, r *rand.Rand) (ChangedEpisode, bool) {
	var able []*dream.Episode
	var weights []float64
	for _, e := range episodes {
		if e != nil && strings.TrimSpace(e.Action) != "" && strings.TrimSpace(e.Outcome) != "" {
			able, weights = append(able, e), append(weights, e.Surprise)
		}
	}
	if len(able) == 0 {
		return ChangedEpisode{}, false
	}
	e := able[Sample(weights, 1, alpha, r)[0]]
	part := ChangedAction
	if r.IntN(2) == 1 {
		part = ChangedOutcome
	}
	return ChangedEpisode{
		Context: strings.TrimSpace(e.Context),
		Action:  strings.TrimSpace(e.Action),
		Outcome: strings.TrimSpace(e.Outcome),
		Part:    part,
		Source:  e.ID,
	}, true
}

// WhatIf is the kind of premise of a branch besides its seed.
type WhatIf string

// The kinds: parts of two or three episodes combined, or one episode with a different course.
const (
	Recombination  WhatIf = "recombination"
	Counterfactual WhatIf = "counterfactual"
)

// WhatIfOf alternates between the kinds, counted from 1, recombination first.
func WhatIfOf(turn int) WhatIf {
	if turn%2 == 0 {
		return Counterfactual
	}
	return Recombination
}

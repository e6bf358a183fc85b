package psyche

import (
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

// turnSteps are the steps of a turn that are switched on, by request, agent and deployment in this order.
type turnSteps struct {
	recall, store, affect bool
	digest                string
}

func (b *core) switched(a *dream.Agent, request Switches) turnSteps {
	on := func(of func(Switches) *bool) bool {
		for _, s := range []Switches{request, b.o.Agents[a.Handle], b.o.Switches} {
			if v := of(s); v != nil {
				return *v
			}
		}
		return true
	}
	p := turnSteps{
		recall: on(func(s Switches) *bool { return s.Recall }), store: on(func(s Switches) *bool { return s.Store }),
		affect: on(func(s Switches) *bool { return s.Affect }), digest: b.o.Digest,
	}
	for _, s := range []Switches{request, b.o.Agents[a.Handle], b.o.Switches} {
		if s.Digest != nil && !*s.Digest { // no request undoes what the operator has set
			p.digest = journal.DigestOff
		}
	}
	return p
}

// Counts are what this process's services did since its start.
type Counts struct {
	Turns     int64            // that were passed on
	Woke      int64            // of them, those that woke an agent
	Recalled  int64            // memories put before the model
	Skipped   map[string]int64 // turns without, by why
	WordsOnly map[string]int64 // recalls that compared words alone, by why
	Stored    int64            // memories made of talks
	Existing  int64            // that were remembered already

	Corrected int64 // memories that a newer statement took the place of
	Trivial   int64 // lines that are not worth keeping
	Repeated  int64 // lines that only said what was recalled
	Dropped   int64 // exchanges that were not remembered, because too many waited or the process ended
	Failed    int64 // exchanges that could not be
	Forgotten int64 // answers that were not kept, because something was forgotten while they were written
	Full      int64 // exchanges and memories that were not kept, because a quota is reached
}

// RecallCounts are the results of recall since this process began.
type RecallCounts struct {
	Recalled int64 `json:"recalled"` // turns that were given memories
	// turns that were given none, by why: "budget", "busy", "failed", "nothing" or "off"
	Skipped map[string]int64 `json:"skipped"`
	// recalls that compared words alone, by why: "budget", "failed" or "space"
	WordsOnly map[string]int64 `json:"words_only"`
}

type counts struct {
	turns, woke, recalled, stored, existing, corrected, trivial, repeated, dropped, failed, full, forgotten atomic.Int64

	recalls recallCounter // of all agents
	byAgent sync.Map      // of *recallCounter, by agent id
}

// recallCounter counts the results of recall.
type recallCounter struct {
	recalled                             atomic.Int64
	off, budget, busy, failure, nothing  atomic.Int64
	wordsBudget, wordsFailed, wordsSpace atomic.Int64
}

func (c *counts) turn(agent string, t *TurnReport) {
	c.turns.Add(1)
	if t.Woke {
		c.woke.Add(1)
	}
	c.recalled.Add(int64(t.Recalled))
	for _, r := range []*recallCounter{&c.recalls, c.of(agent)} {
		r.turn(t)
	}
}

// wordsOnly counts a recall without a turn that compared words alone.
func (c *counts) wordsOnly(agent, why string) {
	c.recalls.wordsOnly(why)
	c.of(agent).wordsOnly(why)
}

func (c *counts) of(agent string) *recallCounter {
	if existing, ok := c.byAgent.Load(agent); ok {
		return existing.(*recallCounter)
	}
	made, _ := c.byAgent.LoadOrStore(agent, &recallCounter{})
	return made.(*recallCounter)
}

func (c *recallCounter) turn(t *TurnReport) {
	switch t.Skipped {
	case "":
		c.recalled.Add(1)
	case SkippedOff:
		c.off.Add(1)
	case SkippedBudget:
		c.budget.Add(1)
	case SkippedBusy:
		c.busy.Add(1)
	case SkippedFailed:
		c.failure.Add(1)
	case SkippedNothing:
		c.nothing.Add(1)
	}
	c.wordsOnly(t.WordsOnly)
}

func (c *recallCounter) wordsOnly(why string) {
	switch why {
	case WordsBudget:
		c.wordsBudget.Add(1)
	case WordsFailed:
		c.wordsFailed.Add(1)
	case WordsSpace:
		c.wordsSpace.Add(1)
	}
}

func (c *recallCounter) counts() RecallCounts {
	return RecallCounts{
		Recalled: c.recalled.Load(),
		Skipped: map[string]int64{
			SkippedOff:     c.off.Load(),
			SkippedBudget:  c.budget.Load(),
			SkippedBusy:    c.busy.Load(),
			SkippedFailed:  c.failure.Load(),
			SkippedNothing: c.nothing.Load(),
		},
		WordsOnly: map[string]int64{
			WordsBudget: c.wordsBudget.Load(),
			WordsFailed: c.wordsFailed.Load(),
			WordsSpace:  c.wordsSpace.Load(),
		},
	}
}

// Counts returns what the services of this process did.
func (s *Service) Counts() Counts {
	c := &s.counts
	recalls := c.recalls.counts()
	return Counts{
		Turns:     c.turns.Load(),
		Woke:      c.woke.Load(),
		Recalled:  c.recalled.Load(),
		Stored:    c.stored.Load(),
		Existing:  c.existing.Load(),
		Corrected: c.corrected.Load(),
		Trivial:   c.trivial.Load(),
		Repeated:  c.repeated.Load(),
		Dropped:   c.dropped.Load(),
		Failed:    c.failed.Load(),
		Forgotten: c.forgotten.Load(),
		Full:      c.full.Load(),
		Skipped:   recalls.Skipped,
		WordsOnly: recalls.WordsOnly,
	}
}

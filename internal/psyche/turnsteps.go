package psyche

import (
	"maps"
	"sync"

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

// RecallCounts are the results of recall since this process began.
type RecallCounts struct {
	Recalled int64 `json:"recalled"` // turns that were given memories
	// turns that were given none, by why: "budget", "busy", "failed", "nothing" or "off"
	Skipped map[string]int64 `json:"skipped"`
	// recalls that compared words alone, by why: "budget", "failed" or "space"
	WordsOnly map[string]int64 `json:"words_only"`
}

// counts are what became of exchanges since this process began.
type counts struct {
	mu      sync.Mutex
	all     map[string]int64 // by name
	byAgent map[string]*RecallCounts
}

// add counts something by its name.
func (c *counts) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int64{}
	}
	c.all[name] += int64(n)
}

// turn counts the result of recall for a turn.
func (c *counts) turn(agent string, t *TurnReport) {
	c.add("recalled", t.Recalled)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.of(agent)
	if t.Skipped == "" {
		r.Recalled++
	} else {
		r.Skipped[t.Skipped]++
	}
	if t.WordsOnly != "" {
		r.WordsOnly[t.WordsOnly]++
	}
}

// wordsOnly counts a recall without a turn that compared words alone.
func (c *counts) wordsOnly(agent, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(agent).WordsOnly[why]++
}

// of are the results of an agent's recall. Its caller holds the lock.
func (c *counts) of(agent string) *RecallCounts {
	if c.byAgent == nil {
		c.byAgent = map[string]*RecallCounts{}
	}
	if c.byAgent[agent] == nil {
		c.byAgent[agent] = &RecallCounts{
			Skipped: map[string]int64{
				SkippedOff:     0,
				SkippedBudget:  0,
				SkippedBusy:    0,
				SkippedFailed:  0,
				SkippedNothing: 0,
			},
			WordsOnly: map[string]int64{WordsBudget: 0, WordsFailed: 0, WordsSpace: 0},
		}
	}
	return c.byAgent[agent]
}

// recalls are a copy of the results of an agent's recall.
func (c *counts) recalls(agent string) *RecallCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := *c.of(agent)
	r.Skipped, r.WordsOnly = maps.Clone(r.Skipped), maps.Clone(r.WordsOnly)
	return &r
}

// Counts returns by name what became of the exchanges of this process: stored, existing, corrected, trivial, repeated,
// dropped, failed, forgotten, full, and the memories recalled.
func (s *Service) Counts() map[string]int64 {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	return maps.Clone(s.counts.all)
}

package retention_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

// claimed lets two predictions of a write, which came to nothing, say a claim that has passed on what was lived.
func (w *world) claimed(write *memory.Write) {
	w.Helper()
	var c *dream.Claim
	for _, item := range write.Change {
		p := item.(*dream.Prediction)
		switch {
		case p.Status != dream.PredictionVoid:
			continue
		case c == nil:
			p.Check = &dream.Check{When: "tide", Then: "horn", Within: time.Hour}
			c = claims.New(p, nil)
		case len(c.Sources) == 1:
			p.Check = &dream.Check{When: "tide", Then: "horn", Within: time.Hour}
			require.True(w, claims.Say(c, p))
		}
	}
	require.Len(w, c.Sources, 2)
	c.Status, c.Passed, c.Playbook = dream.ClaimPassed, w.now.UTC(), "pb_tide"
	c.Hits = len(w.lived)
	for _, id := range w.lived {
		o := dream.ClaimOutcome{At: w.now.UTC(), Right: true, Evidence: []string{id}, Wealth: 2}
		c.Outcomes = append(c.Outcomes, o)
	}
	write.Add = append(write.Add, c, &dream.Playbook{
		Head: dream.Head{
			ID:      c.Playbook,
			Agent:   c.Agent,
			Kind:    dream.KindPlaybook,
			At:      c.Passed,
			State:   dream.Live,
			Taint:   dream.FromTool,
			Sources: []string{c.ID},
		},
		Claim: c.ID, Confidence: .9, Content: c.Says,
	})
	w.claim = c.ID
}

// claimStands checks that the predictions that say a claim, what was lived of it, and what follows from it are there.
func (w *world) claimStands(ctx context.Context) error {
	c, err := memory.One[*dream.Claim](ctx, w.store, agentID(0), w.claim)
	if err != nil {
		return err
	}
	for _, id := range c.Sources {
		p, err := memory.One[*dream.Prediction](ctx, w.store, agentID(0), id)
		if err != nil {
			return fmt.Errorf("a prediction that says it: %w", err)
		}
		if p.Check == nil || claims.ID(p.Agent, *p.Check) != c.ID {
			return fmt.Errorf("%s says something else: %+v", id, p.Check)
		}
	}
	evidence := 0
	for _, o := range c.Outcomes {
		items, err := w.store.Get(ctx, agentID(0), o.Evidence...)
		if err != nil {
			return err
		}
		evidence += len(items)
	}
	if evidence != len(w.lived) || c.Hits != len(w.lived) {
		return fmt.Errorf("%d outcomes are counted, and %d episodes of %d that show them are left", c.Hits, evidence,
			len(w.lived))
	}
	entry, err := memory.One[*dream.Playbook](ctx, w.store, agentID(0), c.Playbook)
	if err == nil && entry.Claim != c.ID {
		err = fmt.Errorf("%s is the entry of %q", entry.ID, entry.Claim)
	}
	return err
}

// greedy sweeps away more than is old.
type greedy struct {
	retention.Store
	also func(ctx context.Context, agent string, ids []string) ([]string, error)
}

func (s greedy) Discard(ctx context.Context, agent string, ids []string, details time.Time) (int, error) {
	if len(ids) > 0 {
		more, err := s.also(ctx, agent, ids)
		if err != nil {
			return 0, err
		}
		ids = append(ids, more...)
	}
	return s.Store.Discard(ctx, agent, ids, details)
}

// A sweep that takes with a dream the predictions that came to nothing is found.
func TestASweepThatTakesWhatAClaimRestsOnIsFound(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		err := spoiled(t, kind, func(w *world) {
			w.sweeps.Store = greedy{w.store, func(ctx context.Context, agent string, ids []string) ([]string, error) {
				var more []string
				removed, err := w.store.Get(ctx, agent, ids...)
				if err != nil {
					return nil, err
				}
				void, err := w.store.Find(ctx, memory.Query{
					Agent: agent, Dream: removed[0].Header().Dream, Kinds: []dream.Kind{dream.KindPrediction},
					Statuses: []string{dream.PredictionVoid},
				})
				for _, p := range void {
					more = append(more, p.Header().ID)
				}
				return more, err
			}}
		})
		require.ErrorContains(t, err, "what a claim rests on stays")
	})
}

// spoiled lives some weeks with a sweep that something spoils, and returns which promises are broken at their end.
func spoiled(t *testing.T, kind string, spoil func(*world)) error {
	t.Helper()
	_, err := yearOf(t, kind, weeks(1), spoil)
	return err
}

// weeks is a life in which the first dreams are swept, at one night and one turn a day.
func weeks(agents int) span {
	return span{
		agents: agents,
		days:   36,
		nights: 1,
		turns:  1,
		kept:   4 * day,
	}
}

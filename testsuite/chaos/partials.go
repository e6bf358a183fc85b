package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// PartialCounts says what became of every answer that was bought for a partial completion.
type PartialCounts struct {
	Captured, Discarded int // fragments
	Cuts                int // attempts whose answer never arrived, in the ledger
	// attempts that were answered and paid for although another attempt's answer is stored for the same step
	Twins int
}

// answers maps each step to the attempt whose answer is stored.
func (e *Evidence) answers(ctx context.Context, c *testdeploy.Deployment) error {
	e.Answers = map[string]int{}
	for _, row := range e.Rows {
		if _, found := e.Answers[row.Step]; found {
			continue
		}
		body, found, err := c.Store.Ledger().Answer(ctx, row.Step)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		var paid struct {
			Attempt int `json:"attempt"` // 0 for vectors, which have no attempt
		}
		if err := json.Unmarshal(body, &paid); err != nil {
			return fmt.Errorf("read the answer of %s: %w", row.Step, err)
		}
		e.Answers[row.Step] = paid.Attempt
	}
	return nil
}

func (e *Evidence) fragments(ctx context.Context, c *testdeploy.Deployment, agent dream.Agent) error {
	items, err := c.Store.Find(ctx, memory.Query{
		Agent: agent.ID, Kinds: []dream.Kind{dream.KindFragment, dream.KindScenario}, Sort: memory.Oldest,
	})
	for _, f := range memory.As[*dream.Fragment](items) {
		e.Fragments[f.ID] = f
	}
	e.Scenarios = append(e.Scenarios, memory.As[*dream.Scenario](items)...)
	return err
}

// fragmentOf is the id of the fragment of a partial: "dream/echo/0001/onset/2/partial-1" is
// "dream/echo/0001/onset/2.1".
func fragmentOf(c Call) string {
	return c.Dream + "/" + string(c.Phase) + "/" + strings.Replace(c.Activity, "/partial-", ".", 1)
}

// fragmentsOf are the ids of the fragments of a call's answer: one of a partial, at least one of a call that gave all
// those of its cycle.
func (e *Evidence) fragmentsOf(c Call) []string {
	if !c.IsIdeas() {
		if e.Fragments[fragmentOf(c)] == nil {
			return nil
		}
		return []string{fragmentOf(c)}
	}
	cycle, _, _ := strings.Cut(c.Activity, "/")
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(e.Fragments)) {
		if strings.HasPrefix(id, c.Dream+"/"+string(c.Phase)+"/"+cycle+".") {
			ids = append(ids, id)
		}
	}
	return ids
}

// AuditPartials checks that the provider's completed answers to partial completions are exactly and without overlap
// the fragments, captured or discarded, and the attempts that the ledger calls cut.
func (e *Evidence) AuditPartials() (PartialCounts, error) {
	var caught PartialCounts
	var faults []error
	byKey, paid := keyed(e.Rows), map[string]bool{}
	twin := func(c Call) bool {
		kept := e.Answers[c.Step]
		return kept > 0 && c.Attempt <= byKey[fmt.Sprintf("%s#%d", c.Step, kept)].Latest
	}
	for _, call := range e.Book.Calls {
		c, ok := ReadKey(call.Key)
		if !ok || !c.IsPartial() && !c.IsIdeas() {
			continue
		}
		ids, row := e.fragmentsOf(c), byKey[call.Key]
		stored := e.Answers[c.Step] == c.Attempt
		// where no idea could be parsed the call was repeated once
		if stored && len(ids) == 0 && e.Answers[c.Step+repair] == 0 {
			faults = append(faults, fmt.Errorf("the answer %s is stored and no fragment has it", call.Key))
		}
		for _, id := range ids {
			switch {
			case !stored || paid[id]:
			case e.Fragments[id].Status == dream.FragmentDiscarded:
				caught.Discarded++
			default:
				caught.Captured++
			}
			paid[id] = paid[id] || stored
		}
		switch {
		case stored:
		case call.Completed && row.State == spend.Settled && twin(c):
			caught.Twins++
		case call.Completed && !slices.Contains([]spend.State{spend.Lost, spend.Partial}, row.State):
			faults = append(faults,
				fmt.Errorf("the provider completed %s, its answer is not stored, and the ledger calls it %s", call.Key,
					row.State))
		case call.Completed:
			caught.Cuts++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.Fragments)) {
		if f := e.Fragments[id]; f.Cycle > 0 && !paid[id] {
			faults = append(faults, fmt.Errorf("fragment %s has no answer at the provider", id))
		}
	}
	return caught, errors.Join(faults...)
}

// Again is a call that was made although its step had been answered before.
type Again struct{ Answered, Bought spend.Row }

// Error names the step and both attempts.
func (a *Again) Error() string {
	return fmt.Sprintf("%s was answered in attempt %d and bought again, after that, in attempt %d", a.Bought.Step,
		a.Answered.Attempt, a.Bought.Attempt)
}

// AuditOnce checks that no step was bought again after its answer had been stored.
func (e *Evidence) AuditOnce() error {
	var faults []error
	for _, one := range e.BoughtAgain() {
		faults = append(faults, one)
	}
	return errors.Join(faults...)
}

// BoughtAgain returns what was bought again after the answer of its step had been stored. Two attempts may overlap and
// both be answered and paid for: a frozen worker continues in the middle of its call after the activity has been given
// to another.
func (e *Evidence) BoughtAgain() []*Again {
	var all []*Again
	byStep := map[string][]spend.Row{}
	for _, row := range e.Rows {
		byStep[row.Step] = append(byStep[row.Step], row)
	}
	for _, row := range e.Rows {
		for _, other := range byStep[row.Step] {
			answered := other.State == spend.Settled || e.Answers[other.Step] == other.Attempt
			if answered && row.Attempt > other.Latest {
				all = append(all, &Again{Answered: other, Bought: row})
			}
		}
	}
	return all
}

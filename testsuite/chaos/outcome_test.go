package chaos_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// oneAttempt makes every failure final.
func oneAttempt(p *testdeploy.Config) { p.Knobs.Attempts = 1 }

// failing makes partials of the first Dali cycle fail at the provider, except the spared ones.
func failing(spared string) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		if c, ok := chaos.ReadKey(a.Key); ok && c.IsPartial() && c.Activity[:2] == "1/" && c.Activity != spared {
			return provider.ServerError
		}
		return provider.None
	}
}

func TestADreamIsAbortedWhenAllPartialsFailAndGivesItsAllowanceBack(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, failing(""), oneAttempt)
	agent := s.addAgent()
	id := s.begin(agent).Dream
	result := s.result(id)
	require.Equal(t, dream.Aborted, result.Outcome)
	require.Contains(t, result.Reason, "all 4 partials of Dali cycle 1 failed")
	require.Equal(t, "stopped", result.Tallies[len(result.Tallies)-1].State)
	e := s.audit()
	spec := e.Dreams[0].Spec
	require.Zero(t, e.Allowances[agent.ID+"/"+spec.Day], "an aborted dream gives its allowance back")
	day := e.Balances["day:"+agent.ID+"/"+spec.Day]
	require.Equal(t, result.Spent, day.Spent, "what it spent still counts")
	require.Greater(t, day.Spent, e.Book.Total, "a failure at the provider may have been billed")
	require.Positive(t, e.Book.Total)
}

func TestOnePartialOfFourIsEnoughToGoOn(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, failing("1/partial-2"), oneAttempt)
	result := s.result(s.begin(s.addAgent()).Dream)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, 3, result.Tallies[0].Failed)
	s.audit()
}

func TestASpentOnsetFallsThroughToReplay(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	n, small := seed, budget.Dollar*3/100
	begun, err := s.deployment.Starter.Begin(s.ctx, starter.DreamRequest{
		Agent:  agent.Handle,
		Tier:   dream.Hardened,
		Seed:   &n,
		AsOf:   testdeploy.Night,
		Budget: &small,
	})
	require.NoError(t, err)
	result := s.result(begun.Dream)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, "exhausted", result.Tallies[0].State)
	require.Contains(t, result.Tallies[0].Reason, activities.PhaseScope(begun.Dream, dream.Onset))
	require.Equal(t, "ran", result.Tallies[1].State)
	require.Positive(t, result.Tallies[1].Made)
	s.audit()
}

func TestAnAgentWithoutMemoriesDreamsEmptyAndPaysNothing(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := dream.Agent{
		ID:     "id-blank",
		Handle: "blank",
		Zone:   "UTC",
		Tier:   dream.Hardened,
		Caps:   dream.DefaultCaps,
	}
	require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
	result := s.result(s.begin(agent).Dream)
	require.Equal(t, dream.Empty, result.Outcome)
	require.Equal(t, "there were no memories to dream over", result.Reason)
	require.Empty(t, s.audit().Book.Calls)
}

func TestACanceledDreamKeepsWhatWasBoughtAndFreesItsSlot(t *testing.T) {
	t.Parallel()
	s := openScene(t, false, nil, nil)
	agent := s.addAgent()
	id := "dream/" + agent.Handle + "/0001"
	s.moments.Await(provider.ServerError, key(id+"/onset/2/partial-3#1"))
	// a second later the others have ended
	hung := s.moments.Await(provider.HangMiddle, key(id+"/onset/2/partial-3#2"))
	require.Equal(t, id, s.begin(agent).Dream)
	s.await(hung)
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, id))
	require.Equal(t, dream.Canceled, s.result(id).Outcome)
	e := s.audit()
	caught, err := e.AuditPartials()
	require.NoError(t, err)
	require.Positive(t, caught.Discarded, "what came back and was not judged is kept as discarded")
	cut := 0
	for _, row := range e.Rows {
		if row.Step == id+"/onset/2/partial-3" && row.Attempt == 2 {
			require.Equal(t, spend.Partial, row.State)
			require.Equal(t, "cut", row.Finish)
			require.Equal(t, row.Reserved, row.Counted,
				"nobody knows what a cut call will be billed at: it counts in full")
			cut++
		}
	}
	require.Equal(t, 1, cut)
	require.Equal(t, dream.Completed, s.result(s.begin(agent).Dream).Outcome, "the slot is free for the next dream")
}

// key is true of one attempt.
func key(k string) func(int, provider.Arrival) bool {
	return func(_ int, a provider.Arrival) bool { return a.Key == k }
}

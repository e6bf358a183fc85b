package testdeploy_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// judgedNight dreams a whole night. It returns the calls of its observer, their cost, and the fragments of its
// cycles.
func judgedNight(t *testing.T, judging string) ([]provider.Call, budget.Micros, []*dream.Fragment) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 3})
	deployment := open(t,
		func(config *testdeploy.Config) {
			config.Provider, config.Model, config.Knobs.Judging = p.URL, "script", judging
		})
	agent, err := deployment.AddAgent(ctx, 0, "")
	require.NoError(t, err)
	seed := uint64(7)
	begun, err := deployment.Starter.Begin(
		ctx,
		starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Equal(t, p.Billing.Book().Total, result.Spent, "the ledger knows every call")
	require.Empty(t, p.Billing.Failed())
	require.Empty(t, p.Billing.Repeated())
	var calls []provider.Call
	var cost budget.Micros
	for _, c := range p.Billing.Calls() {
		if strings.Contains(c.Key, "/judge-") && !strings.Contains(c.Path, "embed") {
			calls, cost = append(calls, c), cost+c.Cost
		}
	}
	items, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindFragment}})
	require.NoError(t, err)
	caught := slices.DeleteFunc(memory.As[*dream.Fragment](items), func(f *dream.Fragment) bool { return f.Cycle == 0 })
	return calls, cost, caught
}

// The observer judges fragments together or one by one, whichever is cheaper. The same night costs less in one call a
// cycle, and every verdict has all its fields.
func TestANightIsJudgedTogetherWhereThatIsCheaper(t *testing.T) {
	t.Parallel()
	var costs []budget.Micros
	for _, judging := range []string{dream.BySingle, dream.JudgingAuto} {
		calls, cost, caught := judgedNight(t, judging)
		cycles := map[int]int{}
		for _, f := range caught {
			cycles[f.Cycle]++
			p := f.Verdict.Parts
			require.NotNil(t, p, f.ID)
			require.Equal(t, .10, *f.Verdict.Floor)
			require.Equal(t, 1.0, p.Bias, "no prediction is resolved yet")
			if judging == dream.BySingle {
				require.NotEqual(t, dream.ByTogether, p.Way)
			} else if p.Judged != nil {
				require.Equal(t, dream.ByTogether, p.Way)
				require.Equal(t, 4, p.Together)
			} else {
				require.NotEmpty(t, p.Why, f.ID)
			}
		}
		require.NotEmpty(t, cycles)
		want := len(cycles)
		if judging == dream.BySingle {
			want = len(caught)
		}
		repairs := 0
		for _, c := range calls {
			if strings.Contains(c.Key, "repair") {
				repairs++
			}
		}
		require.Equal(t, want, len(calls)-repairs, judging)
		t.Logf("%s: %d fragments of %d cycles, %d calls, %s", judging, len(caught), len(cycles), len(calls), cost)
		costs = append(costs, cost/budget.Micros(len(caught)))
	}
	require.Less(t, costs[1], costs[0])
}

// A client connects during a batch of verdicts: the batch is made again when the dream resumes, nothing is judged
// twice, and ledger and provider agree.
func TestABatchThatIsWokenIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, provider.Options{Seed: 1, Each: 3 * time.Millisecond},
		func(p *testdeploy.Config) { p.Knobs.Judging = dream.ByTogether })
	id := s.begin()
	judging := func() (calls []provider.Call) {
		for _, c := range s.upstream.Billing.Calls() {
			if strings.Contains(c.Key, "/1/judge-all") && !strings.Contains(c.Path, "embed") {
				calls = append(calls, c)
			}
		}
		return calls
	}
	require.Eventually(t, func() bool { calls := judging(); return len(calls) > 0 && calls[0].Completion > 3 },
		patience, time.Millisecond)
	s.connect()
	require.Eventually(t, func() bool { return s.night(id).Outcome == dream.Interrupted }, patience, 5*time.Millisecond)
	fragments := func() (caught []*dream.Fragment) {
		items, err := s.Store.Find(s.ctx,
			memory.Query{Agent: s.agent.ID, Dream: id, Kinds: []dream.Kind{dream.KindFragment}})
		require.NoError(t, err)
		return slices.DeleteFunc(memory.As[*dream.Fragment](items),
			func(f *dream.Fragment) bool { return f.Cycle != 1 })
	}
	require.Empty(t, fragments(), "half an answer gives no verdict")
	require.NoError(t, s.Starter.Leave(s.ctx, s.agent.Handle, "guest"))
	require.Eventually(t, func() bool {
		agentState, err := s.Starter.AgentState(s.ctx, s.agent.Handle)
		return err == nil && agentState.State == workflows.Sleeping
	}, patience, 5*time.Millisecond)
	_, err := s.Starter.Resume(s.ctx, s.agent.Handle)
	require.NoError(t, err)
	result, err := s.Result(s.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	require.Len(t, fragments(), 4)
	calls := judging()
	require.GreaterOrEqual(t, len(calls), 2)
	require.False(t, calls[0].Completed)
	require.True(t, calls[1].Completed)
	require.GreaterOrEqual(t, result.Spent, s.upstream.Billing.Book().Total)
}

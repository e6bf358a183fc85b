package testdeploy_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// loosenedNight dreams a whole night with a model of the scripted provider. It returns the calls of the onset, the
// fragments of its cycles and what the onset cost.
func loosenedNight(t *testing.T, model string, way dream.Loosening,
	edit func(*dream.Knobs),
) ([]provider.Call, []*dream.Fragment, dream.Tally) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t, provider.Options{Seed: 3})
	deployment := open(t, func(config *testdeploy.Config) {
		config.Provider, config.Model, config.Knobs.Loosening = p.URL, model, way
		if edit != nil {
			edit(&config.Knobs)
		}
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
	require.Equal(t, p.Billing.Book().Total, result.Spent)
	require.Empty(t, p.Billing.Failed())
	require.Empty(t, p.Billing.Repeated())
	items, err := deployment.Store.Find(ctx,
		memory.Query{Agent: agent.ID, Dream: begun.Dream, Kinds: []dream.Kind{dream.KindFragment}})
	require.NoError(t, err)
	var cycles []*dream.Fragment
	for _, f := range memory.As[*dream.Fragment](items) {
		if f.Cycle > 0 {
			cycles = append(cycles, f)
		}
	}
	record, err := memory.One[*dream.Record](ctx, deployment.Store, agent.ID, begun.Dream)
	require.NoError(t, err)
	var calls []provider.Call
	for _, c := range p.Billing.Calls() {
		if strings.Contains(c.Key, "/onset/") && !strings.Contains(c.Path, "embed") {
			calls = append(calls, c)
		}
	}
	return calls, cycles, record.Phases[0]
}

// distinct counts different texts.
func distinct(fragments []*dream.Fragment) int {
	var texts []string
	for _, f := range fragments {
		if !slices.Contains(texts, f.Content) {
			texts = append(texts, f.Content)
		}
	}
	return len(texts)
}

// The onset completes on a model that answers 400 to every sampling field, and no field that it refuses is ever sent.
func TestAnOnsetRunsWholeOnModelsThatRefuseEverySamplingField(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]struct {
		way   dream.Loosening
		calls int // of a cycle, judges apart
	}{"strict": {dream.TwoPhase, 2}, "thinker": {dream.Verbalised, 1}} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			calls, fragments, tally := loosenedNight(t, model, dream.Auto, nil)
			require.Equal(t, "ran", tally.State)
			drifting := 0
			for _, c := range calls {
				require.Equal(t, 200, c.Status, c.Key)
				for field := range c.Sampling {
					require.Contains(t, []string{"max_tokens", "max_completion_tokens"}, field, c.Key)
				}
				if strings.Contains(c.Key, "/ideas") || strings.Contains(c.Key, "/scraps") {
					drifting++
				}
				require.NotContains(t, c.Key, "/partial-")
			}
			require.Equal(t, want.calls*tally.Cycles, drifting)
			require.Len(t, fragments, dream.DefaultKnobs().Partials*tally.Cycles,
				"each idea is a partial of its cycle, and each was judged")
			for _, f := range fragments {
				require.Equal(t, want.way, f.Settings.Loosening)
				require.NotNil(t, f.Settings.Temperature, "what was asked for")
				require.Empty(t, f.Settings.Effective, "what was sent: nothing")
				require.NotNil(t, f.Settings.Probability)
				require.NotEmpty(t, f.Verdict.Judge)
			}
		})
	}
}

func TestAThinkersAllowanceIsReservedWithEveryCall(t *testing.T) {
	t.Parallel()
	calls, _, _ := loosenedNight(t, "thinker", dream.Auto, nil)
	for _, c := range calls {
		var limit int
		require.NoError(t, json.Unmarshal(c.Sampling["max_completion_tokens"], &limit), c.Key)
		require.Greater(t, limit, dream.DefaultKnobs().ReasoningTokens, c.Key)
	}
}

// A model that always gives one answer gives it to every partial; asked for several ideas in one call it gives
// several.
func TestAModelThatHasSettledOnOneAnswerHasMoreIdeasWhenItIsLoosened(t *testing.T) {
	t.Parallel()
	as := func(k *dream.Knobs) { k.Cycles, k.Depth = 3, dream.DepthFixed }
	plainCalls, plain, before := loosenedNight(t, "typical", dream.ByTemperature, as)
	looseCalls, loose, after := loosenedNight(t, "typical", dream.Auto, as)
	require.Len(t, loose, len(plain), "as many partials")
	require.Greater(t, distinct(loose), distinct(plain))
	require.Greater(t, distinct(loose), len(loose)*3/4)
	require.Less(t, len(looseCalls), len(plainCalls))
	t.Logf(
		"%d partials: %d distinct ideas for %s and %d calls by heat that is refused, %d for %s and %d calls when loosened",
		len(plain),
		distinct(plain),
		before.Spent,
		len(plainCalls),
		distinct(loose),
		after.Spent,
		len(looseCalls),
	)
}

// A wrong entry in the table of models ends the dream after one call, with the field and the line to change; the call
// is not made again without the field.
func TestADreamWhoseModelRefusesAFieldAgainstTheTableSaysWhichLineToChange(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := billedProvider(t,
		provider.Options{Seed: 3, Plan: func(provider.Arrival) provider.Fault { return provider.NoSampling }})
	deployment := open(t, func(config *testdeploy.Config) { config.Provider = p.URL })
	agent, err := deployment.AddAgent(ctx, 0, "")
	require.NoError(t, err)
	begun, err := deployment.Starter.Begin(ctx, starter.DreamRequest{Agent: agent.Handle, AsOf: testdeploy.Night})
	require.NoError(t, err)
	result, err := deployment.Result(ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Aborted, result.Outcome)
	require.Contains(t, result.Reason,
		`it refuses temperature; under providers.scripted.models say {name: "script", max_temperature: 0}`)
	require.Zero(t, result.Spent)
	requests := 0
	for _, c := range p.Billing.Calls() {
		if c.Status == 400 {
			requests++
		}
	}
	require.Equal(t, 1, requests)
}

package starter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

func TestTheRulesOfAnAgentCombineTheDeploymentsAndItsOwn(t *testing.T) {
	t.Parallel()
	guarded := policy.Default()
	require.Equal(t, &guarded, Options{}.PolicyOf("echo"), "without configuration the guards apply")
	require.Nil(t, Options{Policy: &policy.Rules{}}.PolicyOf("echo"), "an empty policy has no rules")

	o := Options{
		Policy: &policy.Rules{Caps: []policy.Cap{{Name: policy.Leverage, Most: 3}}},
		AgentPolicy: map[string]policy.Rules{
			"echo": {Caps: []policy.Cap{{Name: policy.Leverage, Most: 2}, {Name: policy.Slippage, Most: .5}}},
			"nova": {Caps: []policy.Cap{{Name: policy.Leverage, Most: 9}}},
		},
	}
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 2}, {Name: policy.Slippage, Most: .5}},
		o.PolicyOf("echo").Caps)
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 3}}, o.PolicyOf("nova").Caps,
		"additional rules can only be stricter")
	require.Equal(t, float64(3), o.Policy.Caps[0].Most, "the deployment's rules are unchanged")
}

// The estimate includes the call about the rules in words when there are such rules.
func TestTheEstimateCountsTheCallAboutTheRulesInWords(t *testing.T) {
	t.Parallel()
	for _, tier := range []dream.Tier{dream.Core, dream.Hardened} {
		o := activities.Spec{Tier: tier, Knobs: dream.DefaultKnobs(), Policy: &policy.Rules{Guards: policy.Guards()}}
		without := plannedCalls(o, dream.Onset, true)
		o.Policy.Sentences = []policy.Sentence{{Name: "kind", Text: "Nothing unkind."}}
		with := plannedCalls(o, dream.Onset, true)
		require.Len(t, with, len(without)+1)
		require.Equal(t, dream.Observer, with[len(with)-1].role)
		require.Equal(t, 1, with[len(with)-1].times)
	}
}

// The policy is frozen in the spec. Later configuration applies to later dreams, and additional rules of an agent
// apply to that agent, the stricter of each.
func TestThePolicyIsFrozenInTheSpecAndAnAgentsStricterRulesWin(t *testing.T) {
	t.Parallel()
	s, _ := build(t)
	nova := dream.Agent{
		ID:     "a2",
		Handle: "nova",
		Zone:   "UTC",
		Tier:   dream.Hardened,
		Caps:   dream.DefaultCaps,
	}
	require.NoError(t, s.Memory.PutAgent(t.Context(), nova))
	s.Options.Policy = &policy.Rules{
		Assets: []string{"BTC", "ETH"}, Guards: policy.Guards(), Caps: []policy.Cap{{Name: policy.Leverage, Most: 3}},
	}
	s.Options.AgentPolicy = map[string]policy.Rules{"echo": {
		Assets: []string{"ETH", "DOGE"}, Caps: []policy.Cap{{Name: policy.Leverage, Most: 2}},
		Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing unkind."}},
	}}
	freeze := func(agent string) *policy.Rules {
		spec, err := s.Freeze(t.Context(), DreamRequest{Agent: agent})
		require.NoError(t, err)
		require.NoError(t, spec.Validate())
		raw, err := json.Marshal(spec)
		require.NoError(t, err)
		var crossed activities.Spec // as in the history
		require.NoError(t, json.Unmarshal(raw, &crossed))
		require.Equal(t, spec.Policy, crossed.Policy)
		return crossed.Policy
	}
	echo, other := freeze("echo"), freeze("nova")
	require.Equal(t, []string{"ETH"}, echo.Assets, "what both allow")
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 2}}, echo.Caps)
	require.Equal(t, policy.Guards(), echo.Guards)
	require.Len(t, echo.Sentences, 1)
	require.Equal(t, []string{"BTC", "ETH"}, other.Assets)
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 3}}, other.Caps)
	require.Empty(t, other.Sentences)

	spec, err := s.Freeze(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	beside, err := s.Freeze(t.Context(), DreamRequest{Agent: "nova"})
	require.NoError(t, err)
	s.Options.Policy.Assets[1], s.Options.Policy.Caps[0].Most, s.Options.AgentPolicy["echo"].Sentences[0].Text =
		"DOGE", 99, "Anything."
	s.Options.Policy, s.Options.AgentPolicy = &policy.Rules{}, nil
	require.Equal(t, echo, spec.Policy, "an existing spec does not change")
	require.Equal(t, other, beside.Policy)
	require.Nil(t, freeze("echo"), "later specs have the new policy")

	planned, reason, err := s.Plan(t.Context(), nova.ID, tonight)
	require.NoError(t, err)
	require.Empty(t, reason)
	require.Nil(t, planned.Policy)
	s.Options.Policy = nil
	planned, _, err = s.Plan(t.Context(), nova.ID, tonight)
	require.NoError(t, err)
	require.Equal(t, policy.Guards(), planned.Policy.Guards, "an automatic dream has the policy as well")
}

// Estimate and rehearsal include the agent's own rules; those in words with the price of their call.
func TestTheEstimateIncludesTheAgentsOwnRules(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	table := s.Catalog.(inference.Table)
	spec := table[thinker]
	spec.Price = &budget.Price{In: 150_000, Out: 600_000}
	spec.Judges = true
	table[thinker] = spec
	agent.Caps.Dream = budget.Dollar
	require.NoError(t, s.Memory.PutAgent(t.Context(), agent))
	for _, tier := range []dream.Tier{dream.Core, dream.Hardened} {
		s.Options.AgentPolicy = nil
		plain, err := s.Estimate(t.Context(), DreamRequest{Agent: "echo", Tier: tier})
		require.NoError(t, err)
		s.Options.AgentPolicy = map[string]policy.Rules{
			"echo": {Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing unkind."}}},
			"nova": {Assets: []string{"BTC"}},
		}
		ruled, err := s.Estimate(t.Context(), DreamRequest{Agent: "echo", Tier: tier})
		require.NoError(t, err)
		require.Equal(t, plain.Calls+1, ruled.Calls, tier)
		require.Greater(t, ruled.Expected, plain.Expected, tier)
		require.Greater(t, ruled.Worst, plain.Worst, tier)
		require.LessOrEqual(t, ruled.Worst, ruled.Cap, tier)
		result, err := s.Rehearse(t.Context(), DreamRequest{Agent: "echo", Tier: tier})
		require.NoError(t, err)
		require.Equal(t, ruled.Calls, result.Estimate.Calls)
		require.Contains(t, result.Policy, "in words: kind")
		require.NotContains(t, strings.Join(result.Policy, "; "), "BTC", "another agent's")
	}
	require.Empty(t, nights(t, s, agent), "nothing was written")
}

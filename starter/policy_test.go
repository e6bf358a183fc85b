package starter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

func TestTheRulesOfAnAgentAreTheDeploymentsAndItsOwn(t *testing.T) {
	t.Parallel()
	guarded := policy.Default()
	require.Equal(t, &guarded, Options{}.PolicyOf("echo"), "a deployment that says nothing has the guards")
	require.Nil(t, Options{Policy: &policy.Rules{}}.PolicyOf("echo"), "one that takes them out has nothing")

	o := Options{
		Policy:      &policy.Rules{Caps: []policy.Cap{{Name: policy.Leverage, Most: 3}}},
		AgentPolicy: map[string]policy.Rules{"echo": {Caps: []policy.Cap{{Name: policy.Leverage, Most: 2}, {Name: policy.Slippage, Most: .5}}}, "nova": {Caps: []policy.Cap{{Name: policy.Leverage, Most: 9}}}},
	}
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 2}, {Name: policy.Slippage, Most: .5}}, o.PolicyOf("echo").Caps)
	require.Equal(t, []policy.Cap{{Name: policy.Leverage, Most: 3}}, o.PolicyOf("nova").Caps, "what is added can only make stricter")
	require.Equal(t, float64(3), o.Policy.Caps[0].Most, "the deployment's stay as they are")
}

// The call about the rules in words is in the estimate where there are such rules.
func TestTheEstimateCountsTheCallAboutTheRulesInWords(t *testing.T) {
	t.Parallel()
	for _, tier := range []dream.Tier{dream.Core, dream.Hardened} {
		o := activities.Order{Tier: tier, Knobs: dream.DefaultKnobs(), Policy: &policy.Rules{Guards: policy.Guards()}}
		without := plannedCalls(o, dream.Onset)
		o.Policy.Sentences = []policy.Sentence{{Name: "kind", Text: "Nothing unkind."}}
		with := plannedCalls(o, dream.Onset)
		require.Len(t, with, len(without)+1)
		require.Equal(t, dream.Observer, with[len(with)-1].role)
		require.Equal(t, 1, with[len(with)-1].times)
	}
}

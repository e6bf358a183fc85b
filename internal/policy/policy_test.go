package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/policy"
)

func TestWrongRulesAreNamedAllAtOnce(t *testing.T) {
	t.Parallel()
	err := policy.Rules{
		Assets: []string{"E/H"},
		Caps: []policy.Cap{
			{Name: "position", Most: 20},
			{Name: "leverage", Most: -1},
			{Name: "slippage", Most: .1, Unit: policy.Dollars},
			{Name: "gas", Most: 5},
			{Name: "tips", Most: 5, Unit: "gwei"},
		},
		Guards: []policy.Guard{"cats"},
		Forbidden: []policy.Pattern{
			{Name: "open", Match: "("},
			{Name: "all", Match: "a*"},
			{Name: "long", Match: strings.Repeat("a", 501)},
			{Name: "Up", Match: "x"},
			{Name: "secrets", Match: "x"},
		},
		Sentences: []policy.Sentence{{Name: "empty"}},
		Unclear:   "perhaps",
		Worth:     map[string]float64{"ETH": -1},
	}.Validate()
	for _, want := range []string{
		`assets: "E/H" is no ticker`, "position is 20; a share must lie between 0 and 1",
		"leverage is -1; it must lie between 0", `the unit of slippage is "dollars"; it is always share`,
		"gas has no unit", "tips has no words",
		`there is no guard "cats"; there are [alarms approvals limits mixers secrets]`,
		`the pattern of open, "(", is no RE2 expression`,
		"matches the empty text", "the pattern of long has 501 characters", `the name "Up" must be lower-case`,
		`the name "secrets" is taken`, "sentences: empty has 0 characters",
		`unclear is "perhaps"; it must be flag or bar`, "worth: ETH is worth -1",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, trading().Validate())
}

func TestRulesThatAreAddedOnlyMakeStricter(t *testing.T) {
	t.Parallel()
	base := trading()
	base.Unclear = policy.Bar
	more := policy.Rules{
		Assets: []string{"ether", "SOL"},
		Caps: []policy.Cap{
			{Name: "leverage", Most: 2},
			{Name: "slippage", Most: .5},
			{Name: "gas", Most: 80, Unit: "gwei", Words: []string{"gas"}},
		},
		Forbidden: []policy.Pattern{{Name: "no-bridges", Match: `\bbridge`}},
		Sentences: []policy.Sentence{{Name: "kind", Text: "nothing unkind"}}, Unclear: policy.Flag,
	}
	both := base.With(more)
	require.Equal(t, []string{"ETH"}, both.Assets)
	require.Equal(t, []policy.Cap{
		{Name: "leverage", Most: 2},
		{Name: "position", Most: .2},
		{Name: "amount", Most: 50_000},
		{Name: "slippage", Most: .01},
		{Name: "gas", Most: 80, Unit: "gwei", Words: []string{"gas"}},
	}, both.Caps)
	require.Equal(t, policy.Bar, both.Unclear)
	require.Equal(t, base.Guards, both.Guards)
	require.NoError(t, both.Validate())
	require.Equal(t, base, base.With(policy.Rules{}))

	apart := base.With(policy.Rules{Assets: []string{"SOL"}})
	require.Equal(t, []string{policy.Nothing}, apart.Assets)
	require.NotEmpty(t, caged(t, apart).Check("Buy ETH at noon."), "nothing in common means that nothing is allowed")
	require.Equal(t, []policy.Cap{{Name: "leverage", Most: 3}}, trading().Caps[:1],
		"the rules that were added to stay as they were")
}

// Rules of one name that say different things both hold: an agent's rule takes none of the deployment's away, and stops
// no dream.
func TestDifferentRulesOfOneNameBothHold(t *testing.T) {
	t.Parallel()
	base := policy.Rules{
		Caps:      []policy.Cap{{Name: "gas", Most: 50, Unit: "gwei", Words: []string{"gas"}}},
		Forbidden: []policy.Pattern{{Name: "names", Match: `\bacme\b`}},
		Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing unkind."}},
	}
	both := base.With(policy.Rules{
		Caps: []policy.Cap{
			{Name: "gas", Most: 5, Unit: policy.Dollars, Words: []string{"gas"}},
			{Name: "gas-2", Most: 3, Unit: "gwei", Words: []string{"tip"}},
		},
		Forbidden: []policy.Pattern{{Name: "names", Match: `\bglobex\b`}, {Name: "names", Match: `\bacme\b`}},
		Sentences: []policy.Sentence{
			{Name: "kind", Text: "Nothing that shames."},
			{Name: "kind-2", Text: "Nothing loud."},
		},
	})
	require.NoError(t, both.Validate())
	require.Len(t, both.Caps, 3)
	require.Len(t, both.Forbidden, 2)
	require.Equal(t,
		[]policy.Sentence{
			{Name: "kind", Text: "Nothing unkind."},
			{Name: "kind-2", Text: "Nothing that shames."},
			{Name: "kind-2-2", Text: "Nothing loud."},
		}, both.Sentences)
	for text, rule := range map[string]string{
		"Pay gas of 60 gwei.": "gas", "Pay gas of $9.": "gas-2", "Pay a tip of 4 gwei.": "gas-2-2",
		"Sell to Acme.": "names", "Sell to Globex.": "names-2",
	} {
		found := caged(t, both).Check(text)
		require.NotEmpty(t, found, text)
		require.Equal(t, rule, found[0].Rule, text)
	}
}

func TestACapOfOnesOwnKnowsItsWordsAndItsUnit(t *testing.T) {
	t.Parallel()
	c := caged(t, policy.Rules{Caps: []policy.Cap{
		{Name: "gas", Most: 80, Unit: "gwei", Words: []string{"gas", "priority fee*"}},
		{Name: "ether", Most: 5, Unit: "ETH", Words: []string{"order", "trade*"}},
		{Name: "discount", Most: .3, Unit: policy.Share, Words: []string{"discount*"}},
		{Name: "gift", Most: 100, Unit: policy.Dollars, Words: []string{"gift*"}},
	}})
	for text, rule := range map[string]string{
		"Pay gas of 120 gwei and go.":               "gas",
		"Send it with priority fees at 0.1k gwei.":  "gas",
		"An order of twelve ETH.":                   "ether",
		"Offer a discount of half.":                 "discount",
		"A gift of $250 would please her.":          "gift",
		"A gift worth a hundred and twenty dollars": "gift",
		"Gas at 60 gwei is fine.":                   "",
		"A hundred and twenty steps to the gas.":    "",
		"A discount of 20 %.":                       "",
		"Never pay gas above 80 gwei.":              "",
		"Fog of 120 gwei":                           "",
	} {
		found := c.Check(text)
		if rule == "" {
			require.Empty(t, found, text)
			continue
		}
		require.NotEmpty(t, found, text)
		require.Equal(t, rule, found[0].Rule, text)
	}
}

func TestAPatternBarsWhateverItMatchesInAnySpelling(t *testing.T) {
	t.Parallel()
	c := caged(t,
		policy.Rules{
			Forbidden: []policy.Pattern{
				{Name: "no-acme", Match: `\bacme\b`},
				{Name: "no-rain", Match: `dance in the rain`, Spare: true},
			},
		})
	for _, text := range []string{"Sell to Acme.", "never sell to ACME", "Ａcme", "асmе calls", "A\u200bcme"} {
		require.Equal(t, "no-acme", c.Check(text)[0].Rule, text)
	}
	require.Empty(t, c.Check("acmeist poetry"))
	require.NotEmpty(t, c.Check("Let us dance  in the rain."))
	require.Empty(t, c.Check("Never dance in the rain."), "a pattern may spare what forbids it")
}

package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/policy"
)

func TestWithoutAWordTheGuardsHoldAndNothingElse(t *testing.T) {
	t.Parallel()
	c, err := loadFile(t, "")
	require.NoError(t, err)
	want := policy.Default()
	want.Unclear = policy.Flag
	require.Equal(t, want, c.Policy.Rules())
	require.Empty(t, c.Policy.Agents)
}

func TestThePolicyIsReadWithItsSections(t *testing.T) {
	t.Parallel()
	c, err := loadFile(t, `
policy:
  assets: "ETH, stETH USDC"
  leverage: 3
  position: 0.2
  amount: "50000"
  guards: "secrets, alarms"
  unclear: bar
  caps:
    gas: {most: 80, unit: gwei, words: [gas, "priority fee*"]}
  forbidden:
    no-acme: '\bacme\b'
    no-dares: {match: 'dare (him|her)', spare: true}
  rules:
    kind: "Nothing that would shame a person by name."
  worth: {link: 5}
  agents:
    echo: {leverage: 2, unclear: bar, rules: {quiet: "Nothing loud."}}
`, "ONEIROS_POLICY_SLIPPAGE=0.01", "ONEIROS_POLICY_FORBIDDEN_NO_RAIN=rain", "ONEIROS_POLICY_RULES_CALM=Nothing rash.",
		"ONEIROS_POLICY_CAPS_TIPS_MOST=5", "ONEIROS_POLICY_CAPS_TIPS_UNIT=dollars",
		"ONEIROS_POLICY_CAPS_TIPS_WORDS=tip*, gratuity", "ONEIROS_POLICY_WORTH_ARB=1")
	require.NoError(t, err)
	require.Equal(t, policy.Rules{
		Assets: []string{"ETH", "stETH", "USDC"},
		Caps: []policy.Cap{
			{Name: "leverage", Most: 3},
			{Name: "position", Most: .2},
			{Name: "amount", Most: 50_000},
			{Name: "slippage", Most: .01},
			{Name: "gas", Most: 80, Unit: "gwei", Words: []string{"gas", "priority fee*"}},
			{Name: "tips", Most: 5, Unit: policy.Dollars, Words: []string{"tip*", "gratuity"}},
		},
		Guards: []policy.Guard{policy.Secrets, policy.Alarms},
		Forbidden: []policy.Pattern{
			{Name: "no-acme", Match: `\bacme\b`},
			{Name: "no-dares", Match: "dare (him|her)", Spare: true},
			{Name: "no_rain", Match: "rain"},
		},
		Sentences: []policy.Sentence{
			{Name: "calm", Text: "Nothing rash."},
			{Name: "kind", Text: "Nothing that would shame a person by name."},
		},
		Unclear: policy.Bar, Worth: map[string]float64{"LINK": 5, "ARB": 1},
	}, c.Policy.Rules())
	require.Equal(t, map[string]policy.Rules{"echo": {
		Caps:      []policy.Cap{{Name: "leverage", Most: 2}},
		Sentences: []policy.Sentence{{Name: "quiet", Text: "Nothing loud."}}, Unclear: policy.Bar,
	}}, c.Policy.Agents)
	require.Empty(t, c.Warnings)
	shown := map[string]string{}
	for _, s := range c.Settings() {
		shown[s.Key] = s.Value
	}
	require.Equal(t, "3", shown["policy.leverage"])
}

func TestAPolicyThatIsWrongSaysHow(t *testing.T) {
	t.Parallel()
	_, err := loadFile(t, `
policy:
  assets: "E/H"
  position: 20
  guards: "cats, none"
  amout: 5
  caps:
    gas: {unit: gwei, words: gas, colour: red}
    flat: 3
    tips: {most: -1, unit: dollars, words: tip}
  forbidden:
    broken: '('
    all: 'a*'
    Far: {match: x, loud: yes}
    list: [x]
  rules: {empty: ""}
  worth: {eth: cheap}
  agents: {echo: 5, nova: {leverage: -2, friends: 3}}
`)
	for _, says := range []string{
		`policy.assets: "E/H" is no ticker`, "policy.position is 20; it must be between 0 and 1",
		`policy.guards: there is no guard "cats"`, "it must be all, none, or names of guards",
		"policy.amout is no setting; did you mean policy.amount?", "policy.caps.gas.colour is no setting",
		"policy.caps.gas.most is missing", "policy.caps.flat is 3; it must be a section",
		"policy.caps: tips is -1", `policy.forbidden: the pattern of broken, "(", is no RE2 expression`,
		"policy.forbidden: the pattern of all", "policy.forbidden.far.loud is no setting",
		"policy.forbidden.list is [x]; it must be an RE2 expression", "policy.rules: empty has 0 characters",
		`policy.worth.eth is "cheap"`, "policy.agents.echo is 5; it must be a section",
		"policy.agents.nova.leverage is -2", "policy.agents.nova.friends is no setting",
	} {
		require.ErrorContains(t, err, says)
	}
}

func TestTheExamplesOfThePolicyAreConfigurations(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"../docs/configuration.md", "../docs/policy.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		found := 0
		for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
			example, _, _ := strings.Cut(block, "```")
			if !strings.HasPrefix(example, "policy:") {
				continue
			}
			found++
			c, err := loadFile(t, example)
			require.NoError(t, err, example)
			require.False(t, c.Policy.Rules().None())
		}
		require.NotZero(t, found, page)
	}
}

func TestNoGuardsAtAllMustBeSaid(t *testing.T) {
	t.Parallel()
	c, err := loadFile(t, "policy: {guards: none}")
	require.NoError(t, err)
	require.True(t, c.Policy.Rules().None())
}

package console_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

func caged(t *testing.T) *fixture {
	d := newFixture(t)
	strict := policy.Rules{
		Assets: []string{"ETH", "USDC"},
		Caps: []policy.Cap{
			{Name: policy.Leverage, Most: 3},
			{Name: policy.Position, Most: .2},
			{Name: policy.Amount, Most: 50_000},
			{Name: "gas", Most: 80, Unit: "gwei", Words: []string{"gas", "priority fee*"}},
		},
		Guards: policy.Guards(),
		Forbidden: []policy.Pattern{
			{Name: "no-acme", Match: `\bacme\b`},
			{Name: "no-dares", Match: `dare (him|her)`, Spare: true},
		},
		Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing that would shame a person by name."}},
	}
	d.rules = map[string]policy.Rules{"": policy.Default(), "echo": strict, "free": {}}
	return d
}

func TestTheRulesOfADreamAreShown(t *testing.T) {
	t.Parallel()
	d := caged(t)
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "policy", "show", "-a", "@echo"), d.err.String())
		d.golden(map[int]string{80: "policy-show-80", 200: "policy-show-200"}[width])
	}
	require.Equal(t, exit.OK, d.run(80, "policy", "show"))
	d.golden("policy-show-default-80")
	require.Equal(t, exit.OK, d.run(80, "policy", "show", "-a", "free"))
	require.Contains(t, d.out.String(), "No rule holds")
	require.Equal(t, exit.OK, d.run(0, "policy", "show", "-a", "echo", "--json"))
	var rules policy.Rules
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &rules))
	require.Equal(t, d.rules["echo"], rules)
}

func TestATextIsCheckedAgainstTheRules(t *testing.T) {
	t.Parallel()
	d := caged(t)
	require.Equal(t, exit.Refused,
		d.run(80, "policy", "check", "-a", "echo", "Long ETH at 10x leverage and pay gas of 200 gwei."))
	d.golden("policy-check-80")
	require.Equal(t, exit.OK, d.run(80, "policy", "check", "-a", "echo", "Count the boats."))
	require.Equal(t, "Nothing bars it.\n", d.out.String())
	require.Contains(t, d.err.String(), "1 rule in words not checked")
	require.Equal(t, exit.OK, d.run(80, "policy", "check", "Long ETH at 10x leverage."),
		"the guards alone have no opinion on leverage")

	path := filepath.Join(t.TempDir(), "fragments.txt")
	require.NoError(t,
		os.WriteFile(path, []byte("Count the boats.\n\nHide the seed phrase in the song.\nCall ＡＣＭＥ.\n"), 0o600))
	require.Equal(t, exit.Refused, d.run(200, "policy", "check", "-a", "echo", "--file", path))
	d.golden("policy-check-file-200")
	d.in = "Turn off the alarm.\n"
	require.Equal(t, exit.Refused, d.run(0, "policy", "check", "--file", "-", "--json"))
	var result struct {
		Texts []struct {
			Text       string             `json:"text"`
			Barred     bool               `json:"barred"`
			Violations []policy.Violation `json:"violations"`
		} `json:"texts"`
		Barred int `json:"barred"`
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
	require.Equal(t, 1, result.Barred)
	require.Equal(t, "alarms", result.Texts[0].Violations[0].Rule)
}

func TestACheckOfNothingIsAWrongUse(t *testing.T) {
	t.Parallel()
	d := caged(t)
	for _, args := range [][]string{{}, {"a", "--file", "b"}, {"--file", "no-such-file"}, {"a", "b"}} {
		require.Equal(t, exit.Usage, d.run(80, append([]string{"policy", "check"}, args...)...), "%v: %s", args,
			d.err.String())
	}
	d.rules["broken"] = policy.Rules{Guards: []policy.Guard{"cats"}}
	require.Equal(t, exit.Usage, d.run(80, "policy", "check", "-a", "broken", "x"))
	require.Contains(t, d.err.String(), `there is no guard "cats"`)
}

func TestAMistypedAgentIsNotShownTheRulesOfEverybody(t *testing.T) {
	t.Parallel()
	d := caged(t).furnish()
	d.rules["ecko"] = d.rules[""] // what a configuration without the name means
	require.Equal(t, exit.NotFound, d.run(0, "policy", "show", "-a", "ecko"))
	require.Contains(t, d.err.String(), `there is no agent "ecko"`)
	require.Equal(t, exit.NotFound, d.run(0, "policy", "check", "Count the boats.", "-a", "ecko"))
	d.ok(0, "policy", "check", "Count the boats.", "-a", "free")
	require.Equal(t, exit.Usage, d.run(0, "policy", "check", " "))
	require.Equal(t, exit.Usage, d.run(0, "policy", "check", "\xff"))
}

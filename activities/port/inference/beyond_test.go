package inference_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

func TestNamesAreComparedAsTheLoosestReaderDoes(t *testing.T) {
	t.Parallel()
	for name, fold := range map[string]string{
		"model": "model", "Model": "model", "MAX_TOKENS": "max_tokens", "max_tokenſ": "max_tokens",
		"max_to\u212Aens": "max_tokens",
		"plugıns":         "plugins", "PLUGİNS": "plugins", "é": "É", "": "",
	} {
		require.Equal(t, fold, inference.FoldField(name), name)
	}
	require.Equal(t, inference.FieldKey("serviceTier"), inference.FieldKey("service_tier"))
	require.Equal(t, inference.FieldKey("Web-Search-Options"), inference.FieldKey("web_search_options"))
	f, ok := inference.FieldBeyondTokens("serviceTier")
	require.True(t, ok)
	require.Equal(t, "service_tier", f.Name)
	_, ok = inference.FieldBeyondTokens("max_tokens")
	require.False(t, ok)
}

func TestTheListOfFieldsBeyondTokensIsInOrderAndSaysWhy(t *testing.T) {
	t.Parallel()
	all := inference.FieldsBeyondTokens()
	require.True(t, slices.IsSortedFunc(all, func(a, b inference.BeyondTokens) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}))
	money, err := os.ReadFile("../../../docs/money.md")
	require.NoError(t, err)
	for _, f := range all {
		require.NotEmpty(t, f.Why, f.Name)
		require.Contains(t, string(money), "`"+f.Name+"`", "docs/money.md lists it")
	}
}

func TestAWindowThatNobodyStatedIsAGuess(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile, model string
		override       *inference.Override
		guessed        bool
	}{
		{"openai", "gpt-4o-mini", nil, false},
		{"generic", "some-unknown-model", nil, true},
		{"generic", "some-unknown-model", &inference.Override{}, true},
		{"generic", "some-unknown-model", &inference.Override{Context: new(int)}, false},
	} {
		s, err := inference.Resolve("p", c.profile, c.model, c.override)
		require.NoError(t, err)
		require.Equal(t, c.guessed, s.Guessed, "%+v", c)
	}
}

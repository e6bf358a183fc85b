package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

const paidFile = `
providers:
  scripted:
    profile: generic
    base_url: %URL%
    api_key_env: SCRIPTED_KEY
    models:
      - {name: script, context: 32000, max_temperature: 2, min_p: true, seed: true, json: json_schema, price: {in: "0.15", cached_in: "0.075", out: "0.60"}}
      - {name: vectors, embeds: true, context: 8000, price: {in: "0.15", cached_in: "0.075", out: "0.60"}}
      - {name: unpriced, context: 8000}
roles:
  generator: scripted/script
  observer: scripted/script
  replay: scripted/script
  imagination: scripted/script
  integration: scripted/script
`

// paying is a home with a paid model, and the bill of its provider.
func paying(t *testing.T) (*home, *provider.Server) {
	t.Helper()
	h := newHome(t)
	server, err := provider.Start(provider.Options{Key: "sk-secret-of-the-test"})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	file := filepath.Join(h.dir, "oneiros.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(paidFile, "%URL%", server.URL)), 0o600))
	h.env = append(h.env, "SCRIPTED_KEY=sk-secret-of-the-test")
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	return h, server
}

func TestAPaidDreamAsksFirstAndIsNeverDearerThanItsCap(t *testing.T) {
	t.Parallel()
	h, server := paying(t)
	out := h.must("dream", "--estimate")
	require.Contains(t, out, "never more than $0.50")
	require.Contains(t, h.must("doctor"), server.URL+" answers")

	out, beside, code := h.run("dream", "--watch")
	require.Equal(t, exit.Refused, code, out)
	require.Contains(t, beside, "add --yes to agree")
	require.Empty(t, server.Billing.Calls(), "nothing was bought without consent")

	out, beside, code = h.run("dream", "--watch", "--yes")
	require.Equal(t, exit.OK, code, "%s%s", out, beside)
	var spend struct {
		Total struct {
			Total budget.Micros `json:"total_micros"`
		} `json:"total"`
	}
	require.NoError(t, json.Unmarshal([]byte(h.must("spend", "--json")), &spend))
	require.Positive(t, spend.Total.Total)
	require.GreaterOrEqual(t, spend.Total.Total, server.Billing.Total(), "the ledger is never below the provider's bill")

	out, beside, code = h.run("dream", "--watch", "--yes", "--budget", "0.001")
	require.Equal(t, exit.Unfinished, code, "%s%s", out, beside)
	require.Contains(t, beside, "the dream ended exhausted")

	h.must("agents", "edit", "echo", "--cap-day", "0.01", "--cap-dream", "0.01")
	_, beside, code = h.run("dream", "--budget", "0.02", "--yes")
	require.NotEqual(t, exit.OK, code)
	require.Contains(t, beside, "above the cap of one dream")
	for _, file := range []string{"oneiros.log", "temporal.log"} {
		body, err := os.ReadFile(h.data(file))
		require.NoError(t, err)
		require.NotContains(t, string(body), "sk-secret", file)
	}
	require.NotContains(t, h.must("config", "show"), "sk-secret")
}

func TestPlacingMemoriesInAPaidSpaceCountsAgainstTheDay(t *testing.T) {
	t.Parallel()
	h, server := paying(t)
	h.must("agents", "add", "other", "--persona", "Another.", "--model", "embedder=scripted/vectors")
	h.must("memory", "import", sampleFile(t), "--agent", "other")
	out := h.must("spend", "--agent", "other", "--by", "model")
	require.Contains(t, out, "scripted/vectors")
	require.Positive(t, server.Billing.Total())

	h.must("agents", "add", "poor", "--persona", "Poor.", "--model", "embedder=scripted/vectors", "--cap-dream", "0",
		"--cap-day", "0")
	_, beside, code := h.run("memory", "import", sampleFile(t), "--agent", "poor")
	require.Equal(t, exit.Refused, code, beside)
	require.Contains(t, beside, "cap day:poor/")
	_, beside, code = h.run("agents", "edit", "poor", "--model", "observer=scripted/absent")
	require.Equal(t, exit.OK, code,
		"%s: any model of a configured provider may be named; it is refused when it has no price", beside)
	_, beside, code = h.run("dream", "--agent", "poor", "--estimate")
	require.Equal(t, exit.Refused, code, beside)
	require.Contains(t, beside, "no price")
}

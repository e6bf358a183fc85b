package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// TestAChangeOfEmbedderIsPaidOnceAndGoesOnAfterACap moves an agent's memory from the built-in embedder to a paid one,
// under a daily cap that does not suffice for all of it.
func TestAChangeOfEmbedderIsPaidOnceAndGoesOnAfterACap(t *testing.T) {
	t.Parallel()
	h, server := paying(t)
	_, beside, code := h.run("agents", "edit", "echo", "--model", "embedder=scripted/vectors")
	require.Equal(t, exit.OK, code, beside)
	require.Contains(t, beside, "oneiros memory embed --agent echo")
	_, beside, code = h.run("memory", "import", sampleFile(t), "--no-vectors")
	require.Equal(t, exit.OK, code, beside)
	_, beside, code = h.run("dream", "--watch", "--yes")
	require.NotEqual(t, exit.OK, code)
	require.Contains(t, beside, "oneiros memory embed --agent echo")
	spent := server.Billing.Total()

	var result struct {
		Memories int
		Worst    budget.Micros `json:"worst_micros"`
	}
	require.NoError(t, json.Unmarshal([]byte(h.must("memory", "embed", "--estimate", "--json")), &result))
	require.Greater(t, result.Memories, 64)
	require.Positive(t, result.Worst)
	_, beside, code = h.run("memory", "embed")
	require.Equal(t, exit.Refused, code)
	require.Contains(t, beside, "add --yes to agree")
	require.Equal(t, spent, server.Billing.Total(), "a search of the catalogue and the store costs nothing")

	beside = ""
	// a cap that pays for some of it
	for share := budget.Micros(1); !strings.Contains(beside, "goes on from there"); share++ {
		h.must("agents", "edit", "echo", "--cap-dream", "0", "--cap-day", (spent + share*result.Worst/24).String()[1:])
		_, beside, code = h.run("memory", "embed", "--yes")
		require.Equal(t, exit.Refused, code, beside)
		require.Contains(t, beside, "cap day:echo/")
	}

	var rest struct{ Memories int }
	require.NoError(t, json.Unmarshal([]byte(h.must("memory", "embed", "--estimate", "--json")), &rest))
	require.Less(t, rest.Memories, result.Memories)
	h.must("agents", "edit", "echo", "--cap-day", "2", "--cap-dream", "0.5")
	var moved struct {
		From, To string
		Placed   int
	}
	require.NoError(t, json.Unmarshal([]byte(h.must("memory", "embed", "--yes", "--json")), &moved))
	require.Equal(t, rest.Memories, moved.Placed, "nothing is embedded twice")
	require.Equal(t, "builtin-static/1/256", moved.From)
	require.Contains(t, moved.To, "scripted/vectors/")
	require.LessOrEqual(t, server.Billing.Total()-spent, result.Worst)
	require.Contains(t, h.must("memory", "search", "the", "tide"), "SCORE")
	out, beside, code := h.run("dream", "--watch", "--yes")
	require.Equal(t, exit.OK, code, "%s%s", out, beside)
}

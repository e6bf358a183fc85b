package main

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// onBothStores runs a test on a file and on a Redis server of its own.
func onBothStores(t *testing.T, run func(t *testing.T, h *home)) {
	t.Helper()
	for name, lines := range map[string]func(*testing.T) string{
		"on SQLite": func(*testing.T) string { return "" },
		"on Redis":  func(t *testing.T) string { t.Helper(); return "store:\n  url: " + redis.Start(t).URL + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			file := lines(t) + "serve:\n  listen: 127.0.0.1:0\n"
			require.NoError(t, os.WriteFile(filepath.Join(h.dir, "oneiros.yaml"), []byte(file), 0o600))
			run(t, h)
		})
	}
}

// says posts one turn of talk and returns the status and the body.
func says(t *testing.T, address, agent, text string) (int, string) {
	t.Helper()
	message := map[string]string{"role": "user", "content": text}
	body, err := json.Marshal(map[string]any{"model": agent, "messages": []map[string]string{message}})
	require.NoError(t, err)
	address += "/v1/chat/completions"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(string(body)))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	response, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(response)
}

// agentStateSource returns where the shown state of echo comes from: temporal, or the store alone.
func (h *home) agentStateSource() string {
	h.Helper()
	var shown struct {
		AgentState struct{ State, Source string } `json:"agent_state"`
	}
	require.NoError(h, json.Unmarshal([]byte(h.must("agents", "show", "echo", "--json")), &shown))
	return shown.AgentState.Source
}

// TestAnAgentIsRemovedWhole covers memory, talk, a dream, refusals, removal, the server's answer, and a new agent.
func TestAnAgentIsRemovedWhole(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, h *home) {
		h.must("agents", "add", "echo", "--persona", "A companion.", "--auto")
		h.must("agents", "add", "echo2", "--persona", "Another.")
		h.must("memory", "import", "-a", "echo", sampleFile(t))
		h.must("memory", "import", "-a", "echo2", sampleFile(t))
		up := h.up()
		served := regexp.MustCompile(`serve +(http://\S+)/v1`).FindStringSubmatch(up.output.String())
		require.NotNil(t, served, "%s", up.output)
		h.must("dream", "-a", "echo", "--seed", "7", "--watch")
		h.must("dream", "-a", "echo2", "--seed", "7", "--watch")
		others := h.must("memory", "list", "-a", "echo2", "--json", "--limit", "0")

		status, body := says(t, served[1], "echo", "My harbour pass is 4711.")
		require.Equal(t, http.StatusOK, status, body)
		_, beside, code := h.run("agents", "remove", "echo", "--yes")
		require.Equal(t, exit.Refused, code, beside)
		require.Contains(t, beside, "agent echo is held awake by")
		require.Contains(t, beside, "oneiros sleep -a echo --force")
		h.must("sleep", "-a", "echo", "--force")
		require.Equal(t, "temporal", h.agentStateSource())

		var done struct {
			Items  map[string]int
			Events int
			Ended  []string
			Kept   struct{ Attempts int }
		}
		require.NoError(t, json.Unmarshal([]byte(h.must("agents", "remove", "echo", "--yes", "--json")), &done))
		require.Positive(t, done.Items["episode"])
		require.Positive(t, done.Events)
		require.Equal(t, []string{"agent/echo"}, done.Ended)
		require.Eventually(t, func() bool {
			status, body = says(t, served[1], "echo", "Are you there?")
			return status == http.StatusNotFound
		}, 10*time.Second, 50*time.Millisecond, body)
		require.Contains(t, body, "_not_found")
		_, beside, code = h.run("agents", "show", "echo")
		require.Equal(t, exit.NotFound, code, beside)
		_, beside, code = h.run("agents", "remove", "echo", "--yes")
		require.Equal(t, exit.NotFound, code, beside)
		require.Contains(t, beside, `there is no agent "echo"`)
		require.Equal(t, others, h.must("memory", "list", "-a", "echo2", "--json", "--limit", "0"))

		h.must("agents", "add", "echo", "--persona", "A new one.", "--auto")
		require.JSONEq(t, "[]", h.must("memory", "list", "-a", "echo", "--json"))
		require.NotContains(t, h.must("dreams", "list", "-a", "echo"), "dream/echo/0001")
		h.must("memory", "import", "-a", "echo", sampleFile(t))
		h.must("dream", "-a", "echo", "--seed", "7", "--watch")
		require.Contains(t, h.must("dreams", "list", "-a", "echo", "--json"), "dream/echo/0002")
		require.NoError(t, up.Process.Signal(os.Interrupt))
		require.NoError(t, up.Wait(), "%s", up.output)
	})
}

// TestARemovalThatIsKilledIsCompletedByTheNext kills removals at random moments: each leaves an agent that can be
// removed, or none, and after the next removal nothing is left, neither in the store nor on Temporal.
func TestARemovalThatIsKilledIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, h *home) {
		up := h.up()
		for range 8 {
			h.must("agents", "add", "echo", "--persona", "A companion.", "--auto")
			h.must("memory", "import", "-a", "echo", sampleFile(t))
			h.must("wake", "-a", "echo", "--wait")
			h.must("sleep", "-a", "echo", "--force")
			cut := h.command("agents", "remove", "echo", "--yes")
			require.NoError(t, cut.Start())
			ended := make(chan struct{})
			go func() { defer close(ended); _ = cut.Wait() }()
			select { // some moment of the removal; it does not matter which
			case <-ended:
			case <-time.After(time.Duration(rand.IntN(250)) * time.Millisecond):
				_ = cut.Process.Kill()
				<-ended
			}
			out, beside, code := h.run("agents", "remove", "echo", "--yes")
			require.Contains(t, []int{exit.OK, exit.NotFound}, code, "%s%s", out, beside)
			require.JSONEq(t, "[]", h.must("agents", "list", "--json"))
			_, beside, code = h.run("agents", "remove", "echo", "--yes")
			require.Equal(t, exit.NotFound, code, beside)
		}
		require.NoError(t, up.Process.Signal(os.Interrupt))
		require.NoError(t, up.Wait(), "%s", up.output)
	})
}

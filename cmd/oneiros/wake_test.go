package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// wakeOutput is the output of wake --json.
type wakeOutput struct {
	Epoch        int64
	Dream        string
	Raised       bool
	Degraded     string
	Recorded     *struct{ State, Dream string }
	Interruption *struct {
		Cause string
		Epoch int64
	}
}

func (h *home) wakes(args ...string) wakeOutput {
	h.Helper()
	var w wakeOutput
	require.NoError(h, json.Unmarshal([]byte(h.must(append([]string{"wake", "--json"}, args...)...)), &w))
	return w
}

// slowly is a home with a slow model, on a store of either kind.
func slowly(t *testing.T, file string) (*home, *provider.Server) {
	t.Helper()
	h := newHome(t)
	server, err := provider.Start(provider.Options{Each: 10 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	file = strings.ReplaceAll(paidFile, "    api_key_env: SCRIPTED_KEY\n", "") + file
	require.NoError(t,
		os.WriteFile(filepath.Join(h.dir, "oneiros.yaml"), []byte(strings.ReplaceAll(file, "%URL%", server.URL)),
			0o600))
	h.must("agents", "add", "echo", "--persona", "A companion.")
	h.must("memory", "import", sampleFile(t))
	return h, server
}

// TestAConnectFromAnotherProcessEndsAStretchAndTheDreamGoesOn is a wake as a person sees it: three processes, one
// store.
func TestAConnectFromAnotherProcessEndsAStretchAndTheDreamGoesOn(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]func(*testing.T) string{
		"on SQLite": func(*testing.T) string { return "" },
		"on Redis": func(t *testing.T) string {
			return "store:\n  url: " + redis.Start(t).URL + "\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, server := slowly(t, file(t))
			up := h.up()
			h.must("dream", "--yes", "--seed", "7")
			watch := h.command("watch", "1")
			answer := &safe{}
			watch.Stdout, watch.Stderr = answer, answer
			require.NoError(t, watch.Start())
			require.Eventually(t, func() bool { return server.Billing.Streamed() > 50 }, time.Minute, time.Millisecond)

			w := h.wakes("--client", "mara", "--wait")
			require.True(t, w.Raised)
			require.Equal(t, "dream/echo/0001", w.Dream)
			require.Equal(t, "dream/echo/0001", w.Recorded.Dream)
			require.Equal(t, w.Epoch, w.Interruption.Epoch)
			require.Equal(t, "connect", w.Interruption.Cause)
			again := h.wakes("--client", "ivo", "--wait")
			require.False(t, again.Raised)
			require.Equal(t, w.Epoch, again.Epoch)
			require.Equal(t, w.Dream, again.Recorded.Dream)
			require.Contains(t, h.must("dreams", "list"), "interrupted, waits")
			require.Contains(t, h.must("dreams", "list", "--json"), `"status": "running"`)
			shown := h.must("agents", "show", "echo")
			require.Contains(t, shown, "awake, epoch 1, woken by mara (connect)")
			require.Contains(t, shown, "dream/echo/0001 (somebody connected); resumable until")

			for _, line := range []string{"dream --yes", "dreams resume"} {
				_, beside, code := h.run(strings.Fields(line)...)
				require.Equal(t, exit.Refused, code, beside)
				require.Contains(t, beside, "echo is held awake by")
			}
			_, beside, code := h.run("sleep")
			require.Equal(t, exit.Refused, code, beside)
			h.must("sleep", "--client", "ivo")
			h.must("sleep", "--force")
			h.must("dreams", "resume")
			require.NoError(t, watch.Wait(), "%s", answer)
			require.Contains(t, answer.String(), "woken         by a client in")
			require.Contains(t, answer.String(), "resumed       stretch 2")
			require.Contains(t, answer.String(), "in 2 stretches")
			require.Contains(t, h.must("dreams", "list"), "completed")
			_, beside, code = h.run("dreams", "resume")
			require.Equal(t, exit.NotFound, code, beside)
			require.NoError(t, up.Process.Signal(os.Interrupt))
			require.NoError(t, up.Wait(), "%s", up.output)
		})
	}
}

func TestAConnectIsAnsweredWithoutTemporalAndRecordedWhenItComes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	w := h.wakes("--for", "10m")
	require.True(t, w.Raised)
	require.Contains(t, w.Degraded, "No Temporal server runs")
	far := h.wakes("--address", "127.0.0.1:1")
	require.False(t, far.Raised)
	_, beside, code := h.run("wake", "--wait", "--address", "127.0.0.1:1")
	require.Equal(t, exit.Unreachable, code)
	require.Contains(t, beside, "echo is awake, but Temporal has not recorded it yet")
	require.Contains(t, h.must("sleep", "--address", "127.0.0.1:1"), "echo may sleep")
	h.wakes("--for", "10m")
	h.up()
	require.Contains(t, h.must("wake", "--wait"), "recorded     by agent/echo")
	require.Contains(t, h.must("agents", "show", "echo"), "awake, epoch 2")
	_, beside, code = h.run("wake", "--set", "store.url=redis://127.0.0.1:1/0")
	require.Equal(t, exit.Unreachable, code, beside)
}

// TestAPushedReadingRaisesAnAlarmThatEndsTheOnset covers the whole way: HTTP, probe, rule, wake bus, dream.
func TestAPushedReadingRaisesAnAlarmThatEndsTheOnset(t *testing.T) {
	t.Parallel()
	h, server := slowly(t, "feed:\n  listen: 127.0.0.1:0\n")
	h.must("feed", "add", "harbour", "--rule", "above level 4")
	h.must("agents", "edit", "echo", "--feed", "harbour")
	up := h.up()
	app := regexp.MustCompile(`feeds +(http://\S+) \(token in`).FindStringSubmatch(up.output.String())
	require.NotNil(t, app, "%s", up.output)
	info, err := os.Stat(h.data("feed.token"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm(), "nobody else may read the token")
	token, err := os.ReadFile(h.data("feed.token"))
	require.NoError(t, err)
	push := func(token, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app[1]+"/v1/feeds/harbour/readings",
			strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	h.must("dream", "--yes", "--seed", "7")
	require.Eventually(t, func() bool { return server.Billing.Streamed() > 50 }, time.Minute, time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, push("guessed-at-random", `{"metric":"level","number":9}`))
	h.must("feed", "push", "harbour", "level=3")
	require.Equal(t, http.StatusAccepted, push(strings.TrimSpace(string(token)), `{"metric":"level","number":9}`))
	require.Eventually(t, func() bool { return strings.Contains(h.must("dreams", "list"), "interrupted, waits") },
		time.Minute, 100*time.Millisecond)
	require.Contains(t, h.must("dreams", "list"), "an alarm: harbour/above-level")
	require.Contains(t, h.must("feed", "show", "harbour"), "level")
	shown := h.must("agents", "show", "echo")
	require.Contains(t, shown, "held by           alarm/harbour/above-level until")
	require.Contains(t, shown, "alarms            1 of 1 onset ended by one")
	h.must("feed", "remove", "harbour")
	require.Equal(t, http.StatusNotFound, push(strings.TrimSpace(string(token)), `{"metric":"level","number":9}`))
	h.must("sleep")
	h.must("dreams", "cancel", "last")
	_, beside, code := h.run("watch")
	require.Equal(t, exit.Unfinished, code, beside)
	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
}

package serving_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// An agent with a provider that speaks one wire alone, which is not chat completions, talks on every wire, and dreams
// from start to end.
func TestAnAgentLivesOnAProviderOfOneWire(t *testing.T) {
	t.Parallel()
	for path, provider := range map[string]struct{ settings, cannot string }{
		"/v1/messages":  {"profile: anthropic\n    api_key_env: PROVIDER_KEY", "seed"},
		"/v1/responses": {"profile: openai\n    api_key_env: PROVIDER_KEY\n    wires: [responses]", "stop"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			livesOn(t, path, provider.settings, provider.cannot)
		})
	}
}

// livesOn has an agent live on a provider of a path, by settings without its address. cannot is a field of chat
// completions that has no place there.
func livesOn(t *testing.T, wirePath, provided, cannot string) {
	t.Helper()
	const key = "sk-ant-0123456789"
	h := build(t, talker.Options{}, provider.Options{Key: key},
		strings.Replace(quick, "talk/talker", "night/script", 1))
	path := filepath.Join(h.dir, "oneiros.yaml")
	settings, err := os.ReadFile(path)
	require.NoError(t, err)
	chat := "profile: generic\n    base_url: " + h.dreamer.URL
	require.Contains(t, string(settings), chat)
	settings = []byte(strings.Replace(string(settings), chat,
		provided+"\n    base_url: "+h.dreamer.URL, 1))
	require.NoError(t, os.WriteFile(path, settings, 0o600))
	h.env = append(h.env, "PROVIDER_KEY="+key)
	require.Regexp(t, `(?m)^\+ night +\S+ answers$`, h.must("doctor"))
	h.must("agents", "add", "iris")
	h.must("memory", "import", "--agent", "iris", diary(t))
	h.begin("up")

	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"iris","messages":[{"role":"user","content":"How was the winter?"}]}`,
		"/v1/responses":        `{"model":"iris","input":"How was the winter?"}`,
		"/v1/messages":         `{"model":"iris","max_tokens":60,"messages":[{"role":"user","content":"How was the winter?"}]}`,
	} {
		status, _, answer := h.ask(http.MethodPost, path, body)
		require.Equal(t, http.StatusOK, status, answer)
		status, _, answer = h.ask(http.MethodPost, path, strings.Replace(body, "{", `{"stream":true,`, 1))
		require.Equal(t, http.StatusOK, status, answer)
		require.Contains(t, answer, "data: ")
	}
	status, _, answer := h.ask(http.MethodPost, "/v1/chat/completions",
		`{"model":"iris","`+cannot+`":7,"messages":[{"role":"user","content":"How was the winter?"}]}`)
	require.Equal(t, http.StatusBadRequest, status, answer)
	require.Contains(t, answer, cannot+":")

	require.Eventually(t, func() bool { // until the clients that have left are forgotten
		status, _, _ := h.ask(http.MethodPost, "/v1/dreams", `{"agent":"iris","tier":"hardened"}`)
		return status/100 == 2
	}, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(h.must("dreams", "list", "--agent", "iris"), "complete")
	}, 2*time.Minute, 100*time.Millisecond)
	spent := h.must("spend", "--agent", "iris")
	require.Contains(t, spent, "$")
	paths := map[string]int{}
	for _, call := range h.dreamer.Billing.Calls() {
		paths[call.Path]++
	}
	require.Greater(t, paths[wirePath], 15)
	require.Len(t, paths, 1, "everything went by one wire")
	require.Empty(t, h.dreamer.Billing.Failed())
	require.Empty(t, h.dreamer.Billing.Repeated())
}

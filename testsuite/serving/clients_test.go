package serving_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// hands calls the tool that another program's client offers.
func hands(tools []string) (name, arguments string) {
	switch {
	case slices.Contains(tools, "add"):
		return "add", `{"a":2,"b":3}`
	case slices.Contains(tools, "exec_command"):
		return "exec_command", `{"cmd":"echo dreamt > proof.txt"}`
	case slices.Contains(tools, "Bash"):
		return "Bash", `{"command":"echo dreamt > proof.txt","description":"leaves a proof"}`
	case slices.Contains(tools, "bash"):
		return "bash", `{"command":"echo dreamt > proof.txt","description":"leaves a proof"}`
	}
	return "", ""
}

// slowly answers slowly, or as JSON, when asked to.
func slowly(a talker.Request) string {
	if a.Last().Text == "as JSON" && strings.Contains(string(a.Body), `"response_format":{"type":"json_schema"`) {
		return `{"answer":"yes"}`
	}
	if strings.HasSuffix(a.Last().Text, "count slowly") {
		return strings.Repeat("and one ", 5000)
	}
	return ""
}

// TestTheClientsOfOthersTalkToAnAgent runs the client libraries that clients/ installs. make clients runs it.
func TestTheClientsOfOthersTalkToAnAgent(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(filepath.Join(root, "clients"))
	require.NoError(t, err)
	node := os.Getenv("ONEIROS_CLIENTS")
	if node == "" {
		t.Skip("make clients installs the clients of others and runs this")
	}
	h := build(t, talker.Options{Each: 2 * time.Millisecond, Call: hands, Say: slowly}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker}`)
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.begin("up")
	run := func(script, key string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(folder, script))
		cmd.Env = append(os.Environ(), "ONEIROS_BASE="+h.base, "ONEIROS_KEY="+key, "ONEIROS_AGENT=iris",
			"ONEIROS_BIN="+filepath.Join(h.dir, "oneiros"),
			"ONEIROS_CONFIG="+filepath.Join(h.dir, "oneiros.yaml"),
			"ONEIROS_DATA_DIR="+filepath.Join(h.dir, ".local", "share", "oneiros"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s\n%s", script, out, &h.err)
		t.Logf("%s\n%s", script, out)
	}
	run("mcp/run.mjs", "")
	var made struct{ Secret string }
	require.NoError(t, json.Unmarshal([]byte(h.must("--json", "keys", "add", "visitor", "--role", "client")), &made))
	require.Eventually(t, func() bool {
		status, _, _ := h.ask(http.MethodGet, "/v1/models", "")
		return status == http.StatusUnauthorized
	}, 10*time.Second, 50*time.Millisecond, "the server has heard of the first key")
	for _, script := range []string{
		"openai.mjs", "responses.mjs", "agents.mjs", "anthropic.mjs", "aisdk.mjs", "airesponses.mjs", "aianthropic.mjs",
		"codex.mjs", "claudecode.mjs", "opencode.mjs",
	} {
		run(script, made.Secret)
		require.Eventually(t, func() bool { return h.talker.UnderWay() == 0 }, 5*time.Second, 10*time.Millisecond,
			"a client that has gone stops the model")
	}
	require.GreaterOrEqual(t, h.talker.Dropped(), 7, "all libraries ended a stream in the middle")
	for _, request := range h.talker.Requests() {
		require.Equal(t, "talker", request.Model)
		require.NotContains(t, request.Header.Get("Authorization"), made.Secret)
	}
}

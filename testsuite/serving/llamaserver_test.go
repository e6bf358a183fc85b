package serving_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// llamaServer names the server of llama.cpp that the test asks, such as http://127.0.0.1:8080 of
// `llama-server -m model.gguf`: the real server that can be had of which each wire is spoken.
const llamaServer = "ONEIROS_LLAMA_SERVER"

// TestEveryWireReachesARealServer asks a real model on every wire, whole and as a stream: by each wire that its server
// speaks, translated and passed on. What was said is remembered once.
func TestEveryWireReachesARealServer(t *testing.T) {
	t.Parallel()
	base := strings.TrimSuffix(os.Getenv(llamaServer), "/")
	if base == "" {
		t.Skipf("set %s to the address of a llama-server to run this", llamaServer)
	}
	model := firstModel(t, base)
	for name, settings := range map[string]string{
		"chat completions alone": "profile: llamacpp, wires: [chat]",
		"responses alone":        "profile: llamacpp, wires: [responses]",
		"every wire":             "profile: llamacpp, wires: [chat, responses, messages]",
		"messages alone":         "profile: anthropic",
	} {
		t.Run(name, func(t *testing.T) {
			h := build(t, talker.Options{}, provider.Options{},
				strings.ReplaceAll(quick, "talk/talker", "real/"+model))
			h.paid = fmt.Sprintf("  real: {%s, base_url: %q, local: true, models: [{name: %q, context: 2048}]}\n",
				settings, base+"/v1", model)
			h.write()
			require.Regexp(t, `(?m)^\+ real +\S+ answers`, h.must("doctor"))
			h.begin("up")
			for _, w := range wires {
				agent := "agent" + strings.Map(onlyLetters, w.path)
				h.must("agents", "add", agent)
				for _, stream := range []bool{false, true} {
					fact := fmt.Sprintf("My boat is called Zephyrine%v, she is blue.", stream)
					h.asksReal(w, agent, fact, stream)
					require.Eventually(t, func() bool { return h.remembered(agent, fact) == 1 }, 20*time.Second,
						100*time.Millisecond, "%s: %q is remembered once", w.path, fact)
				}
			}
		})
	}
}

func onlyLetters(r rune) rune {
	if r < 'a' || r > 'z' {
		return -1
	}
	return r
}

// asksReal has a short turn, whose answer has words and says what it took. A small model may say nothing at first.
func (h *deployment) asksReal(w wire, agent, text string, stream bool) {
	h.Helper()
	most, options := "max_tokens", map[string]any{}
	switch w.path {
	case "/v1/responses":
		most = "max_output_tokens"
	case "/v1/chat/completions":
		if stream {
			options["stream_options"] = map[string]bool{"include_usage": true}
		}
	}
	options[most] = 40
	answer := ""
	for range 9 {
		var status int
		status, _, answer = h.ask(http.MethodPost, w.path, w.body(agent, stream, []message{{"user", text}}, options))
		require.Equal(h, http.StatusOK, status, "%s\n%s", answer, &h.err)
		require.True(h, w.ended(stream, answer) || strings.Contains(answer, `"type":"response.incomplete"`), answer)
		require.Regexp(h, `"(completion|output)_tokens":[1-9]`, answer)
		if strings.TrimSpace(soak.TextOf(answer)) != "" {
			return
		}
	}
	require.Fail(h, "the model says nothing", answer)
}

// firstModel is the model of a server, by the name that it gives.
func firstModel(t *testing.T, base string) string {
	t.Helper()
	res, err := http.Get(base + "/v1/models")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var list struct{ Data []struct{ ID string } }
	require.NoError(t, json.NewDecoder(res.Body).Decode(&list))
	require.NotEmpty(t, list.Data)
	return list.Data[0].ID
}

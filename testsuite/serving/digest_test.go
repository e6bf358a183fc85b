package serving_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// sleeper is an agent whose dreams are known to this test, and its callers.
type sleeper struct {
	*deployment
	handle string
	keys   map[string]string
}

func (s sleeper) as(who, method, path, body string, header ...string) string {
	s.Helper()
	status, _, answer := s.ask(method, path, body, append(header, "Authorization", "Bearer "+s.keys[who])...)
	require.Equal(s, 2, status/100, "%s %s: %s", method, path, answer)
	return answer
}

// says is a turn of talk. It is remembered if it matters.
func (s sleeper) says(who, text string) {
	s.Helper()
	s.as(who, "POST", "/v1/chat/completions",
		`{"model":"`+s.handle+`","messages":[{"role":"user","content":"`+text+`"}]}`, "X-Oneiros-Recall", "off")
}

// status is the digest in a status, and all else of the status.
func (s sleeper) status(who string) (digest []map[string]any, rest string) {
	s.Helper()
	var status map[string]json.RawMessage
	require.NoError(s, json.Unmarshal([]byte(s.as(who, "GET", "/v1/agents/"+s.handle+"/status", "")), &status))
	require.NoError(s, json.Unmarshal(status["digest"], &digest))
	delete(status, "digest")
	left, err := json.Marshal(status)
	require.NoError(s, err)
	return digest, string(left)
}

// lists reads what an operator may of a dream.
func (s sleeper) lists(what string) (items []map[string]any) {
	s.Helper()
	for after := ""; ; {
		var page struct {
			Data []map[string]any `json:"data"`
			Last string           `json:"last_id"`
			More bool             `json:"has_more"`
		}
		require.NoError(s,
			json.Unmarshal(
				[]byte(s.as("owner", "GET", "/v1/dreams/dream_"+s.handle+"_0001/"+what+"?limit=100"+after, "")), &page))
		items = append(items, page.Data...)
		after = "&after=" + page.Last
		if !page.More {
			return items
		}
	}
}

// expected is the digest of the wake that follows a dream: the newest entries that surfaced, are significant and were
// not cut off, each with exactly the fields it must have. untold are the texts that must not be in it.
func (s sleeper) expected() (digest []map[string]any, untold []string) {
	s.Helper()
	var shown struct {
		Dream struct{ Insights []string }
	}
	require.NoError(s, json.Unmarshal([]byte(s.must("--json", "dreams", "show", "dream/"+s.handle+"/0001")), &shown))
	entries := map[string]map[string]any{}
	for _, e := range s.lists("journal") {
		entries[e["id"].(string)] = e
	}
	surfaced := shown.Dream.Insights[max(0, len(shown.Dream.Insights)-presence.Digested):]
	for _, id := range surfaced {
		e := entries[id]
		require.NotNil(s, e, id)
		if significance := e["significance"].(float64); significance >= journal.Threshold &&
			e["state"] == string(dream.Live) && e["interrupted"] == false {
			digest = append(digest, map[string]any{
				"id": id, "kind": "journal", "at": e["at"], "content": e["content"], "taint": "dream",
				"score": significance, "dreamt": true, "label": "dream, unverified",
			})
			delete(entries, id)
		}
	}
	for _, e := range entries {
		untold = append(untold, e["content"].(string))
	}
	for _, what := range []string{"fragments", "scenarios", "hypotheses", "predictions"} {
		for _, item := range s.lists(what) {
			for _, field := range []string{"content", "text", "prompt", "claim", "statement"} {
				if words, ok := item[field].(string); ok && len(words) > 12 {
					untold = append(untold, words)
				}
			}
		}
	}
	return digest, untold
}

// TestTheDigestOfAStatusHoldsOnlyWhatItsClientMaySee wakes an agent in its dream and after it. A client gets what
// surfaced and is significant, each entry labelled, word for word as in the journal; no word of the rest of the dream
// is in the answer. Which clients get it depends on whose conversations the agent remembers; of an agent named in
// serve.digest_except no client gets anything.
func TestTheDigestOfAStatusHoldsOnlyWhatItsClientMaySee(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{}, provider.Options{Each: 3 * time.Millisecond, AtLeast: 40, Nouns: ofMark},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, digest_except: mute}
consent: {auto_paid: false}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 1s, jitter: 0s}
dream: {partial_tokens: 100}
`)
	keys := map[string]string{}
	iris, mute := sleeper{h, "iris", keys}, sleeper{h, "mute", keys}
	for _, s := range []sleeper{iris, mute} {
		h.must("agents", "add", s.handle)
		h.must("memory", "import", "--agent", s.handle, marked(t))
	}
	for who, role := range map[string]string{"owner": "owner", "guest": "client", "other": "client"} {
		var made struct{ Secret string }
		require.NoError(t, json.Unmarshal([]byte(h.must("--json", "keys", "add", who, "--role", role)), &made))
		keys[who] = made.Secret
	}
	h.begin("up")
	for _, s := range []sleeper{iris, mute} {
		s.as("owner", http.MethodPost, "/v1/dreams", `{"agent":"`+s.handle+`","tier":"hardened"}`)
	}
	h.underWayOf("iris")
	iris.says("guest", "hello")
	digest, rest := iris.status("guest")
	require.Empty(t, digest, "a running dream has no digest: its partial text is sent to no client")
	require.NotContains(t, rest, mark)
	for _, s := range []sleeper{iris, mute} {
		require.Eventually(t, func() bool {
			return strings.Contains(s.as("owner", http.MethodGet, "/v1/dreams/dream_"+s.handle+"_0001", ""),
				`"status":"completed"`)
		}, time.Minute, 50*time.Millisecond, "%s\n%s", s.handle, &h.err)
		require.Eventually(t, func() bool {
			_, rest := s.status("owner")
			return strings.Contains(rest, `"state":"sleeping"`)
		}, 20*time.Second, 50*time.Millisecond)
		s.says("guest", "hello")
	}

	want, untold := iris.expected()
	require.NotEmpty(t, want)
	require.Greater(t, len(untold), 10, "the control: there is much text that must not be sent")
	for _, who := range []string{"guest", "other", "owner"} {
		digest, rest := iris.status(who)
		require.Equal(t, want, digest, who)
		require.NotContains(t, rest, mark, who)
		all, err := json.Marshal(digest)
		require.NoError(t, err)
		for _, words := range untold {
			if !within(want, words) {
				require.NotContains(t, string(all), words, who)
			}
		}
	}
	answer := iris.tool("guest")
	for _, insight := range want {
		require.Contains(t, answer, insight["content"], "the tool sends the same")
	}

	digest, rest = mute.status("guest")
	require.Empty(t, digest, "serve.digest_except")
	require.NotContains(t, rest, mark)
	require.NotContains(t, mute.tool("guest"), mark)
	text := mute.as("guest", http.MethodGet, "/v1/dreams/dream_mute_0001", "") +
		mute.as("guest", http.MethodGet, "/v1/dreams/dream_mute_0001/insights", "")
	require.Contains(t, text, `"insights":0`)
	require.Contains(t, text, `"data":[]`)
	require.NotContains(t, text, mark)
	silent, _ := mute.expected()
	require.NotEmpty(t, silent, "the control: there was a digest")
	require.Contains(t, mute.as("owner", http.MethodGet, "/v1/dreams/dream_mute_0001/insights", ""), mark,
		"the control: it would be seen")

	const matters = "Remember that my boat Zephyrine lies at the northern quay, and that I promised to paint her before the regatta of next June."
	iris.says("other", matters)
	require.Eventually(t, func() bool { digest, _ := iris.status("guest"); return len(digest) == 0 }, 20*time.Second,
		50*time.Millisecond, "it remembers a talk of another")
	digest, _ = iris.status("other")
	require.Equal(t, want, digest, "every conversation that it remembers is this client's own")
	iris.says("guest", strings.Replace(matters, "Zephyrine", "Ondine", 1))
	require.Eventually(t, func() bool { digest, _ := iris.status("other"); return len(digest) == 0 }, 20*time.Second,
		50*time.Millisecond, "now it remembers two")
	digest, _ = iris.status("owner")
	require.Equal(t, want, digest, "an operator reads the journal anyway")
	h.end()
}

// within says whether what surfaced contains these words itself.
func within(digest []map[string]any, words string) bool {
	for _, insight := range digest {
		if strings.Contains(insight["content"].(string), words) {
			return true
		}
	}
	return false
}

// underWayOf waits until an agent's dream streams.
func (h *deployment) underWayOf(agent string) {
	h.Helper()
	require.Eventually(h, func() bool {
		for _, call := range h.dreamer.Billing.Calls() {
			if strings.Contains(call.Key, "dream/"+agent+"/") && call.Completion >= 5 {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, "%s\n%s", agent, &h.err)
}

// tool requests the status over the Model Context Protocol.
func (s sleeper) tool(who string) string {
	s.Helper()
	return s.as(who, http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{"agent":"`+s.handle+
			`"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"sleeper","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "MCP-Protocol-Version",
		"2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "status")
}

package serving_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// client is a caller with a key, or without one, and what else its requests say about the user.
type client struct {
	*deployment
	secret string
	header []string
	body   string // fields of every body, each with a comma behind it
}

func (c client) send(method, path, body string, more ...string) (int, http.Header, string) {
	c.Helper()
	header := append(append([]string{}, c.header...), more...)
	if c.secret != "" {
		header = append(header, "Authorization", "Bearer "+c.secret)
	}
	return c.ask(method, path, body, header...)
}

// answered waits until servers know a change of the keys, and answer the caller with this status.
func (c client) answered(want int) {
	c.Helper()
	require.Eventually(c, func() bool {
		status, _, _ := c.send(http.MethodGet, "/v1/models", "")
		return status == want
	}, 20*time.Second, 50*time.Millisecond)
}

// says is one turn that is answered.
func (c client) says(text string, more ...string) http.Header {
	c.Helper()
	body := fmt.Sprintf(`{"model":"iris",%s"messages":[{"role":"user","content":%q}]}`, c.body, text)
	status, header, answer := c.send(http.MethodPost, "/v1/chat/completions", body, more...)
	require.Equal(c, http.StatusOK, status, answer)
	return header
}

// finds returns how many memories a question recalls. The question is not remembered itself.
func (c client) finds(question string) string {
	c.Helper()
	return c.says(question, "X-Oneiros-Store", "off").Get("X-Oneiros-Recalled")
}

func (c client) counts() (counts psyche.Kept, episodes int) {
	c.Helper()
	status, _, body := c.send(http.MethodGet, "/v1/agents/iris/status", "")
	require.Equal(c, http.StatusOK, status, body)
	var s psyche.Status
	require.NoError(c, json.Unmarshal([]byte(body), &s))
	return s.Own, s.Memories["episode"]
}

// keeps waits until so many memories of the caller are stored.
func (c client) keeps(n int) {
	c.Helper()
	var own psyche.Kept
	require.Eventually(c, func() bool {
		own, _ = c.counts()
		return own.Memories == n
	}, 20*time.Second, 50*time.Millisecond, "%v %s", &own, &c.err)
}

// TestTalkBelongsToAPrincipalAndItsUsers follows what was said through a real server: over a rotated key, another
// name of the same user, the first key of all, a gift, and a quota.
func TestTalkBelongsToAPrincipalAndItsUsers(t *testing.T) {
	t.Parallel()
	h := build(t, talker.Options{Say: func(talker.Request) string { return "Good." }}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, memories_per_user: 2}`)
	h.must("agents", "add", "iris")
	h.begin("up")
	const answer, request = "Please remember that my dog Rex sleeps in the old boathouse of Tarn.", "Where does my dog Rex sleep, in the boathouse?"
	refused := func(c client) { c.answered(http.StatusUnauthorized) }
	add := func(args ...string) (c client, id string) {
		t.Helper()
		var key struct{ ID, Secret string }
		require.NoError(t, json.Unmarshal([]byte(h.must(append([]string{"--json", "keys"}, args...)...)), &key))
		c = client{deployment: h, secret: key.Secret}
		c.answered(http.StatusOK)
		return c, key.ID
	}

	keyless := client{deployment: h}
	keyless.says(answer)
	keyless.keeps(1)
	local, _ := add("add", "desk", "--principal", "local")
	refused(keyless)
	require.Equal(t, "1", local.finds(request), "a key of the local principal has what was said without a key")
	stranger, strangerID := add("add", "stranger")
	require.Equal(t, "0", stranger.finds(request))

	old, oldID := add("add", "laptop")
	old.says(answer)
	old.keeps(1)
	next, _ := add("rotate", "laptop", "--grace", "1h")
	require.Equal(t, "1", next.finds(request))
	require.Equal(t, "1", old.finds(request), "within the grace period both keys work")
	last, _ := add("rotate", oldID)
	require.Equal(t, "1", last.finds(request))
	refused(old)

	web, _ := add("add", "web")
	cara := web
	cara.header = []string{"X-OpenWebUI-User-Id", "cara"}
	cara.says("Please remember that the blue sextant was lent to the captain of the Aurora.")
	cara.keeps(1)
	const sextant = "Who was the blue sextant lent to, a captain?"
	for _, same := range []client{
		{deployment: h, secret: web.secret, header: []string{"X-Oneiros-User", "cara"}},
		{deployment: h, secret: web.secret, body: `"user":"cara",`},
		{deployment: h, secret: web.secret, body: `"safety_identifier":"cara",`},
		{deployment: h, secret: web.secret, body: `"user":"dora",`, header: []string{"X-OpenWebUI-User-Id", "cara"}},
	} {
		require.Equal(t, "1", same.finds(sextant), "%v %s", same.header, same.body)
	}
	for _, other := range []client{
		web, last,
		{deployment: h, secret: web.secret, body: `"safety_identifier":"dora",`},
		{deployment: h, secret: last.secret, body: `"user":"cara",`},
	} {
		require.Equal(t, "0", other.finds(sextant), "%v %s", other.header, other.body)
	}
	for _, header := range []string{"X-OpenWebUI-Chat-Id", "X-Claude-Code-Session-Id", "session-id"} {
		require.Equal(t, "chat 7",
			web.says("Hello.", "X-Oneiros-Store", "off", header, "chat 7").Get("X-Oneiros-Conversation"), header)
	}
	app := web
	app.body = `"prompt_cache_key":"app",`
	off := []string{"X-Oneiros-Store", "off"}
	hello := app.says("Hello.", off...).Get("X-Oneiros-Conversation")
	require.Equal(t, hello, app.says("Hello.", off...).Get("X-Oneiros-Conversation"))
	require.NotEqual(t, hello, app.says("Good evening.", off...).Get("X-Oneiros-Conversation"),
		"one key of an application is not one talk")
	require.NotEqual(t, hello, web.says("Hello.", off...).Get("X-Oneiros-Conversation"))

	_, counted := stranger.counts()
	require.Zero(t, counted, "a client does not learn how much others said")
	require.Contains(t, h.must("memory", "own", "--agent", "iris", "--from", oldID, "--to", strangerID, "--yes"),
		"1 memory of "+oldID)
	require.Equal(t, "1", stranger.finds(request), "what was given is found")
	require.Equal(t, "0", last.finds(request), "and no longer by the giver")
	own, counted := stranger.counts()
	require.Equal(t, []int{1, 1}, []int{own.Memories, counted})
	owners := h.must("memory", "owners", "--agent", "iris")
	require.Contains(t, owners, strangerID)
	require.NotContains(t, owners, oldID)

	for n := range 3 {
		cara.says(
			fmt.Sprintf("Please remember that the locker%d of the mill%d holds lantern%d for keeper%d.", n, n, n, n))
	}
	cara.keeps(2)
	require.Eventually(t, func() bool { return strings.Contains(h.err.String(), "a quota of memories is reached") },
		20*time.Second, 50*time.Millisecond)
	own, _ = cara.counts()
	require.Equal(t, psyche.Kept{Memories: 2, Limit: 2, Full: true}, own)
	status, _, body := cara.send(
		http.MethodPost,
		"/mcp",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"store_memory","arguments":{"content":"One more."},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version",
		"2026-07-28",
		"Mcp-Method",
		"tools/call",
		"Mcp-Name",
		"store_memory",
		"Content-Type",
		"application/json",
		"Accept",
		"application/json, text/event-stream",
	)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, "serve.memories_per_user")
	h.end()
}

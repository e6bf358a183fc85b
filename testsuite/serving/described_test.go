package serving_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/governor"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/described"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// inspector sends requests to a server, and checks each answer against the description.
type inspector struct {
	*deployment
	doc     *described.Document
	keys    map[string]string // secrets by caller
	answers []described.Answer

	principals map[string]string // by caller
}

// The callers: an owner, a client of iris alone, one with a limit of one request a minute, and one without a key.
const (
	theOwner, theClient, theSlow, noBody = "owner", "client", "slow", ""
)

func (i *inspector) request(ctx context.Context, who, method, path, body string, header ...string) *http.Request {
	i.Helper()
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(i.base, "/v1")+path, strings.NewReader(body))
	require.NoError(i, err)
	if who != noBody {
		r.Header.Set("Authorization", "Bearer "+i.keys[who])
	}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	return r
}

// expect sends a request, requires the status, and returns the answer.
func (i *inspector) expect(who, method, path, body string, status int, header ...string) string {
	i.Helper()
	answer, _ := i.read(who, method, path, body, status, nil, header...)
	return answer
}

// begins requests a dream and returns its id.
func (i *inspector) begins(path, body string, header ...string) string {
	i.Helper()
	a := i.retry(path, body, http.StatusCreated, header...)
	var begun struct{ ID string }
	require.NoError(i, json.Unmarshal(a.Body, &begun))
	require.Equal(i, "/v1/dreams/"+begun.ID, a.Header.Get("Location"))
	return begun.ID
}

// retry repeats a request until the agent's workflow knows that all clients have left.
func (i *inspector) retry(path, body string, status int, header ...string) (a described.Answer) {
	i.Helper()
	require.Eventually(i, func() bool {
		a = i.answer(theOwner, "POST", path, body, nil, header...)
		return a.Status != http.StatusConflict
	}, 20*time.Second, 100*time.Millisecond, "%s", later(func() string { return string(a.Body) }))
	require.Equal(i, status, a.Status, "%s", a.Body)
	return a
}

// read reads an answer to its end, or until there is enough of it.
func (i *inspector) read(who, method, path, body string, status int, enough func(string) bool,
	header ...string,
) (string, http.Header) {
	i.Helper()
	a := i.answer(who, method, path, body, enough, header...)
	require.Equal(i, status, a.Status, "%s %s: %s\n%s", method, path, a.Body, &i.err)
	return string(a.Body), a.Header
}

// answer returns an answer, whatever its status.
func (i *inspector) answer(who, method, path, body string, enough func(string) bool,
	header ...string,
) described.Answer {
	i.Helper()
	ctx, hangUp := context.WithTimeout(i.Context(), time.Minute)
	defer hangUp()
	r := i.request(ctx, who, method, path, body, header...)
	res, err := http.DefaultClient.Do(r)
	require.NoError(i, err)
	defer func() { _ = res.Body.Close() }()
	var text bytes.Buffer
	for part := make([]byte, 4<<10); err == nil && (enough == nil || !enough(text.String())); {
		var n int
		n, err = res.Body.Read(part)
		text.Write(part[:n])
	}
	if enough == nil {
		require.ErrorIs(i, err, io.EOF)
	}
	require.NotEmpty(i, res.Header.Get("X-Request-Id"), "%s %s", method, path)
	a := described.Answer{
		Method: method,
		Path:   r.URL.EscapedPath(),
		Status: res.StatusCode,
		Header: res.Header,
		Body:   text.Bytes(),
	}
	require.NoError(i, i.doc.Holds(a))
	if res.StatusCode < http.StatusMultipleChoices {
		require.NoError(i, i.doc.Takes(method, r.URL.EscapedPath(), []byte(body)))
	}
	i.answers = append(i.answers, a)
	return a
}

// refused expects one of the server's own errors, by its code.
func (i *inspector) refused(who, method, path, body string, status int, code string, header ...string) {
	i.Helper()
	require.Contains(
		i,
		i.expect(who, method, path, body, status, header...),
		`"code":"`+code+`"`,
		"%s %s",
		method,
		path,
	)
}

// some expects a list that is not empty.
func (i *inspector) some(who, path string) {
	i.Helper()
	require.NotContains(i, i.expect(who, "GET", path, "", 200), `"data":[]`, path)
}

// becomes waits until an answer contains something.
func (i *inspector) becomes(path, part string) {
	i.Helper()
	require.Eventually(i, func() bool {
		_, _, answer := i.ask("GET", path, "", "Authorization", "Bearer "+i.keys[theOwner])
		return strings.Contains(answer, part)
	}, time.Minute, 20*time.Millisecond, "%s: %s\n%s", path, part, &i.err)
}

// TestEveryAnswerMatchesItsDescription requests from the program everything that docs/openapi.json describes: each
// status and each media type of each operation comes at least once, and each answer is checked against its schema. A
// description of nothing would accept everything, so a control spoils the answers and requires that they are refused.
func TestEveryAnswerMatchesItsDescription(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "openapi.json"))
	require.NoError(t, err)
	doc, err := described.Read(text)
	require.NoError(t, err)
	refuse := func(a talker.Request) int {
		if strings.HasSuffix(a.Last().Text, "be refused") {
			return http.StatusTooManyRequests
		}
		return 0
	}
	called := func(a talker.Request) string {
		if strings.Contains(string(a.Body), "should_respond") {
			return `{"should_respond":true,"response":"It is stuck.","emotion":"calm"}`
		}
		return ""
	}
	h := build(t, talker.Options{Fail: refuse, Call: hands, Say: called},
		provider.Options{Each: 3 * time.Millisecond, AtLeast: 40},
		`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0, max_body: 65536, completions: talk/talker}
agent: {client_timeout: 1s, wake_lock: 1s, resume_after: 6h, jitter: 0s, shared: true}`)
	i := &inspector{deployment: h, doc: doc, keys: map[string]string{}, principals: map[string]string{}}
	h.must("agents", "add", "iris", "--persona", "a quiet research companion")
	h.must("agents", "add", "tally")
	h.must("memory", "import", "--agent", "iris", diary(t))
	h.must("predictions", "add", "The vane sticks again.", "--agent", "iris", "--then", "vane", "--due", "30d",
		"--confidence", "0.6")
	for who, flags := range map[string][]string{
		theOwner:  {"--role", "owner"},
		theClient: {"--role", "client", "--agent", "iris"}, theSlow: {"--role", "client", "--rate", "1"},
	} {
		var made struct{ Principal, Secret string }
		require.NoError(t,
			json.Unmarshal([]byte(h.must(append([]string{"--json", "keys", "add", who}, flags...)...)), &made))
		i.keys[who], i.principals[who] = made.Secret, made.Principal
	}
	h.begin("up")
	i.server()
	i.openai()
	i.agents()
	i.memories()
	i.rooms()
	i.protocol()
	dream := i.dreams()
	i.woken()
	i.events(dream)
	i.without()
	i.held()
	require.Empty(t, doc.Left(), "described, and never shown")
	i.spoiled()
	h.end()
}

// server requests what concerns the server, and everything without a key.
func (i *inspector) server() {
	i.Helper()
	i.expect(noBody, "GET", "/healthz", "", 200)
	i.refused(noBody, "GET", "/healthz", "", 415, "encoded_body", "Content-Encoding", "gzip")
	require.Contains(i, i.expect(noBody, "GET", "/readyz", "", 200), `"status":"ready"`)
	i.refused(noBody, "GET", "/readyz", "", 415, "encoded_body", "Content-Encoding", "gzip")
	i.expect(theOwner, "GET", "/metrics", "", 200)
	i.refused(theClient, "GET", "/metrics", "", 403, "role_too_low")
	require.Contains(i, i.expect(theClient, "GET", "/v1/openapi.json", "", 200), `"createDream"`)
	for _, path := range []string{
		"/v1/openapi.json", "/v1/models", "/v1/dreams", "/v1/events",
		"/v1/nothing",
	} {
		i.refused(noBody, "GET", path, "", 401, "invalid_api_key")
	}
	i.refused(theClient, "GET", "/v1/nothing", "", 404, "unknown_path")
	i.refused(theClient, "PUT", "/v1/models", "", 405, "method_not_allowed")
	i.expect(theSlow, "GET", "/v1/models", "", 200)
	i.refused(theSlow, "GET", "/v1/models", "", 429, "rate_limit_exceeded")
}

// openai sends requests as OpenAI's clients do.
func (i *inspector) openai() {
	i.Helper()
	const chat = "/v1/chat/completions"
	say := func(more, text string) string {
		return `{"model":"iris",` + more + `"messages":[{"role":"user","content":"` + text + `"}]}`
	}
	i.some(theClient, "/v1/models")
	list := i.expect(theClient, "GET", "/v1/models", "", 200, "Anthropic-Version", "2023-06-01")
	require.Contains(i, list, `"has_more":false`)
	for _, path := range []string{"/v1/models/iris", "/v1/models/agent/iris", "/v1/models/oneiros/iris"} {
		i.expect(theClient, "GET", path, "", 200)
		model := i.expect(theClient, "GET", path, "", 200, "Anthropic-Version", "2023-06-01")
		require.Contains(i, model, `"display_name":"iris"`)
		unreached := strings.Replace(path, "iris", "tally", 1)
		i.refused(theClient, "GET", unreached, "", 404, "model_not_found")
		refusal := i.expect(theClient, "GET", unreached, "", 404, "Anthropic-Version", "2023-06-01")
		require.Contains(i, refusal, `"type":"not_found_error"`)
	}
	whole := i.expect(theClient, "POST", chat, say("", "hello"), 200, "Idempotency-Key", "once")
	require.Contains(i, whole, "I heard: hello")
	require.Equal(i, whole, i.expect(theClient, "POST", chat, say("", "hello"), 200, "Idempotency-Key", "once"))
	i.refused(theClient, "POST", chat, say("", "another"), 422, "idempotency_key_reused", "Idempotency-Key", "once")
	const tools = `"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}],`
	require.Contains(i, i.expect(theClient, "POST", chat, say(tools, "add"), 200), `"tool_calls"`)
	for _, more := range []string{
		`"stream":true,`, `"stream":true,"stream_options":{"include_usage":true},`,
		tools + `"stream":true,`,
	} {
		answer := i.expect(theClient, "POST", chat, say(more, "hello again"), 200)
		require.True(i, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
		require.Contains(i, answer, `"delta"`)
	}
	answer, header := i.read(theClient, "POST", chat, say("", "be refused"), 429, nil)
	require.Contains(i, answer, "refused with 429", "the provider's own words")
	require.Equal(i, "iris", header.Get("X-Oneiros-Agent"))
	i.refused(theClient, "POST", chat, `{"model":"iris","messages":7}`, 400, "invalid_type")
	i.refused(theClient, "POST", chat, `{"model":"iris"`, 400, "invalid_json")
	i.refused(theClient, "POST", chat, `{"model":"tally","messages":[]}`, 404, "model_not_found")
	i.refused(theClient, "POST", chat, say("", strings.Repeat("x", 70000)), 413, "body_too_large")

	const complete = "/v1/completions"
	require.Contains(i, i.expect(theClient, "POST", complete, `{"model":"iris","prompt":"def f(","suffix":"\n"}`, 200),
		`"text":" after `)
	answer = i.expect(theClient, "POST", complete, `{"model":"iris","prompt":["def f("],"stream":true}`, 200)
	require.True(i, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
	i.refused(theClient, "POST", complete, `{"model":"iris"}`, 400, "missing_field")
	i.responses()
	i.messages()
	require.Contains(i,
		i.expect(theClient, "POST", "/v1/embeddings", `{"model":"iris","input":["a vane"],"encoding_format":"float"}`,
			200), `"embedding":[`)
	require.Contains(i,
		i.expect(theClient, "POST", "/v1/embeddings", `{"model":"iris","input":"a vane","encoding_format":"base64"}`,
			200), `"embedding":"`)
	i.refused(theClient, "POST", "/v1/embeddings", `{"input":"a vane"}`, 400, "invalid_value")
}

// responses sends requests as clients of OpenAI's Responses API do.
func (i *inspector) responses() {
	i.Helper()
	const path = "/v1/responses"
	whole := i.expect(theClient, "POST", path, `{"model":"iris","input":"hello response"}`, 200)
	require.Contains(i, whole, "I heard: hello response")
	const tools = `"tools":[{"type":"function","name":"add","parameters":{"type":"object"}}]`
	answer := i.expect(theClient, "POST", path, `{"model":"iris","input":"add","stream":true,`+tools+`}`, 200)
	require.Contains(i, answer, "event: response.function_call_arguments.done\n")
	require.Contains(i, answer, "event: response.completed\n")
	i.refused(theClient, "POST", path, `{"model":"iris","input":"x","background":true}`, 400, "unsupported_parameter")
	i.refused(theClient, "POST", path, `{"model":"tally","input":"x"}`, 404, "model_not_found")
	var first struct{ ID string }
	require.NoError(i, json.Unmarshal([]byte(whole), &first))
	const next = `{"model":"iris","input":"and on","previous_response_id":"`
	i.expect(theClient, "POST", path, next+first.ID+`"}`, 200)
	at := path + "/" + first.ID
	require.Contains(i, i.expect(theClient, "GET", at, "", 200), "I heard: hello response")
	require.Contains(i, i.expect(theClient, "GET", at+"/input_items?limit=1&order=asc", "", 200), "hello response")
	i.refused(theClient, "POST", at+"/cancel", "", 400, "not_in_background")
	for _, path := range []string{at, at + "/input_items"} {
		i.refused(theOwner, "GET", path, "", 404, "response_not_found")
	}
	i.expect(theClient, "DELETE", at, "", 200)
	i.refused(theClient, "DELETE", at, "", 404, "response_not_found")
	i.refused(theClient, "POST", path, next+first.ID+`"}`, 400, "previous_response_not_found")
	answer, _ = i.read(theClient, "POST", path, `{"model":"iris","input":"be refused"}`, 429, nil)
	require.Contains(i, answer, "refused with 429", "the provider's own words")
}

// messages sends requests as clients of Anthropic's Messages API do.
func (i *inspector) messages() {
	i.Helper()
	const path = "/v1/messages"
	say := func(more, text string) string {
		return `{"model":"iris","max_tokens":50,` + more + `"messages":[{"role":"user","content":"` + text + `"}]}`
	}
	whole := i.expect(theClient, "POST", path, say("", "hello message"), 200, "Idempotency-Key", "message")
	require.Contains(i, whole, "I heard: hello message")
	require.Equal(i, whole,
		i.expect(theClient, "POST", path, say("", "hello message"), 200, "Idempotency-Key", "message"))
	const tools = `"stream":true,"tools":[{"name":"add","input_schema":{"type":"object"}}],`
	answer := i.expect(theClient, "POST", path, say(tools, "add"), 200)
	require.Contains(i, answer, `"type":"input_json_delta"`)
	require.True(i, strings.HasSuffix(answer, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), answer)
	require.Contains(i, i.expect(theClient, "POST", path+"/count_tokens", say("", "hello"), 200), `"input_tokens":`)
	const search = `"tools":[{"type":"web_search_20250305","name":"web_search"}],`
	for _, at := range []string{path, path + "/count_tokens"} {
		require.Contains(i, i.expect(theClient, "POST", at, say(search, "find"), 400), `"type":"invalid_request_error"`)
		require.Contains(i, i.expect(noBody, "POST", at, say("", "hello"), 401), `"type":"authentication_error"`)
	}
	foreign := strings.Replace(say("", "hello"), "iris", "tally", 1)
	require.Contains(i, i.expect(theClient, "POST", path, foreign, 404), `"type":"not_found_error"`)
	require.Contains(i, i.expect(theClient, "POST", path, say("", "be refused"), 429), "refused with 429")
	require.Contains(i, i.expect(noBody, "POST", path, say("", "hello"), 200, "X-Api-Key", i.keys[theClient]),
		"heard: hello")
}

// agents requests the status of an agent, and holds it awake.
func (i *inspector) agents() {
	i.Helper()
	at := func(path string) string { return "/v1/agents/iris" + path }
	for _, path := range []string{"/status", "/emotion"} {
		i.expect(theClient, "GET", at(path), "", 200)
		i.refused(theClient, "GET", "/v1/agents/tally"+path, "", 404, "agent_not_found")
	}
	require.Contains(i, i.expect(theClient, "POST", at("/emotion"), `{"event":"success","intensity":0.7}`, 200),
		`"cause":"event/success"`)
	i.refused(theClient, "POST", at("/emotion"), `{"event":"sneeze","intensity":1}`, 400, "unknown_event")
	i.expect(theClient, "POST", at("/session"), `{"id":"s-1","ttl":2}`, 200)
	i.expect(theClient, "POST", at("/session"), "", 200)
	i.refused(theClient, "POST", at("/session"), `{"ttl":9999}`, 400, "invalid_value")
	i.expect(theClient, "DELETE", at("/session?id=s-1"), "", 204)
	i.refused(theClient, "DELETE", at("/session"), "", 400, "invalid_value")
	i.read(theClient, "GET", at("/session"), "", 200, func(text string) bool {
		return strings.Contains(text, "event: session\n") && strings.HasSuffix(text, "\n\n")
	})
	i.refused(theClient, "GET", "/v1/agents/tally/session", "", 404, "agent_not_found")
}

// memories requests what an agent remembers, adds to it, and deletes from it.
func (i *inspector) memories() {
	i.Helper()
	at := func(path string) string { return "/v1/agents/iris" + path }
	require.Contains(i, i.expect(theClient, "GET", at("/memories?query=wind+vane&include_dreamt=true"), "", 200),
		`"kind":"episode"`)
	i.refused(theClient, "GET", at("/memories"), "", 400, "invalid_value")
	const statement = `{"content":"My cat is called Rumpelstilz."}`
	require.Contains(i, i.expect(theClient, "POST", at("/memories"), statement, 201), `"existing":false`)
	require.Contains(i, i.expect(theClient, "POST", at("/memories"), statement, 200), `"existing":true`)
	require.Contains(i, i.expect(theClient, "GET", at("/memories?query=Rumpelstilz"), "", 200), "Rumpelstilz")
	require.Contains(i, i.expect(theOwner, "GET", at("/owners"), "", 200), `"memories":`)
	const request = `{"texts":["My cat is called Rumpelstilz."]`
	i.refused(theClient, "POST", at("/memories/forget"), request+"}", 403, "role_too_low")
	require.Contains(i, i.expect(theOwner, "POST", at("/memories/forget"), request+`,"dry_run":true}`, 200),
		`"forgotten":0`)
	require.Contains(i, i.expect(theOwner, "POST", at("/memories/forget"), request+"}", 200), `"forgotten":1`)
	i.expect(theOwner, "GET", at("/memories/archived"), "", 200)
	for _, path := range []string{"/memories/archived", "/owners"} {
		i.refused(theClient, "GET", at(path), "", 403, "role_too_low")
	}
	i.refused(theClient, "POST", at("/memories"), "{}", 400, "invalid_value")
	require.Contains(i, i.expect(theOwner, "POST", at("/memories/restore"), `{"dream":"dream_iris_0001"}`, 200),
		`"restored":[]`)
	i.refused(theOwner, "POST", at("/memories/restore"), `{"ids":["none"]}`, 400, "invalid_value")
}

// rooms requests what concerns rooms, and how reachable agents are.
func (i *inspector) rooms() {
	i.Helper()
	const hall, tally = "/v1/rooms/hall", "/v1/agents/tally"
	i.expect(theOwner, "POST", "/v1/rooms", `{"id":"hall","title":"The hall","join":["tally"]}`, 201)
	i.refused(theOwner, "POST", "/v1/rooms", `{"id":"The Hall"}`, 400, "invalid_value")
	i.refused(theClient, "POST", "/v1/rooms", `{"id":"loft"}`, 403, "role_too_low")
	i.refused(theClient, "GET", hall, "", 403, "not_a_member")
	i.expect(theOwner, "POST", hall+"/members", `{"person":"`+i.principals[theClient]+`","name":"client"}`, 200)
	i.some(theClient, "/v1/rooms")
	require.Contains(i, i.expect(theOwner, "GET", hall, "", 200), `"name":"tally"`)
	i.expect(theOwner, "PUT", hall+"/subscriptions", `{"agent":"tally","on":false}`, 200)

	i.expect(theOwner, "PUT", tally+"/dormancy", `{"level":"sleep","for":"1h"}`, 200)
	i.some(theOwner, tally+"/dormancy")
	i.expect(theOwner, "POST", hall+"/posts", `{"as":"tally","body":"I say this when I wake."}`, 202)
	i.some(theOwner, tally+"/held")
	i.expect(theOwner, "GET", tally+"/inbox", "", 200)
	i.refused(theClient, "GET", tally+"/held", "", 403, "role_too_low")
	i.expect(theOwner, "POST", tally+"/checkins", `{"at":"2099-01-01T00:00:00Z"}`, 400)
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	i.expect(theOwner, "POST", tally+"/checkins", `{"at":"`+soon+`","room":"hall","name":"noon"}`, 201)
	i.some(theOwner, tally+"/checkins")
	i.expect(theOwner, "DELETE", tally+"/checkins/noon", "", 204)
	i.webhooks(hall)
	require.Contains(i, i.expect(theOwner, "POST", "/v1/agents/awaken", `{"agents":["tally"]}`, 200), `"success":true`)

	i.expect(theClient, "POST", hall+"/posts", `{"body":"Is the vane stuck?"}`, 201)
	i.some(theClient, hall+"/posts?from=oldest")
	i.expect(theClient, "GET", hall+"/posts/1", "", 200)
	var posted struct{ Post struct{ Offset int64 } }
	answer := i.expect(theClient, "POST", hall+"/posts", `{"body":"@tally is it?"}`, 201, "Idempotency-Key", "vane")
	require.NoError(i, json.Unmarshal([]byte(answer), &posted))
	require.Equal(i, answer, i.expect(theClient, "POST", hall+"/posts", `{"body":"@tally is it?"}`, 201,
		"Idempotency-Key", "vane"))
	post := fmt.Sprintf("%s/posts/%d", hall, posted.Post.Offset)
	i.becomes(tally+"/calls", `"outcome":"answered"`)
	i.some(theOwner, tally+"/calls?limit=5")
	i.expect(theClient, "PATCH", post, `{"revision":1,"body":"It is stuck."}`, 200)
	i.expect(theClient, "DELETE", post, "", 200)
	i.refused(theClient, "GET", hall+"/posts/99", "", 404, "not_found")
	i.some(theClient, hall+"/events?limit=3")
	stream, _ := i.read(theClient, "GET", hall+"/events?after=0", "", 200, func(text string) bool {
		return strings.Contains(text, "event: deleted\n") && strings.HasSuffix(text, "\n\n")
	}, "Accept", "text/event-stream")
	require.Contains(i, stream, "event: dormancy\n")
	require.Contains(i, i.expect(theClient, "POST", "/v1/agents/iris/wake", `{"trigger":"direct","message":"Hello?"}`,
		200),
		`"should_respond":true`)
	i.refused(theClient, "POST", "/v1/agents/iris/wake", `{"trigger":"whim"}`, 400, "invalid_value")
	i.expect(theClient, "DELETE", hall+"/members/client", "", 204)
	for _, request := range []string{
		"GET /v1/rooms", "POST " + hall + "/members", "DELETE " + hall + "/members/client", "PUT " + hall +
			"/subscriptions",
		"GET " + hall + "/posts", "POST " + hall + "/posts", "PATCH " + post, "DELETE " + post, "GET " + hall +
			"/events",
		"GET " + tally + "/dormancy", "PUT " + tally + "/dormancy", "POST /v1/agents/awaken", "GET " + tally + "/inbox",
		"GET " + tally + "/calls", "GET " + tally + "/checkins", "DELETE " + tally + "/checkins/noon",
		"GET " + hall + "/webhooks", "POST " + hall + "/webhooks", "DELETE " + hall + "/webhooks/builds",
	} {
		method, path, _ := strings.Cut(request, " ")
		i.refused(noBody, method, path, "", 401, "invalid_api_key")
	}
}

// webhooks adds a webhook to a room, brings a post by it, and removes it.
func (i *inspector) webhooks(hall string) {
	i.Helper()
	var added struct{ Secret string }
	answer := i.expect(theOwner, "POST", hall+"/webhooks", `{"name":"builds","sender":"person"}`, 201)
	require.NoError(i, json.Unmarshal([]byte(answer), &added))
	i.some(theOwner, hall+"/webhooks")
	const body = `{"id":"17","body":"The build is done."}`
	signed := http.Header{}
	governor.Sign(signed, []byte(added.Secret), []byte(body), time.Now())
	var header []string
	for name := range signed {
		header = append(header, name, signed.Get(name))
	}
	posts := hall + "/webhooks/builds/posts"
	i.expect(noBody, "POST", posts, body, 201, header...)
	i.refused(noBody, "POST", posts, `{"id":"18","body":"Another one."}`, 401, "invalid_signature", header...)
	i.expect(theOwner, "DELETE", hall+"/webhooks/builds", "", 204)
}

// protocol uses the Model Context Protocol, with and without a session.
func (i *inspector) protocol() {
	i.Helper()
	plain := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	answer, header := i.read(
		theClient,
		"POST",
		"/mcp",
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"inspector","version":"1"}}}`,
		200,
		nil,
		plain...)
	require.Contains(i, answer, `"protocolVersion":"2025-06-18"`)
	session := append([]string{"Mcp-Session-Id", header.Get("Mcp-Session-Id")}, plain...)
	i.expect(theClient, "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, session...)
	require.Contains(i,
		i.expect(theClient, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, session...),
		"recall_memory")
	i.expect(theClient, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"no/such"}`, 400, session...)
	i.read(theClient, "GET", "/mcp", "", 200, func(text string) bool { return strings.Contains(text, ": ok\n") },
		session...)
	i.expect(theClient, "POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"ping"}`, 404,
		append([]string{"Mcp-Session-Id", "made-up"}, plain...)...)
	i.expect(theClient, "POST", "/mcp", `{"jsonrpc":`, 400, session...)
	for _, method := range []string{"GET", "DELETE"} {
		i.expect(theClient, method, "/mcp", "", 400, plain...)
		i.refused(noBody, method, "/mcp", "", 401, "invalid_api_key", plain...)
	}
	i.refused(noBody, "POST", "/mcp", "{}", 401, "invalid_api_key", plain...)
	i.expect(theClient, "DELETE", "/mcp", "", 204, session...)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":{"agent":"iris"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"inspector","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	i.expect(theClient, "POST", "/mcp", call, 200,
		append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "status"},
			plain...)...)
}

// dreams begins a dream that has everything, follows it to its end, reads what it made, and returns the dream's id.
func (i *inspector) dreams() string {
	i.Helper()
	i.becomes("/v1/agents/iris/status", `"state":"sleeping"`)
	const request = `{"agent":"iris","tier":"hardened","instructions":"the sticking vane","seed":"7"}`
	id := i.begins("/v1/dreams", request, "Idempotency-Key", "tonight")
	at := "/v1/dreams/" + id
	i.refused(theOwner, "POST", "/v1/dreams", request, 409, "already_dreaming")
	i.refused(theOwner, "POST", "/v1/dreams", `{"agent":"iris","budget_micros":999000000}`, 402, "over_cap")
	i.refused(theOwner, "POST", "/v1/dreams", `{"agent":"nobody"}`, 404, "agent_not_found")
	i.refused(theOwner, "POST", "/v1/dreams", `{"agent":"iris","depth":7}`, 400, "invalid_value")
	i.refused(theClient, "POST", "/v1/dreams", request, 403, "role_too_low")
	i.refused(theOwner, "POST", at+"/archive", "", 409, "dream_not_over")
	i.becomes(at, `"status":"completed"`)
	i.some(theClient, "/v1/dreams")
	i.some(theOwner, "/v1/dreams?agent=iris&status=completed&include_archived=true&limit=1")
	i.refused(theOwner, "GET", "/v1/dreams?after=bogus", "", 400, "invalid_value")
	i.expect(theClient, "GET", at, "", 200)
	require.Contains(i, i.expect(theOwner, "GET", "/v1/dreams/dream%2Firis%2F0001", "", 200), `"record"`)
	i.refused(theClient, "GET", "/v1/dreams/dream_tally_0001", "", 404, "dream_not_found")
	for _, list := range []string{"/fragments", "/scenarios", "/hypotheses", "/predictions", "/journal"} {
		i.some(theOwner, at+list)
		i.refused(theClient, "GET", at+list, "", 403, "role_too_low")
	}
	i.some(theOwner, at+"/insights")
	i.expect(theClient, "GET", at+"/insights", "", 200)
	i.refused(theClient, "GET", "/v1/dreams/dream_iris_0777/insights", "", 404, "dream_not_found")
	for _, list := range []string{"/journal", "/predictions"} {
		i.some(theOwner, "/v1/agents/iris"+list)
		i.refused(theClient, "GET", "/v1/agents/iris"+list, "", 403, "role_too_low")
	}
	for _, list := range []string{"/playbook", "/claims", "/hypotheses", "/morning"} {
		i.expect(theOwner, "GET", "/v1/agents/iris"+list, "", 200)
		i.refused(theClient, "GET", "/v1/agents/iris"+list, "", 403, "role_too_low")
	}
	const check = "/v1/agents/iris/predictions/check"
	i.expect(theOwner, "POST", check, `{"look_only":true}`, 200)
	i.refused(theClient, "POST", check, "{}", 403, "role_too_low")
	i.foretells()
	i.refused(theOwner, "POST", at+"/cancel", "", 409, "dream_over")
	i.refused(theOwner, "POST", at+"/resume", "", 409, "dream_not_resumable")
	i.refused(theOwner, "POST", at+"/redream", `{"from":"onset"}`, 400, "invalid_value")
	i.expect(theOwner, "POST", at+"/archive", "{}", 200)
	i.becomes("/v1/dreams/"+i.begins(at+"/redream", `{"from":"return"}`), `"status":"completed"`)
	return id
}

// woken wakes a dream, resumes it, and ends it.
func (i *inspector) woken() {
	i.Helper()
	before := i.dreamer.Billing.Streamed()
	at := "/v1/dreams/" + i.begins("/v1/dreams", `{"agent":"iris","tier":"hardened"}`)
	require.Eventually(i, func() bool { return i.dreamer.Billing.Streamed() > before+10 }, time.Minute,
		time.Millisecond)
	_, header := i.read(theClient, "POST", "/v1/chat/completions",
		`{"model":"iris","messages":[{"role":"user","content":"wake up"}]}`, 200, nil)
	require.Equal(i, "true", header.Get("X-Oneiros-Woke"))
	i.becomes(at, `"outcome":"interrupted"`)
	i.refused(theOwner, "POST", "/v1/dreams", `{"agent":"iris"}`, 409, "agent_awake")
	require.Contains(i, i.expect(theClient, "GET", at, "", 200), `"resumable_until":1`)
	i.expect(theClient, "GET", "/v1/agents/iris/status", "", 200)
	i.becomes("/v1/agents/iris/status", `"state":"sleeping"`)
	i.retry(at+"/resume", "", http.StatusOK)
	i.expect(theOwner, "POST", at+"/cancel", "", 200)
	i.becomes(at, `"status":"canceled"`)
}

// foretells resolves a prediction by hand, and explains a claim.
func (i *inspector) foretells() {
	i.Helper()
	const at = "/v1/agents/iris"
	first := func(path string) string {
		var page struct{ Data []struct{ ID string } }
		require.NoError(i, json.Unmarshal([]byte(i.expect(theOwner, "GET", at+path, "", 200)), &page))
		require.NotEmpty(i, page.Data, path)
		return page.Data[0].ID
	}
	const resolve = at + "/predictions/resolve"
	verdict := func(of string) string {
		return `{"id":"` + first("/predictions?status=open") + `","verdict":"` + of + `"}`
	}
	right := verdict("correct")
	require.Contains(i, i.expect(theOwner, "POST", resolve, right, 200), `"changed":true`)
	require.Contains(i, i.expect(theOwner, "POST", resolve, right, 200), `"changed":false`)
	i.refused(theOwner, "POST", resolve, strings.Replace(right, "correct", "incorrect", 1), 409, "prediction_resolved")
	i.refused(theOwner, "POST", resolve, `{"id":"none","verdict":"void"}`, 404, "prediction_not_found")
	i.refused(theOwner, "POST", resolve, verdict("yes"), 400, "invalid_value")
	i.refused(theClient, "POST", resolve, right, 403, "role_too_low")
	claim := at + "/claims/" + first("/claims")
	require.Contains(i, i.expect(theOwner, "GET", claim, "", 200), `"said_by":[{"id":`)
	i.refused(theClient, "GET", claim, "", 403, "role_too_low")
	i.refused(theOwner, "GET", at+"/claims/none", "", 404, "claim_not_found")
	hypothesis := at + "/hypotheses/" + url.PathEscape(first("/hypotheses"))
	i.expect(theOwner, "GET", hypothesis, "", 200)
	i.refused(theClient, "GET", hypothesis, "", 403, "role_too_low")
	i.refused(theOwner, "GET", at+"/hypotheses/none", "", 404, "hypothesis_not_found")
}

// events reads all events of a dream, and the others at the end.
func (i *inspector) events(dream string) {
	i.Helper()
	path := "/v1/events?dream=" + dream
	all := i.expect(theOwner, "GET", path+"&text=true", "", 200)
	for _, kind := range []string{"DreamStarted", "FragmentCaptured", "DreamEnded"} {
		require.Contains(i, all, "event: "+kind+"\n")
	}
	require.NotContains(i, i.expect(theClient, "GET", path, "", 200), "FragmentCaptured")
	last := all[strings.LastIndex(all, "\nid: ")+len("\nid: "):]
	last, _, _ = strings.Cut(last, "\n")
	i.expect(theOwner, "GET", path, "", 204, "Last-Event-ID", last)
	i.refused(theOwner, "GET", path+"&type=DreamStartled", "", 400, "invalid_value")
}

// without checks a server whose provider is gone: it stays ready, and does what needs none.
func (i *inspector) without() {
	i.Helper()
	i.talker.Close()
	require.Eventually(i, func() bool {
		_, _, body := i.ask("GET", "/readyz", "", "Authorization", "Bearer "+i.keys[theClient])
		return strings.Contains(body, `"provider":"away"`)
	}, 20*time.Second, 100*time.Millisecond)
	require.Contains(i, i.expect(theClient, "GET", "/readyz", "", 200), `"status":"ready"`)
	i.expect(theClient, "GET", "/v1/models", "", 200)
	i.refused(theClient, "POST", "/v1/chat/completions", `{"model":"iris","messages":[]}`, 502, "unavailable")
	status, head, _ := i.ask("POST", "/v1/chat/completions", `{"model":"iris","messages":[]}`,
		"Authorization", "Bearer "+i.keys[theClient])
	require.Equal(i, http.StatusBadGateway, status)
	require.Equal(i, "1", head.Get("Retry-After"))
}

// held checks a server whose store another program writes to and does not let go.
func (i *inspector) held() {
	i.Helper()
	db, err := sql.Open("sqlite", "file:"+i.data("oneiros.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(i, err)
	writer, err := db.Conn(i.Context())
	require.NoError(i, err)
	_, err = writer.ExecContext(i.Context(), "BEGIN IMMEDIATE")
	require.NoError(i, err)
	require.Eventually(i, func() bool {
		status, _, _ := i.ask("GET", "/readyz", "")
		return status == http.StatusServiceUnavailable
	}, 20*time.Second, 100*time.Millisecond)
	require.Contains(i, i.expect(noBody, "GET", "/readyz", "", 503), `"store":"away"`)
	require.NoError(i, writer.Close())
	require.NoError(i, db.Close())
}

// spoiled is the control: each answer that is an object is refused when one of its fields has another type or is
// missing.
func (i *inspector) spoiled() {
	i.Helper()
	tried := map[string]bool{}
	for _, a := range i.answers {
		if streamed := regexp.MustCompile(`data: [{\[].*`); streamed.Match(a.Body) {
			worse := a
			worse.Body = streamed.ReplaceAll(a.Body, []byte(`data: {"spoiled":true}`))
			require.Error(i, i.doc.Holds(worse), "%s %s: its events are not checked", a.Method, a.Path)
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(a.Body, &fields) != nil ||
			a.Status >= http.StatusBadRequest && a.Header.Get("X-Oneiros-Agent") != "" {
			continue
		}
		name := fmt.Sprintf("%s %s %d", a.Method, a.Path, a.Status)
		refused := 0
		for field, kept := range fields {
			for _, other := range []json.RawMessage{
				nil, json.RawMessage(`{"spoiled":[true]}`),
				json.RawMessage(`[{"spoiled":true}]`),
			} {
				fields[field] = other
				if other == nil {
					delete(fields, field)
				}
				body, err := json.Marshal(fields)
				require.NoError(i, err)
				worse := a
				worse.Body = body
				if i.doc.Holds(worse) != nil {
					refused++
				}
			}
			fields[field] = kept
		}
		require.Positive(i, refused, "%s is not checked: %s", name, a.Body)
		worse := a
		worse.Body = []byte(`"spoiled"`)
		require.Error(i, i.doc.Holds(worse), name)
		tried[name] = true
	}
	require.Greater(i, len(tried), 60)
}

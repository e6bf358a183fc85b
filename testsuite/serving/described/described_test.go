package described_test

import (
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/serving/described"
)

func read(t *testing.T) *described.Document {
	t.Helper()
	text, err := os.ReadFile("../../../docs/openapi.json")
	require.NoError(t, err)
	d, err := described.Read(text)
	require.NoError(t, err)
	return d
}

const (
	whole  = "application/json"
	events = "text/event-stream"
	chat   = "/v1/chat/completions"
)

func answered(method, path string, status int, kind, body string) described.Answer {
	h := http.Header{"X-Request-Id": {"req_1"}}
	if kind != "" {
		h.Set("Content-Type", kind)
	}
	return described.Answer{
		Method: method,
		Path:   path,
		Status: status,
		Header: h,
		Body:   []byte(body),
	}
}

func TestAnAnswerThatIsAsDescribedHolds(t *testing.T) {
	t.Parallel()
	d := read(t)
	const refused = `{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null},"request_id":"req_1"}`
	for name, a := range map[string]described.Answer{
		"health": answered("GET", "/healthz", 200, whole, `{"status":"ok","since":7}`),
		"a model by its second name": answered("GET", "/v1/models/agent/iris", 200, whole,
			`{"id":"iris","object":"model","created":0,"owned_by":"oneiros"}`),
		"an escaped id": answered("GET", "/v1/dreams/dream%2Firis%2F0001", 404, whole, refused),
		"an answer with what nobody knew": answered("POST", chat, 200, whole,
			`{"choices":[{"message":{"content":null,"reasoning":"x"},"logprobs":{}}],"x_groq":{"id":1}}`),
		"a stream": answered("POST", chat, 200, events+"; charset=utf-8",
			": comment\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"index\":0}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n"),
		"a stream that breaks off": answered("POST", chat, 200, events,
			"data: {\"choices\":[]}\n\ndata: {\"error\":{\"message\":\"m\",\"type\":\"t\",\"code\":\"c\",\"param\":null}}\n\n"),
		"a provider's refusal": answered("POST", chat, 429, whole, `{"error":{"message":"slow down"}}`),
		"events": answered("GET", "/v1/events", 200, events,
			"retry: 2000\n\nid: 4\nevent: Rewound\ndata: {\"after\":7,\"head\":4}\n\nid: 5\nevent: Dre"),
		"nothing":                  answered("GET", "/v1/events", 204, "", ""),
		"a path that there is not": answered("GET", "/v1/nothing", 404, whole, refused),
	} {
		require.NoError(t, d.Holds(a), name)
	}
	left := d.Left()
	require.NotContains(t, left, "GET /healthz 200 application/json")
	require.NotContains(t, left, "GET /v1/events 204")
	require.NotContains(t, left, "POST /v1/chat/completions 200 text/event-stream")
	require.Contains(t, left, "GET /v1/models 200 application/json")
	require.Contains(t, left, "DELETE /v1/agents/{agent}/session 204")
	require.NoError(t, d.Takes("POST", "/v1/agents/iris/emotion", []byte(`{"event":"success","intensity":0.5}`)))
}

// The control of every proof that checks answers against the description: each of these differs in one thing from one
// that passes.
func TestAnAnswerThatIsNotAsDescribedIsRefused(t *testing.T) {
	t.Parallel()
	d := read(t)
	for name, a := range map[string]described.Answer{
		"a word that is another": answered("GET", "/healthz", 200, whole, `{"status":"fine"}`),
		"a field that is missing": answered("GET", "/v1/models/iris", 200, whole,
			`{"id":"iris","object":"model","owned_by":"oneiros"}`),
		"a field of another type": answered("GET", "/v1/models/iris", 200, whole,
			`{"id":"iris","object":"model","created":"0","owned_by":"oneiros"}`),
		"a price that is a number": answered("GET", "/v1/models/iris", 200, whole,
			`{"id":"iris","object":"model","created":0,"owned_by":"oneiros","pricing":{"prompt":0,"completion":"0","input_cache_read":"0"}}`),
		"an item of a list": answered("GET", "/v1/models", 200, whole,
			`{"object":"list","data":[{"id":"iris"}]}`),
		"a status that is not described": answered("GET", "/healthz", 202, whole, `{"status":"ok"}`),
		"a path that is not":             answered("GET", "/v1/nothing", 200, whole, `{}`),
		"a content type that is not":     answered("GET", "/healthz", 200, "text/html", `{"status":"ok"}`),
		"no JSON":                        answered("GET", "/healthz", 200, whole, `{"status":"ok"`),
		"a body where none is":           answered("GET", "/v1/events", 204, whole, `{}`),
		"an error without a message": answered("GET", "/v1/models", 401, whole,
			`{"error":{"type":"t","param":null,"code":null}}`),
		"an error of ours that lacks its code": answered("POST", chat, 400, whole,
			`{"error":{"message":"no","type":"t","param":null},"request_id":"req_1"}`),
		"an error of a path that is not": answered("GET", "/v1/nothing", 404, whole, `{"error":"no"}`),
		"a completion without choices":   answered("POST", chat, 200, whole, `{"id":"x"}`),
		"a choice without a message":     answered("POST", chat, 200, whole, `{"choices":[{"delta":{}}]}`),
		"a chunk without a delta": answered("POST", chat, 200, events,
			"data: {\"choices\":[{\"index\":0}]}\n\ndata: [DONE]\n\n"),
		"a line that is none of an event's": answered("POST", chat, 200, events, "dato: {\"choices\":[]}\n\n"),
		"an event that lacks its number": answered("GET", "/v1/events", 200, events,
			"event: Rewound\ndata: {\"after\":7}\n\n"),
		"a part that is unwell": answered("GET", "/readyz", 200, whole,
			`{"status":"ready","parts":{"store":"ok","temporal":"ok","provider":"ill"}}`),
		"a part that is not told": answered("GET", "/readyz", 200, whole,
			`{"status":"ready","parts":{"store":"ok","temporal":"ok"}}`),
		"an embedding of words": answered("POST", "/v1/embeddings", 200, whole,
			`{"data":[{"embedding":["a"]}]}`),
		"a message of no protocol": answered("POST", "/mcp", 200, events,
			"data: {\"id\":1,\"result\":{}}\n\n"),
	} {
		require.Error(t, d.Holds(a), name)
	}
	require.Error(t, d.Takes("POST", "/v1/agents/iris/emotion", []byte(`{"event":"success"}`)),
		"an intensity is needed")
	require.Error(t, d.Takes("GET", "/v1/models", []byte(`{}`)))
	require.Contains(t, d.Left(), "GET /healthz 200 application/json", "a refused answer does not count as shown")
}

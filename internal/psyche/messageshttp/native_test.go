package messageshttp_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
)

// recorded is a stream of a provider that speaks this wire.
func recorded(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../testdata/answers/messages.events")
	require.NoError(t, err)
	return string(raw)
}

// TestARequestWhoseWireTheProviderSpeaksIsPassedOn sends what no chat completion can say, and gets the provider's
// answers byte for byte, as Anthropic's library reads them.
func TestARequestWhoseWireTheProviderSpeaksIsPassedOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.spec = inference.Spec{Price: &budget.Price{}, Wires: inference.ChatWire | inference.MessagesWire}
	stream := recorded(t)
	h.answers(http.StatusOK, "text/event-stream; charset=utf-8", iotest.OneByteReader(strings.NewReader(stream)))
	const body = `{ "model":"iris", "stream":true, "max_tokens":9, "fresh_beta":[1.50], "messages":[{"role":"user","content":
		[{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"},"citations":{"enabled":true}}]}],
		"metadata":{"user_id":"ann"}}`
	res, events := h.send(path, body, "Anthropic-Beta", "some-2026-01-01")
	require.Equal(t, http.StatusOK, res.StatusCode, events)
	require.Equal(t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
	require.Equal(t, stream, events)
	require.Equal(t, "iris", res.Header.Get("X-Oneiros-Agent"))
	require.NotEmpty(t, res.Header.Get("Request-Id"))
	turn := <-h.turns
	require.Equal(t, body, string(turn.Body.Bytes()), "the body is as it was sent")
	require.Equal(t, "/messages", turn.Path)
	require.Equal(t, "ann", turn.Caller.User)
	require.Equal(t, "2023-06-01", turn.Header.Get("Anthropic-Version"))
	require.Equal(t, "some-2026-01-01", turn.Header.Get("Anthropic-Beta"), "no beta costs where nothing does")
	require.Equal(t, "/messages", (<-h.passed).Path)

	h.answers(http.StatusOK, "text/event-stream", strings.NewReader(stream))
	read := new(h.client()).Messages.NewStreaming(t.Context(), params())
	var all anthropic.Message
	for read.Next() {
		require.NoError(t, all.Accumulate(read.Current()))
	}
	require.NoError(t, read.Err())
	require.Equal(t, "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds", all.Content[0].Signature)
	require.EqualValues(t, 1000, all.Usage.CacheCreationInputTokens)

	const refusal = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	h.answers(529, "application/json", strings.NewReader(refusal))
	res, text := h.send(path, body)
	require.Equal(t, 529, res.StatusCode)
	require.Equal(t, refusal, text)
	require.Equal(t, "7", res.Header.Get("Retry-After"))

	h.answers(400, "text/plain", strings.NewReader(`{"error":{"code":400,"message":"Field 'temperature' is a string"}}`))
	res, text = h.send(path, body)
	require.Equal(t, 400, res.StatusCode)
	require.JSONEq(t, `{"type":"error","error":{"type":"invalid_request_error","message":"Field 'temperature' is a string"},
		"request_id":"`+res.Header.Get("Request-Id")+`"}`, text, "a server of this wire that is not Anthropic's")

	h.answers(http.StatusOK, "text/event-stream",
		io.MultiReader(strings.NewReader(stream[:900]), iotest.ErrReader(io.ErrUnexpectedEOF)))
	_, events = h.send(path, body)
	rest, found := strings.CutPrefix(events, stream[:900])
	require.True(t, found)
	require.True(t, strings.HasPrefix(rest, "\n\nevent: error\ndata: {\"type\":\"error\","), rest)
}

// TestThoughtsThatThisServerSignedStayHere sends a talk on to a provider of this wire that was begun at another one.
func TestThoughtsThatThisServerSignedStayHere(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.spec = inference.Spec{Price: &budget.Price{}, Wires: inference.ChatWire | inference.MessagesWire}
	h.answers(http.StatusOK, "application/json", strings.NewReader(`{"type":"message"}`))
	const begun = `{"model":"iris","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`
	const rest = `{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`
	_, answer := h.send(path, begun+`{"type":"thinking","thinking":"hm","signature":"oneiros:reasoning"}, `+rest)
	require.Equal(t, begun+rest, string((<-h.turns).Body.Bytes()), answer)
}

func TestOnlyBetasWithoutAPriceGoToAPaidModel(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.spec = inference.Spec{Price: &budget.Price{In: 1}, Wires: inference.ChatWire | inference.MessagesWire}
	h.answers(http.StatusOK, "text/event-stream", strings.NewReader(recorded(t)))
	res, _ := h.send(path, asking(`"model":"iris","max_tokens":9`), "Anthropic-Version", "2023-06-01",
		"Anthropic-Beta", "claude-code-20250219, context-1m-2025-08-07,interleaved-thinking-2025-05-14")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "anthropic-beta", res.Header.Get(messageshttp.IgnoredHeader))
	require.Equal(t, "claude-code-20250219,interleaved-thinking-2025-05-14",
		(<-h.turns).Header.Get("Anthropic-Beta"))
}

func TestTokensOfAPromptThatIsPassedOnAreCounted(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.spec = inference.Spec{Wires: inference.MessagesWire}
	res, text := h.send(path+"/count_tokens", asking(`"model":"iris","fresh_beta":1`))
	require.Equal(t, http.StatusOK, res.StatusCode, text)
	require.JSONEq(t, `{"input_tokens":42}`, text)
	require.Equal(t, "/messages", (<-h.turns).Path)
}

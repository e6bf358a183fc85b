package psyche_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// wireTurn is a turn of a body that is passed on as a wire of its own.
func wireTurn(t *testing.T, c psyche.Caller, path, body string) psyche.Turn {
	t.Helper()
	read := map[string]func([]byte) (*psyche.Body, error){
		"/chat/completions": psyche.ReadBody, "/messages": psyche.ReadMessagesBody, "/responses": psyche.ReadResponsesBody,
	}[path]
	request, err := read([]byte(body))
	require.NoError(t, err)
	return psyche.Turn{
		Caller: c,
		Agent:  "echo",
		Path:   path,
		Body:   request,
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// recorded is a provider's answer in testdata.
func recorded(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/answers/" + name)
	require.NoError(t, err)
	return string(raw)
}

// TestATalkOnOneWireIsRecalledOnAnother says something on each wire that a provider speaks itself, and asks for it on
// the other and by chat completions. The provider's answers come back byte for byte.
func TestATalkOnOneWireIsRecalledOnAnother(t *testing.T) {
	t.Parallel()
	ask := map[string]string{
		"/messages":         `{"model":"echo","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"TEXT"}]}`,
		"/responses":        `{"model":"echo","store":false,"stream":true,"input":[{"role":"user","content":"TEXT"}]}`,
		"/chat/completions": `{"model":"echo","stream":true,"messages":[{"role":"user","content":"TEXT"}]}`,
	}
	for _, c := range [][2]string{
		{"/messages", ""}, {"/responses", ""}, {"/messages", "llamacpp-"}, {"/responses", "llamacpp-"},
	} {
		first, by := c[0], c[1]
		r := setup(t)
		stream := recorded(t, by+strings.TrimPrefix(first, "/")+".events")
		yes := says("Yes.")
		r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
			if q.Path == "/chat/completions" {
				return yes(q)
			}
			answer := recorded(t, by+strings.TrimPrefix(q.Path, "/")+".events")
			return 200, "text/event-stream", io.NopCloser(strings.NewReader(answer))
		}
		const fact = "My boat is called Zephyrine, she is blue."
		answer, report := r.talk(wireTurn(t, ann, first, strings.Replace(ask[first], "TEXT", fact, 1)))
		require.Equal(t, stream, answer, "%s: the stream comes back as it was sent", first)
		require.True(t, report.Woke)
		require.Equal(t, strings.Replace(strings.Replace(ask[first], "TEXT", fact, 1), `"echo"`, `"wire-model"`, 1),
			r.provider.last(t), "%s: nothing is recalled yet, so only the model is another", first)
		r.settle()
		require.EqualValues(t, 2, r.Counts()["stored"], "%s: the answer is remembered as well: %v", first, r.Counts())
		for path, body := range ask {
			body = strings.Replace(body, "TEXT", "What is my boat called?", 1)
			second := wireTurn(t, ann, path, body)
			second.Conversation = "another" + path
			_, report := r.talk(second)
			require.Positive(t, report.Recalled, "said on %s, asked on %s", first, path)
			require.Contains(t, r.provider.last(t), "> "+fact)
		}
		other := wireTurn(t, caller("key_b", "bob"), first, strings.Replace(ask[first], "TEXT",
			"What is my boat called?", 1))
		_, report = r.talk(other)
		require.Zero(t, report.Recalled, "the control: nobody else's talk is recalled")
		r.settle()
		require.Zero(t, r.provider.unclosed())
	}
}

// TestAStreamThatBreaksOffOnAWireOfItsOwnIsNoAnswer cuts a stream before its end: the client learns it, and only what
// the user said is remembered.
func TestAStreamThatBreaksOffOnAWireOfItsOwnIsNoAnswer(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/messages":  `{"model":"echo","max_tokens":99,"stream":true,"messages":[{"role":"user","content":"My dog is called Rufus, he is brown."}]}`,
		"/responses": `{"model":"echo","stream":true,"input":[{"role":"user","content":"My dog is called Rufus, he is brown."}]}`,
	} {
		r := setup(t)
		stream := recorded(t, strings.TrimPrefix(path, "/")+".events")
		stream = stream[:strings.Index(stream, "Skagen")]
		r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
			return 200, "text/event-stream", io.NopCloser(strings.NewReader(stream))
		}
		reply, err := r.Chat(t.Context(), wireTurn(t, ann, path, body))
		require.NoError(t, err)
		got, err := io.ReadAll(reply.Body)
		require.Equal(t, stream, string(got))
		f, ok := inference.AsFailure(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, inference.Broken, f.Kind)
		require.NoError(t, reply.Body.Close())
		r.settle()
		require.EqualValues(t, 1, r.Counts()["stored"], path)
	}
}

// TestAPaidModelOnAWireOfItsOwnIsRefusedWhatHasNoKnownPrice sends what only passing bodies on allows.
func TestAPaidModelOnAWireOfItsOwnIsRefusedWhatHasNoKnownPrice(t *testing.T) {
	t.Parallel()
	messages := func(more string) string {
		return `{"model":"echo","max_tokens":99,` + more + `,"messages":[{"role":"user","content":"Hi"}]}`
	}
	responses := func(more string) string {
		return `{"model":"echo",` + more + `,"input":[{"role":"user","content":"Hi"}]}`
	}
	for _, c := range []struct{ path, body, field string }{
		{"/messages", messages(`"tools":[{"type":"web_search_20250305","name":"web_search"}]`), "tools"},
		{"/messages", messages(`"mcp_servers":[{"url":"https://x"}]`), "mcp_servers"},
		{"/messages", messages(`"speed":"fast"`), "speed"},
		{"/messages", messages(`"inference_geo":"us"`), "inference_geo"},
		{"/messages", messages(`"context_management":{"edits":[{"type":"compact_20260112"}]}`), "context_management"},
		{"/messages", messages(`"new_field":1`), "new_field"},
		{"/responses", responses(`"tools":[{"type":"web_search"}]`), "tools"},
		{"/responses", responses(`"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`), "tools"},
		{"/responses", responses(`"background":true`), "background"},
		{"/responses", responses(`"service_tier":"priority"`), "service_tier"},
		{"/responses", responses(`"prompt":{"id":"p"}`), "prompt"},
	} {
		for _, free := range []bool{false, true} {
			r := setup(t, func(_ *psyche.Ports, o *psyche.Options) {
				if !free {
					o.Talker = "p/dear"
				}
			})
			r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
				return 200, "application/json", io.NopCloser(strings.NewReader("{}"))
			}
			reply, err := r.Chat(t.Context(), wireTurn(t, ann, c.path, c.body))
			if free {
				require.NoError(t, err, "a model that costs nothing may be asked for anything: %s", c.body)
				require.NoError(t, reply.Body.Close())
				continue
			}
			var fault *psyche.Fault
			require.ErrorAs(t, err, &fault, c.body)
			require.Equal(t, 400, fault.Status)
			require.Equal(t, c.field, fault.Param)
			require.Contains(t, fault.Message, c.field+" is not passed on to a paid model: ")
			require.Empty(t, r.provider.bodies, "nothing was sent")
		}
	}
}

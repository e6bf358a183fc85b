package openaigw_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// TestTheUsageOfOtherWiresIsRead passes answers on, whole streams and what is left of broken ones. Those of llama.cpp are
// as its server 0.5.0 sent them; the others are written as the providers document theirs.
func TestTheUsageOfOtherWiresIsRead(t *testing.T) {
	t.Parallel()
	recorded := func(name string) string {
		raw, err := os.ReadFile("../psyche/testdata/answers/" + name)
		require.NoError(t, err)
		return string(raw)
	}
	stream := func(name string) string { return recorded(name + ".events") }
	const (
		message = `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":25,` +
			`"cache_creation_input_tokens":1000,"cache_read_input_tokens":200,"output_tokens":31}}`
		response = `{"object":"response","status":"completed","usage":{"input_tokens":1225,"output_tokens":31,` +
			`"input_tokens_details":{"cached_tokens":200},"output_tokens_details":{"reasoning_tokens":8}}}`
	)
	spent := budget.Tokens{In: 1225, Cached: 200, Surcharge: 250, Out: 31} // written for five minutes
	unsaid := budget.Tokens{In: 1225, Cached: 200, Surcharge: 1000, Out: 31}
	thought := budget.Tokens{In: 1225, Cached: 200, Out: 31, Reasoning: 8}
	for _, c := range []struct {
		name, path, answer string
		tokens             budget.Tokens // as the provider states them; none: nothing is believed
		pieces             int64
		finish             string
	}{
		{"messages, streamed", "/messages", stream("messages"), spent, 3, "end_turn"},
		{"messages, whole", "/messages", message, unsaid, 0, "end_turn"},
		{"messages, cut", "/messages", stream("messages")[:1500], budget.Tokens{}, 3, ""},
		{
			"messages, without an end", "/messages", strings.Split(stream("messages"), "event: message_delta")[0],
			budget.Tokens{},
			3, "",
		},
		{
			"messages, of nothing", "/messages", strings.ReplaceAll(message, "25,",
				"-1300,"), budget.Tokens{}, 0, "end_turn",
		},
		{
			"completions, streamed", "/completions",
			"data: {\"choices\":[{\"text\":\" on\",\"finish_reason\":null}]}\n\n" +
				"data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n" +
				"data: [DONE]\n\n",
			budget.Tokens{In: 7, Out: 2},
			1, "length",
		},
		{
			"messages of llama.cpp, streamed", "/messages", stream("llamacpp-messages"),
			budget.Tokens{In: 33, Cached: 32, Out: 65},
			52, "end_turn",
		},
		{
			"messages of llama.cpp, whole", "/messages", recorded("llamacpp-messages.json"),
			budget.Tokens{In: 33, Out: 60},
			0, "end_turn",
		},
		{
			"responses of llama.cpp, streamed", "/responses", stream("llamacpp-responses"),
			budget.Tokens{In: 205, Out: 133},
			67, "completed",
		},
		{
			"responses of llama.cpp, whole", "/responses", recorded("llamacpp-responses.json"),
			budget.Tokens{In: 205, Cached: 204, Out: 130},
			0, "completed",
		},
		{"responses, streamed", "/responses", stream("responses"), thought, 2, "completed"},
		{"responses, whole", "/responses", response, thought, 0, "completed"},
		{
			"responses, without an end", "/responses", strings.Split(stream("responses"),
				"event: response.completed")[0],
			budget.Tokens{},
			2, "",
		},
		{
			"responses, of nothing", "/responses", strings.ReplaceAll(response, "1225", "0"),
			budget.Tokens{},
			0,
			"completed",
		},
	} {
		kind := "text/event-stream"
		if c.answer[0] == '{' {
			kind = "application/json"
		}
		g := answering(t, spec(), func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, c.path, strings.TrimPrefix(r.URL.Path, "/v1"), c.name)
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, c.answer)
		})
		r := relayed(`{"model":"script"}`)
		r.Path, r.Model = c.path, spec().Name
		res, err := g.Relay(t.Context(), r)
		require.NoError(t, err, c.name)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err, c.name)
		require.Equal(t, c.answer, string(got), "%s: no byte is changed", c.name)
		require.NoError(t, res.Body.Close())
		seen := res.Seen()
		require.Equal(t, c.pieces, seen.Pieces, c.name)
		require.Equal(t, c.finish, seen.Finish, c.name)
		if c.tokens == (budget.Tokens{}) {
			require.Equal(t, inference.ByCount, seen.UsageFrom, c.name)
			continue
		}
		require.Equal(t, inference.ByProvider, seen.UsageFrom, c.name)
		require.Equal(t, c.tokens, seen.Tokens, c.name)
	}
}

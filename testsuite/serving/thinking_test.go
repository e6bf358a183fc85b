package serving_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// thinker says how a model is asked to think and to call a tool on a wire, and what is sent back.
type thinker struct {
	wire
	more    string // fields of the request
	result  string // of the call, with its id as CALL
	altered *strings.Replacer
}

var thinkers = []thinker{
	{
		wire:    wires[0],
		more:    `"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}]`,
		result:  `{"role":"tool","tool_call_id":"CALL","content":"the sum is 5"}`,
		altered: strings.NewReplacer("is it 5", "is it 6"),
	},
	{
		wire: wires[1],
		more: `"tools":[{"type":"function","name":"add","parameters":{"type":"object"},"strict":false}],` +
			`"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"}`,
		result:  `{"type":"function_call_output","call_id":"CALL","output":"the sum is 5"}`,
		altered: strings.NewReplacer(`_content":"`, `_content":"AAAA`),
	},
	{
		wire: wires[2],
		more: `"max_tokens":2000,"tools":[{"name":"add","input_schema":{"type":"object"}}],` +
			`"thinking":{"type":"enabled","budget_tokens":1024}`,
		result:  `{"role":"user","content":[{"type":"tool_result","tool_use_id":"CALL","content":"the sum is 5"}]}`,
		altered: strings.NewReplacer("is it 5", "is it 6"),
	},
}

// asks sends messages, and more fields.
func (w thinker) asks(h *deployment, messages, more string) (status int, answer string) {
	h.Helper()
	status, _, answer = h.ask(http.MethodPost, w.path,
		fmt.Sprintf(`{"model":"iris",%q:[%s],%s%s}`, w.messages, messages, w.more, more))
	return status, answer
}

// sentBack are the thought and the call of an answer, as a client sends them back.
func (w thinker) sentBack(t testing.TB, answer string) string {
	t.Helper()
	var a struct {
		Output, Content json.RawMessage
		Choices         []struct{ Message json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &a), answer)
	switch {
	case a.Output != nil:
		return strings.TrimSuffix(strings.TrimPrefix(string(a.Output), "["), "]")
	case a.Content != nil:
		return `{"role":"assistant","content":` + string(a.Content) + "}"
	}
	require.Len(t, a.Choices, 1, answer)
	return string(a.Choices[0].Message)
}

var callID = regexp.MustCompile(`(?:call|toolu)_[a-z0-9]+`)

// TestAThoughtComesBackAsItWasSent has a model think before it calls a tool, on each wire, passed on and translated.
// The model gets its thought back with the tool's result byte for byte, with what proves it, whether the client sends
// it or goes on from a kept response.
func TestAThoughtComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("native=%v", native), func(t *testing.T) {
			t.Parallel()
			h := build(t, talker.Options{Call: handsWhenAsked, Say: slowly, Think: thinksWhenAsked}, provider.Options{},
				quick)
			h.native = native
			h.write()
			h.must("agents", "add", "iris")
			h.begin("up")
			for _, w := range thinkers {
				w.thinks(h)
			}
			h.end()
		})
	}
}

func (w thinker) thinks(h *deployment) {
	h.Helper()
	const question = `{"role":"user","content":"think: what is two and three?"}`
	const soThought = "I thought so: the sum is 5"
	status, first := w.asks(h, question, "")
	require.Equal(h, http.StatusOK, status, first)
	require.Contains(h, first, "is it 5", "the control: the thought is shown")
	thought := w.sentBack(h, first)
	result := strings.ReplaceAll(w.result, "CALL", callID.FindString(thought))
	_, answer := w.asks(h, question+","+thought+","+result, "")
	require.Contains(h, answer, soThought, w.path)

	status, answer = w.asks(h, question+","+w.altered.Replace(thought)+","+result, "")
	require.Equal(h, http.StatusBadRequest, status, "%s: the control: an altered thought is refused: %s", w.path, answer)
	if id := responseID.FindString(first); id != "" {
		_, answer = w.asks(h, result, `,"previous_response_id":"`+id+`"`)
		require.Contains(h, answer, soThought, "%s, going on", w.path)
	}
}

package psyche_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// question is a conversation with a tool and its result.
func question(stream bool) psyche.Question {
	return psyche.Question{
		Model: "echo",
		Messages: []byte(`[{"role":"user","content":"My boat is called Vega."},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"12345678901234567890"},` +
			`{"role":"user","content":"Please remember: my boat has seven sails."}]`),
		Tools:     []byte(`[{"type":"function","function":{"name":"read","parameters":{"z":1,"a":2}}}]`),
		MaxTokens: 70,
		Stream:    stream,
	}
}

func (r *rig) completed(q psyche.Question, s psyche.Switches, token func(string)) (psyche.Completion, psyche.TurnReport) {
	r.t.Helper()
	body, err := q.Body()
	require.NoError(r.t, err)
	t := turn(ann, string(body.Bytes()))
	t.Switches = s
	answer, report, err := r.Complete(r.t.Context(), t, token)
	require.NoError(r.t, err)
	return answer, report
}

func TestACompletionAsksTheProviderWhatAChatAsks(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		q := question(stream)
		body, err := q.Body()
		require.NoError(t, err)
		over := setup(t)
		_, chatted := over.talk(turn(ann, string(body.Bytes())))
		r := setup(t)
		answer, report := r.completed(q, psyche.Switches{}, nil)
		require.Equal(t, over.provider.last(t), r.provider.last(t))
		require.Contains(t, r.provider.last(t), string(q.Messages), "byte for byte")
		require.Contains(t, r.provider.last(t), string(q.Tools), "byte for byte")
		require.Equal(t, chatted, report)
		require.Equal(t, "Yes.", answer.Text)
		require.Equal(t, "stop", answer.Finish)
		require.Positive(t, answer.Usage.Prompt, "counted where the provider says nothing")
		r.settle()
		over.settle()
		require.Equal(t, over.Counts(), r.Counts())
		require.Positive(t, r.Counts()["stored"])
		require.Zero(t, r.provider.unclosed())
	}
}

func TestACompletionWithStoreOffIsNotRemembered(t *testing.T) {
	t.Parallel()
	on, off := true, false
	for _, store := range []*bool{&on, &off} {
		r := setup(t)
		r.completed(question(false), psyche.Switches{Store: store}, nil)
		r.settle()
		if *store {
			require.Positive(t, r.Counts()["stored"])
		} else {
			require.Zero(t, r.Counts()["stored"])
		}
	}
}

func TestACompletionPutsToolCallsTogether(t *testing.T) {
	t.Parallel()
	read := psyche.ToolCall{ID: "c1", Name: "read", Arguments: `{"path":"a"}`}
	list := psyche.ToolCall{ID: "c2", Name: "list", Arguments: `{}`}
	event := func(calls string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + calls + `]}}]}` + "\n\n"
	}
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		stream bool
		answer string
	}{
		"in one piece": {
			answer: `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[` +
				`{"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},` +
				`{"id":"c2","function":{"name":"list","arguments":"{}"}}]}}]}`,
		},
		"in pieces with an index": {
			stream: true,
			answer: event(`{"index":0,"id":"c1","function":{"name":"read","arguments":""}}`) +
				event(`{"index":0,"function":{"arguments":"{\"path\""}}`) +
				event(`{"index":1,"id":"c2","function":{"name":"list","arguments":"{}"}}`) +
				event(`{"index":0,"function":{"arguments":":\"a\"}"}}`) + end,
		},
		"whole calls without an index": {
			stream: true,
			answer: event(`{"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}`) +
				event(`{"id":"c2","function":{"name":"list","arguments":"{}"}}`) + end,
		},
		"pieces without an index": {
			stream: true,
			answer: event(`{"id":"c1","function":{"name":"read","arguments":"{\"path\""}}`) +
				event(`{"function":{"arguments":":\"a\"}"}}`) +
				event(`{"id":"c2","function":{"name":"list","arguments":"{}"}}`) + end,
		},
		"the same index for every call": {
			stream: true,
			answer: event(`{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}`) +
				event(`{"index":0,"id":"c2","function":{"name":"list","arguments":"{}"}}`) + end,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
				kind := "application/json"
				if c.stream {
					kind = "text/event-stream"
				}
				return http.StatusOK, kind, io.NopCloser(strings.NewReader(c.answer))
			}
			answer, _ := r.completed(question(c.stream), psyche.Switches{}, nil)
			require.Equal(t, []psyche.ToolCall{read, list}, answer.Calls)
			require.Equal(t, "tool_calls", answer.Finish)
		})
	}
}

func TestCallsInOnePieceWithoutIDsStayApart(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return http.StatusOK, "application/json", io.NopCloser(strings.NewReader(
			`{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":"{}"}},{"function":{"name":"b","arguments":"{}"}}]}}]}`))
	}
	answer, _ := r.completed(question(false), psyche.Switches{}, nil)
	require.Equal(t, []psyche.ToolCall{{Name: "a", Arguments: "{}"}, {Name: "b", Arguments: "{}"}}, answer.Calls)
}

func TestARefusedCompletionSaysWhy(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return http.StatusBadRequest, "application/json", io.NopCloser(strings.NewReader(fmt.Sprintf(
			`{"error":{"message":"the context is too long%s"}}`, strings.Repeat("!", 1000))))
	}
	_, _, err := r.Complete(t.Context(), turn(ann, chat("Hi")), nil)
	faulty(t, err, http.StatusBadGateway, "refused")
	require.ErrorContains(t, err, "(HTTP 400). It says: the context is too long!")
	require.Less(t, len(err.Error()), 700)
}

func TestAnAnswerThatBreaksOffIsAnErrorWithWhatHadCome(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return http.StatusOK, "text/event-stream", io.NopCloser(strings.NewReader(
			`data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}` + "\n\n"))
	}
	q := question(true)
	body, err := q.Body()
	require.NoError(t, err)
	answer, _, err := r.Complete(t.Context(), turn(ann, string(body.Bytes())), nil)
	faulty(t, err, http.StatusBadGateway, string(inference.Broken))
	require.Equal(t, "Half", answer.Text)
}

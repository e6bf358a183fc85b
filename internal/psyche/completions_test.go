package psyche_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// completer is a service whose texts are completed by a model.
func completer(t *testing.T, model string, change ...func(*psyche.Options)) *rig {
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) {
		o.Completions = model
		for _, f := range change {
			f(o)
		}
	})
	r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
		require.Equal(t, "/completions", q.Path)
		if strings.Contains(string(q.Body), `"stream":true`) {
			return 200, "text/event-stream", io.NopCloser(strings.NewReader(completionEvents + usageEvent +
				"data: [DONE]\n\n"))
		}
		return 200, "application/json", io.NopCloser(strings.NewReader(completionAnswer))
	}
	return r
}

const (
	completionAnswer = `{"object":"text_completion","choices":[{"index":0,"text":" x","finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`
	completionEvents = `data: {"choices":[{"index":0,"text":" x","finish_reason":null}]}` + "\n\n"
	usageEvent       = `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\n"
)

// complete asks for a completion and reads its answer.
func (r *rig) complete(body string) (string, error) {
	r.t.Helper()
	q := turn(ann, body)
	q.Path = "/completions"
	reply, err := r.Completions(r.t.Context(), q)
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(reply.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, reply.Body.Close())
	return string(answer), nil
}

func TestACompletionIsPassedOnAndWakesNobody(t *testing.T) {
	t.Parallel()
	r := completer(t, "p/free")
	const body = `{ "model":"echo", "prompt":["def f(","x"],"suffix":"\n}", "echo":true,"n":2,"logprobs":3,"odd":[1e3]}`
	answer, err := r.complete(body)
	require.NoError(t, err)
	require.Equal(t, completionAnswer, answer)
	require.Equal(t, strings.Replace(body, `"echo"`, `"wire-model"`, 1), r.provider.last(t), "all other bytes stay")
	answer, err = r.complete(`{"model":"echo","prompt":"x","stream":true}`)
	require.NoError(t, err)
	require.Equal(t, completionEvents+usageEvent+"data: [DONE]\n\n", answer)
	r.settle()
	require.Zero(t, r.nights.woken())
	require.Empty(t, r.rows(), "a free model books nothing")
	memories, err := r.Recall(t.Context(), ann, "echo", psyche.RecallRequest{Query: "def f(", Limit: 5})
	require.NoError(t, err)
	require.Empty(t, memories, "nothing is remembered")
}

func TestAPaidCompletionIsBoundedAndSettled(t *testing.T) {
	t.Parallel()
	r := completer(t, "p/dear")
	answer, err := r.complete(`{"model":"echo","prompt":"def f(","stream":true}`)
	require.NoError(t, err)
	require.Equal(t, completionEvents+"data: [DONE]\n\n", answer, "the usage that was not asked for is left out")
	require.Contains(t, r.provider.last(t), `"max_tokens":16`)
	require.Contains(t, r.provider.last(t), `"include_usage":true`)
	_, err = r.complete(`{"model":"echo","prompt":["a","b"],"max_tokens":1000,"n":3}`)
	require.NoError(t, err)
	r.settle()
	rows := r.rows()
	require.Len(t, rows, 2)
	require.GreaterOrEqual(t, int64(rows[1].Reserved), int64(2*3*1000*2), "two texts, three answers to each")
	for body, param := range map[string]string{
		`{"model":"echo","prompt":[{"text":"x"}]}`:           "prompt",
		`{"model":"echo","prompt":{"text":"x"}}`:             "prompt",
		`{"model":"echo"}`:                                   "prompt",
		`{"model":"echo","prompt":"x","max_tokens":"many"}`:  "max_tokens",
		`{"model":"echo","prompt":"x","best_of":1000}`:       "best_of",
		`{"model":"echo","prompt":"x","plugins":[{"id":1}]}`: "plugins",
	} {
		_, err := r.complete(body)
		fault, ok := errors.AsType[*psyche.Fault](err)
		require.True(t, ok, body)
		require.Equal(t, 400, fault.Status)
		require.Equal(t, param, fault.Param)
	}
	require.Len(t, r.rows(), 2, "nothing is reserved for what is refused")
}

func TestCompletionsAreOffUntilTheyHaveAModel(t *testing.T) {
	t.Parallel()
	_, err := completer(t, "").complete(`{"model":"echo","prompt":"x"}`)
	faulty(t, err, 404, "completions_off")
	require.ErrorContains(t, err, "serve.completions")
	_, err = completer(t, "p/free").complete(`{"model":"echo","prompt":7}`)
	require.NoError(t, err, "a free model's server decides itself")
}

func TestACompletionHoldsItsAgentAwakeWhereThatIsSwitchedOn(t *testing.T) {
	t.Parallel()
	r := completer(t, "p/free", func(o *psyche.Options) { o.CompletionsWake = true })
	_, err := r.complete(`{"model":"echo","prompt":"x"}`)
	require.NoError(t, err)
	require.Equal(t, 1, r.nights.woken())
	r.settle()
	status, err := r.nights.Status(t.Context(), r.agent.ID)
	require.NoError(t, err)
	require.Len(t, status.Leases, 1)
}

package psyche_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

func TestThePromptOfATurnIsCountedAndNeverTooLow(t *testing.T) {
	t.Parallel()
	r := setup(t)
	count := func(body string) int64 {
		n, err := r.Service.PromptTokens(t.Context(), turn(ann, body))
		require.NoError(t, err)
		return n
	}
	short := count(chat("Hello"))
	require.GreaterOrEqual(t, short, int64(len("Hello")+len("You are echo.")),
		"a model without a known tokenizer: bytes")
	require.Greater(t, count(chat(strings.Repeat("word ", 20_000))), int64(100_000))
	tools := count(`{"model":"echo","messages":[{"role":"user","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f","description":"` +
		strings.Repeat("word ", 100) + `"}}]}`)
	require.Greater(t, tools, short+500)
	require.Zero(t, r.nights.woken(), "to count wakes nobody")
	_, err := r.Service.PromptTokens(t.Context(), turn(ann, `{"model":"echo"}`))
	require.ErrorContains(t, err, "no array of messages")
}

// counter is a provider that counts prompts, and notes the requests and how long it may take.
type counter struct {
	status   int
	body     string
	err      error
	requests []inference.RelayRequest
	within   time.Duration
}

func (c *counter) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	end, _ := ctx.Deadline()
	c.requests, c.within = append(c.requests, r), time.Until(end)
	if c.err != nil {
		return nil, c.err
	}
	return &inference.RelayResponse{Status: c.status, Body: io.NopCloser(strings.NewReader(c.body))}, nil
}

func TestAProviderOfMessagesCountsAPromptItself(t *testing.T) {
	t.Parallel()
	const (
		plain = `{"model":"echo","max_tokens":9,"stream":true,"temperature":1,"metadata":{"user_id":"u"},
			"system":"Be kind.","messages":[{"role":"user","content":"Hello"}],"tools":[{"name":"f"}]}`
		sent = `{"model":"dear-model","system":"You are echo.\n\nBe kind.",
			"messages":[{"role":"user","content":"Hello"}],"tools":[{"name":"f"}]}`
		byAddress = `{"model":"echo","messages":[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://e.org/a"}}]}]}`
	)
	for name, c := range map[string]struct {
		counter
		body  string
		exact int64 // 0: the bound is said
	}{
		"it counts":             {counter{status: 200, body: `{"input_tokens":31}`}, plain, 31},
		"what no bound counts":  {counter{status: 200, body: `{"input_tokens":900}`}, byAddress, 900},
		"it has no such path":   {counter{status: 404, body: `{"type":"error"}`}, plain, 0},
		"it takes no such call": {counter{status: 405, body: `no`}, plain, 0},
		"it refuses":            {counter{status: 429, body: `{"input_tokens":7}`}, plain, 0},
		"it breaks off":         {counter{err: errors.New("the line broke")}, plain, 0},
		"it says nonsense":      {counter{status: 200, body: `{"input_tokens":"many"}`}, plain, 0},
		"it counts nothing":     {counter{status: 200, body: `{}`}, plain, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := &c.counter
			r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
				table := catalogue()
				spec := table["p/dear"]
				spec.Wires = inference.MessagesWire
				table["p/dear"] = spec
				p.Guard.Catalog, p.Relay = table, provider
				o.Talker, o.Persona = "p/dear", psyche.PersonaSystem
			})
			body, err := psyche.ReadMessagesBody([]byte(c.body))
			require.NoError(t, err)
			n, err := r.PromptTokens(t.Context(), psyche.Turn{
				Caller: ann, Agent: "echo", Path: "/messages", Body: body,
				Header: http.Header{"Anthropic-Version": {"2023-06-01"}},
			})
			require.NoError(t, err)
			require.Len(t, provider.requests, 1)
			request := provider.requests[0]
			require.Equal(t, "/messages/count_tokens", request.Path)
			require.Equal(t, "p/dear", request.Model)
			require.Equal(t, "2023-06-01", http.Header(request.Header).Get("Anthropic-Version"))
			if c.body == plain {
				require.JSONEq(t, sent, string(request.Body), "what does not count is not sent")
			}
			require.Positive(t, provider.within)
			require.LessOrEqual(t, provider.within, 5*time.Second)
			if c.exact > 0 {
				require.Equal(t, c.exact, n)
			} else {
				require.Greater(t, n, int64(len("You are echo. Be kind. Hello")), "bytes bound it")
			}
			require.Zero(t, r.nights.woken(), "to count wakes nobody")
		})
	}
}

package responseshttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// being is a psyche.Service that returns given answers and records its turns.
type being struct {
	psyche.Talk
	turns  chan psyche.Turn
	kind   string // Content-Type
	body   io.Reader
	status int
	spec   inference.Spec
}

func (b *being) Chat(_ context.Context, t psyche.Turn) (*psyche.Reply, error) {
	b.turns <- t
	return &psyche.Reply{
		Status: b.status,
		Header: http.Header{"Content-Type": {b.kind}, "Retry-After": {"7"}},
		Body:   closing(b.body),
		Report: psyche.TurnReport{Agent: "iris", AgentID: "a1", Recalled: 2},
	}, nil
}

// closing is a body that is closed where it can be, so that who writes into a pipe learns that nobody reads.
func closing(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

func (b *being) Agents(context.Context, psyche.Caller) ([]dream.Agent, error) {
	return []dream.Agent{{ID: "a1", Handle: "iris"}}, nil
}

// ModelFor finds iris by handle or id, and tally.
func (b *being) ModelFor(_ context.Context, _ psyche.Caller, agent string) (inference.Spec, string, error) {
	switch strings.ToLower(agent) {
	case "iris", "a1":
		return b.spec, "a1", nil
	case "tally":
		return b.spec, "a2", nil
	}
	return b.spec, "", psyche.Refuse(http.StatusNotFound, "agent_not_found", "agent", "There is no such agent.")
}

// nobody is a store without keys.
type nobody struct{ access.Store }

func (nobody) Keys(context.Context) ([]access.Key, error) { return nil, nil }
func (nobody) KeysRequired(context.Context) (bool, error) { return false, nil }

// server is a server of the API over a fake service.
type server struct {
	*testing.T
	*being
	url    string
	passed chan turnhttp.Figures
}

func open(t *testing.T, kind, body string) *server {
	t.Helper()
	s := &server{T: t, passed: make(chan turnhttp.Figures, 4), being: &being{
		turns:  make(chan psyche.Turn, 4),
		kind:   kind,
		body:   strings.NewReader(body),
		status: http.StatusOK,
	}}
	handler := &responseshttp.Handler{Turns: turnhttp.Turns{
		Talk: s.being,
		Now:  time.Now,
		Note: func(string) func(turnhttp.Figures) { return func(f turnhttp.Figures) { s.passed <- f } },
	}}
	served, err := front.New(front.Options{Routes: handler.Routes(), Keys: nobody{}, Keyless: true})
	require.NoError(t, err)
	listens := httptest.NewServer(served)
	t.Cleanup(listens.Close)
	s.url = listens.URL
	return s
}

// create requests a response and returns the answer.
func (s *server) create(body string, header ...string) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(
		s.Context(),
		http.MethodPost,
		s.url+"/v1/responses",
		strings.NewReader(body),
	)
	require.NoError(s, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(s, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	return answer, string(text)
}

const (
	one     = `{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`
	some    = "data: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"}}]}\n\n"
	rest    = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	events  = "text/event-stream"
	written = "application/json"
)

func TestAResponseIsATurn(t *testing.T) {
	t.Parallel()
	s := open(t, written, one)
	answer, text := s.create(
		`{"model":"agent/iris","input":"Is it so?","user":"ann","prompt_cache_key":"g","max_output_tokens":9}`,
		"Session-Id",
		"c1",
		"X-Oneiros-Recall",
		"off",
	)
	require.Equal(t, http.StatusOK, answer.StatusCode, text)
	require.Equal(t, written, answer.Header.Get("Content-Type"))
	require.Equal(t, "2", answer.Header.Get("X-Oneiros-Recalled"))
	require.Contains(t, text, `"text":"Yes."`)
	require.Contains(t, text, `"input_tokens":3`)
	turn := <-s.turns
	require.Equal(t, "iris", turn.Agent)
	require.Equal(t, "ann", turn.Caller.User)
	require.Equal(t, "c1", turn.Conversation)
	require.Equal(t, "g", turn.Group)
	require.False(t, *turn.Switches.Recall)
	require.Equal(t, "/chat/completions", turn.Path)
	require.JSONEq(
		t,
		`{"model":"agent/iris","messages":[{"role":"user","content":"Is it so?"}],"user":"ann","prompt_cache_key":"g","max_tokens":9}`,
		string(turn.Body.Bytes()),
	)
	figures := <-s.passed
	require.Equal(t, "/responses", figures.Path)
	require.False(t, figures.Broken || figures.Dropped)
}

func TestAReasoningModelIsBoundedInItsOwnWords(t *testing.T) {
	t.Parallel()
	s := open(t, written, one)
	s.spec.Reasoning = true
	s.create(`{"model":"iris","input":"x","max_output_tokens":9}`)
	turn := <-s.turns
	require.Contains(t, string(turn.Body.Bytes()), `"max_completion_tokens":9`)
}

func TestAStreamIsGivenEventByEvent(t *testing.T) {
	t.Parallel()
	s := open(t, events, some+rest)
	answer, text := s.create(
		`{"model":"iris","input":"x","stream":true,"tools":[{"type":"web_search"},{"type":"function","name":"f"}]}`,
	)
	require.Equal(t, events, answer.Header.Get("Content-Type"))
	require.Equal(t, "web_search", answer.Header.Get("X-Oneiros-Tools-Left-Out"))
	require.True(t, strings.HasPrefix(text, "event: response.created\n"), text)
	require.Contains(t, text, "event: response.completed\n")
	require.NotContains(t, text, "[DONE]")
}

func TestAnAnswerOfTheOtherKindIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	_, text := open(t, written, one).create(`{"model":"iris","input":"x","stream":true}`)
	require.Contains(t, text, "event: response.output_text.delta\n")
	_, text = open(t, events, some+rest).create(`{"model":"iris","input":"x"}`)
	require.Contains(t, text, `"status":"completed"`)
}

func TestABrokenAnswerEndsAsFailed(t *testing.T) {
	t.Parallel()
	broken := iotest.ErrReader(errors.New("the line broke"))
	s := open(t, events, "")
	s.body = io.MultiReader(strings.NewReader(some), broken)
	_, text := s.create(`{"model":"iris","input":"x","stream":true}`)
	require.Contains(t, text, "event: error\n")
	require.Contains(t, text, "event: response.failed\n")
	require.Contains(t, text, `"delta":"Yes."`)
	require.NotContains(t, text, "the line broke", "the cause is for the log")
	require.True(t, (<-s.passed).Broken)

	s = open(t, written, "")
	s.body = broken
	answer, text := s.create(`{"model":"iris","input":"x"}`)
	require.Equal(t, http.StatusBadGateway, answer.StatusCode)
	require.Contains(t, text, "upstream_broken")

	s = open(t, written, `{"error":{"message":"no room"}}`)
	answer, text = s.create(`{"model":"iris","input":"x"}`)
	require.Equal(t, http.StatusBadGateway, answer.StatusCode)
	require.Contains(t, text, "no room")
}

func TestARefusalOfTheProviderIsPassedOn(t *testing.T) {
	t.Parallel()
	s := open(t, written, `{"error":{"message":"too many"}}`)
	s.status = http.StatusTooManyRequests
	answer, text := s.create(`{"model":"iris","input":"x","stream":true}`)
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
	require.Equal(t, "7", answer.Header.Get("Retry-After"))
	require.JSONEq(t, `{"error":{"message":"too many","type":"rate_limit_error","param":null,"code":null}}`, text)

	const whole = `{"error":{"message":"m","type":"t","param":null,"code":7},"more":1.50}`
	s = open(t, written, whole)
	s.status = http.StatusTooManyRequests
	_, text = s.create(`{"model":"iris","input":"x"}`)
	require.Equal(t, whole, text, "one that lacks nothing stays as it is")
}

func TestWhatIsWrongIsRefusedBeforeATurn(t *testing.T) {
	t.Parallel()
	s := open(t, written, one)
	for body, code := range map[string]string{
		`{"model":"nobody","input":"x"}`:                 "model_not_found",
		`{"input":"x"}`:                                  "invalid_value",
		`{"model":"iris","input":"x","background":true}`: "unsupported_parameter",
		`{"model":"iris","input":[]}`:                    "invalid_value",
		`{"model":"iris"`:                                "invalid_json",
	} {
		answer, text := s.create(body)
		require.GreaterOrEqual(t, answer.StatusCode, 400, body)
		require.Contains(t, text, `"code":"`+code+`"`, body)
	}
	require.Empty(t, s.turns)
	_, text := s.create(`{"model":"nobody","input":"x"}`)
	require.Contains(t, text, "This key reaches iris.")
}

func TestAClientThatHangsUpStopsTheProvider(t *testing.T) {
	t.Parallel()
	s := open(t, events, "")
	from, to := io.Pipe()
	s.body = from
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		s.url+"/v1/responses",
		strings.NewReader(`{"model":"iris","input":"x","stream":true}`),
	)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.WriteString(to, some)
	require.NoError(t, err)
	hangUp()
	_ = answer.Body.Close()
	for err == nil { // until the handler sees that nobody reads
		_, err = io.WriteString(to, some)
		select {
		case f := <-s.passed:
			require.True(t, f.Dropped)
			require.False(t, f.Broken)
			return
		default:
		}
	}
}

// A stream begins with the first word, so that both go in one packet, and without one soon after.
func TestAStreamWhoseFirstWordIsLateBegins(t *testing.T) {
	t.Parallel()
	from, provider := io.Pipe()
	s := open(t, "text/event-stream", "")
	s.body = from
	answer, err := http.Post(s.url+"/v1/responses", "application/json",
		strings.NewReader(`{"model":"iris","stream":true,"input":"Hi"}`))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	const first = "event: response.created\n"
	begins := make([]byte, len(first))
	_, err = io.ReadFull(answer.Body, begins)
	require.NoError(t, err)
	require.Equal(t, first, string(begins))
	require.NoError(t, provider.Close())
}

package messageshttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

// being is a fake psyche.Service that returns given answers and records its turns.
type being struct {
	psyche.Talk
	turns  chan psyche.Turn
	answer func() (*psyche.Reply, error)
	agents []string
	spec   inference.Spec
}

func (b *being) Chat(_ context.Context, t psyche.Turn) (*psyche.Reply, error) {
	b.turns <- t
	return b.answer()
}

func (b *being) Agents(context.Context, psyche.Caller) (all []dream.Agent, err error) {
	for _, handle := range b.agents {
		all = append(all, dream.Agent{ID: "id-" + handle, Handle: handle})
	}
	return all, nil
}

func (b *being) ModelFor(_ context.Context, _ psyche.Caller, name string) (inference.Spec, string, error) {
	for _, handle := range b.agents {
		if handle == name {
			return b.spec, "id-" + handle, nil
		}
	}
	return b.spec, "", psyche.Refuse(http.StatusNotFound, "agent_not_found", "agent", "There is no agent.")
}

func (b *being) PromptTokens(_ context.Context, t psyche.Turn) (int64, error) {
	b.turns <- t
	return 42, nil
}

// nobody is a store without keys.
type nobody struct{ access.Store }

func (nobody) Keys(context.Context) ([]access.Key, error) { return nil, nil }
func (nobody) KeysRequired(context.Context) (bool, error) { return false, nil }

type testServer struct {
	*testing.T
	*being
	url    string
	passed chan turnhttp.Figures
}

func open(t *testing.T) *testServer {
	t.Helper()
	h := &testServer{
		T:      t,
		being:  &being{turns: make(chan psyche.Turn, 16), agents: []string{"iris", "echo"}},
		passed: make(chan turnhttp.Figures, 16),
	}
	handler := &messageshttp.Handler{
		Turns: turnhttp.Turns{
			Talk: h.being,
			Now:  time.Now,
			Note: func(string) func(turnhttp.Figures) { return func(f turnhttp.Figures) { h.passed <- f } },
		},
		Meter: h.being,
	}
	server, err := front.New(
		front.Options{Routes: handler.Routes(), Keys: nobody{}, Keyless: true, Limits: front.Limits{Body: 64 << 10}})
	require.NoError(t, err)
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *testServer) answers(status int, kind string, body io.Reader) {
	h.answer = func() (*psyche.Reply, error) {
		return &psyche.Reply{
			Status: status,
			Header: http.Header{"Content-Type": {kind}, "Retry-After": {"7"}},
			Body:   io.NopCloser(body),
			Report: psyche.TurnReport{Agent: "iris", Conversation: "c1", Recalled: 2},
		}, nil
	}
}

// client is Anthropic's own library.
func (h *testServer) client() anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(h.url), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func (h *testServer) send(path, body string, header ...string) (*http.Response, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+path, strings.NewReader(body))
	require.NoError(h, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(h, err)
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(res.Body)
	return res, string(answer)
}

const path = "/v1/messages"

// asking is a request with these members.
func asking(members string) string {
	return `{` + members + `,"messages":[{"role":"user","content":"hi"}]}`
}

// answersOf are answers of providers, by the name of their golden file.
var answersOf = []string{"text", "tools", "thinking", "proof", "interleaved", "refusal", "length", "error"}

var ids = regexp.MustCompile(`(msg|toolu|req)_[a-z0-9]+`)

// TestAnswersAreTranslated reads each answer as a stream and with Anthropic's library, which must agree.
func TestAnswersAreTranslated(t *testing.T) {
	t.Parallel()
	for _, name := range answersOf {
		h := open(t)
		raw, err := os.ReadFile(filepath.Join("testdata", name+".chat"))
		require.NoError(t, err)
		h.answers(http.StatusOK, "text/event-stream", strings.NewReader(string(raw)))
		res, events := h.send(path, asking(`"model":"iris","stream":true,"thinking":{"type":"adaptive"}`))
		require.Equal(t, http.StatusOK, res.StatusCode)
		require.Equal(t, "text/event-stream; charset=utf-8", res.Header.Get("Content-Type"))
		golden(t, filepath.Join("testdata", name+".events"), ids.ReplaceAllString(events, "${1}_1"))

		h.answers(http.StatusOK, "text/event-stream", iotest.OneByteReader(strings.NewReader(string(raw))))
		stream := new(h.client()).Messages.NewStreaming(t.Context(), params())
		var all anthropic.Message
		for stream.Next() {
			require.NoError(t, all.Accumulate(stream.Current()), name)
		}
		if name == "error" {
			require.ErrorContains(t, stream.Err(), "the provider broke")
			continue
		}
		require.NoError(t, stream.Err(), name)
		require.Equal(t, anthropic.Model("iris"), all.Model)
		require.NotEmpty(t, all.StopReason, name)
		for _, block := range all.Content {
			require.NotNil(t, block.AsAny(), "%s: the library knows each block: %s", name, block.RawJSON())
		}
	}
}

func params() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     "iris",
		MaxTokens: 99,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
		Thinking:  anthropic.ThinkingConfigParamOfEnabled(1024),
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, file)
}

func TestAnAnswerInOnePieceIsAMessage(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.answers(http.StatusOK, "application/json", strings.NewReader(
		`{"id":"c","choices":[{"message":{"role":"assistant","content":"I add.","reasoning_content":"hm","tool_calls":[`+
			`{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":2}"}},`+
			`{"id":"","type":"function","function":{"name":"add","arguments":"{broken"}}]},"finish_reason":"tool_calls"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}`))
	client := h.client()
	m, err := client.Messages.New(t.Context(), params())
	require.NoError(t, err)
	require.Equal(t, anthropic.StopReasonToolUse, m.StopReason)
	require.Len(t, m.Content, 4)
	require.Equal(t, "hm", m.Content[0].AsThinking().Thinking)
	require.Equal(t, "oneiros:reasoning_content", m.Content[0].AsThinking().Signature)
	require.Equal(t, "I add.", m.Content[1].AsText().Text)
	require.JSONEq(t, `{"a":2}`, string(m.Content[2].AsToolUse().Input))
	require.JSONEq(t, `{"INVALID_JSON":"{broken"}`, string(m.Content[3].AsToolUse().Input))
	require.NotEmpty(t, m.Content[3].AsToolUse().ID)
	require.Equal(t, []int64{6, 4, 5}, []int64{m.Usage.InputTokens, m.Usage.CacheReadInputTokens, m.Usage.OutputTokens})
}

func TestThoughtsAreShownAsTheRequestAsks(t *testing.T) {
	t.Parallel()
	const answer = `{"choices":[{"message":{"content":"Yes.","reasoning":"hm"},"finish_reason":"stop"}]}`
	const signed = `"content":[{"type":"thinking","thinking":`
	for thinking, want := range map[string]string{
		`null`:                `"content":[{"type":"text","text":"Yes."}]`,
		`{"type":"disabled"}`: `"content":[{"type":"text","text":"Yes."}]`,
		`{"type":"adaptive"}`: signed + `"hm","signature":"oneiros:reasoning"},`,
		`{"type":"adaptive","display":"omitted"}`: signed + `"","signature":"oneiros:reasoning:aG0="},`,
	} {
		h := open(t)
		h.answers(http.StatusOK, "application/json", strings.NewReader(answer))
		_, body := h.send(path, asking(`"model":"iris","thinking":`+thinking))
		require.Contains(t, body, want, thinking)
	}
}

func TestWhoSpeaksToWhom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, meta string
		agents      []string
		header      []string
		agent, user string
	}{
		{"iris", `{"user_id":"ada"}`, []string{"iris", "echo"}, nil, "iris", "ada"},
		{"iris", `{"user_id":"ada"}`, []string{"iris"}, []string{"X-Oneiros-User", "ben"}, "iris", "ben"},
		{"claude-haiku-4-5", `{}`, []string{"iris", "echo"}, []string{"X-Oneiros-Agent", "echo"}, "echo", ""},
		{"claude-haiku-4-5", `{}`, []string{"iris"}, nil, "iris", ""},
	} {
		h := open(t)
		h.agents = c.agents
		h.answers(http.StatusOK, "application/json", strings.NewReader(`{"choices":[]}`))
		header := append(c.header, "X-Claude-Code-Session-Id", "s1", "Anthropic-Beta", "x", "Anthropic-Version",
			"2023-06-01")
		res, body := h.send(path, asking(`"model":"`+c.model+`","metadata":`+c.meta), header...)
		require.Equal(t, http.StatusOK, res.StatusCode, body)
		turn := <-h.turns
		require.Equal(t, []string{c.agent, c.user, "s1"}, []string{turn.Agent, turn.Caller.User, turn.Conversation})
		require.Equal(t, "/chat/completions", turn.Path)
		require.Empty(t, turn.Header.Get("Anthropic-Beta")+turn.Header.Get("Anthropic-Version"))
		require.Equal(t, "c1", res.Header.Get("X-Oneiros-Conversation"))
		require.Equal(t, "2", res.Header.Get("X-Oneiros-Recalled"))
		require.Equal(t, res.Header.Get("X-Request-Id"), res.Header.Get("Request-Id"))
		figures := <-h.passed
		require.Equal(t, "/messages", figures.Path)
	}
}

func TestErrorsHaveAnthropicsForm(t *testing.T) {
	t.Parallel()
	const body = `{"model":"iris","messages":[{"role":"user","content":"hi"}]}`
	quota := psyche.Refuse(http.StatusTooManyRequests, "insufficient_quota", "", "Too dear.")
	full := psyche.Refuse(http.StatusServiceUnavailable, "store_away", "", "Away.").After(time.Second)
	type refusal struct {
		body, reply string // the request, and the provider's answer
		status      int    // the provider's
		err         error  // in place of an answer
		want        int
		kind, says  string
		retry       string
	}
	asks := func(body string, want int, kind, says string) refusal {
		return refusal{body: body, want: want, kind: kind, says: says}
	}
	fails := func(err error, want int, kind, says, retry string) refusal {
		r := asks(body, want, kind, says)
		r.err, r.retry = err, retry
		return r
	}
	replies := func(status int, reply string, want int, kind, says string) refusal {
		r := asks(body, want, kind, says)
		r.status, r.reply = status, reply
		return r
	}
	nobody := strings.Replace(body, "iris", "gpt", 1)
	claude := strings.Replace(body, "iris", "claude-x", 1)
	for name, c := range map[string]refusal{
		"no JSON":       asks(`{`, 400, "invalid_request_error", "the body ends at byte"),
		"a field":       asks(`{"model":"iris","messages":[]}`, 400, "invalid_request_error", "messages: it must"),
		"no agent":      asks(nobody, 404, "not_found_error", "This key reaches echo, iris."),
		"two of Claude": asks(claude, 404, "not_found_error", "echo, iris"),
		"too large":     asks(strings.Repeat(" ", 65<<10), 413, "request_too_large", "larger than"),

		"spent": fails(quota, 429, "rate_limit_error", "Too dear.", "false"),
		"away":  fails(full, 529, "overloaded_error", "Away.", ""),
		"a bug": fails(errors.New("secret"), 500, "api_error", "log", ""),

		"the provider refuses": replies(400, `{"error":{"message":"no field"}}`, 400, "invalid_request_error",
			"no field"),
		"the provider is full": replies(503, `oh`, 529, "overloaded_error", "HTTP 503"),
		"the provider's limit": replies(429, `{"error":"slow down"}`, 429, "rate_limit_error", "slow down"),
		"broken off":           replies(200, `{"choices":[`, 502, "api_error", "broke off"),
	} {
		h := open(t)
		h.answers(c.status, "application/json", strings.NewReader(c.reply))
		if c.err != nil {
			h.answer = func() (*psyche.Reply, error) { return nil, c.err }
		}
		res, answer := h.send(path, c.body)
		require.Equal(t, c.want, res.StatusCode, name)
		require.Contains(t, answer, `{"type":"error","error":{"type":"`+c.kind+`","message":"`, name)
		require.Contains(t, answer, c.says, name)
		require.NotContains(t, answer, "secret", name)
		require.Contains(t, answer, `"request_id":"req_`, name)
		require.Equal(t, c.retry, res.Header.Get("X-Should-Retry"), name)
	}
}

func TestTheLibraryKnowsAnError(t *testing.T) {
	t.Parallel()
	h := open(t)
	p := params()
	p.Model = "nobody"
	client := h.client()
	_, err := client.Messages.New(t.Context(), p)
	e, ok := errors.AsType[*anthropic.Error](err)
	require.True(t, ok)
	require.Equal(t, http.StatusNotFound, e.StatusCode)
	require.Equal(t, anthropic.ErrorTypeNotFoundError, e.Type())
	require.NotEmpty(t, e.RequestID)
}

func TestTokensAreCounted(t *testing.T) {
	t.Parallel()
	h := open(t)
	client := h.client()
	n, err := client.Messages.CountTokens(t.Context(),
		anthropic.MessageCountTokensParams{Model: "iris", Messages: params().Messages})
	require.NoError(t, err)
	require.Equal(t, int64(42), n.InputTokens)
	require.Empty(t, conform.Faults(*n), n.RawJSON())
	counted := string((<-h.turns).Body.Bytes())
	require.JSONEq(t, `{"model":"iris","messages":[{"role":"user","content":"hi"}],"stream":false}`, counted)
}

func TestWhatHadNoEffectIsNamed(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.answers(http.StatusOK, "application/json", strings.NewReader(`{"choices":[]}`))
	res, _ := h.send(path, asking(`"model":"iris","context_management":{},"thinking":{"type":"adaptive"}`))
	require.Equal(t, "context_management, thinking", res.Header.Get("X-Oneiros-Ignored"))
}

// A stream begins with the first word, so that both go in one packet, and without one soon after.
func TestAStreamWhoseFirstWordIsLateBegins(t *testing.T) {
	t.Parallel()
	from, provider := io.Pipe()
	h := open(t)
	h.answers(http.StatusOK, "text/event-stream", from)
	answer, err := http.Post(h.url+"/v1/messages", "application/json",
		strings.NewReader(asking(`"model":"iris","stream":true,"max_tokens":9`)))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	const first = "event: message_start\n"
	begins := make([]byte, len(first))
	_, err = io.ReadFull(answer.Body, begins)
	require.NoError(t, err)
	require.Equal(t, first, string(begins))
	require.NoError(t, provider.Close())
}

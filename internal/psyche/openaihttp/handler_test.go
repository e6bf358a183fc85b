package openaihttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// being is a fake psyche.Service that returns given answers and records its calls.
type being struct {
	psyche.Mind
	turns  chan psyche.Turn
	answer func(ctx context.Context, t psyche.Turn) (*psyche.Reply, error)
	agents []dream.Agent
	models map[string]inference.Spec // by handle
	opened chan string
	left   chan string
}

func (b *being) Chat(ctx context.Context, t psyche.Turn) (*psyche.Reply, error) {
	b.turns <- t
	return b.answer(ctx, t)
}

func (b *being) Embeddings(ctx context.Context, t psyche.Turn) (*psyche.Reply, error) {
	return b.Chat(ctx, t)
}

func (b *being) Completions(ctx context.Context, t psyche.Turn) (*psyche.Reply, error) {
	return b.Chat(ctx, t)
}

func (b *being) Agents(context.Context, psyche.Caller) ([]dream.Agent, error) { return b.agents, nil }

func (b *being) TalkModel(_ context.Context, a *dream.Agent) (inference.Spec, error) {
	spec, found := b.models[a.Handle]
	if !found {
		return spec, errors.New("there is no such model")
	}
	return spec, nil
}

func (b *being) ModelFor(_ context.Context, _ psyche.Caller, agent string) (inference.Spec, string, error) {
	spec, err := b.TalkModel(context.Background(), &dream.Agent{Handle: agent})
	return spec, "", err
}

func (b *being) Open(_ context.Context, _ psyche.Caller, agent, id string, ttl time.Duration) (psyche.Session, error) {
	b.opened <- id
	if id == "" {
		id = "session_1"
	}
	return psyche.Session{ID: id, Agent: agent, Until: time.Unix(0, 0).UTC().Add(ttl), Woke: true}, nil
}

func (b *being) Leave(_ context.Context, _ psyche.Caller, _, id string) error {
	b.left <- id
	return nil
}

// testServer is a server of the API over a fake service.
type testServer struct {
	*testing.T
	*being
	url    string
	passed chan turnhttp.Figures
}

// nobody is a store without keys.
type nobody struct{ access.Store }

func (nobody) Keys(context.Context) ([]access.Key, error) { return nil, nil }
func (nobody) KeysRequired(context.Context) (bool, error) { return false, nil }

func open(t *testing.T) *testServer {
	t.Helper()
	h := &testServer{T: t, passed: make(chan turnhttp.Figures, 16), being: &being{
		turns: make(chan psyche.Turn, 16), opened: make(chan string, 16), left: make(chan string, 16),
		agents: []dream.Agent{
			{ID: "a2", Handle: "iris", Created: time.Unix(1700000000, 0)},
			{ID: "a1", Handle: "echo"},
		},
	}}
	h.answers(http.StatusOK, "application/json", `{"ok":true}`)
	handler := &openaihttp.Handler{
		Turns: turnhttp.Turns{
			Talk: h.being,
			Now:  time.Now,
			Note: func(string) func(turnhttp.Figures) {
				return func(p turnhttp.Figures) { h.passed <- p }
			},
		},
		Mind: h.being,
		Hold: 30 * time.Millisecond,
	}
	server, err := front.New(
		front.Options{Routes: handler.Routes(), Keys: nobody{}, Keyless: true, Limits: front.Limits{Body: 64 << 10}})
	require.NoError(t, err)
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *testServer) answers(status int, kind, body string) {
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
		return &psyche.Reply{
			Status: status,
			Header: http.Header{
				"Content-Type": {kind}, "Retry-After": {"7"},
			},
			Body: io.NopCloser(strings.NewReader(body)), Report: psyche.TurnReport{
				Agent:        "iris",
				Conversation: "c1",
				Epoch:        4,
				Woke:         true,
				Recalled:     2,
				Degraded:     "the store\nis away",
			},
		}, nil
	}
}

func (h *testServer) send(method, path, body string, header ...string) (*http.Response, string) {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
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

const talk = "/v1/chat/completions"

func TestBodiesOfPythonClientsPassUnchanged(t *testing.T) {
	t.Parallel()
	h := open(t)
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		path := talk
		if strings.Contains(file, "embeddings") {
			path = "/v1/embeddings"
		}
		res, answer := h.send(http.MethodPost, path, string(body), "Authorization", "Bearer x", "X-Stainless-Lang",
			"python", "OpenAI-Organization", "org-theirs", "X-Oneiros-Store", "off")
		require.Equal(t, http.StatusOK, res.StatusCode, answer)
		turn := <-h.turns
		require.Equal(t, string(body), string(turn.Body.Bytes()), file)
		require.Equal(t, "iris", turn.Agent, file)
		require.Equal(t, "/v1"+turn.Path, path)
		require.Equal(t, "python", turn.Header.Get("X-Stainless-Lang"))
		require.False(t, *turn.Switches.Store)
		require.Nil(t, turn.Switches.Recall)
	}
}

func TestWhoSpeaksToWhomIsReadFromHeadersAndBody(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, c := range []struct {
		body                      string
		header                    []string
		agent, conversation, user string
	}{
		{`{"model":"iris"}`, nil, "iris", "", ""},
		{`{"model":"agent/echo","user":"ada"}`, nil, "echo", "", "ada"},
		{`{"model":"oneiros/echo:latest"}`, nil, "echo", "", ""},
		{
			`{"model":"gpt-5","user":"ada"}`,
			[]string{"X-Oneiros-Agent", "iris", "X-Oneiros-User", "ben", "X-Session-Affinity", "s2"},
			"iris", "s2",
			"ben",
		},
		{`{"model":"\u0069ris"}`, []string{"X-Session-Id", "s1", "X-Session-Affinity", "s2"}, "iris", "s1", ""},
		{
			` { "messages" : [ {"content":"\"}]\\"} ] , "model" : "iris" , "user" : null } `,
			[]string{"X-Oneiros-Conversation", "mine", "X-Session-Id", "s1"},
			"iris", "mine", "",
		},
		{`{"model":"iris","safety_identifier":"hashed"}`, nil, "iris", "", "hashed"},
		{`{"model":"iris","safety_identifier":"hashed","user":"ada"}`, nil, "iris", "", "ada"},
		{
			`{"model":"iris","user":"ada"}`,
			[]string{"X-OpenWebUI-User-Id", "cara", "X-OpenWebUI-Chat-Id", "c1"},
			"iris", "c1", "cara",
		},
		{`{"model":"iris"}`, []string{"X-OpenWebUI-User-Id", "cara", "X-Oneiros-User", "ben"}, "iris", "", "ben"},
		{`{"model":"iris"}`, []string{"X-Claude-Code-Session-Id", "code", "session-id", "codex"}, "iris", "code", ""},
		{`{"model":"iris"}`, []string{"session-id", "codex"}, "iris", "codex", ""},
		{`{"model":"iris","prompt_cache_key":"app"}`, nil, "iris", "", ""},
	} {
		res, answer := h.send(http.MethodPost, talk, c.body, c.header...)
		require.Equal(t, http.StatusOK, res.StatusCode, answer)
		turn := <-h.turns
		require.Equal(t, []string{c.agent, c.conversation, c.user},
			[]string{turn.Agent, turn.Conversation, turn.Caller.User}, c.body)
	}
}

func TestAPromptCacheKeyIsAGroupOfTalksAndNotOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	res, answer := h.send(http.MethodPost, talk, `{"model":"iris","prompt_cache_key":"app"}`)
	require.Equal(t, http.StatusOK, res.StatusCode, answer)
	turn := <-h.turns
	require.Equal(t, "app", turn.Group)
	require.Empty(t, turn.Conversation, "many applications send one key for all their talks")
}

func TestWhatCannotBeReadIsRefusedInOpenAIsShape(t *testing.T) {
	t.Parallel()
	h := open(t)
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		body          string
		status        int
		code, message string
		header        []string
	}{
		{``, 400, "invalid_json", "one JSON object", nil},
		{`[]`, 400, "invalid_json", "one JSON object", nil},
		{`{"model":"iris"`, 400, "invalid_json", "byte 15", nil},
		{`{"model":"iris"} more`, 400, "invalid_json", "byte 17", nil},
		{`{"model":"iris","model":"gpt-5"}`, 400, "duplicate_field", "twice", nil},
		{`{"mod\u0065l":"iris"}`, 400, "duplicate_field", "write model", nil},
		{`{"model":7}`, 400, "invalid_value", "model must be a string", nil},
		{`{"user":"ada"}`, 400, "invalid_value", "No agent is named", nil},
		{
			`{"model":"iris","safety_identifier":"` + long + `"}`, 400, "invalid_value",
			"safety_identifier must be at most 256 bytes", nil,
		},
		{`{"model":"iris","safety_identifier":7}`, 400, "invalid_value", "safety_identifier must be a string", nil},
		{`{"model":"iris","prompt_cache_key":{}}`, 400, "invalid_value", "prompt_cache_key must be a string", nil},
		{
			`{"model":"iris"}`, 400, "invalid_value", "X-Openwebui-User-Id must be at most 256 bytes",
			[]string{"X-OpenWebUI-User-Id", long},
		},
		{`{"model":"iris","user":"` + long + `"}`, 400, "invalid_value", "user must be at most 256 bytes", nil},
		{
			`{"model":"iris"}`, 400, "invalid_value", "X-Oneiros-Recall must be on or off",
			[]string{"X-Oneiros-Recall", "maybe"},
		},
		{`{"model":"` + strings.Repeat("x", 70<<10) + `"}`, 413, "body_too_large", "65536 bytes", nil},
	} {
		res, answer := h.send(http.MethodPost, talk, c.body, c.header...)
		require.Equal(t, c.status, res.StatusCode, answer)
		require.Equal(t, "application/json", strings.Split(res.Header.Get("Content-Type"), ";")[0])
		var result struct {
			Error struct{ Message, Type, Code string }
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &result), answer)
		require.Equal(t, c.code, result.Error.Code, answer)
		require.Equal(t, "invalid_request_error", result.Error.Type)
		require.Contains(t, result.Error.Message, c.message)
	}
	require.Empty(t, h.turns)
}

func TestTheAnswerAndItsRefusalsComeAsTheProviderGaveThem(t *testing.T) {
	t.Parallel()
	h := open(t)
	for status, body := range map[int]string{
		200: `{"id":"x","choices":[],"usage":{"prompt_tokens":1}, "unknown": 1e400}`,
		429: `{"error":{"message":"slow down","code":null}}`, 500: "<html>", 404: `{"error":"no such model"}`,
	} {
		h.answers(status, "application/json; charset=utf-8", body)
		res, answer := h.send(http.MethodPost, talk, `{"model":"iris"}`)
		require.Equal(t, status, res.StatusCode)
		require.Equal(t, body, answer)
		require.Equal(t, "7", res.Header.Get("Retry-After"))
		for name, value := range map[string]string{
			"Agent": "iris", "Conversation": "c1", "Epoch": "4", "Woke": "true", "Recalled": "2",
			"Degraded": `the store\nis away`, "Recall-Skipped": "",
		} {
			require.Equal(t, value, res.Header.Get("X-Oneiros-"+name), name)
		}
		require.Equal(t, status, (<-h.passed).Status)
	}
}

// Whatever else is not there is named as it is.
func TestCompletionsThatAreOffSayWhichSettingTurnsThemOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
		return nil, psyche.Refuse(http.StatusNotFound, "completions_off", "", "set serve.completions")
	}
	res, answer := h.send(http.MethodPost, "/v1/completions", `{"model":"iris","prompt":"a"}`)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.Contains(t, answer, "set serve.completions")
}

func TestAnUnknownAgentIsReportedAsAMissingModel(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
		return nil,
			&psyche.Fault{Status: http.StatusNotFound, Type: "not_found_error", Code: "agent_not_found", Message: "no"}
	}
	for _, ask := range [][]string{
		{http.MethodPost, talk, `{"model":"gpt-5"}`},
		{http.MethodGet, "/v1/models/agent/gpt-5", ""},
		{http.MethodGet, "/v1/models/gpt-5:latest", ""},
	} {
		res, answer := h.send(ask[0], ask[1], ask[2])
		require.Equal(t, http.StatusNotFound, res.StatusCode)
		require.Contains(t, answer, `"code":"model_not_found"`)
		require.Contains(t, answer, `There is no agent \"gpt-5\". This key reaches echo, iris.`)
	}
	h.agents = nil
	_, answer := h.send(http.MethodGet, "/v1/models/iris", "")
	require.Contains(t, answer, "oneiros agents add")
}

func TestAgentsAreListedAsModels(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, answer := h.send(http.MethodGet, "/v1/models", "")
	require.JSONEq(t,
		`{"object":"list","data":[{"id":"echo","object":"model","created":0,"owned_by":"oneiros"},{"id":"iris","object":"model","created":1700000000,"owned_by":"oneiros"}]}`,
		answer)
	for _, name := range []string{
		"agent/iris", "Iris", "a2", "oneiros/iris", "oneiros%2Firis", "agent%2fIris", "iris:latest", "oneiros/iris:latest",
		"oneiros%2Fagent%2Firis",
	} {
		_, answer = h.send(http.MethodGet, "/v1/models/"+name, "")
		require.JSONEq(t, `{"id":"iris","object":"model","created":1700000000,"owned_by":"oneiros"}`, answer)
	}
	require.Empty(t, h.turns, "nobody is woken")
	h.agents = nil
	_, answer = h.send(http.MethodGet, "/v1/models", "")
	require.JSONEq(t, `{"object":"list","data":[]}`, answer)
}

// Anthropic's clients get agents in Anthropic's form, as its own library reads it.
func TestAgentsAreListedAsModelsOfAnthropic(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.models = map[string]inference.Spec{"iris": {Context: 8192}, "echo": {Context: 100, Guessed: true}}
	for range 2 {
		_, answer := h.send(http.MethodGet, "/v1/models?limit=1000", "", "Anthropic-Version", "2023-06-01")
		want := `{"data":[],"has_more":false,"first_id":null,"last_id":null}`
		if len(h.agents) > 0 {
			const more = `"lifecycle":"active","capabilities":null,"max_tokens":null,"line":null,"deprecated_at":null,
				"retires_at":null}`
			want = `{"data":[{"type":"model","id":"echo","display_name":"echo","created_at":"1970-01-01T00:00:00Z",
				"max_input_tokens":null,` + more + `,{"type":"model","id":"iris","display_name":"iris",
				"created_at":"2023-11-14T22:13:20Z","max_input_tokens":8192,` + more + `],
				"has_more":false,"first_id":"echo","last_id":"iris"}`
		}
		require.JSONEq(t, want, answer)
		h.agents = nil
	}
	h = open(t)
	client := anthropic.NewClient(option.WithBaseURL(h.url), option.WithAPIKey("none"))
	pages := client.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{Limit: anthropic.Int(1)})
	var names []string
	for pages.Next() {
		names = append(names, pages.Current().ID)
	}
	require.NoError(t, pages.Err())
	require.Equal(t, []string{"echo", "iris"}, names)
	m, err := client.Models.Get(t.Context(), "iris", anthropic.ModelGetParams{})
	require.NoError(t, err)
	require.Equal(t, "iris", m.DisplayName)
	require.Equal(t, time.Unix(1700000000, 0).UTC(), m.CreatedAt)
	require.Empty(t, h.turns, "nobody is woken")
}

func TestTheOutermostFieldsAreReadAsEveryOtherReaderDoes(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, body := range []string{
		`{"model":"iris","a":01}`, `{"model":"iris",}`, `{,"model":"iris"}`,
		`{"model":"iris" "b":1}`, `{"model":"iris","a":}`, `{"model":"iris","a":nul}`, `{"model":"iris","a":"\x"}`,
		`{"a":[}]`,
	} {
		require.False(t, json.Valid([]byte(body)), body)
		if strings.Contains(body, `\x`) {
			continue // inside a value that is passed on; the provider reads it
		}
		res, answer := h.send(http.MethodPost, talk, body)
		require.Equal(t, http.StatusBadRequest, res.StatusCode, "%s: %s", body, answer)
	}
}

var errCut = errors.New("connection reset")

func sse(body io.ReadCloser) *psyche.Reply {
	return &psyche.Reply{
		Status: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body: body, Report: psyche.TurnReport{Agent: "iris", Skipped: "budget"},
	}
}

// noted is a body that records when it is closed.
type noted struct {
	io.Reader
	closed chan struct{}
}

func (n noted) Close() error {
	close(n.closed)
	return nil
}

func TestPiecesOfAStreamPassAtOnceAndUnaltered(t *testing.T) {
	t.Parallel()
	h := open(t)
	out, in := io.Pipe()
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) { return sse(out), nil }
	res, err := http.Post(h.url+talk, "application/json", strings.NewReader(`{"model":"iris","stream":true}`))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, "budget", res.Header.Get("X-Oneiros-Recall-Skipped"))
	for _, piece := range []string{
		": OPENROUTER PROCESSING\n\n", "data: {\"choices\":[{\"delta\":{\"con",
		"tent\":\"h\\u00e9\"}}]}\r\n\r\n", "event: x\nid: 7\ndata: [DONE]\n\n",
	} {
		go func() { _, _ = io.WriteString(in, piece) }()
		got := make([]byte, len(piece))
		_, err := io.ReadFull(res.Body, got)
		require.NoError(t, err, "each piece arrives before the next is there")
		require.Equal(t, piece, string(got))
	}
	require.NoError(t, in.Close())
	rest, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Empty(t, rest)
	p := <-h.passed
	require.True(t, p.Stream)
	require.False(t, p.Broken)
	require.Positive(t, p.First)
}

func TestAClientThatHangsUpStopsTheProvider(t *testing.T) {
	t.Parallel()
	h := open(t)
	out, in := io.Pipe()
	defer func() { _ = in.Close() }()
	body := noted{Reader: out, closed: make(chan struct{})}
	stopped := make(chan struct{})
	h.answer = func(ctx context.Context, _ psyche.Turn) (*psyche.Reply, error) {
		context.AfterFunc(ctx, func() {
			_ = in.CloseWithError(ctx.Err())
			close(stopped)
		})
		return sse(body), nil
	}
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+talk,
		strings.NewReader(`{"model":"iris","stream":true}`))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_, err = io.WriteString(in, "data: {}\n\n")
	require.NoError(t, err)
	hangUp()
	<-stopped
	<-body.closed
	_ = res.Body.Close()
	p := <-h.passed
	require.True(t, p.Dropped)
	require.False(t, p.Broken, "that the provider's answer ends with it is not the provider's fault")
}

func TestAClientThatHangsUpBeforeAWholeAnswerIsNoFaultOfTheProvider(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, text := range []string{"", "{"} {
		out, in := io.Pipe()
		request := make(chan struct{})
		h.answer = func(ctx context.Context, _ psyche.Turn) (*psyche.Reply, error) {
			context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
			close(request)
			return &psyche.Reply{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: out}, nil
		}
		ctx, hangUp := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+talk, strings.NewReader(`{"model":"iris"}`))
		require.NoError(t, err)
		over := make(chan error, 1)
		go func() {
			res, err := http.DefaultClient.Do(r)
			if err == nil {
				_ = res.Body.Close()
			}
			over <- err
		}()
		<-request
		if text != "" {
			_, err = io.WriteString(in, text)
			require.NoError(t, err)
		}
		hangUp()
		<-over
		p := <-h.passed
		require.True(t, p.Dropped)
		require.False(t, p.Broken)
	}
}

func TestAStreamThatBreaksOffEndsWithAnEventThatSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t)
	for text, want := range map[string]string{
		"":                 "data: {\"error\":",
		"data: {}\n\n":     "data: {}\n\ndata: {\"error\":",
		"data: {\"cho":     "data: {\"cho\n\ndata: {\"error\":",
		"data: {}\r\n\r\n": "data: {}\r\n\r\n\n\ndata: {\"error\":",
	} {
		h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
			return sse(io.NopCloser(io.MultiReader(strings.NewReader(text), iotestErr{}))), nil
		}
		res, answer := h.send(http.MethodPost, talk, `{"model":"iris","stream":true}`)
		require.Equal(t, 200, res.StatusCode)
		require.True(t, strings.HasPrefix(answer, want), "%q", answer)
		require.True(t, strings.HasSuffix(answer, "\n\n"))
		require.Contains(t, answer, `"code":"upstream_broken"`)
		require.NotContains(t, answer, errCut.Error())
		require.True(t, (<-h.passed).Broken)
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errCut }

func TestAWholeAnswerThatBreaksOffIsNeverTakenForOne(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
		return &psyche.Reply{
			Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(iotestErr{}),
		}, nil
	}
	res, answer := h.send(http.MethodPost, talk, `{"model":"iris"}`)
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Contains(t, answer, `"upstream_broken"`)
	h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
		return &psyche.Reply{
			Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(io.MultiReader(bytes.NewReader(make([]byte, 9000)), iotestErr{})),
		}, nil
	}
	res, err := http.Post(h.url+talk, "application/json", strings.NewReader(`{"model":"iris"}`))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	_, err = io.ReadAll(res.Body)
	require.Error(t, err, "the connection is cut")
}

// lumpy returns a text in pieces of these sizes, repeatedly.
type lumpy struct {
	text  string
	sizes []int
	i     int
}

func (l *lumpy) Read(p []byte) (int, error) {
	if l.text == "" {
		return 0, io.EOF
	}
	n := min(l.sizes[l.i%len(l.sizes)], len(p), len(l.text))
	l.i++
	copy(p, l.text[:n])
	l.text = l.text[n:]
	return n, nil
}

func TestAStreamPassesUnalteredHoweverMuchOfItComesAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	var sent strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&sent, "data: %d\n\n", i)
	}
	for _, sizes := range [][]int{{1 << 20}, {1023}, {1024}, {1025}, {1, 1024, 8192, 8192, 1023, 1, 9000, 1024}} {
		h.answer = func(context.Context, psyche.Turn) (*psyche.Reply, error) {
			return sse(io.NopCloser(&lumpy{text: sent.String(), sizes: sizes})), nil
		}
		_, answer := h.send(http.MethodPost, talk, `{"model":"iris","stream":true}`)
		require.True(t, answer == sent.String(), "in pieces of %v", sizes)
		<-h.passed
	}
}

// fixture records what is written before each flush.
type fixture struct {
	header http.Header
	mu     sync.Mutex // the headers may be flushed by a timer
	wrote  strings.Builder
	all    []string
}

func (d *fixture) sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

func (d *fixture) Header() http.Header { return d.header }
func (d *fixture) WriteHeader(int)     {}
func (d *fixture) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wrote.Write(p)
}

func (d *fixture) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, d.wrote.String())
	d.wrote.Reset()
}

func TestTheHeadersOfAStreamGoWithItsFirstPieceOrAloneWhereThatIsNotThere(t *testing.T) {
	t.Parallel()
	serve := func(d *fixture, body io.Reader) {
		handler := &openaihttp.Handler{Turns: turnhttp.Turns{
			Now: time.Now,
			Talk: &being{
				turns: make(chan psyche.Turn, 1),
				answer: func(context.Context, psyche.Turn) (*psyche.Reply, error) {
					return sse(io.NopCloser(body)), nil
				},
			},
		}}
		r := httptest.NewRequest(http.MethodPost, talk, strings.NewReader(`{"model":"iris","stream":true}`))
		for _, route := range handler.Routes() {
			if route.Path == talk {
				route.Serve(d, r)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		together := &fixture{header: http.Header{}}
		serve(together, strings.NewReader("data: 1\n\n"))
		require.Equal(t, []string{"data: 1\n\n"}, together.sent())

		out, in := io.Pipe()
		silent, over := &fixture{header: http.Header{}}, make(chan struct{})
		go func() {
			serve(silent, out)
			close(over)
		}()
		synctest.Wait()
		require.Empty(t, silent.sent(), "the first piece may be on its way")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{""}, silent.sent(), "the headers")
		_, err := io.WriteString(in, "data: 1\n\n")
		require.NoError(t, err)
		require.NoError(t, in.Close())
		<-over
		require.Equal(t, []string{"", "data: 1\n\n"}, silent.sent())
	})
}

func TestAModelHasThePriceAndTheWindowOfTheOneThatTalks(t *testing.T) {
	t.Parallel()
	h := open(t)
	free := budget.Price{}
	for _, c := range []struct {
		spec inference.Spec
		want string
	}{
		{
			inference.Spec{
				Price:   &budget.Price{In: 3_000_000, CachedIn: 300_000, Out: 15_000_000},
				Context: 200_000,
			},
			`"pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003"},"context_length":200000}`,
		},
		{
			inference.Spec{Price: &free, Context: 4096, Guessed: true},
			`"pricing":{"prompt":"0","completion":"0","input_cache_read":"0"}}`,
		},
		{
			inference.Spec{Price: &budget.Price{In: 1, Out: 2_000_000_000_000}},
			`"pricing":{"prompt":"0.000000000001","completion":"2","input_cache_read":"0"}}`,
		},
		{inference.Spec{Context: 8}, `"owned_by":"oneiros","context_length":8}`},
	} {
		h.models = map[string]inference.Spec{"iris": c.spec}
		_, one := h.send(http.MethodGet, "/v1/models/iris", "")
		require.Contains(t, one, c.want)
		_, all := h.send(http.MethodGet, "/v1/models", "")
		require.Contains(t, all, c.want)
		require.Contains(t, all, `{"id":"echo","object":"model","created":0,"owned_by":"oneiros"}`,
			"an agent whose model is not known")
	}
}

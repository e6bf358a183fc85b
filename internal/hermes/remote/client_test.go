package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
)

// server answers by the routes that a test gives it, and records what it was asked.
type server struct {
	t    *testing.T
	mux  *http.ServeMux
	http *httptest.Server

	mu       sync.Mutex
	requests []recorded
}

type recorded struct {
	method, path string
	header       http.Header
	body         string
}

func serve(t *testing.T, oneiros bool) *server {
	t.Helper()
	s := &server{t: t, mux: http.NewServeMux()}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.requests = append(s.requests, recorded{r.Method, r.URL.RequestURI(), r.Header.Clone(), string(body)})
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.http.Close)
	if oneiros {
		s.answer("GET /v1/openapi.json", 200, `{"openapi":"3.1.0","info":{"title":"Oneiros"},"paths":{}}`)
		s.answer("GET /v1/models", 200, `{"data":[{"id":"iris","owned_by":"oneiros"},{"id":"nyx"}]}`)
	}
	return s
}

func (s *server) answer(route string, status int, body string, header ...string) {
	s.mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// stream answers with server-sent events, and ends in the middle of the body when it is cut.
func (s *server) stream(route, body string, cut bool, header ...string) {
	s.mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	})
}

func (s *server) received() []recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]recorded{}, s.requests...)
}

func (s *server) client(change ...func(*remote.Settings)) *remote.Client {
	s.t.Helper()
	settings := remote.Settings{URL: s.http.URL, Agent: "iris", HTTP: s.http.Client()}
	for _, each := range change {
		each(&settings)
	}
	c, err := remote.New(settings)
	require.NoError(s.t, err)
	return c
}

func chunk(delta, finish string) string {
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
}

func question(text string) message.Request {
	return message.Request{Messages: []message.Message{{Role: message.User, Content: text}}}
}

func TestSettingsThatAreWrongAreNamed(t *testing.T) {
	t.Parallel()
	for url, base := range map[string]string{
		"http://127.0.0.1:7680":       "http://127.0.0.1:7680/v1",
		"http://127.0.0.1:7680/":      "http://127.0.0.1:7680/v1",
		"http://127.0.0.1:7680/v1":    "http://127.0.0.1:7680/v1",
		"https://x.example/a/v1//":    "https://x.example/a/v1",
		" https://x.example/prefix/ ": "https://x.example/prefix/v1",
	} {
		c, err := remote.New(remote.Settings{URL: url})
		require.NoError(t, err, url)
		require.Equal(t, base, c.URL())
	}
	for _, wrong := range []struct {
		s    remote.Settings
		says string
	}{
		{remote.Settings{}, "url is empty"},
		{remote.Settings{URL: "localhost:7680"}, `url is "localhost:7680"; it must begin with http:// or https://`},
		{remote.Settings{URL: "ftp://x.example"}, "must begin with http://"},
		{remote.Settings{URL: "http://me:secret@x.example"}, "url holds a name or password"},
		{remote.Settings{URL: "http://x.example?key=1"}, "without a query"},
		{remote.Settings{URL: "http://x.example", Key: "a\nb"}, "key has 3 bytes; it must be printable"},
		{remote.Settings{URL: "http://x.example", User: strings.Repeat("u", 257)}, "user has 257 bytes; it must have at most 256"},
		{remote.Settings{URL: "http://x.example", Conversation: "Grüße"}, "conversation is \"Grüße\"; it must be printable ASCII"},
	} {
		_, err := remote.New(wrong.s)
		require.ErrorContains(t, err, wrong.says)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAnAnswerComesInPiecesWithItsNotes(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.stream("POST /v1/chat/completions", ": waits\n\n"+
		chunk(`{"role":"assistant","content":""}`, "null")+chunk(`{"content":"Good "}`, "null")+
		chunk(`{"content":"morning."}`, "null")+chunk(`{}`, `"stop"`)+
		`data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":3,"total_tokens":103,"prompt_tokens_details":{"cached_tokens":64}}}`+
		"\n\ndata: [DONE]\n\n", false,
		"X-Oneiros-Recalled", "4", "X-Oneiros-Woke", "true", "X-Oneiros-Degraded", "mood")
	c := s.client(func(s *remote.Settings) { s.Key, s.Conversation, s.User = "oneiros_k", "talk", "ada" })
	var pieces []string
	r := question("Hello.")
	r.Tools = []message.Tool{{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"}}
	r.MaxTokens = 50
	r.Messages = append(r.Messages,
		message.Message{Role: message.Assistant, Calls: []message.Call{{ID: "c1", Name: "read", Arguments: `{}`}}},
		message.Message{Role: message.FromTool, CallID: "c1"})
	reply, err := c.Chat(t.Context(), r, func(p string) { pieces = append(pieces, p) })
	require.NoError(t, err)
	require.Equal(t, []string{"Good ", "morning."}, pieces)
	require.Equal(t, message.Reply{
		Message: message.Message{Role: message.Assistant, Content: "Good morning."},
		Finish:  "stop",
		Usage:   message.Usage{Input: 100, Output: 3, Cached: 64},
		Notes:   message.Notes{Recalled: 4, Woke: true, Degraded: "mood"},
	}, reply)
	first := s.received()[0]
	require.JSONEq(t, `{"model":"iris","stream":true,"stream_options":{"include_usage":true},"max_tokens":50,
		"messages":[{"role":"user","content":"Hello."},
			{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"(nothing)"}],
		"tools":[{"type":"function","function":{"name":"read","description":"reads","parameters":{"type":"object"}}},
			{"type":"function","function":{"name":"bare","parameters":{"type":"object","properties":{}}}}]}`, first.body)
	require.Equal(t, "Bearer oneiros_k", first.header.Get("Authorization"))
	require.Equal(t, "talk", first.header.Get("X-Oneiros-Conversation"))
	require.Equal(t, "ada", first.header.Get("X-Oneiros-User"))
	require.Empty(t, first.header.Get("X-Oneiros-Store"))
}

func TestAQuietRequestIsNotStored(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.stream("POST /v1/chat/completions", chunk(`{"content":"x"}`, `"stop"`)+"data: [DONE]\n\n", false)
	r := question("look around")
	r.Quiet = true
	_, err := s.client().Chat(t.Context(), r, nil)
	require.NoError(t, err)
	h := s.received()[0].header
	for _, name := range []string{"Store", "Affect", "Digest"} {
		require.Equal(t, "off", h.Get("X-Oneiros-"+name), name)
	}
}

func TestToolCallsAreAssembledHoweverAServerSendsThem(t *testing.T) {
	t.Parallel()
	call := func(text string) string { return chunk(`{"tool_calls":[`+text+`]}`, "null") }
	for name, c := range map[string]struct {
		stream string
		want   []message.Call
	}{
		"fragments of two": {
			call(`{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}`) +
				call(`{"index":0,"function":{"arguments":"{\"path\":"}}`) +
				call(`{"index":1,"id":"b","function":{"name":"list","arguments":"{}"}}`) +
				call(`{"index":0,"function":{"arguments":"\"x\"}"}}`),
			[]message.Call{{ID: "a", Name: "read", Arguments: `{"path":"x"}`}, {ID: "b", Name: "list", Arguments: "{}"}},
		},
		"all at once, without numbers": {
			call(`{"id":"a","function":{"name":"read","arguments":"1"}},{"id":"b","function":{"name":"read","arguments":"2"}}`),
			[]message.Call{{ID: "a", Name: "read", Arguments: "1"}, {ID: "b", Name: "read", Arguments: "2"}},
		},
		"without ids": {
			call(`{"index":0,"function":{"name":"read","arguments":"1"}}`) +
				call(`{"index":1,"function":{"name":"read","arguments":"2"}}`),
			[]message.Call{{ID: "call_1", Name: "read", Arguments: "1"}, {ID: "call_2", Name: "read", Arguments: "2"}},
		},
		"without numbers or ids": {
			call(`{"function":{"name":"read","arguments":"1"}}`) + call(`{"function":{"arguments":"2"}}`) +
				call(`{"function":{"name":"list","arguments":"3"}}`),
			[]message.Call{{ID: "call_1", Name: "read", Arguments: "12"}, {ID: "call_2", Name: "list", Arguments: "3"}},
		},
		"every call has the number 0": {
			call(`{"index":0,"id":"a","function":{"name":"read","arguments":"1"}}`) +
				call(`{"index":0,"id":"b","function":{"name":"list","arguments":"2"}}`) +
				call(`{"index":0,"function":{"arguments":"3"}}`),
			[]message.Call{{ID: "a", Name: "read", Arguments: "1"}, {ID: "b", Name: "list", Arguments: "23"}},
		},
		"name and id repeated": {
			call(`{"index":0,"id":"a","function":{"name":"read","arguments":"{"}}`) +
				call(`{"index":0,"id":"a","function":{"name":"read","arguments":"}"}}`),
			[]message.Call{{ID: "a", Name: "read", Arguments: "{}"}},
		},
		"the id that would be given is taken": {
			call(`{"index":0,"function":{"name":"read"}}`) + call(`{"index":1,"id":"call_1","function":{"name":"list"}}`),
			[]message.Call{{ID: "call_2", Name: "read"}, {ID: "call_1", Name: "list"}},
		},
	} {
		s := serve(t, true)
		s.stream("POST /v1/chat/completions", c.stream+chunk(`{}`, `"tool_calls"`)+"data: [DONE]\n\n", false)
		reply, err := s.client().Chat(t.Context(), question("x"), nil)
		require.NoError(t, err, name)
		require.Equal(t, c.want, reply.Message.Calls, name)
		require.Equal(t, "tool_calls", reply.Finish)
	}
}

func TestAServerThatDoesNotStreamIsUnderstood(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.answer("POST /v1/chat/completions", 200, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",
		"content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]}}],
		"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
	var pieces []string
	reply, err := s.client().Chat(t.Context(), question("x"), func(p string) { pieces = append(pieces, p) })
	require.NoError(t, err)
	require.Equal(t, []string{"I look."}, pieces)
	require.Equal(t, []message.Call{{ID: "a", Name: "read", Arguments: "{}"}}, reply.Message.Calls)
	require.Equal(t, message.Usage{Input: 1, Output: 2}, reply.Usage)
}

func TestAStreamThatBreaksOffLeavesWhatHadCome(t *testing.T) {
	t.Parallel()
	begun := chunk(`{"content":"Good "}`, "null")
	for name, c := range map[string]struct {
		body string
		cut  bool
		says string
	}{
		"cut":       {begun + `data: {"choices":[{"ind`, true, "the connection ended before the answer did"},
		"ended":     {begun, false, "the connection ended before the answer did"},
		"error":     {begun + ": beat\n\n" + `data: {"error":{"message":"the provider broke off","code":"upstream_broken"}}` + "\n\n", false, "the provider broke off"},
		"not JSON":  {begun + "data: <html>\n\n", false, "no piece of an answer"},
		"old error": {begun + `data: {"error":"out of memory"}` + "\n\n", false, "out of memory"},
	} {
		s := serve(t, true)
		s.stream("POST /v1/chat/completions", c.body, c.cut)
		reply, err := s.client().Chat(t.Context(), question("x"), nil)
		require.ErrorIs(t, err, remote.ErrBroken, name)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, "Good ", reply.Message.Content, name)
		require.Empty(t, reply.Finish)
	}
	s := serve(t, true)
	s.stream("POST /v1/chat/completions", begun+chunk(`{}`, `"stop"`), false)
	_, err := s.client().Chat(t.Context(), question("x"), nil)
	require.NoError(t, err, "a finish reason is an end, without [DONE] too")
}

func TestAnInterruptedAnswerKeepsWhatHadCome(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunk(`{"content":"Good "}`, "null"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reply, err := s.client().Chat(ctx, question("x"), func(string) { cancel() })
	require.Equal(t, context.Canceled, err)
	require.Equal(t, "Good ", reply.Message.Content)
}

func TestRefusalsAreSaidInPlainWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		header []string
		says   string
	}{
		{401, `{"error":{"message":"no key has this secret","code":"invalid_api_key"}}`, nil, "the server refuses the key: no key has this secret"},
		{402, `{"error":{"message":"The provider has no credit.","code":"no_money"}}`, nil, "there is no money left for this: The provider has no credit"},
		{429, `{"error":{"message":"Slow down.","code":"rate_limited"}}`, []string{"Retry-After", "9", "Retry-After-Ms", "8400"}, "the server is asked too often: Slow down; try again in 9 seconds"},
		{429, `{"error":{"message":"nothing is left","code":"cap_reached"}}`, []string{"Retry-After", "7000"}, "a cap on spending is reached: nothing is left; try again in 117 minutes"},
		{503, `{"error":{"message":"The memory of this server does not answer.","code":"store_away"}}`, nil, "the server cannot answer now: The memory of this server does not answer"},
		{404, `{"error":{"message":"There is no agent \"irs\". This key reaches iris, nyx.","code":"model_not_found"}}`, nil, `There is no agent "irs". This key reaches iris, nyx`},
		{500, ``, nil, "the server failed (status 500)"},
	} {
		s := serve(t, true)
		s.answer("POST /v1/chat/completions", c.status, c.body, c.header...)
		_, err := s.client().Chat(t.Context(), question("x"), nil)
		require.EqualError(t, err, c.says)
		require.Len(t, s.received(), 1, "a chat request is never sent twice")
	}
}

func TestAPlainServerIsKnownAndWhatItLacksIsSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.answer("GET /v1/models", 200, `{"object":"list","data":[
		{"id":"tiny","context_length":8192,"pricing":{"prompt":"0","completion":"0"}},
		{"id":"large","pricing":{"prompt":"0.000003","completion":0.000015}},{"id":"odd"}]}`)
	s.answer("POST /v1/chat/completions", 404, `{"error":{"message":"model not found"}}`)
	c := s.client(func(s *remote.Settings) { s.Agent = "tini" })
	_, err := c.Status(t.Context())
	require.EqualError(t, err, "this server is no Oneiros: it has no agents that sleep and dream")
	require.ErrorIs(t, err, api.ErrMissing)
	require.Equal(t, remote.Plain, c.Kind())
	before := len(s.received())
	_, err = c.Dreams(t.Context(), 20)
	require.EqualError(t, err, "this server is no Oneiros: it has no dreams")
	_, err = c.Remember(t.Context(), "x")
	require.ErrorIs(t, err, api.ErrMissing)
	require.ErrorIs(t, c.Hold(t.Context(), func(remote.Holding) {}), api.ErrMissing)
	require.ErrorIs(t, c.Events(t.Context(), remote.Filter{}, 0, func(api.Event) {}), api.ErrMissing)
	require.Len(t, s.received(), before, "what is known to be missing is not asked for")

	got, err := c.Probe(t.Context())
	require.NoError(t, err)
	require.False(t, got.HasAgent)
	require.True(t, got.Models[0].Free())
	require.Equal(t, 8192, got.Models[0].Context)
	require.InDelta(t, 0.000015, float64(got.Models[1].Pricing.Completion), 1e-12)
	require.Nil(t, got.Models[2].Pricing)
	_, err = c.Chat(t.Context(), question("x"), nil)
	require.ErrorContains(t, err, `there is no model "tini"`)
	require.ErrorContains(t, err, "there is tiny, large, odd")
	last := s.received()
	require.Empty(t, last[len(last)-2].header.Get("X-Oneiros-Conversation"))
}

func TestWhatIsNoServerOfOursIsSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>")
	})
	_, err := s.client().Probe(t.Context())
	require.ErrorContains(t, err, "a server answers there, but it has no API that Hermes knows")
	url := s.http.URL
	s.http.Close()
	c, err := remote.New(remote.Settings{URL: url, Agent: "iris"})
	require.NoError(t, err)
	_, err = c.Probe(t.Context())
	require.ErrorContains(t, err, "nothing listens at "+url+"/v1; is the server running?")
	lines := c.Check(t.Context())
	require.Len(t, lines, 1)
	require.Equal(t, api.Failure, lines[0].Level)
	require.Contains(t, lines[0].Fix, "oneiros up")
}

func TestARefusedRoleIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("GET /v1/agents/iris/journal", 403, `{"error":{"message":"This needs a key of the role operator.","code":"role_required"}}`)
	s.answer("GET /v1/agents/iris/claims", 403, `{"error":{"message":"this needs a key of role operator; this one has role client","code":"role_too_low"}}`)
	s.answer("GET /v1/rooms/hall", 403, `{"error":{"message":"read the room: not a member.","code":"not_a_member"}}`)
	s.answer("GET /v1/dreams", 200, `{"data":[{"id":"dream_iris_0001","status":"completed"}]}`)
	c := s.client()
	_, err := c.Journal(t.Context(), 10)
	require.ErrorIs(t, err, api.ErrRole)
	require.EqualError(t, err, "this needs a key of the role operator")
	_, err = c.Claims(t.Context(), 10)
	require.EqualError(t, err, "this needs a key of the role operator; this one has the role client")
	_, err = c.Room(t.Context(), "hall")
	require.NotErrorIs(t, err, api.ErrRole)
	require.EqualError(t, err, "read the room: not a member")
	_, err = c.Quality(t.Context())
	require.ErrorIs(t, err, api.ErrRole)
}

func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.mux.HandleFunc("GET /v1/dreams/{id}/fragments", func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "dream/iris/0007", r.PathValue("id"))
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Query().Get("after") {
		case "":
			_, _ = io.WriteString(w, `{"data":[{"id":"a"},{"id":"b"}],"last_id":"b","has_more":true}`)
		case "b":
			_, _ = io.WriteString(w, `{"data":[{"id":"c","unknown":[1]}],"last_id":"c","has_more":false}`)
		}
	})
	fragments, err := s.client().Fragments(t.Context(), "7")
	require.NoError(t, err)
	require.Len(t, fragments, 3)
}

// event is an event of the log as the server sends it.
func event(seq int, kind, data string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"seq\":%d,\"type\":%q,\"data\":%s}\n\n", seq, kind, seq, kind, data)
}

func TestEventsGoOnBehindTheLastOneThatCame(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	rounds := 0
	s.mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		rounds++
		w.Header().Set("Content-Type", "text/event-stream")
		switch rounds {
		case 1:
			require.Equal(t, "after=3&agent=iris&dream=dream_iris_0001", r.URL.RawQuery)
			_, _ = io.WriteString(w, "retry: 2000\n\n"+event(4, "DreamStarted", "{}")+event(5, "Spent", "{}")+"id: 6\ndata: {\"se")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case 2:
			require.Equal(t, "5", r.Header.Get("Last-Event-ID"))
			_, _ = io.WriteString(w, "id: 4\nevent: Rewound\ndata: {\"after\":5,\"head\":4}\n\n"+event(5, "DreamEnded", "{}"))
		default:
			require.Equal(t, "5", r.Header.Get("Last-Event-ID"))
			w.WriteHeader(http.StatusNoContent)
		}
	})
	c := s.client()
	remote.AtOnce(c)
	var got []string
	err := c.Events(t.Context(), remote.Filter{Dream: "dream_iris_0001"}, 3, func(e api.Event) {
		got = append(got, fmt.Sprint(e.Seq, " ", e.Type))
	})
	require.NoError(t, err)
	require.Equal(t, []string{"4 DreamStarted", "5 Spent", "4 Rewound", "5 DreamEnded"}, got)
}

func TestThePastOfADreamThatGoesOnIsWhatThereIsSoFar(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("GET /v1/dreams/dream_iris_0001", 200, `{"id":"dream_iris_0001","status":"running"}`)
	s.answer("GET /v1/dreams/dream_iris_0002", 200, `{"id":"dream_iris_0002","status":"completed"}`)
	s.mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 2000\n\n"+event(1, "DreamStarted", "{}")+event(2, "Spent", "{}"))
		if r.URL.Query().Get("dream") == "dream_iris_0001" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	c := s.client()
	remote.Moment(c, 20*time.Millisecond)
	for _, id := range []string{"dream_iris_0001", "dream_iris_0002"} {
		events, err := c.Past(t.Context(), remote.Filter{Dream: id})
		require.NoError(t, err)
		require.Len(t, events, 2, id)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Past(ctx, remote.Filter{Dream: "dream_iris_0002"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestAHoldIsTakenUpAgainUntilItIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	rounds := 0
	s.mux.HandleFunc("GET /v1/agents/iris/session", func(w http.ResponseWriter, _ *http.Request) {
		rounds++
		if rounds == 3 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"message":"The agent was removed.","code":"agent_not_found"}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: session\ndata: {\"id\":\"ses_1\",\"agent\":\"iris\",\"woke\":true}\n\n: awake\n\n")
	})
	c := s.client()
	remote.AtOnce(c)
	_, err := c.Probe(t.Context())
	require.NoError(t, err)
	var states []string
	err = c.Hold(t.Context(), func(h remote.Holding) {
		states = append(states, h.Presence.String())
		if h.Presence == remote.Lost {
			require.EqualError(t, h.Err, "the server has ended the connection")
		}
	})
	require.EqualError(t, err, "The agent was removed")
	require.Equal(t, []string{"connecting", "held", "lost", "connecting", "held", "lost", "connecting", "refused"}, states)
}

func TestAHoldEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	closed := make(chan struct{})
	s.mux.HandleFunc("GET /v1/agents/iris/session", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: session\ndata: {\"id\":\"ses_1\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.client().Hold(ctx, func(h remote.Holding) {
		require.NotEqual(t, remote.Lost, h.Presence, "it was let go, not lost")
		if h.Presence == remote.Held {
			require.Equal(t, "ses_1", h.Session.ID)
			cancel()
		}
	})
	require.Equal(t, context.Canceled, err)
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("the server was not told that the client has closed")
	}
}

// refusing refuses so many connections before it passes requests on.
type refusing struct {
	left  int
	tried int
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.tried++
	if r.tried <= r.left {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return http.DefaultTransport.RoundTrip(req)
}

func TestAReadIsTriedOnceMoreAndNothingElseIs(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("GET /v1/agents/iris/status", 200, `{"state":"awake"}`)
	s.answer("POST /v1/agents/iris/memories", 201, `{"id":"ep_1"}`)
	try := func(refused int) (*remote.Client, *refusing) {
		transport := &refusing{left: refused}
		c := s.client(func(s *remote.Settings) { s.HTTP = &http.Client{Transport: transport} })
		remote.AtOnce(c)
		return c, transport
	}
	c, _ := try(1)
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "awake", status.State)
	c, transport := try(9)
	_, err = c.Status(t.Context())
	require.ErrorContains(t, err, "nothing listens at")
	require.Equal(t, 2, transport.tried)
	c, transport = try(1)
	_, err = c.Remember(t.Context(), "x")
	require.ErrorContains(t, err, "nothing listens at")
	require.Equal(t, 1, transport.tried)
	c, transport = try(1)
	_, err = c.Chat(t.Context(), question("x"), nil)
	require.ErrorContains(t, err, "nothing listens at")
	require.Equal(t, 1, transport.tried)
}

func TestEventsEndWithARefusalThatIsFinal(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	rounds := 0
	s.mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		rounds++
		if rounds == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event(4, "AgentAwake", "{}"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"the key k was revoked","code":"invalid_api_key"}}`)
	})
	c := s.client()
	remote.AtOnce(c)
	err := c.Events(t.Context(), remote.Filter{}, remote.FromNow, func(api.Event) {})
	require.EqualError(t, err, "the server refuses the key: the key k was revoked")
	require.Equal(t, 2, rounds)
}

func TestAStreamThatFallsSilentIsLost(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.mux.HandleFunc("GET /v1/agents/iris/session", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	c := s.client()
	remote.Silence(c, 20*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.Hold(ctx, func(h remote.Holding) {
		if h.Presence == remote.Lost {
			require.ErrorContains(t, h.Err, "nothing came from "+c.URL()+" for 20ms")
			cancel()
		}
	})
	require.Equal(t, context.Canceled, err)
}

func TestAServerThatDescribesAnotherAPIIsPlain(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.answer("GET /v1/openapi.json", 200, `{"openapi":"3.1.0","info":{"title":"Some server"}}`)
	s.answer("GET /v1/models", 200, `{"data":[{"id":"tiny"}]}`)
	got, err := s.client().Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, remote.Plain, got.Kind)
	lines := s.client().Check(t.Context())
	require.Contains(t, lines[3].Says, "it has no memory, no dreams and no presence")
}

func TestACheckWarnsOfClocksApartAndAKeyInClear(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.mux.HandleFunc("GET /v1/{rest...}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	late := time.Now().Add(-10 * time.Minute).UTC().Format(http.TimeFormat)
	shifted := transport(func(r *http.Request) (*http.Response, error) {
		r.URL.Host = strings.TrimPrefix(s.http.URL, "http://")
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			res.Header.Set("Date", late)
		}
		return res, err
	})
	c, err := remote.New(remote.Settings{
		URL: "http://oneiros.example", Key: "oneiros_k", Agent: "iris", HTTP: &http.Client{Transport: shifted},
	})
	require.NoError(t, err)
	var warnings []string
	for _, line := range c.Check(t.Context()) {
		if line.Level == api.Warning && line.Fix != "" {
			warnings = append(warnings, line.Says)
		}
	}
	require.Len(t, warnings, 2)
	require.Equal(t, "the key crosses the network unencrypted", warnings[0])
	require.Regexp(t, `^the server's clock is 1[01] minutes behind ours$`, warnings[1])
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestACheckOfADeploymentThatIsWell(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	s.answer("GET /v1/agents/iris/journal", 200, `{"data":[]}`)
	s.answer("GET /v1/agents/iris/owners", 403, `{"error":{"message":"This needs a key of the role owner.","code":"role_required"}}`)
	s.answer("GET /v1/agents/iris/status", 200, `{"state":"awake","leases":2}`)
	var text []string
	for _, line := range s.client().Check(t.Context()) {
		text = append(text, line.Level+" "+line.Name+": "+line.Says)
	}
	require.Equal(t, []string{
		"ok server: " + s.http.URL + "/v1 is Oneiros",
		"ok agent: iris is there",
		"ok models: 2 listed, the server does not say what all cost",
		"ok role: the key has the role operator",
		"ok presence: iris is awake, held awake by 2 clients",
		"ok clock: the server's clock and ours agree",
	}, text)
}

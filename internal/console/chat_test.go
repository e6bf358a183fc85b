package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
)

// talking is a server that answers what it was told, and how it was asked.
type talking struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   []string // the messages of each request
	sessions []string // the session that each request named
	released chan struct{}
}

// newTalking serves agents, of which the key may be asked.
func newTalking(t *testing.T, key string, agents ...string) *talking {
	t.Helper()
	s := &talking{released: make(chan struct{}, 8)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"Oneiros"}}`)
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		var list struct {
			Data []map[string]string `json:"data"`
		}
		for _, name := range agents {
			list.Data = append(list.Data, map[string]string{"id": name})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	mux.HandleFunc("GET /v1/agents/{agent}/session", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: session\ndata: {\"id\":\"held\",\"agent\":%q}\n\n", r.PathValue("agent"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		s.released <- struct{}{}
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, fmt.Sprint(body.Messages))
		s.sessions = append(s.sessions, r.Header.Get("X-Oneiros-Session"))
		s.mu.Unlock()
		last := body.Messages[len(body.Messages)-1].Content
		codes := map[string]string{"too fast": "rate_limit_exceeded", "too dear": "insufficient_quota"}
		if code := codes[last]; code != "" {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, `{"error":{"message":"no","code":%q}}`, code)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if last == "break off" {
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"I\"}}]}\n\n")
			return
		}
		w.Header().Set("X-Oneiros-Recalled", "2")
		for _, piece := range []string{body.Model, " heard: \x1b[31m", body.Messages[len(body.Messages)-1].Content} {
			text, _ := json.Marshal(piece)
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.Header().Set("WWW-Authenticate", `Bearer realm="oneiros"`)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":{"message":"no key has this secret","code":"invalid_api_key"}}`)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestATalkGoesOnLineByLineAndHoldsTheAgentAwakeUntilItEnds(t *testing.T) {
	t.Parallel()
	s := newTalking(t, "", "iris", "echo")
	d := newFixture(t)
	d.terminal, d.in = true, "Good morning.\n\n  And now? \n/quit\nNever said.\n"
	require.Equal(t, exit.OK, d.run(80, "chat", "iris", "--server", s.URL), d.err.String())
	d.golden("chat-80")
	require.Equal(t, []string{
		"[{user Good morning.}]",
		"[{user Good morning.} {assistant iris heard: \x1b[31mGood morning.} {user And now?}]",
	}, s.bodies)
	require.Equal(t, []string{"held", "held"}, s.sessions)
	<-s.released
	d.in = "The end of the input leaves, too."
	require.Equal(t, exit.OK, d.run(80, "chat", "iris", "--server", s.URL), d.err.String())
	require.Equal(t, "iris heard: The end of the input leaves, too.\n", d.out.String())
	<-s.released
}

func TestOneMessageIsSaidFromAFlagOrAPipe(t *testing.T) {
	t.Parallel()
	s := newTalking(t, "oneiros_secret", "iris", "Echo")
	d := newFixture(t)
	d.env = map[string]string{"ONEIROS_KEY": "oneiros_secret", "HERMES_SERVER": s.URL}
	require.Equal(t, exit.OK, d.run(0, "chat", "IRIS", "-m", "Hello."), d.err.String())
	require.Equal(t, "iris heard: Hello.\n", d.out.String(), "another case of the name is the same agent")
	require.Empty(t, d.err.String())
	<-s.released
	d.in = "two\nlines\n"
	require.Equal(t, exit.OK, d.run(0, "chat", "iris"), d.err.String())
	require.Equal(t, "iris heard: two\nlines\n", d.out.String())
}

func TestWhatBecameOfATalkIsItsExitCode(t *testing.T) {
	t.Parallel()
	s := newTalking(t, "", "iris")
	d := newFixture(t)
	for text, code := range map[string]int{
		"hello": exit.OK, "break off": exit.Failure, "too fast": exit.Failure, "too dear": exit.Refused,
	} {
		require.Equal(t, code, d.run(0, "chat", "oneiros/Iris:latest", "-m", text, "--server", s.URL), text)
		require.NotContains(t, d.err.String(), "Start the server", text)
	}
}

func TestATalkThatCannotBeginSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const key = "oneiros_secret"
	s, empty := newTalking(t, key, "iris", "echo", "ECHO"), newTalking(t, "")
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	d := newFixture(t)
	for _, c := range []struct {
		key  string
		args []string
		code int
		want []string
	}{
		{"", []string{"iris", "--server", s.URL}, exit.Refused, []string{"no key has this secret", "oneiros keys add"}},
		{key, []string{"rosa", "--server", s.URL}, exit.NotFound, []string{`no agent "rosa"`, "ECHO, echo, iris"}},
		{key, []string{"Echo", "--server", s.URL}, exit.NotFound, []string{`no agent "Echo"`, "ECHO, echo, iris"}},
		{"", []string{"iris", "--server", empty.URL}, exit.NotFound, []string{"oneiros agents add"}},
		{"", []string{"iris", "--server", ended.URL}, exit.Unreachable, []string{"server running?", "oneiros up"}},
		{"", []string{"iris", "--server", "nowhere"}, exit.Usage, []string{`"nowhere"`, "http://127.0.0.1:7680"}},
		{"", []string{"iris", "--json"}, exit.Usage, []string{"--json has no place here"}},
		{"", []string{}, exit.Usage, []string{"lacks AGENT"}},
	} {
		d.env = map[string]string{"ONEIROS_KEY": c.key}
		got := d.run(80, append([]string{"chat", "-m", "Hello."}, c.args...)...)
		require.Equal(t, c.code, got, "%v: %s", c.args, d.err.String())
		for _, want := range c.want {
			require.Contains(t, d.err.String(), want, c.args)
		}
		require.Empty(t, d.out.String(), c.args)
	}
	d.in = " \n"
	require.Equal(t, exit.Usage, d.run(0, "chat", "iris", "--server", s.URL))
	require.Contains(t, d.err.String(), "there is nothing to say")
}

package psyche_test

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

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// streamed is a stream on one wire, translated or as its provider sends it.
type streamed struct {
	path, body string
	native     bool
	failure    string // an event with which a provider says that it failed
	broken     string // the last event where the stream broke off
	end        string // the last event of a whole answer
}

var streams = map[string]streamed{
	"chat": {
		path:    "/v1/chat/completions",
		body:    `{"model":"echo","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
		failure: chatFailure, broken: `"code":"upstream_broken"`, end: "[DONE]",
	},
	"completions": {
		path:    "/v1/completions",
		body:    `{"model":"echo","stream":true,"prompt":"hi"}`,
		failure: chatFailure, broken: `"code":"upstream_broken"`, end: "[DONE]",
	},
	"responses": {
		path:    "/v1/responses",
		body:    `{"model":"echo","stream":true,"input":"hi"}`,
		failure: chatFailure, broken: "event: response.failed", end: "event: response.completed",
	},
	"messages": {
		path:    "/v1/messages",
		body:    `{"model":"echo","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		failure: chatFailure, broken: "event: error", end: "event: message_stop",
	},
	"native responses": {
		path:    "/v1/responses",
		body:    `{"model":"echo","stream":true,"store":false,"input":"hi"}`,
		native:  true,
		failure: `{"type":"response.failed","sequence_number":9,"response":{"id":"r","object":"response","status":"failed"}}`,
		broken:  "event: error", end: "event: response.completed",
	},
	"native messages": {
		path:    "/v1/messages",
		body:    `{"model":"echo","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
		native:  true,
		failure: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		broken:  "event: error", end: "event: message_stop",
	},
}

const chatFailure = `{"error":{"message":"no room","code":500}}`

// answer is a whole answer of the provider, and its beginning.
func (s *streamed) answer(t *testing.T, r inference.RelayRequest) (whole, begins string) {
	if s.native {
		whole = recorded(t, strings.TrimPrefix(r.Path, "/")+".events")
	} else {
		_, _, body := says("Yes.")(r)
		raw, err := io.ReadAll(body)
		require.NoError(t, err)
		whole = string(raw)
		if r.Path == "/completions" {
			whole = strings.ReplaceAll(whole, `"delta":{"content":"Yes."}`, `"text":"Yes."`)
		}
	}
	return whole, whole[:strings.Index(whole, "\n\n")+2]
}

// serve is a service, and a server of all wires over it.
func (s *streamed) serve(t *testing.T, change func(*psyche.Ports)) (*rig, front.Options) {
	t.Helper()
	r := setup(t, func(p *psyche.Ports, o *psyche.Options) {
		o.Completions = "p/free"
		table := catalogue()
		spec := table["p/free"]
		if s.native {
			spec.Wires = inference.ChatWire | inference.ResponsesWire | inference.MessagesWire
		}
		table[spec.Name] = spec
		p.Guard.Catalog = table
		if change != nil {
			change(p)
		}
	})
	turns := turnhttp.Turns{Talk: r.Service, Now: time.Now}
	routes := (&responseshttp.Handler{Turns: turns}).Routes()
	routes = append(routes, (&messageshttp.Handler{Turns: turns, Meter: r.Service}).Routes()...)
	routes = append(routes, (&openaihttp.Handler{Turns: turns}).Routes()...)
	return r, front.Options{Routes: routes, Keys: &accesstest.Book{}, Keyless: true}
}

// ask sends the request under a name to a new server, which knows only what was kept.
func (s *streamed) ask(t *testing.T, o front.Options) *httptest.ResponseRecorder {
	t.Helper()
	served, err := front.New(o)
	require.NoError(t, err)
	w := s.send(t, served)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w
}

// send sends the request under a name.
func (s *streamed) send(t *testing.T, to http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path, strings.NewReader(s.body))
	r.Host = "127.0.0.1"
	r.Header.Set("Idempotency-Key", "a")
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	return w
}

// A stream that ends in an error is a failure like any other: the same request is done again, and the whole answer is
// kept.
func TestAStreamThatFailedIsDoneAgain(t *testing.T) {
	t.Parallel()
	for name, s := range streams {
		for how, last := range map[string]io.Reader{
			"the connection breaks":  iotest.ErrReader(errors.New("the line broke")),
			"it ends before its end": strings.NewReader(""),
			"the provider says so":   strings.NewReader("event: error\ndata: " + s.failure + "\n\ndata: [DONE]\n\n"),
			"it says so and breaks": io.MultiReader(
				strings.NewReader("event: error\ndata: "+s.failure+"\n\n"),
				iotest.ErrReader(errors.New("the line broke"))),
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				r, o := s.serve(t, nil)
				calls := 0
				r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
					whole, begins := s.answer(t, q)
					body := io.MultiReader(strings.NewReader(begins), last)
					calls++
					if calls > 1 {
						body = strings.NewReader(whole)
					}
					return http.StatusOK, "text/event-stream", io.NopCloser(body)
				}
				first := s.ask(t, o).Body.String()
				switch how {
				case "the provider says so":
					require.Contains(t, first, "error")
				case "it says so and breaks":
					shown := strings.Count(first, "event: error") + strings.Count(first, "upstream_broken")
					require.Equal(t, 1, shown, first)
				default:
					require.Contains(t, first, s.broken)
				}
				again := s.ask(t, o)
				require.Empty(t, again.Header().Get("Idempotent-Replayed"))
				require.Contains(t, again.Body.String(), s.end)
				require.NotContains(t, again.Body.String(), s.broken)
				kept := s.ask(t, o)
				require.Equal(t, "true", kept.Header().Get("Idempotent-Replayed"))
				require.Equal(t, again.Body.String(), kept.Body.String())
				require.Equal(t, 2, calls)
			})
		}
	}
}

// wholeFailures are answers in one piece in which a provider says that it failed, by the path that it was asked at.
var wholeFailures = map[string]string{
	"/chat/completions": chatFailure,
	"/completions":      chatFailure,
	"/responses": `{"id":"resp_1","object":"response","status":"failed","store":false,
		"error":{"code":"server_error","message":"oh"},"output":[],"usage":null}`,
	"/messages": `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
}

// An answer in one piece in which its provider says that it failed is a failure as well, whatever its status.
func TestAWholeAnswerThatFailedIsDoneAgain(t *testing.T) {
	t.Parallel()
	for name, s := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.body = strings.Replace(s.body, `"stream":true`, `"stream":false`, 1)
			r, o := s.serve(t, nil)
			calls := 0
			r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
				calls++
				return http.StatusOK, "application/json", io.NopCloser(strings.NewReader(wholeFailures[q.Path]))
			}
			for range 2 {
				served, err := front.New(o)
				require.NoError(t, err)
				w := s.send(t, served)
				require.Contains(t, w.Body.String(), "error")
				require.Empty(t, w.Header().Get("Idempotent-Replayed"))
			}
			require.Equal(t, 2, calls)
		})
	}
}

// unending is a provider whose first stream stops after its beginning, until its call is canceled.
type unending struct {
	*provider
	s     *streamed
	t     *testing.T
	begun chan struct{}
}

func (u *unending) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	if len(u.bodies) > 0 {
		return u.provider.Relay(ctx, r)
	}
	_, begins := u.s.answer(u.t, r)
	from, to := io.Pipe()
	context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, _ = io.WriteString(to, begins)
		close(u.begun)
	}()
	u.answer = func(inference.RelayRequest) (int, string, io.ReadCloser) {
		return http.StatusOK, "text/event-stream", from
	}
	return u.provider.Relay(ctx, r)
}

// A server that stops in the middle of a stream tells its client so, and keeps no half of it.
func TestAStreamThatEndsWithItsServerIsDoneAgain(t *testing.T) {
	t.Parallel()
	for name, s := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := make(chan struct{})
			r, o := s.serve(t, func(p *psyche.Ports) {
				p.Relay = &unending{provider: p.Relay.(*provider), s: &s, t: t, begun: begun}
			})
			served, err := front.New(o)
			require.NoError(t, err)
			at, err := served.Listen(t.Context(), "127.0.0.1:0")
			require.NoError(t, err)
			over := make(chan error, 1)
			go func() { over <- served.Serve() }()
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at.String()+s.path,
				strings.NewReader(s.body))
			require.NoError(t, err)
			q.Header.Set("Idempotency-Key", "a")
			answer, err := http.DefaultClient.Do(q)
			require.NoError(t, err)
			defer func() { _ = answer.Body.Close() }()
			<-begun
			now, stop := context.WithCancel(t.Context())
			stop()
			require.ErrorIs(t, served.Shutdown(now), context.Canceled)
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Contains(t, string(text), s.broken)
			require.NoError(t, <-over)
			r.provider.answer = func(q inference.RelayRequest) (int, string, io.ReadCloser) {
				whole, _ := s.answer(t, q)
				return http.StatusOK, "text/event-stream", io.NopCloser(strings.NewReader(whole))
			}
			again := s.ask(t, o)
			require.Empty(t, again.Header().Get("Idempotent-Replayed"))
			require.Contains(t, again.Body.String(), s.end)
		})
	}
}

package psyche_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/messageshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/openaihttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/responseshttp"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
)

// queued is a server with two places, on which a turn lasts until it is released.
type queued struct {
	*testing.T
	http.Handler
	book    *accesstest.Book
	path    string
	form    string         // a request of this text
	begun   chan string    // whose turns begin
	release chan struct{}  // one of them ends
	waiting chan int       // how many wait, whenever that changed
	ended   chan string    // whose requests are over
	over    sync.WaitGroup // of all requests

	mu      sync.Mutex
	answers map[string]*httptest.ResponseRecorder // by name
}

func (q *queued) Queue(waiting int)                    { q.waiting <- waiting }
func (*queued) Waited(time.Duration, fairqueue.Reason) {}
func (*queued) Shed(string)                            {}

// introduction is in each request, and says whose it is.
var introduction = regexp.MustCompile(`I am (\w+)\.`)

// lasting is an answer that comes once a turn is released.
type lasting struct {
	io.Reader
	release chan struct{}
	once    sync.Once
}

func (l *lasting) Read(p []byte) (int, error) {
	l.once.Do(func() { <-l.release })
	return l.Reader.Read(p)
}

func (*lasting) Close() error { return nil }

func newQueued(t *testing.T, path, form string) *queued {
	t.Helper()
	q := &queued{
		T: t, book: &accesstest.Book{}, path: path, form: form,
		begun:   make(chan string, 16),
		release: make(chan struct{}),
		ended:   make(chan string, 16),
		waiting: make(chan int, 99),
		answers: map[string]*httptest.ResponseRecorder{},
	}
	r := setup(t, func(_ *psyche.Ports, o *psyche.Options) { o.Completions = "p/free" })
	yes := says("Yes.")
	r.provider.answer = func(sent inference.RelayRequest) (int, string, io.ReadCloser) {
		names := introduction.FindAllSubmatch(sent.Body, -1)
		q.begun <- string(names[len(names)-1][1])
		status, kind, body := yes(sent)
		return status, kind, &lasting{Reader: body, release: q.release}
	}
	turns := turnhttp.Turns{Talk: r.Service, Now: time.Now}
	routes := (&responseshttp.Handler{Turns: turns}).Routes()
	routes = append(routes, (&messageshttp.Handler{Turns: turns, Meter: r.Service}).Routes()...)
	routes = append(routes, (&openaihttp.Handler{Turns: turns}).Routes()...)
	served, err := front.New(front.Options{
		Routes: routes, Keys: q.book, Load: q,
		Limits: front.Limits{All: 2, Queue: 3, QueueTime: time.Minute, Rate: 600},
	})
	require.NoError(t, err)
	q.Handler = served
	t.Cleanup(func() { close(q.release) })
	return q
}

// key makes a key of a principal.
func (q *queued) key(name string, program bool) string {
	k, secret := access.New(name, access.Client, nil, time.Now())
	k.Program = program
	require.NoError(q, q.book.PutKey(q.Context(), k))
	return secret
}

// send sends a request in the name of somebody.
func (q *queued) send(name, key string) {
	q.over.Go(func() {
		r := httptest.NewRequestWithContext(q.Context(), http.MethodPost, q.path,
			strings.NewReader(fmt.Sprintf(q.form, "I am "+name+".")))
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		q.ServeHTTP(w, r)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.answers[name] = w
		q.ended <- name
	})
}

// sent sends a request that gets no place, and waits until so many wait.
func (q *queued) sent(name, key string, waiting int) {
	q.send(name, key)
	q.awaits(waiting)
}

// begins waits until a turn begins, which is that of somebody.
func (q *queued) begins(name string) {
	q.Helper()
	select {
	case begun := <-q.begun:
		require.Equal(q, name, begun)
	case ended := <-q.ended:
		q.mu.Lock()
		defer q.mu.Unlock()
		require.Fail(q, ended+" does not wait", q.answers[ended].Body.String())
	}
}

// awaits waits until so many wait.
func (q *queued) awaits(waiting int) {
	q.Helper()
	for {
		select {
		case n := <-q.waiting:
			if n == waiting {
				return
			}
		case name := <-q.begun:
			require.Fail(q, name+" goes past the queue")
		}
	}
}

// On every wire people go before programs, who has the fewest turns under way goes first, the longest queue gives way,
// and who is refused gets the error of the wire, with when to come back and what is left of the rate.
func TestPlacesAreGivenByKeyOnEveryWire(t *testing.T) {
	t.Parallel()
	for path, form := range map[string]string{
		"/v1/chat/completions": `{"model":"echo","messages":[{"role":"user","content":%q}]}`,
		"/v1/completions":      `{"model":"echo","prompt":%q}`,
		"/v1/responses":        `{"model":"echo","input":%q}`,
		"/v1/messages":         `{"model":"echo","max_tokens":9,"messages":[{"role":"user","content":%q}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			q := newQueued(t, path, form)
			flood, quiet, other := q.key("flood", false), q.key("quiet", false), q.key("other", false)
			program := q.key("program", true)
			for i := range 2 {
				q.send(fmt.Sprint("flood", i), flood)
				q.begins(fmt.Sprint("flood", i))
			}
			q.sent("flood2", flood, 1)
			q.sent("flood3", flood, 2)
			q.sent("program0", program, 3)
			q.send("quiet", quiet)
			require.Equal(t, "program0", <-q.ended, "a program gives way to people")
			q.send("other", other)
			require.Equal(t, "flood3", <-q.ended, "the longest queue gives way")
			q.release <- struct{}{}
			<-q.ended
			q.begins("quiet")
			q.awaits(2)
			q.sent("program1", program, 3)
			for _, name := range []string{"other", "flood2", "program1"} {
				q.release <- struct{}{}
				<-q.ended
				q.begins(name)
			}
			for range 2 {
				q.release <- struct{}{}
			}
			q.over.Wait()
			require.Len(t, q.answers, 8)
			for name, answer := range q.answers {
				require.Equal(t, "600", answer.Header().Get(limitHeader(path)), "%s: %v", name, answer.Header())
				if name == "program0" || name == "flood3" {
					q.requireShed(answer)
				} else {
					require.Equal(t, http.StatusOK, answer.Code, "%s: %s", name, answer.Body)
				}
			}
		})
	}
}

func limitHeader(path string) string {
	if path == "/v1/messages" {
		return "Anthropic-Ratelimit-Requests-Limit"
	}
	return "X-Ratelimit-Limit-Requests"
}

// requireShed requires the wire's own error of a full server.
func (q *queued) requireShed(w *httptest.ResponseRecorder) {
	q.Helper()
	var answer struct {
		Type  string
		Error struct{ Type, Code string }
	}
	require.NoError(q, json.Unmarshal(w.Body.Bytes(), &answer), w.Body)
	if q.path == "/v1/messages" {
		require.Equal(q, 529, w.Code, w.Body)
		require.Equal(q, "error", answer.Type)
		require.Equal(q, "overloaded_error", answer.Error.Type)
	} else {
		require.Equal(q, http.StatusServiceUnavailable, w.Code, w.Body)
		require.Equal(q, "server_error", answer.Error.Type)
		require.Equal(q, "overloaded", answer.Error.Code)
	}
	seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
	require.NoError(q, err)
	require.Positive(q, seconds)
}

package front_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

func once(name string, more ...string) []string {
	return append([]string{"Idempotency-Key", name}, more...)
}

func TestARequestThatComesTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	h := newServer(t, []front.Route{
		{
			Method: "POST",
			Path:   "/do/{id}",
			Role:   access.Client,
			Once:   true,
			Serve: func(w http.ResponseWriter, r *http.Request) {
				body, err := front.Body(r)
				require.NoError(t, err)
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, "%s %d", body, times.Add(1))
			},
		},
		{
			Method: "POST", Path: "/freely", Role: access.Client,
			Serve: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, times.Add(1)) },
		},
	})
	one, two := h.key(access.Client), h.key(access.Client)
	first := h.ask("POST", "/do/x?q=1", "body", once("a", bearer(one)...)...)
	require.Equal(t, 201, first.Code)
	require.Equal(t, "body 1", first.Body.String())
	require.Empty(t, first.Header().Get("Idempotent-Replayed"))
	h.clock.pass(23 * time.Hour)
	again := h.ask("POST", "/do/x?q=1", "body", once("a", bearer(one)...)...)
	require.Equal(t, 201, again.Code)
	require.Equal(t, "body 1", again.Body.String())
	require.Equal(t, "text/plain", again.Header().Get("Content-Type"))
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	near := h.ask("POST", "//do//x?q=1", "body", once("a", bearer(one)...)...)
	require.Equal(t, "body 1", near.Body.String(), "an address with more slashes is the same request")
	require.NotEqual(t, first.Header().Get("X-Request-Id"), again.Header().Get("X-Request-Id"))
	for _, other := range []struct{ path, body string }{
		{"/do/x?q=2", "body"},
		{"/do/y?q=1", "body"},
		{"/do/x?q=1", "bodies"},
	} {
		refused(t, h.ask("POST", other.path, other.body, once("a", bearer(one)...)...), 422, "idempotency_key_reused")
	}
	require.Equal(t, "body 2", h.ask("POST", "/do/x?q=1", "body", once("a", bearer(two)...)...).Body.String(),
		"names are a key's own")
	require.Equal(t, "body 3", h.ask("POST", "/do/x?q=1", "body", bearer(one)...).Body.String())
	h.clock.pass(time.Hour)
	require.Equal(t, "body 4", h.ask("POST", "/do/x?q=1", "body", once("a", bearer(one)...)...).Body.String(),
		"a day is over")
	for range 2 {
		h.ask("POST", "/freely", "", once("a", bearer(one)...)...)
	}
	require.EqualValues(t, 6, times.Load(), "a route that starts nothing asks nobody")
	for _, name := range []string{"", "né", "a\nb", strings.Repeat("x", 256)} {
		refused(t, h.ask("POST", "/do/x", "", once(name, bearer(one)...)...), 400, "idempotency_key_invalid")
	}
	require.Equal(t, 201, h.ask("POST", "/do/x", "", once(strings.Repeat("x", 255), bearer(one)...)...).Code)
}

// Two users of one key who send the same under the same name make two requests, wherever the client names its user.
func TestARequestOfAnotherUserAgentOrTalkIsAnotherRequest(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "the secret of "+r.Header.Get("X-Oneiros-User"))
		},
	}})
	key := bearer(h.key(access.Client))
	ask := func(more ...string) *httptest.ResponseRecorder {
		return h.ask("POST", "/do", "what is my secret?", once("good-morning", append(key, more...)...)...)
	}
	require.Equal(t, "the secret of ann", ask("X-Oneiros-User", "ann").Body.String())
	again := ask("X-Oneiros-User", "ann")
	require.Equal(t, "the secret of ann", again.Body.String())
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	for _, other := range [][]string{
		nil,
		{"X-Oneiros-User", "bob"},
		{"X-Oneiros-User", "ann", "X-Oneiros-Agent", "fern"},
		{"X-Oneiros-User", "ann", "X-Oneiros-Conversation", "garden"},
		{"X-Oneiros-User", "ann", "X-Session-Affinity", "garden"},
		{"X-Oneiros-User", "ann", "X-OpenWebUI-User-Id", "bob"},
		{"X-Oneiros-User", "ann", "X-OpenWebUI-Chat-Id", "garden"},
		{"X-Oneiros-User", "ann", "X-Claude-Code-Session-Id", "garden"},
		{"X-Oneiros-User", "ann", "session-id", "garden"},
	} {
		refused(t, ask(other...), 422, "idempotency_key_reused")
	}
	require.Equal(t, "true",
		ask("X-Oneiros-User", "ann", "X-Request-Id", "another", "User-Agent", "another").Header().Get(
			"Idempotent-Replayed"), "what a retry may change")
}

// A rotated key repeats the request that its predecessor began; a key of the same principal with less reach gets
// nothing of it.
func TestARotatedKeyRepeatsWhatItsPredecessorBegan(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve:  say("done"),
	}})
	old := h.key(access.Operator, func(k *access.Key) { k.Principal = "anna" })
	rotated := h.key(access.Operator, func(k *access.Key) { k.Principal = "anna" })
	lesser := h.key(access.Client, func(k *access.Key) { k.Principal = "anna" })
	narrower := h.key(access.Operator, func(k *access.Key) { k.Principal, k.Agents = "anna", []string{"iris"} })
	stranger := h.key(access.Operator)
	require.Empty(t, h.ask("POST", "/do", "", once("x", bearer(old)...)...).Header().Get("Idempotent-Replayed"))
	require.Equal(t, "true",
		h.ask("POST", "/do", "", once("x", bearer(rotated)...)...).Header().Get("Idempotent-Replayed"))
	for _, other := range []string{lesser, narrower} {
		refused(t, h.ask("POST", "/do", "", once("x", bearer(other)...)...), 422, "idempotency_key_reused")
	}
	require.Empty(t, h.ask("POST", "/do", "", once("x", bearer(stranger)...)...).Header().Get("Idempotent-Replayed"))
}

func TestARepeatedRequestGetsTheSameHeaders(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		h := newServer(t, []front.Route{{
			Method: "POST",
			Path:   "/do",
			Role:   access.Client,
			Once:   true,
			Stream: stream,
			Serve: func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range map[string]string{
					"Location": "/v1/dreams/1", "X-Oneiros-Agent": "iris",
					"X-Upstream-Request-Id": "7", "Retry-After": "1", "Cache-Control": "no-cache",
				} {
					w.Header().Set(name, value)
				}
				w.WriteHeader(http.StatusCreated)
			},
		}})
		require.Empty(t, h.ask("POST", "/do", "", once("a")...).Header().Get("Idempotent-Replayed"))
		again := h.ask("POST", "/do", "", once("a")...).Header()
		require.Equal(t, "true", again.Get("Idempotent-Replayed"))
		require.Equal(t, "/v1/dreams/1", again.Get("Location"))
		require.Equal(t, "iris", again.Get("X-Oneiros-Agent"))
		for _, passing := range []string{"X-Upstream-Request-Id", "Retry-After"} {
			require.Empty(t, again.Get(passing), passing)
		}
	}
}

// mute is the store of a process that dies: what it writes about its claims is lost.
type mute struct{ access.Store }

func (mute) Renew(context.Context, access.Claim, time.Time) error               { return nil }
func (mute) Answer(context.Context, access.Claim, *access.StoredResponse) error { return nil }

func TestWhatADeadProcessHadBegunIsNotDoneAgainButReported(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	routes := []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve:  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, times.Add(1)) },
	}}
	h := newServer(t, routes)
	dead := newServer(t, routes, func(o *front.Options) { o.Keys = mute{h.book} })
	require.Equal(t, "1", dead.ask("POST", "/do", "", once("a")...).Body.String())
	refused(t, h.ask("POST", "/do", "", once("a")...), 409, "idempotency_in_progress")
	h.clock.pass(15*time.Second - 1)
	refused(t, h.ask("POST", "/do", "", once("a")...), 409, "idempotency_in_progress")
	for _, later := range []time.Duration{1, time.Hour} {
		h.clock.pass(later)
		w := h.ask("POST", "/do", "", once("a")...)
		refused(t, w, 409, "idempotency_outcome_unknown")
		require.Contains(t, w.Body.String(), "new Idempotency-Key")
		require.Equal(t, "false", w.Header().Get("X-Should-Retry"))
		require.Empty(t, w.Header().Get("Retry-After"))
	}
	require.EqualValues(t, 1, times.Load(), "it may have been bought")
	require.Equal(t, "2", h.ask("POST", "/do", "", once("b")...).Body.String())
}

// The result of a request is known here, though the store could not be written: a repetition must not be told for a
// day that it is unknown.
func TestWhatCouldNotBeKeptIsKeptWhenTheStoreIsBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve func(http.ResponseWriter, *http.Request)
		again string
	}{
		"done": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") }, "done"},
		"failed": {
			func(w http.ResponseWriter, r *http.Request) { front.Refuse(w, r, errors.New("the store is away")) },
			"again",
		},
		"panicked": {func(http.ResponseWriter, *http.Request) { panic("the store is away") }, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newServer(t, nil)
			var times atomic.Int64
			away := newServer(t, []front.Route{{
				Method: "POST",
				Path:   "/do",
				Role:   access.Client,
				Once:   true,
				Serve: func(w http.ResponseWriter, r *http.Request) {
					if times.Add(1) > 1 {
						fmt.Fprint(w, "again")
						return
					}
					h.book.Fail(errors.New("away"))
					test.serve(w, r)
				},
			}}, func(o *front.Options) { o.Keys, o.Now, o.Limits.Lease = h.book, h.clock.Now, 3*time.Millisecond })
			away.ask("POST", "/do", "", once("a")...)
			h.clock.pass(time.Minute)
			h.book.Fail(nil)
			require.Eventually(t,
				func() bool { return away.ask("POST", "/do", "", once("a")...).Body.String() == test.again },
				10*time.Second, time.Millisecond)
		})
	}
}

func TestTheClaimOfALongRequestIsRenewed(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			close(begun)
			<-end
			fmt.Fprint(w, "done")
		},
	}}, func(o *front.Options) { o.Limits.Lease = 3 * time.Millisecond })
	first := make(chan string, 1)
	go func() { first <- h.ask("POST", "/do", "", once("a")...).Body.String() }()
	<-begun
	for range 3 {
		// By its clock the lease is over; only a renewal after that makes its repetition find it under way.
		h.clock.pass(time.Minute)
		require.Eventually(t, func() bool {
			return strings.Contains(h.ask("POST", "/do", "", once("a")...).Body.String(), "idempotency_in_progress")
		}, 10*time.Second, time.Millisecond)
	}
	close(end)
	require.Equal(t, "done", <-first)
	require.Equal(t, "done", h.ask("POST", "/do", "", once("a")...).Body.String())
}

func TestOfThirtyTwoRequestsAtOnceOneIsDone(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	end := make(chan struct{})
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			times.Add(1)
			<-end
			fmt.Fprint(w, "done")
		},
	}})
	codes := make(chan int, 32)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() { codes <- h.ask("POST", "/do", "", once("a")...).Code })
	}
	for range 31 {
		require.Equal(t, 409, <-codes)
	}
	close(end)
	all.Wait()
	require.Equal(t, 200, <-codes)
	require.EqualValues(t, 1, times.Load())
	require.Equal(t, "done", h.ask("POST", "/do", "", once("a")...).Body.String())
}

func TestWhatFailedOnOurSideIsDoneAgain(t *testing.T) {
	t.Parallel()
	n := 0
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			switch n++; n {
			case 1:
				front.Refuse(w, r, errors.New("the disk is full"))
			case 2:
				panic("of the moon")
			case 3:
				http.Error(w, "no such thing", http.StatusNotFound)
			default:
				t.Error("what the client did wrong is wrong again")
			}
		},
	}})
	require.Equal(t, 500, h.ask("POST", "/do", "", once("a")...).Code)
	require.Equal(t, 500, h.ask("POST", "/do", "", once("a")...).Code)
	for range 2 {
		require.Equal(t, 404, h.ask("POST", "/do", "", once("a")...).Code)
	}
	h.book.Fail(errors.New("away"))
	refused(t, h.ask("POST", "/do", "", once("b")...), 503, "store_unavailable")
}

func TestARefusalThatPassesIsNotKept(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 402, 403, 408, 409, 425, 429, 503} {
		n := 0
		h := newServer(t, []front.Route{{
			Method: "POST",
			Path:   "/do",
			Role:   access.Client,
			Once:   true,
			Serve: func(w http.ResponseWriter, r *http.Request) {
				n++
				if n == 1 {
					front.Refuse(w, r,
						&psyche.Fault{Status: status, Code: "not_now", Message: "not now", Retry: time.Second})
					return
				}
				fmt.Fprint(w, n)
			},
		}})
		first := h.ask("POST", "/do", "", once("a")...)
		require.Equal(t, status, first.Code)
		require.Equal(t, "1", first.Header().Get("Retry-After"))
		for range 2 {
			again := h.ask("POST", "/do", "", once("a")...)
			require.Equal(t, 200, again.Code, "after %d", status)
			require.Equal(t, "2", again.Body.String(), "and that is kept")
		}
	}
}

func TestAClaimedRequestEndsWithItsHold(t *testing.T) {
	t.Parallel()
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			front.Refuse(w, r, r.Context().Err())
		},
	}}, func(o *front.Options) { o.Limits.Hold = time.Millisecond })
	refused(t, h.ask("POST", "/do", "", once("a")...), 504, "timeout")
}

func TestARequestThatEndsWithItsServerIsDoneAgain(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	routes := []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			front.Refuse(w, r, r.Context().Err())
		},
	}}
	h := newServer(t, routes)
	at := "http://" + h.on() + "/do"
	first := make(chan string, 1)
	go func() {
		q, err := http.NewRequestWithContext(t.Context(), "POST", at, nil)
		if err == nil {
			q.Header.Set("Idempotency-Key", "a")
			var r *http.Response
			r, err = http.DefaultClient.Do(q)
			if err == nil {
				text, _ := io.ReadAll(r.Body)
				_ = r.Body.Close()
				first <- string(text)
				return
			}
		}
		first <- err.Error()
	}()
	<-begun
	now, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorIs(t, h.Shutdown(now), context.Canceled)
	require.Contains(t, <-first, "shutting_down")
	routes[0].Serve = say("done")
	next := newServer(t, routes, func(o *front.Options) { o.Keys = h.book })
	require.Equal(t, "done", next.ask("POST", "/do", "", once("a")...).Body.String())
}

func TestARequestIsDoneAlthoughItsClientHasGone(t *testing.T) {
	t.Parallel()
	begun, removed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "one ")
			_ = http.NewResponseController(w).Flush()
			close(begun)
			<-removed
			_, err := io.WriteString(w, "two")
			done <- errors.Join(err, r.Context().Err())
		},
	}})
	at := "http://" + h.on() + "/do"
	ctx, leave := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(ctx, "POST", at, nil)
	require.NoError(t, err)
	q.Header.Set("Idempotency-Key", "a")
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	<-begun
	word, err := bufio.NewReader(r.Body).ReadString(' ')
	require.NoError(t, err)
	require.Equal(t, "one ", word, "a stream is not held back")
	leave()
	_ = r.Body.Close()
	close(removed)
	require.NoError(t, <-done)
	require.Eventually(t, func() bool { return h.ask("POST", "/do", "", once("a")...).Body.String() == "one two" },
		5*time.Second, time.Millisecond)
}

func TestAnAnswerThatIsTooLargeIsNotRepeatedAndNotDoneAgain(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	h := newServer(t, []front.Route{{
		Method: "POST",
		Path:   "/do",
		Role:   access.Client,
		Once:   true,
		Stream: true,
		Serve: func(w http.ResponseWriter, _ *http.Request) {
			times.Add(1)
			for range 5 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		},
	}})
	require.Equal(t, 5<<20, h.ask("POST", "/do", "", once("a")...).Body.Len())
	w := h.ask("POST", "/do", "", once("a")...)
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), "idempotent_answer_too_large")
	require.EqualValues(t, 1, times.Load())
}

package front_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/fairqueue"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// crowd is a server that answers two turns at once, each until it is told to, and notes whose turns begin.
type crowd struct {
	*testServer
	mu     sync.Mutex
	begun  []string      // by the header Who
	end    chan struct{} // a turn ends with each value
	left   chan fairqueue.Reason
	joined chan int // how many wait; those that nobody reads are lost
	shed   map[string]int
}

func (c *crowd) Queue(waiting int) {
	select {
	case c.joined <- waiting:
	default:
	}
}

func (c *crowd) Waited(_ time.Duration, why fairqueue.Reason) {
	if why == fairqueue.GaveUp {
		c.left <- why
	}
}

func (c *crowd) Shed(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shed[code]++
}

func newCrowd(t *testing.T, alter ...func(*front.Limits)) *crowd {
	t.Helper()
	c := &crowd{
		end: make(chan struct{}), left: make(chan fairqueue.Reason, 1), shed: map[string]int{},
		joined: make(chan int, 1),
	}
	c.testServer = newServer(t, []front.Route{{
		Method: http.MethodPost,
		Path:   "/turn",
		Role:   access.Client,
		Once:   true,
		Stream: true,
		Serve: func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			c.begun = append(c.begun, r.Header.Get("Who"))
			c.mu.Unlock()
			<-c.end
			echo(w, r)
		},
	}}, func(o *front.Options) {
		o.Load = c
		o.Limits = front.Limits{All: 2, Queue: 3, QueueTime: time.Minute}
		for _, a := range alter {
			a(&o.Limits)
		}
	})
	return c
}

func (c *crowd) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun
}

func TestAFloodOfOneKeyWaitsAndAnotherKeyPasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		flood, quiet := c.key(access.Client), c.key(access.Client)
		program := c.key(access.Client, func(k *access.Key) { k.Program = true })
		var over sync.WaitGroup
		var mu sync.Mutex
		statuses := map[string][]int{}
		send := func(who, key string) {
			over.Go(func() {
				w := c.ask("POST", "/turn", "body of "+who, append(bearer(key), "Who", who)...)
				if w.Code == 200 {
					require.Equal(t, "body of "+who, w.Body.String(), "a body that was read ahead arrives")
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[who] = append(statuses[who], w.Code)
			})
			synctest.Wait()
		}
		c.Load() // from here on
		for range 6 {
			send("flood", flood)
		}
		send("program", program)
		send("quiet", quiet)
		require.Equal(t, []string{"flood", "flood"}, c.names())
		for range 5 {
			c.end <- struct{}{}
			synctest.Wait()
		}
		over.Wait()
		require.Equal(t, []string{"flood", "flood", "quiet", "flood", "flood"}, c.names())
		require.ElementsMatch(t, []int{200, 200, 200, 200, 503, 503}, statuses["flood"],
			"one more than may wait, and one that made room for the quiet key")
		require.Equal(t, []int{200}, statuses["quiet"])
		require.Equal(t, []int{503}, statuses["program"], "three people wait already")
		require.Equal(t, map[string]int{"overloaded": 3}, c.shed)
		load := c.Load()
		require.Equal(t, 3, load.Refused)
		require.Equal(t, 6, load.Waited, "three of the flood's four, the quiet one, and who was refused")
	})
}

func TestWhoWaitsTooLongIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, func(l *front.Limits) { l.All, l.Streams = 3, 2 })
		one, two := bearer(c.key(access.Client)), bearer(c.key(access.Client))
		var over sync.WaitGroup
		for range 3 { // turns take 12 s
			over.Go(func() { c.ask("POST", "/turn", "", two...) })
			time.Sleep(12 * time.Second)
			c.end <- struct{}{}
			over.Wait()
		}
		open := func(key []string) { over.Go(func() { c.ask("POST", "/turn", "", key...) }) }
		open(one)
		open(one)
		synctest.Wait()
		began := time.Now()
		once := append([]string{"Idempotency-Key", "again"}, one...)
		w := c.ask("POST", "/turn", "", once...)
		refused(t, w, 429, "too_many_streams")
		require.Equal(t, "6", w.Header().Get("Retry-After"), "one of its two places becomes free every 6 s")
		require.Equal(t, time.Minute, time.Since(began))
		open(two)
		synctest.Wait()
		w = c.ask("POST", "/turn", "", two...)
		refused(t, w, 503, "overloaded")
		require.Equal(t, "4", w.Header().Get("Retry-After"), "one of three places becomes free every 4 s")
		require.Equal(t, map[string]int{"overloaded": 1, "too_many_streams": 1}, c.shed)
		for range 3 {
			c.end <- struct{}{}
		}
		over.Wait()
		over.Go(func() { w = c.ask("POST", "/turn", "", once...) })
		c.end <- struct{}{}
		over.Wait()
		require.Equal(t, 200, w.Code, "nothing was stored for the request that was refused")
		require.Empty(t, w.Header().Get("Idempotent-Replayed"))
	})
}

func TestAClientThatHangsUpLeavesTheQueue(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, func(l *front.Limits) { l.All = 1 })
	at := "http://" + c.on() + "/turn"
	var over sync.WaitGroup
	send := func(ctx context.Context) {
		over.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader("hello"))
			require.NoError(t, err)
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	send(t.Context())
	require.Eventually(t, func() bool { return len(c.names()) == 1 }, time.Minute, time.Millisecond)
	ctx, hangUp := context.WithCancel(t.Context())
	send(ctx)
	require.Equal(t, 1, <-c.joined)
	hangUp()
	require.Equal(t, fairqueue.GaveUp, <-c.left)
	c.end <- struct{}{}
	over.Wait()
	require.Len(t, c.names(), 1, "it was never served")
}

func TestResponsesSayWhatIsLeftOfTheRate(t *testing.T) {
	t.Parallel()
	routes := routesOfEachKind()
	own := front.Route{Method: "GET", Path: "/own", Role: access.Client, Serve: say("")}
	own.Form = &front.Form{RequestID: "Request-Id", Left: func(h http.Header, of string, left ratelimit.State) {
		h.Set("Left-"+of, left.At.Add(left.Reset).Format(time.RFC3339))
	}}
	h := newServer(t, append(routes, own), func(o *front.Options) { o.Limits.Rate = 3 })
	left := func(w *httptest.ResponseRecorder) []string {
		return []string{
			w.Header().Get("X-Ratelimit-Limit-Requests"), w.Header().Get("X-Ratelimit-Remaining-Requests"),
			w.Header().Get("X-Ratelimit-Reset-Requests"),
		}
	}
	require.Equal(t, []string{"3", "2", "20s"}, left(h.ask("GET", "/v1/models", "")))
	w := h.ask("GET", "/own", "")
	require.Equal(t, []string{"", "", ""}, left(w))
	require.Equal(t, "2026-11-20T12:00:40Z", w.Header().Get("Left-Requests"))
	require.Equal(t, []string{"3", "0", "1m0s"}, left(h.ask("GET", "/v1/models", "")))
	w = h.ask("GET", "/v1/models", "")
	refused(t, w, 429, "rate_limit_exceeded")
	require.Equal(t, []string{"3", "0", "1m0s"}, left(w))
}

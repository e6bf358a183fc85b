package dreamhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// readEvent is one event as received.
type readEvent struct {
	id   int64
	kind string
	data psyche.VisibleEvent
}

// listener reads a stream of events, each whole or not at all.
type listener struct {
	resp  *http.Response
	lines *bufio.Reader
	beats int
}

func (r *rig) listen(ctx context.Context, who, query, last string) *listener {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+"/v1/events"+query, nil)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.keys[who])
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.server.Client().Do(req)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	return &listener{resp: resp, lines: bufio.NewReader(resp.Body)}
}

// next is the next event; comments are counted.
func (l *listener) next() (readEvent, error) {
	var h readEvent
	var data string
	for {
		line, err := l.lines.ReadString('\n')
		if err != nil {
			return h, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			h.id, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return h, err
			}
		case "event":
			h.kind = value
		case "data":
			data = value
		case "":
			if value != "" {
				l.beats++
			}
			if line == "\n" && data != "" {
				return h, json.Unmarshal([]byte(data), &h.data)
			}
		}
	}
}

func (l *listener) take(t *testing.T, n int) []readEvent {
	t.Helper()
	var all []readEvent
	for range n {
		h, err := l.next()
		require.NoError(t, err)
		all = append(all, h)
	}
	return all
}

func numbered(from, to int) []event.Event {
	var all []event.Event
	for n := from; n <= to; n++ {
		all = append(all,
			event.New(fmt.Sprintf("e%d", n), "id-iris", "dream/iris/0001", dawn,
				event.FragmentCaptured{Fragment: fmt.Sprintf("f%d", n), Novelty: float64(n)}))
	}
	return all
}

func TestAStreamSendsEveryEventInOrderAndNewOnes(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		r.announce(numbered(1, 450)...)
		l := r.listen(t.Context(), operator, "?agent=iris&after=0", "")
		require.Equal(t, "text/event-stream", l.resp.Header.Get("Content-Type"))
		for n, h := range l.take(t, 450) {
			require.EqualValues(t, n+1, h.id)
			require.Equal(t, h.id, h.data.Seq)
			require.Equal(t, "FragmentCaptured", h.kind)
			require.Empty(t, h.data.Text)
		}
		r.announce(numbered(451, 453)...)
		require.EqualValues(t, 453, l.take(t, 3)[2].id)

		l = r.listen(t.Context(), operator, "?agent=iris&after=450&type=FragmentCaptured,DreamEnded", "")
		require.EqualValues(t, 451, l.take(t, 1)[0].id)
		l = r.listen(t.Context(), operator, "?agent=iris&after=0", "452")
		require.EqualValues(t, 453, l.take(t, 1)[0].id, "what the reader has goes before where it began")
		refused(t, r.do(operator, "GET", "/v1/events?agent=iris", "", "Last-Event-ID", "x"), 400, "invalid_value",
			"Last-Event-ID", "number")
	})
}

// The connection is cut after random numbers of bytes, within events and between them, while events come: a client
// that resumes after the last event it has whole gets each exactly once.
func TestAStreamThatIsCutAnywhereIsResumedWithoutLossOrDoubling(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		const most = 400
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 1))
		var writing sync.WaitGroup
		writing.Go(func() {
			for n := 1; n <= most; n += 8 {
				_, err := r.store.Commit(t.Context(),
					memory.Write{Agent: "id-iris", Cause: "test", Events: numbered(n, n+7)})
				if err != nil {
					t.Error(err)
				}
			}
		})
		var got []int64
		last, cuts := "", 0
		for len(got) < most {
			ctx, cancel := context.WithCancel(t.Context())
			l := r.listen(ctx, operator, "?agent=iris&after=0", last)
			require.Equal(t, http.StatusOK, l.resp.StatusCode)
			l.lines = bufio.NewReader(&cutting{l.resp.Body, 50 + dice.IntN(8000)})
			for len(got) < most {
				h, err := l.next()
				if err != nil {
					cuts++
					break
				}
				got, last = append(got, h.id), strconv.FormatInt(h.id, 10)
			}
			cancel()
			_ = l.resp.Body.Close()
		}
		writing.Wait()
		for n, id := range got {
			require.EqualValues(t, n+1, id)
		}
		require.Greater(t, cuts, 5)
	})
}

// cutting is a connection that breaks after so many bytes.
type cutting struct {
	from io.Reader
	left int
}

func (c *cutting) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errors.New("cut")
	}
	n, err := c.from.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

func TestAStreamOfADreamEndsWithItAndSaysThatNothingFollows(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, r *rig) {
		record := r.lay("iris", 1, nil)
		r.announce(event.New("s", "id-iris", record.ID, dawn, event.DreamStarted{Tier: dream.Core}),
			event.New("o", "id-iris", "dream/iris/0000", dawn, event.DreamEnded{}))
		l := r.listen(t.Context(), client, "?dream=dream_iris_0001", "")
		require.Equal(t, "DreamStarted", l.take(t, 1)[0].kind)
		record, err := memory.One[*dream.Record](t.Context(), r.store, "id-iris", record.ID)
		require.NoError(t, err)
		over(dream.Completed)(record)
		_, err = r.store.Commit(t.Context(),
			memory.Write{Agent: "id-iris", Cause: record.ID, Change: []dream.Item{record}, Events: []event.Event{
				event.New("e", "id-iris", record.ID, dawn,
					event.DreamEnded{Outcome: dream.Completed, Reason: "the words of somebody"}),
			}})
		require.NoError(t, err)
		end := l.take(t, 1)[0]
		require.Equal(t, "DreamEnded", end.kind)
		require.JSONEq(t, `{"outcome":"completed"}`, string(end.data.Data))
		_, err = l.next()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, http.StatusNoContent,
			r.listen(t.Context(), client, "?dream=dream_iris_0001", "3").resp.StatusCode)
	})
}

func TestASilentStreamIsKeptAliveByComments(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig, _ *front.Options) { r.handler.Heartbeat = time.Millisecond })
	l := r.listen(t.Context(), operator, "?agent=iris", "")
	line := ""
	for beats := 0; beats < 3; {
		var err error
		line, err = l.lines.ReadString('\n')
		require.NoError(t, err)
		if line == ": alive\n" {
			beats++
		}
	}
	r.announce(numbered(1, 1)...)
	require.EqualValues(t, 1, l.take(t, 1)[0].id)
}

func TestAReaderOfALogThatLostItsNewestIsRewound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.announce(numbered(1, 3)...)
	l := r.listen(t.Context(), operator, "?agent=iris", "9")
	require.Equal(t, readEvent{id: 3, kind: "Rewound"}, l.take(t, 1)[0])
	r.announce(numbered(4, 4)...)
	require.EqualValues(t, 4, l.take(t, 1)[0].id)
}

// A reader that takes nothing is cut off after the time limit of a write; another reader of the same log gets
// everything meanwhile, and the first resumes.
func TestASlowReaderIsDroppedAndResumesWhileOthersAreUnharmed(t *testing.T) {
	t.Parallel()
	removed := make(chan front.Entry, 10)
	r := newRig(t, func(r *rig, o *front.Options) {
		r.narrow = true
		o.Limits.WriteTime = 2 * time.Second
		o.Log = func(e front.Entry) {
			if e.Route == "/v1/events" {
				removed <- e
			}
		}
	})
	line, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = line.Close() })
	require.NoError(t, line.(*net.TCPConn).SetReadBuffer(64<<10))
	fmt.Fprintf(line, "GET /v1/events?agent=iris&after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
		r.keys[operator])
	quick := r.listen(t.Context(), operator, "?agent=iris&after=0", "")
	const most = 30000 // some 7 MB, more than the buffers of both ends hold
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 1; n <= most; n += 500 {
			_, err := r.store.Commit(t.Context(),
				memory.Write{Agent: "id-iris", Cause: "test", Events: numbered(n, n+499)})
			if err != nil {
				t.Error(err)
			}
		}
	})
	for n, h := range quick.take(t, most) {
		require.EqualValues(t, n+1, h.id)
	}
	writing.Wait()
	slow := <-removed
	require.True(t, slow.Bytes < most*200, "it was cut off")
	require.Equal(t, http.StatusOK, slow.Status)
	_ = quick.resp.Body.Close()

	half := &listener{lines: bufio.NewReader(line)}
	last := int64(0)
	for {
		h, err := half.next()
		if err != nil {
			break
		}
		if h.id > 0 {
			require.Equal(t, last+1, h.id)
			last = h.id
		}
	}
	require.Positive(t, last)
	require.Less(t, last, int64(most))
	require.Equal(t, last+1,
		r.listen(t.Context(), operator, "?agent=iris&after=0", strconv.FormatInt(last, 10)).take(t, 1)[0].id)
}

func TestWordsOfEventsAreForOperatorsWhoAskForThem(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	record := r.lay("iris", 1, nil)
	r.keep("id-iris", &dream.Fragment{Head: head("f", dream.KindFragment, record.ID), Content: "the tide knows"})
	r.announce(
		event.New("a", "id-iris", record.ID, dawn,
			event.FragmentDiscarded{Fragment: "f", Reason: "it said: the tide", Composite: .25}),
		event.New("b", "id-iris", record.ID, dawn,
			event.Spent{Tally: dream.Tally{Phase: dream.Onset, State: "ran", Reason: "words"}}),
		event.New("c", "id-iris", record.ID, dawn, event.PhaseCompleted{Phase: dream.NREM, State: "ran", Spent: 7}),
	)
	plain := r.listen(t.Context(), operator, "?agent=iris&after=0", "").take(t, 3)
	require.JSONEq(t, `{"fragment_id":"f","composite_score":0.25}`, string(plain[0].data.Data))
	require.NotContains(t, string(plain[1].data.Data), "reason")
	require.Contains(t, string(plain[1].data.Data), `"calls":0`)
	wordy := r.listen(t.Context(), operator, "?agent=iris&after=0&text=true", "").take(t, 3)
	require.Equal(t, "the tide knows", wordy[0].data.Text)
	require.Contains(t, string(wordy[0].data.Data), "it said: the tide")
	seen := r.listen(t.Context(), client, "?after=0", "").take(t, 1)
	require.EqualValues(t, 3, seen[0].id, "the key reaches one agent, and its client is told of states alone")
	require.JSONEq(t, `{"phase":"nrem","state":"ran"}`, string(seen[0].data.Data))
	refused(t, r.get(client, "/v1/events?text=true"), 403, "role_too_low", "", "operator")
	for _, name := range []string{"iris", "IRIS"} {
		refused(t, r.get(stranger, "/v1/events?agent="+name), 404, "agent_not_found", "agent", name)
	}
}

func TestStreamsThatAreDroppedLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	const most = 60 // one key may have 64 at once
	removed := make(chan front.Entry, most)
	r := newRig(t, func(_ *rig, o *front.Options) {
		o.Log = func(e front.Entry) {
			if e.Stream {
				removed <- e
			}
		}
	})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		for range most {
			require.Equal(t, http.StatusOK, r.listen(ctx, operator, "?agent=iris", "").resp.StatusCode)
		}
		cancel()
		for range most {
			require.True(t, (<-removed).Dropped, "its handler has returned")
		}
	}
}

func TestAStreamEndsWhenTheServerLeaves(t *testing.T) {
	t.Parallel()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	r := rigOver(t, s)
	app, err := front.New(front.Options{Routes: r.handler.Routes(), Keys: s, Now: r.now})
	require.NoError(t, err)
	address, err := app.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- app.Serve() }()
	r.server.URL = "http://" + address.String()
	l := r.listen(t.Context(), operator, "?agent=iris", "")
	require.Equal(t, http.StatusOK, l.resp.StatusCode)
	require.NoError(t, app.Shutdown(t.Context()))
	_, err = l.next()
	require.ErrorIs(t, err, io.EOF, "cleanly, so that it is resumed elsewhere")
	<-served
}

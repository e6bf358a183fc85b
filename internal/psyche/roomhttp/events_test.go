package roomhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// listener reads a stream of events.
type listener struct {
	*rig
	lines  chan string // closed at the end of the stream
	hangUp func()
}

func (r *rig) listen(who, query, last string) *listener {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	r.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+"/v1/rooms/hall/events"+query, nil)
	require.NoError(r, err)
	req.Header.Set("Authorization", "Bearer "+r.keys[who])
	req.Header.Set("Accept", "application/json;q=0.1, text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := r.server.Client().Do(req)
	require.NoError(r, err)
	require.Equal(r, 200, res.StatusCode)
	require.Equal(r, "text/event-stream", res.Header.Get("Content-Type"))
	l := &listener{rig: r, lines: make(chan string, 1000), hangUp: cancel}
	go func() {
		defer close(l.lines)
		defer func() { _ = res.Body.Close() }()
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			l.lines <- lines.Text()
		}
	}()
	return l
}

// line returns the next line that begins so.
func (l *listener) line(prefix string) string {
	l.Helper()
	soon := time.After(20 * time.Second)
	for {
		select {
		case text, more := <-l.lines:
			require.True(l, more, "the stream ended before %q", prefix)
			if rest, found := strings.CutPrefix(text, prefix); found {
				return rest
			}
		case <-soon:
			require.Fail(l, "no line begins with "+prefix)
		}
	}
}

// event returns the next event.
func (l *listener) event() (id string, e room.Event) {
	l.Helper()
	id = l.line("id: ")
	kind := l.line("event: ")
	require.NoError(l, json.Unmarshal([]byte(l.line("data: ")), &e))
	require.Equal(l, kind, string(e.Type))
	require.Equal(l, id, fmt.Sprint(e.Offset))
	return id, e
}

func TestEventsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	var types []room.EventType
	after, more := "0", true
	for more {
		page := does[psyche.Page[room.Event]](r, 200, client, "GET", "/v1/rooms/hall/events?limit=1&after="+after, "")
		require.Len(t, page.Data, 1)
		types, after, more = append(types, page.Data[0].Type), page.Last, page.More
	}
	require.Equal(t, []room.EventType{room.Created, room.Joined, room.Changed, room.Joined}, types)
	require.Empty(t, does[psyche.Page[room.Event]](r, 200, client, "GET", "/v1/rooms/hall/events?after="+after, "").Data)
}

func TestAStreamThatIsCutIsResumedWithoutLossOrDoubling(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	whole := r.listen(client, "?after=0", "")
	const before, posts = 4, 12 // the room was made, and two joined
	done := make(chan error)
	go func() {
		caller := psyche.Caller{Key: access.Key{Role: access.Operator, Principal: ada}}
		for i := range posts {
			_, err := r.rooms.Post(r.Context(), caller, rooms.PostRequest{Room: "hall", Body: fmt.Sprint("post ", i)})
			done <- err
		}
	}()
	resumed, last := r.listen(client, "?after=0", ""), ""
	for n := int64(1); n <= before+posts; n++ {
		if n > before {
			require.NoError(t, <-done)
		}
		var e room.Event
		last, e = resumed.event()
		require.Equal(t, n, e.Offset)
		resumed.hangUp()
		resumed = r.listen(client, "?after=0", last)
		_, e = whole.event()
		require.Equal(t, n, e.Offset)
	}
	r.settle()
}

func TestAStreamWithoutAfterBeginsWithWhatComesAndShowsThatItLives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	l := r.listen(client, "", "")
	l.line(": alive")
	require.Equal(t, 201, r.ask(ada, "POST", "/v1/rooms/hall/posts", `{"body":"now"}`).status)
	_, e := l.event()
	require.Equal(t, room.Added, e.Type)
	require.Equal(t, "hall/1", e.Post)
	l.hangUp()
	r.settle()
}

func TestAStreamEndsForWhoHasLeftAndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	left, stays := r.listen(client, "", ""), r.listen(ada, "", "")
	require.Equal(t, 204, r.ask(ada, "DELETE", "/v1/rooms/hall/members/client", "").status)
	ended := func(l *listener) {
		soon := time.After(20 * time.Second)
		for {
			select {
			case _, more := <-l.lines:
				if !more {
					return
				}
			case <-soon:
				require.Fail(t, "the stream goes on")
			}
		}
	}
	ended(left)
	_, e := stays.event()
	require.Equal(t, room.Left, e.Type)
	r.leave()
	ended(stays)
}

func TestAStreamBehindTheEndOfTheRoomIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.hall()
	l := r.listen(client, "", "700")
	require.Equal(t, "4", l.line("id: "))
	require.Equal(t, "Rewound", l.line("event: "))
	require.JSONEq(t, `{"after":700,"head":4}`, l.line("data: "))
	l.hangUp()
}

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

// How streams are taken up again.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	// The server sends a comment every 15 seconds in a stream of events, and one at a third of a lease while it holds a
	// session.
	usualSilence = time.Minute
	// The server sends the events that there are at once, page by page.
	usualMoment = 400 * time.Millisecond
)

// Presence is whether the agent is held awake.
type Presence int

// The states of a presence.
const (
	Connecting Presence = iota
	Held
	Lost // it is tried again
	Refused
)

func (p Presence) String() string { return [...]string{"connecting", "held", "lost", "refused"}[p] }

// Holding is a state of Hold.
type Holding struct {
	Presence Presence
	Session  api.Session // while it is held
	Err      error       // why it was lost or refused
	Again    time.Duration
}

// Hold holds the agent awake until the context ends, and reports each change. A connection that is lost is made again
// after a pause, which grows. The agent is let go when the context ends, or when this program dies: the session lasts
// as long as its connection. The error is the context's, or of a refusal that is final.
func (c *Client) Hold(ctx context.Context, report func(Holding)) error {
	path := "/agents/" + url.PathEscape(c.s.Agent) + "/session"
	pause := time.Duration(0)
	for {
		report(Holding{Presence: Connecting})
		held := false
		err := c.follow(ctx, "sessions", path, nil, "", func(e sent, at time.Time) (time.Duration, error) {
			held = true
			if e.name != "session" {
				return 0, nil
			}
			var s api.Session
			err := json.Unmarshal(e.data, &s)
			if err != nil {
				return 0, fmt.Errorf("the session's first event: %w", err)
			}
			c.held.Store(&s.ID)
			report(Holding{Presence: Held, Session: s})
			return s.Until.Sub(at), nil
		})
		c.held.Store(nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if final(err) {
			report(Holding{Presence: Refused, Err: err})
			return err
		}
		pause = nextPause(pause, held, err)
		if err == nil {
			err = errEnded
		}
		report(Holding{Presence: Lost, Err: err, Again: pause})
		if !c.wait(ctx, pause) {
			return ctx.Err()
		}
	}
}

// errEnded is why a session was lost whose stream the server has ended, as one that is stopped does.
var errEnded = errors.New("the server has ended the connection")

// nextPause doubles, begins anew after a connection that stood, and is at least what the server asks for.
func nextPause(before time.Duration, stood bool, err error) time.Duration {
	pause := min(2*before, longestPause)
	if stood || before == 0 {
		pause = firstPause
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		pause = max(pause, e.Retry)
	}
	return pause
}

// final reports whether asking again would be refused again.
func final(err error) bool {
	if errors.Is(err, api.ErrMissing) || errors.Is(err, api.ErrRole) {
		return true
	}
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Status >= 400 && e.Status < 500 &&
		e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
}

// Filter says which events of the agent are followed.
type Filter struct {
	Dream string   // only of this dream; the stream ends when it is over
	Types []string // only these; empty: all that the key may see
	Text  bool     // with words; needs the role operator
}

// FromNow follows only what happens from now on.
const FromNow = -1

// Events follows the agent's events behind a number, 0 for all of them or FromNow, and hands each to the function
// once. A connection that is lost is made again, and goes on after the last event. It returns nil when the dream that is
// followed is over, and else the context's error or that of a refusal that is final. The first connection is not
// tried again.
func (c *Client) Events(ctx context.Context, f Filter, after int64, each func(api.Event)) error {
	query := c.filter(f)
	if after >= 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	last, pause := "", time.Duration(0)
	for begun := false; ; begun = true {
		stood := false
		err := c.follow(ctx, "events", "/events", query, last, func(e sent, _ time.Time) (time.Duration, error) {
			stood = true
			if e.hasID {
				last = e.id
			}
			if len(e.data) == 0 {
				return 0, nil
			}
			ev, err := eventOf(e)
			if err != nil {
				return 0, err
			}
			each(ev)
			return 0, nil
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errOver):
			return nil
		case final(err), !begun && !stood && err != nil:
			return err
		}
		pause = nextPause(pause, stood, err)
		if !c.wait(ctx, pause) {
			return ctx.Err()
		}
	}
}

// Past are the events of a dream so far, in order. Of a dream that goes on they are those that come without a pause;
// Events goes on behind the last of them.
func (c *Client) Past(ctx context.Context, f Filter) ([]api.Event, error) {
	d, err := c.Dream(ctx, f.Dream)
	if err != nil {
		return nil, err
	}
	return c.past(ctx, f, d.Over())
}

// past reads a stream to its end, or of a dream that is not over until nothing more comes for a moment.
func (c *connection) past(ctx context.Context, f Filter, over bool) ([]api.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var paused atomic.Bool
	pause := time.AfterFunc(time.Hour, func() {
		paused.Store(true)
		cancel()
	})
	defer pause.Stop()
	var events []api.Event
	query := c.filter(f)
	query.Set("after", "0")
	err := c.follow(ctx, "events", "/events", query, "", func(e sent, _ time.Time) (time.Duration, error) {
		if !over {
			pause.Reset(c.moment)
		}
		if len(e.data) == 0 {
			return 0, nil
		}
		ev, err := eventOf(e)
		events = append(events, ev)
		return 0, err
	})
	if errors.Is(err, errOver) || paused.Load() {
		err = nil
	}
	return events, err
}

// filter is a filter as parameters.
func (c *connection) filter(f Filter) url.Values {
	query := url.Values{"agent": {c.s.Agent}}
	if f.Dream != "" {
		query.Set("dream", f.Dream)
	}
	if len(f.Types) > 0 {
		query.Set("type", strings.Join(f.Types, ","))
	}
	if f.Text {
		query.Set("text", "true")
	}
	return query
}

// eventOf decodes one event of the log.
func eventOf(e sent) (api.Event, error) {
	var ev api.Event
	if e.name == api.Rewound {
		head, err := strconv.ParseInt(e.id, 10, 64)
		if err != nil {
			return ev, fmt.Errorf("the event Rewound has the id %.40q, which is no number", e.id)
		}
		ev.Type, ev.Seq, ev.Data = api.Rewound, head, json.RawMessage(e.data)
		return ev, nil
	}
	err := json.Unmarshal(e.data, &ev)
	if err != nil {
		return ev, fmt.Errorf("event %.40q: %w", e.id, err)
	}
	return ev, nil
}

// errOver is the end of a stream to which nothing will be added.
var errOver = errors.New("the stream is over")

// follow reads one stream to its end. The function gets each event with the server's time at the stream's beginning,
// and may lengthen the silence after which the stream counts as dead. The error is nil when the server ends the stream.
func (c *connection) follow(ctx context.Context, what, path string, query url.Values, last string,
	each func(e sent, began time.Time) (time.Duration, error),
) error {
	if c.Kind() == Plain {
		return api.MissingError{What: what}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	set(r.Header, "Last-Event-ID", last)
	limit := c.silence
	var dead atomic.Bool
	watch := time.AfterFunc(limit, func() {
		dead.Store(true)
		cancel()
	})
	defer watch.Stop()
	res, err := c.do(r)
	if err != nil {
		if dead.Load() {
			return fmt.Errorf("%s did not answer within %s", c.base, limit)
		}
		return c.missing(ctx, what, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusNoContent {
		return errOver
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return c.missing(ctx, what, &api.Error{
			Status:  http.StatusNotFound,
			Message: fmt.Sprintf("%s%s is no stream of events", c.base, path),
		})
	}
	began, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		began = time.Now()
	}
	events := newSentEvents(res.Body)
	for {
		e, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case dead.Load():
			return fmt.Errorf("nothing came from %s for %s", c.base, limit)
		case err != nil:
			return fmt.Errorf("the connection to %s broke off: %w", c.base, err)
		}
		lease, err := each(e, began)
		if err != nil {
			return err
		}
		limit = max(limit, 2*lease)
		watch.Reset(limit)
	}
}

package dreamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// The limits of a stream.
const (
	page      = 200              // events read at once, and held for a reader at most
	usualBeat = 15 * time.Second // proxies cut connections that are silent for a minute, some for half of one
	lasts     = time.Hour        // then the stream ends, and a client that resumes it presents its key again
	backoff   = time.Second      // before a store that does not answer is tried again
)

// stream is one reader of an agent's events. It holds a position in the log and one page of events. A slow reader
// delays nobody else; one that takes too long for a write is cut off and can resume after the last event it has
// received whole.
type stream struct {
	handler *Handler
	sight   psyche.EventScope
	types   []string
	after   int64 // the newest event that was sent, or left out
	w       http.ResponseWriter
	begun   bool
}

// events follows the log as server-sent events, with the event's number as id.
func (f *Handler) events(w http.ResponseWriter, r *http.Request) {
	s, err := f.follow(w, r)
	if err != nil {
		front.Refuse(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), lasts)
	defer cancel()
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		select {
		case <-front.Leaving(r.Context()):
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := s.run(ctx); err != nil && !s.begun && ctx.Err() == nil {
		front.Refuse(w, r, err)
	} else if !s.begun && ctx.Err() == nil { // an EventSource that receives 204 does not reconnect
		w.WriteHeader(http.StatusNoContent)
	}
}

// follow reads the request's parameters.
func (f *Handler) follow(w http.ResponseWriter, r *http.Request) (*stream, error) {
	q, err := params.QueryOf(r, "agent", "dream", "after", "type", "text")
	if err != nil {
		return nil, err
	}
	s := &stream{handler: f, w: w, types: q.List("type"), after: q.WholeNumber("after", 0)}
	for i, name := range s.types {
		s.types[i] = event.CurrentType(name)
		if !slices.Contains(event.Types(), s.types[i]) {
			q.Wrong("type",
				"types of events with commas between them, such as DreamStarted,DreamEnded; oneiros events types names them")
		}
	}
	text := q.Bool("text")
	if q.Fault != nil {
		return nil, q.Fault
	}
	s.sight, err = f.Dreams.See(r.Context(), front.CallerOf(r.Context()), q.Text("agent"), q.Text("dream"), text)
	if err != nil {
		return nil, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" { // the reader's position; after is where it began
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return nil,
				params.Wrong("Last-Event-ID",
					"Last-Event-ID is "+params.Quoted(last)+"; it must be the number of the last event that was received")
		}
		s.after = n
		return s, nil
	}
	if !q.Has("after") && s.sight.Dream == "" { // only new events
		heads, err := f.Dreams.Events.Heads(r.Context(), s.sight.Agent.ID)
		if err != nil {
			return nil, storeAwayFault(err)
		}
		s.after = heads[s.sight.Agent.ID]
	}
	return s, nil
}

// run sends existing and new events, until the reader or the server ends, or the watched dream has ended.
func (s *stream) run(ctx context.Context) error {
	if err := s.rewind(ctx); err != nil {
		return storeAwayFault(err)
	}
	for {
		more, err := s.send(ctx)
		if err == nil && !more {
			var ended bool
			ended, err = s.allSent(ctx)
			if ended {
				return nil
			}
			if err == nil {
				err = s.wait(ctx)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, memory.ErrAway) && s.begun:
			if err := s.pause(ctx, ": the store is away\n\n"); err != nil {
				return err
			}
		case err != nil:
			return storeAwayFault(err)
		}
	}
}

// send writes the next events; more reports whether more may follow.
func (s *stream) send(ctx context.Context) (more bool, err error) {
	events, err := s.handler.Dreams.Events.Events(ctx, s.sight.Agent.ID, s.after, page)
	if err != nil || len(events) == 0 {
		return false, err
	}
	last := events[len(events)-1].Seq
	wanted := events
	if len(s.types) > 0 {
		wanted = slices.DeleteFunc(events, func(e event.Event) bool { return !slices.Contains(s.types, e.Type) })
	}
	shown, err := s.handler.Dreams.Show(ctx, s.sight, wanted)
	if err != nil {
		return false, err
	}
	var b strings.Builder
	for _, e := range shown {
		if err := compose(&b, e); err != nil {
			return false, err
		}
	}
	if b.Len() > 0 {
		if err := s.write(b.String()); err != nil {
			return false, err
		}
	}
	s.after = last
	return true, nil
}

// allSent reports whether all events of an ended dream were sent. The end and its events are one transaction of the
// store: no event can follow that was not in the log when the end was read.
func (s *stream) allSent(ctx context.Context) (bool, error) {
	ended, err := s.handler.Dreams.Ended(ctx, s.sight)
	if err != nil || !ended {
		return false, err
	}
	more, err := s.send(ctx)
	for more && err == nil {
		more, err = s.send(ctx)
	}
	return err == nil, err
}

// wait returns when there may be more. Meanwhile it sends comments that keep the stream alive.
func (s *stream) wait(ctx context.Context) error {
	if !s.begun {
		if err := s.write(""); err != nil {
			return err
		}
	}
	beat := s.handler.Heartbeat
	if beat <= 0 {
		beat = usualBeat
	}
	soon, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	err := s.handler.Dreams.Events.Await(soon, s.sight.Agent.ID, s.after)
	if soon.Err() == nil || ctx.Err() != nil {
		return err
	}
	if err := s.rewind(ctx); err != nil {
		return err
	}
	return s.write(": alive\n\n")
}

func (s *stream) pause(ctx context.Context, comment string) error {
	if err := s.write(comment); err != nil {
		return err
	}
	timer := time.NewTimer(backoff)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// rewind goes back when the log ends before the last event sent: the store was restored without its newest events.
// The events that take their numbers are sent.
func (s *stream) rewind(ctx context.Context) error {
	if s.after == 0 {
		return nil
	}
	there, err := s.handler.Dreams.Events.Events(ctx, s.sight.Agent.ID, s.after-1, 1)
	if err != nil || len(there) > 0 {
		return err
	}
	heads, err := s.handler.Dreams.Events.Heads(ctx, s.sight.Agent.ID)
	if err != nil {
		return err
	}
	head := heads[s.sight.Agent.ID]
	if head >= s.after {
		return nil
	}
	text := fmt.Sprintf("id: %d\nevent: Rewound\ndata: {\"after\":%d,\"head\":%d}\n\n", head, s.after, head)
	s.after = head
	return s.write(text)
}

// write sends text, with the headers before the first one.
func (s *stream) write(text string) error {
	if !s.begun {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering it
		s.w.WriteHeader(http.StatusOK)
		s.begun = true
		text = "retry: 2000\n\n" + text
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func storeAwayFault(err error) error {
	if f := psyche.StoreFault(err); f != nil {
		return f
	}
	return err
}

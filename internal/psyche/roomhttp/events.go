package roomhttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/params"
)

// The limits of a stream.
const (
	atOnce    = 200              // events read at once, and held for a reader at most
	usualBeat = 15 * time.Second // proxies cut connections that are silent for a minute, some for half of one
	lasts     = time.Hour        // then the stream ends, and a client that resumes it presents its key again
	backoff   = time.Second      // before a store that does not answer is tried again
)

// events returns a page of what happened in a room, or follows it as server-sent events when the client accepts these.
func (f *Handler) events(w http.ResponseWriter, r *http.Request) {
	q, err := params.QueryOf(r, "after", "limit")
	if refuse(w, r, q, err) {
		return
	}
	after, limit := q.WholeNumber("after", 0), q.Limit(room.MaxPage-1)
	if refuse(w, r, q, nil) {
		return
	}
	if accepts(r, "text/event-stream") {
		f.follow(w, r, q)
		return
	}
	limit = cmp.Or(limit, usual)
	found, err := f.Rooms.Events(r.Context(), front.CallerOf(r.Context()), r.PathValue("room"), after, limit+1)
	more := len(found) > limit
	answer(w, r, http.StatusOK, page(found[:min(len(found), limit)], more, func(e room.Event) string {
		return number(e.Offset)
	}), err)
}

// accepts reports whether a client names a media type among those that it accepts.
func accepts(r *http.Request, kind string) bool {
	for _, header := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(header, ",") {
			if name, _, err := mime.ParseMediaType(one); err == nil && name == kind {
				return true
			}
		}
	}
	return false
}

// stream is one reader of a room's events. It holds a position and one page of events. A slow reader delays nobody
// else; one that takes too long for a write is cut off and can resume after the last event it has received whole.
type stream struct {
	handler *Handler
	caller  psyche.Caller
	room    string
	after   int64 // the newest event that was sent
	w       http.ResponseWriter
	begun   bool
}

// follow sends server-sent events until the client hangs up, the server stops, or the caller is no member any more.
func (f *Handler) follow(w http.ResponseWriter, r *http.Request, q *params.Query) {
	s := &stream{handler: f, caller: front.CallerOf(r.Context()), room: r.PathValue("room"), w: w}
	if err := s.begin(r, q); err != nil {
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
	}
}

// begin finds where the stream begins: behind the last event that the client has received, behind after, or with what
// comes next.
func (s *stream) begin(r *http.Request, q *params.Query) error {
	place, err := s.handler.Rooms.Get(r.Context(), s.caller, s.room)
	if err != nil {
		return err
	}
	s.after = place.Events
	if q.Has("after") {
		s.after = q.WholeNumber("after", 0)
	}
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		return nil
	}
	s.after, err = strconv.ParseInt(last, 10, 64)
	if err != nil || s.after < 0 {
		return params.Wrong("Last-Event-ID",
			"Last-Event-ID is "+params.Quoted(last)+"; it must be the number of the last event that was received")
	}
	return nil
}

// run sends existing and new events.
func (s *stream) run(ctx context.Context) error {
	if err := s.rewind(ctx); err != nil {
		return err
	}
	for {
		more, err := s.send(ctx)
		if err == nil && !more {
			err = s.wait(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case away(err) && s.begun:
			if err := s.pause(ctx); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// away reports whether the store did not answer.
func away(err error) bool {
	var fault *psyche.Fault
	return errors.As(err, &fault) && fault.Status == http.StatusServiceUnavailable
}

// send writes the next events; more reports whether more may follow.
func (s *stream) send(ctx context.Context) (more bool, err error) {
	events, err := s.handler.Rooms.Events(ctx, s.caller, s.room, s.after, atOnce)
	if err != nil || len(events) == 0 {
		return false, err
	}
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return false, fmt.Errorf("write event %d of %s: %w", e.Offset, e.Room, err)
		}
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Offset, e.Type, data)
	}
	if err := s.write(b.String()); err != nil {
		return false, err
	}
	s.after = events[len(events)-1].Offset
	return true, nil
}

// wait returns when there may be more. Meanwhile it sends comments that keep the stream alive.
func (s *stream) wait(ctx context.Context) error {
	if !s.begun {
		if err := s.write(""); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, cmp.Or(s.handler.Heartbeat, usualBeat))
	defer cancel()
	err := s.handler.Rooms.Await(soon, s.caller, s.room, s.after)
	if soon.Err() == nil || ctx.Err() != nil {
		return err
	}
	if err := s.rewind(ctx); err != nil {
		return err
	}
	return s.write(": alive\n\n")
}

func (s *stream) pause(ctx context.Context) error {
	if err := s.write(": the store is away\n\n"); err != nil {
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

// rewind goes back when the room has fewer events than were sent: the store was restored without its newest events.
// The events that take their numbers are sent.
func (s *stream) rewind(ctx context.Context) error {
	place, err := s.handler.Rooms.Get(ctx, s.caller, s.room)
	if err != nil || place.Events >= s.after {
		return err
	}
	head := place.Events
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

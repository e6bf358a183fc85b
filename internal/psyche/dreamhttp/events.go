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

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
)

// The measures of a stream.
const (
	page      = 200              // events read at once, and held for a reader at most
	usualBeat = 15 * time.Second // proxies cut what is silent for a minute, some for half of one
	lasts     = time.Hour        // then it ends, and whoever resumes it shows its key anew
	backoff   = time.Second      // before a store that is away is asked again
)

// stream is one reader of an agent's events. It holds its place in the log and one page of it: whoever reads slowly
// holds nobody else, and whoever takes too long for one write is cut off and resumes from the last event that it has
// whole.
type stream struct {
	face  *Face
	sight psyche.EventScope
	types []string
	after int64 // the newest event that was told, or left out
	w     http.ResponseWriter
	begun bool
}

// events follows what is announced as server-sent events, each with its number as its id.
func (f *Face) events(w http.ResponseWriter, r *http.Request) {
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
	} else if !s.begun && ctx.Err() == nil { // an EventSource that is told 204 comes no more
		w.WriteHeader(http.StatusNoContent)
	}
}

// follow reads what is asked for.
func (f *Face) follow(w http.ResponseWriter, r *http.Request) (*stream, error) {
	q, err := queryOf(r, "agent", "dream", "after", "type", "text")
	if err != nil {
		return nil, err
	}
	s := &stream{face: f, w: w, types: q.list("type"), after: q.whole("after", 0)}
	for _, name := range s.types {
		if !slices.Contains(event.Types(), name) {
			q.wrong("type",
				"types of events with commas between them, such as DreamStarted,DreamEnded; oneiros events types names them")
		}
	}
	text := q.yes("text")
	if q.fault != nil {
		return nil, q.fault
	}
	s.sight, err = f.Dreams.See(r.Context(), front.CallerOf(r.Context()), q.text("agent"), q.text("dream"), text)
	if err != nil {
		return nil, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" { // it is what the reader has; after is where it began
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return nil,
				lacking("Last-Event-ID",
					"Last-Event-ID is "+quoted(last)+"; it must be the number of the last event that was received")
		}
		s.after = n
		return s, nil
	}
	if !q.values.Has("after") && s.sight.Dream == "" { // what comes
		heads, err := f.Dreams.Events.Heads(r.Context())
		if err != nil {
			return nil, away(err)
		}
		s.after = heads[s.sight.Agent.ID]
	}
	return s, nil
}

// run tells what there is and what comes, until the reader or the server goes, or the dream that is watched is over.
func (s *stream) run(ctx context.Context) error {
	if err := s.rewind(ctx); err != nil {
		return away(err)
	}
	for {
		more, err := s.send(ctx)
		if err == nil && !more {
			var ended bool
			ended, err = s.over(ctx)
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
			return away(err)
		}
	}
}

// send writes the next events; more says whether there may be some behind them.
func (s *stream) send(ctx context.Context) (more bool, err error) {
	events, err := s.face.Dreams.Events.Events(ctx, s.sight.Agent.ID, s.after, page)
	if err != nil || len(events) == 0 {
		return false, err
	}
	last := events[len(events)-1].Seq
	wanted := events
	if len(s.types) > 0 {
		wanted = slices.DeleteFunc(events, func(e event.Event) bool { return !slices.Contains(s.types, e.Type) })
	}
	shown, err := s.face.Dreams.Show(ctx, s.sight, wanted)
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

// over says whether everything was told of a dream that has ended. The fact and its events are one transaction of the
// store: what is not in the log after the fact was read will never be.
func (s *stream) over(ctx context.Context) (bool, error) {
	ended, err := s.face.Dreams.Ended(ctx, s.sight)
	if err != nil || !ended {
		return false, err
	}
	more, err := s.send(ctx)
	for more && err == nil {
		more, err = s.send(ctx)
	}
	return err == nil, err
}

// wait returns when there may be more. Meanwhile the reader is told that the stream lives.
func (s *stream) wait(ctx context.Context) error {
	if !s.begun {
		if err := s.write(""); err != nil {
			return err
		}
	}
	beat := s.face.Heartbeat
	if beat <= 0 {
		beat = usualBeat
	}
	soon, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	err := s.face.Dreams.Events.Await(soon, s.sight.Agent.ID, s.after)
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

// rewind goes back when the log ends before what was told of it: the store came back without its newest events. What
// takes their numbers is told.
func (s *stream) rewind(ctx context.Context) error {
	if s.after == 0 {
		return nil
	}
	there, err := s.face.Dreams.Events.Events(ctx, s.sight.Agent.ID, s.after-1, 1)
	if err != nil || len(there) > 0 {
		return err
	}
	heads, err := s.face.Dreams.Events.Heads(ctx)
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

// write sends text, and what goes before all of it.
func (s *stream) write(text string) error {
	if !s.begun {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // proxies that would hold it back let it pass
		s.w.WriteHeader(http.StatusOK)
		s.begun = true
		text = "retry: 2000\n\n" + text
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

func away(err error) error {
	if !errors.Is(err, memory.ErrAway) {
		return err
	}
	return &psyche.Fault{
		Status:  http.StatusServiceUnavailable,
		Type:    "server_error",
		Code:    "store_away",
		Message: "the store does not answer; try again",
		Retry:   backoff,
		Err:     err,
	}
}

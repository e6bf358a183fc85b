package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/governor"
)

// DeliveryHeader has the id of what is sent. The receiver knows by it what it has accepted before.
const DeliveryHeader = "Oneiros-Delivery"

// Event is what is sent.
type Event struct {
	ID      string     `json:"id"` // the room and the number of the event, such as hall/events/12
	Webhook string     `json:"webhook"`
	Event   room.Event `json:"event"`
	Post    *room.Post `json:"post,omitempty"` // of an event about a post, as it is when it is sent
}

// Deliver sends what happens in rooms to their webhooks, until ctx ends. Several processes may do so: one at a time sends
// for a webhook.
func (s *Service) Deliver(ctx context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	ends := map[string]context.CancelFunc{} // by salt, which is of one webhook alone
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for ctx.Err() == nil {
		all, err := s.Rooms.Webhooks(ctx, "")
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("the webhooks of rooms could not be listed", "error", err)
		}
		current := map[string]bool{}
		for _, w := range all {
			if w.URL == "" {
				continue
			}
			current[w.Salt] = true
			if ends[w.Salt] == nil {
				own, end := context.WithCancel(ctx)
				ends[w.Salt] = end
				sending.Go(func() { s.follow(own, w) })
			}
		}
		for salt, end := range ends {
			if err == nil && !current[salt] {
				end()
				delete(ends, salt)
			}
		}
		pause(ctx, s.pace.look)
	}
}

// follow sends the events of one room until ctx ends.
func (s *Service) follow(ctx context.Context, w room.Webhook) {
	for ctx.Err() == nil {
		taken, err := s.Rooms.TakeWebhook(ctx, w.Room, w.Name, s.holder, s.pace.lease, s.Now().UTC())
		switch {
		case err == nil && taken.Salt != w.Salt: // it was replaced
			return
		case err == nil:
			err = s.next(ctx, taken)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !errors.Is(err, room.ErrFenced) && !errors.Is(err, room.ErrNotFound) {
			s.Log.Warn("a webhook could not be served", "room", w.Room, "webhook", w.Name, "error", err)
		}
		pause(ctx, s.pace.lease/4)
	}
}

// next sends the next event, or waits until there is one or it may be tried again, at most half of a lease.
func (s *Service) next(ctx context.Context, w room.Webhook) error {
	now := s.Now()
	if w.Due.After(now) {
		pause(ctx, min(w.Due.Sub(now), s.pace.lease/2))
		return nil
	}
	events, err := s.Rooms.Events(ctx, room.AsOperator, w.Room, w.After, 1)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		waiting, cancel := context.WithTimeout(ctx, s.pace.lease/2)
		defer cancel()
		err := s.Rooms.Await(waiting, room.AsOperator, w.Room, w.After)
		if waiting.Err() != nil {
			return nil
		}
		return err
	}
	e := events[0]
	sent := room.SentEvents{Room: w.Room, Name: w.Name, Holder: s.holder, After: e.Offset}
	if len(w.Events) > 0 && !slices.Contains(w.Events, e.Type) {
		return s.Rooms.NoteSent(ctx, sent)
	}
	if err := s.send(ctx, w, e); err != nil {
		sent.After, sent.Tries = w.After, w.Tries+1
		sent.Due, sent.Fault = s.Now().Add(s.pace.pauseAfter(sent.Tries)), err.Error()
		s.Log.Warn("a webhook does not accept an event; it is sent again", "room", w.Room, "webhook", w.Name,
			"event", e.Offset, "tries", sent.Tries, "fault", sent.Fault)
	}
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.timeout) // a process that stops notes it still
	defer cancel()
	return s.Rooms.NoteSent(noting, sent)
}

// lastAnswer is how long a process that stops waits for the answer to what it has sent.
const lastAnswer = 2 * time.Second

// send sends one event. Its error has no address, which may be a secret.
func (s *Service) send(ctx context.Context, w room.Webhook, e room.Event) error {
	out := Event{ID: fmt.Sprintf("%s/events/%d", e.Room, e.Offset), Webhook: w.Name, Event: e}
	if e.Post != "" {
		p, err := s.Rooms.Find(ctx, room.AsOperator, e.Post)
		if err != nil {
			return errors.New("its post cannot be read")
		}
		out.Post = &p
	}
	body, err := json.Marshal(out)
	if err != nil {
		return errors.New("it cannot be written as JSON")
	}
	secret, err := s.secret(w)
	if err != nil {
		return errors.New("the key of webhooks cannot be read")
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.pace.timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastAnswer, cancel) })()
	request, err := http.NewRequestWithContext(sending, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address is not valid")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "oneiros")
	request.Header.Set(DeliveryHeader, out.ID)
	governor.Sign(request.Header, secret, body, s.Now())
	response, err := s.Client.Do(request)
	if err != nil {
		return governor.Unnamed(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return errors.New("it answered HTTP " + strconv.Itoa(response.StatusCode) + "; 2xx was expected")
	}
	return nil
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

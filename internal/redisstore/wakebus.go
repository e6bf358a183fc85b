package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// longestNotice is the maximum length of a notice in bytes. An agent's id may take most of it; the rest is about 150.
const longestNotice = 4096

// quiet is how long a subscription may be silent before it is pinged, and after that before it is given up.
const quiet = 2 * time.Second

// wakeBus is the store's one subscription, which begins with the first listener.
type wakeBus struct {
	*server
	local presence.LocalBus

	starting sync.Mutex // held while the subscription begins, so that notices can be published meanwhile
	cancel   context.CancelFunc
	done     chan struct{} // closed when the subscriber has ended
}

// wireNotice is a wake notice as it is sent.
type wireNotice struct {
	From string `json:"from"` // the publishing process
	presence.WakeNotice
}

// Publish calls this process's listeners, then notifies the other processes. An error concerns the others only.
func (s *wakeBus) Publish(ctx context.Context, r presence.WakeNotice) error {
	r.At, r.Raised = r.At.UTC(), r.Raised.UTC()
	wire, err := encodeNotice(wireNotice{s.self, r})
	if err == nil {
		r.Local = true
		s.local.Deliver(r)
		err = s.exchange(ctx, func(ctx context.Context) error {
			return s.client.Publish(ctx, s.channel(wakeChannel), wire).Err()
		})
	}
	return store.Wrap(err, "publish the wake of agent ", r.Agent)
}

// Listen returns when this process receives the notices of others. After a lost connection it subscribes again by
// itself; notices in between are missed.
func (s *wakeBus) Listen(hear func(presence.WakeNotice)) (stop func(), err error) {
	if err := s.subscribe(); err != nil {
		return nil, fmt.Errorf("listen for wake notices on %s: %w", s.name, err)
	}
	return s.local.Listen(hear)
}

// subscribe begins the subscription, unless there is one, and waits until the server has confirmed it.
func (s *wakeBus) subscribe() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	select {
	case <-s.closed:
		return ErrClosed
	default:
	}
	if s.cancel != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	line, err := ask(ctx, s.server, s.openSubscription)
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	s.cancel, s.done = cancel, done
	go func() {
		defer close(done)
		s.receiveNotices(ctx, line)
	}()
	return nil
}

// openSubscription opens a subscription and waits for the server's confirmation.
func (s *wakeBus) openSubscription(ctx context.Context) (*redis.PubSub, error) {
	line := s.client.Subscribe(ctx, s.channel(wakeChannel))
	defer context.AfterFunc(ctx, func() { _ = line.Close() })() // a read does not see that ctx has ended
	if _, err := line.ReceiveTimeout(ctx, s.set.timeout); err != nil {
		return nil, errors.Join(err, line.Close())
	}
	return line, nil
}

// receiveNotices handles notices until ctx ends, with a new subscription after each loss.
func (s *wakeBus) receiveNotices(ctx context.Context, line *redis.PubSub) {
	for line != nil {
		s.readSubscription(ctx, line)
		line = s.reopenSubscription(ctx)
	}
}

// reopenSubscription tries to subscribe until it succeeds; nil when ctx ends.
func (s *wakeBus) reopenSubscription(ctx context.Context) *redis.PubSub {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		try, cancel := context.WithTimeout(ctx, s.set.timeout)
		line, err := s.openSubscription(try)
		cancel()
		if err == nil {
			return line
		}
		_ = store.Pause(ctx, pause, nil)
	}
	return nil
}

// readSubscription reads one subscription until it is lost, silent for too long, or ctx ends, and closes it.
func (s *wakeBus) readSubscription(ctx context.Context, line *redis.PubSub) {
	end := context.AfterFunc(ctx, func() { _ = line.Close() })
	defer func() {
		end()
		_ = line.Close()
	}()
	silent := 0
	for ctx.Err() == nil {
		message, err := line.ReceiveTimeout(ctx, quiet)
		if err != nil {
			var slow interface{ Timeout() bool }
			silent++
			if silent > 1 || !errors.As(err, &slow) || !slow.Timeout() || line.Ping(ctx) != nil {
				return
			}
			continue
		}
		silent = 0
		if m, ok := message.(*redis.Message); ok {
			s.handleNotice(m.Payload)
		}
	}
}

// handleNotice handles a notice of another process. Anything that is no valid notice is ignored: anyone who reaches the
// server can publish.
func (s *wakeBus) handleNotice(wire string) {
	r, err := decodeNotice(wire)
	if err != nil || r.From == s.self {
		return
	}
	s.local.Deliver(r.WakeNotice)
}

func (s *wakeBus) stop() {
	s.starting.Lock()
	cancel, done := s.cancel, s.done
	s.starting.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

func encodeNotice(r wireNotice) (string, error) {
	wire, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if _, err := decodeNotice(string(wire)); err != nil {
		return "", err
	}
	return string(wire), nil
}

// decodeNotice parses a notice strictly: known fields only, nothing after them, and valid values.
func decodeNotice(wire string) (wireNotice, error) {
	var r wireNotice
	if len(wire) > longestNotice {
		return r, fmt.Errorf("a wake notice of %d bytes; at most %d are read", len(wire), longestNotice)
	}
	d := json.NewDecoder(strings.NewReader(wire))
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	_, end := d.Token()
	valid := r.Cause == "" || r.Cause == presence.Connect || r.Cause == presence.Alarm || r.Cause == presence.Operator
	switch {
	case err != nil:
	case !errors.Is(end, io.EOF):
		err = errors.New("something follows it")
	case r.From == "":
		err = errors.New("it must name the publishing process")
	case !valid:
		err = fmt.Errorf("its cause is %q; it must be %s, %s or %s", r.Cause, presence.Connect, presence.Alarm,
			presence.Operator)
	default:
		err = r.Validate()
	}
	return store.Result(r, err, "read a wake notice")
}

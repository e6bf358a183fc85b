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

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// longestNotice is the maximum length of a notice in bytes. An agent's id may take most of it; the rest is about 150.
const longestNotice = 4096

// quiet is how long a subscription may be silent before it is pinged, and after that before it is given up.
const quiet = 2 * time.Second

// redisBus is the store's one subscription, which begins with the first listener.
type redisBus struct {
	mu    sync.Mutex
	hears map[int]func(presence.WakeNotice)
	next  int

	tuning sync.Mutex // held while the subscription begins, so that notices can be published meanwhile
	cancel context.CancelFunc
	done   chan struct{} // closed when the subscriber has ended
}

// notified is a wake notice as it is sent.
type notified struct {
	From   string         `json:"from"` // the publishing process
	Agent  string         `json:"agent"`
	Epoch  int64          `json:"epoch"`
	Cause  presence.Cause `json:"cause"`
	At     time.Time      `json:"at"`
	Raised time.Time      `json:"raised"`
}

func (r notified) notice() presence.WakeNotice {
	return presence.WakeNotice{
		Agent:  r.Agent,
		Epoch:  r.Epoch,
		Cause:  r.Cause,
		At:     r.At,
		Raised: r.Raised,
	}
}

func (s *Store) channel() string { return s.set.prefix + "bell" }

// Publish calls this process's listeners, then notifies the other processes. An error concerns the others only.
func (s *Store) Publish(ctx context.Context, r presence.WakeNotice) error {
	wire, err := encodeNotice(notified{s.self, r.Agent, r.Epoch, r.Cause, r.At.UTC(), r.Raised.UTC()})
	if err == nil {
		r.Local = true
		s.bus.strike(r)
		err = s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
			return s.client.Publish(ctx, s.channel(), wire).Err()
		})
	}
	return wrap(err, "ring for agent ", r.Agent)
}

func (b *redisBus) strike(r presence.WakeNotice) {
	b.mu.Lock()
	listeners := make([]func(presence.WakeNotice), 0, len(b.hears))
	for _, hear := range b.hears {
		listeners = append(listeners, hear)
	}
	b.mu.Unlock()
	for _, hear := range listeners {
		hear(r)
	}
}

// Listen returns when this process receives the notices of others. After a lost connection it subscribes again by
// itself; notices in between are missed.
func (s *Store) Listen(hear func(presence.WakeNotice)) (stop func(), err error) {
	if err := s.subscribe(); err != nil {
		return nil, fmt.Errorf("listen to the bell on %s: %w", s.name, err)
	}
	b := &s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.next
	b.next++
	if b.hears == nil {
		b.hears = map[int]func(presence.WakeNotice){}
	}
	b.hears[id] = hear
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.hears, id)
	}, nil
}

// subscribe begins the subscription, unless there is one, and waits until the server has confirmed it.
func (s *Store) subscribe() error {
	s.bus.tuning.Lock()
	defer s.bus.tuning.Unlock()
	select {
	case <-s.closed:
		return ErrClosed
	default:
	}
	if s.bus.cancel != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var line *redis.PubSub
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		line, err = s.tune(ctx)
		return err
	})
	if err != nil {
		cancel()
		return err
	}
	done := make(chan struct{})
	s.bus.cancel, s.bus.done = cancel, done
	go func() {
		defer close(done)
		s.hearken(ctx, line)
	}()
	return nil
}

// tune opens a subscription and waits for the server's confirmation.
func (s *Store) tune(ctx context.Context) (*redis.PubSub, error) {
	line := s.client.Subscribe(ctx, s.channel())
	defer context.AfterFunc(ctx, func() { _ = line.Close() })() // a read does not see that ctx has ended
	if _, err := line.ReceiveTimeout(ctx, s.set.timeout); err != nil {
		return nil, errors.Join(err, line.Close())
	}
	return line, nil
}

// hearken handles notices until ctx ends, with a new subscription after each loss.
func (s *Store) hearken(ctx context.Context, line *redis.PubSub) {
	for line != nil {
		s.follow(ctx, line)
		line = s.retune(ctx)
	}
}

// retune tries to subscribe until it succeeds; nil when ctx ends.
func (s *Store) retune(ctx context.Context) *redis.PubSub {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		try, cancel := context.WithTimeout(ctx, s.set.timeout)
		line, err := s.tune(try)
		cancel()
		if err == nil {
			return line
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
		case <-wait.C:
		}
	}
	return nil
}

// follow reads one subscription until it is lost, silent for too long, or ctx ends, and closes it.
func (s *Store) follow(ctx context.Context, line *redis.PubSub) {
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
			s.hear(m.Payload)
		}
	}
}

// hear handles a notice of another process. Anything that is no valid notice is ignored: anyone who reaches the server
// can publish.
func (s *Store) hear(wire string) {
	r, err := decodeNotice(wire)
	if err != nil || r.From == s.self {
		return
	}
	s.bus.strike(r.notice())
}

func (b *redisBus) hush() {
	b.tuning.Lock()
	cancel, done := b.cancel, b.done
	b.tuning.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

func encodeNotice(r notified) (string, error) {
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
func decodeNotice(wire string) (notified, error) {
	var r notified
	if len(wire) > longestNotice {
		return r, fmt.Errorf("a ring of %d bytes; at most %d are read", len(wire), longestNotice)
	}
	d := json.NewDecoder(strings.NewReader(wire))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return notified{}, fmt.Errorf("read a ring: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return notified{}, errors.New("read a ring: something follows it")
	}
	if r.From == "" {
		return notified{}, errors.New("a ring from nobody; it names the process that rang")
	}
	switch r.Cause {
	case "", presence.Connect, presence.Alarm, presence.Operator:
	default:
		return notified{},
			fmt.Errorf("a ring with cause %q; it must be %s, %s or %s", r.Cause, presence.Connect, presence.Alarm,
				presence.Operator)
	}
	if err := r.notice().Validate(); err != nil {
		return notified{}, err
	}
	return r, nil
}

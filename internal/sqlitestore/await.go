package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/event"
)

// How often the file is checked for writes of other processes, and how long one check serves all waiting callers.
const (
	checkEvery = 100 * time.Millisecond
	checkValid = 50 * time.Millisecond
)

// Events returns up to limit of the agent's events after a sequence number, in order. A limit of zero or less gives
// none.
func (s *Store) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	if limit <= 0 {
		limit = -1
	}
	var events []event.Event
	err := s.readOnce(ctx, func(d tx) error {
		return d.each("SELECT "+eventColumns+" FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?",
			[]any{agent, after, limit},
			func(scan func(...any) error) error {
				e, err := readEvent(agent, scan)
				events = append(events, e)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("events of %s after %d: %w", agent, after, err)
	}
	return events, nil
}

// Await returns when the agent has events after a sequence number: immediately when this process wrote them, within 200
// ms when another did.
func (s *Store) Await(ctx context.Context, agent string, after int64) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		notified := s.feeds.listen(agent)
		version, err := s.feeds.version(ctx)
		if err != nil {
			return err
		}
		var l agentCounters
		err = s.readOnce(ctx, func(d tx) error {
			l, err = d.counters(agent)
			return err
		})
		if err != nil || l.seq > after {
			return err
		}
		if err := s.waitForChange(ctx, notified, tick.C, version); err != nil {
			return err
		}
	}
}

// waitForChange returns when this process announces events or the file changes.
func (s *Store) waitForChange(ctx context.Context, notified <-chan struct{}, tick <-chan time.Time, since int64) error {
	for {
		select {
		case <-notified:
			return nil
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
			now, err := s.feeds.version(ctx)
			if err != nil || now != since {
				return err
			}
		}
	}
}

// feedBus announces new events to the waiting callers of this process, and watches the file for those of other
// processes.
type feedBus struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}

	looking sync.Mutex
	watch   *dbConn // nil for a private store
	seen    int64
	looked  time.Time
}

func (b *feedBus) listen(agent string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == nil {
		b.waiting = map[string]chan struct{}{}
	}
	c, ok := b.waiting[agent]
	if !ok {
		c = make(chan struct{})
		b.waiting[agent] = c
	}
	return c
}

func (b *feedBus) notify(agent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.waiting[agent]; ok {
		close(c)
		delete(b.waiting, agent)
	}
}

// version returns a number that changes when another connection commits (PRAGMA data_version).
func (b *feedBus) version(ctx context.Context) (int64, error) {
	b.looking.Lock()
	defer b.looking.Unlock()
	if b.watch == nil || time.Since(b.looked) < checkValid {
		return b.seen, nil
	}
	if _, err := (tx{b.watch, ctx}).one("PRAGMA data_version", nil, &b.seen); err != nil {
		return 0, err
	}
	b.looked = time.Now()
	return b.seen, nil
}

func (b *feedBus) close() error {
	b.looking.Lock()
	defer b.looking.Unlock()
	if b.watch == nil {
		return nil
	}
	l := b.watch
	b.watch = nil
	return l.close()
}

// Heads returns the number of the newest event of every agent.
func (s *Store) Heads(ctx context.Context) (map[string]int64, error) {
	heads := map[string]int64{}
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT agent, seq FROM lives JOIN agents ON agents.id = lives.agent WHERE seq > 0", nil,
			func(scan func(...any) error) error {
				var agent string
				var seq int64
				err := scan(&agent, &seq)
				heads[agent] = seq
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("newest events of all agents: %w", err)
	}
	return heads, nil
}

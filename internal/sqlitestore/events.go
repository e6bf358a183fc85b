package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// How often the file is checked for writes of other processes, and how long one check serves all waiting callers.
const (
	checkEvery = 100 * time.Millisecond
	checkValid = 50 * time.Millisecond
)

// eventLog reads the events, announces new ones to the waiting callers of this process, and watches the file for those
// of other processes.
type eventLog struct {
	*file
	waiters store.Waiters

	looking sync.Mutex
	watch   *dbConn // nil for a private store
	seen    int64
	looked  time.Time
}

// Events returns up to limit of the agent's events after a sequence number, in order. A limit of zero or less gives
// all.
func (s *eventLog) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	if limit <= 0 {
		limit = -1
	}
	return in(ctx, s.readOnce, fmt.Sprintf("events of %s after %d", agent, after), func(d *tx) []event.Event {
		return rows(d, "SELECT "+eventColumns+" FROM events WHERE agent = ? AND seq > ? ORDER BY seq LIMIT ?",
			[]any{agent, after, limit},
			func(scan scanner) event.Event { return event.Current(d.readEvent(agent, scan)) })
	})
}

// Await returns when the agent has events after a sequence number: immediately when this process wrote them, within 200
// ms when another did.
func (s *eventLog) Await(ctx context.Context, agent string, after int64) error {
	return s.await(ctx, agent, func() (bool, error) {
		seq, err := in(ctx, s.readOnce, "await events of "+agent, func(d *tx) int64 { return d.counters(agent).seq })
		return seq > after, err
	})
}

// await returns when changed does. It is called first, when this process announces something of that name, and when
// another process has written.
func (s *eventLog) await(ctx context.Context, name string, changed func() (bool, error)) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		notified := s.waiters.Listen(name)
		version, err := s.version(ctx)
		if err != nil {
			return err
		}
		done, err := changed()
		if err != nil || done {
			return err
		}
		if err := s.waitForChange(ctx, notified, tick.C, version); err != nil {
			return err
		}
	}
}

// waitForChange returns when this process announces events or the file changes.
func (s *eventLog) waitForChange(
	ctx context.Context, notified <-chan struct{}, tick <-chan time.Time, since int64,
) error {
	for {
		select {
		case <-notified:
			return nil
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
			now, err := s.version(ctx)
			if err != nil || now != since {
				return err
			}
		}
	}
}

// version returns a number that changes when another connection commits (PRAGMA data_version).
func (s *eventLog) version(ctx context.Context) (int64, error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.watch == nil || time.Since(s.looked) < checkValid {
		return s.seen, nil
	}
	d := &tx{dbConn: s.watch, ctx: ctx}
	d.one("PRAGMA data_version", nil, &s.seen)
	if d.err != nil {
		return 0, d.err
	}
	s.looked = time.Now()
	return s.seen, nil
}

func (s *eventLog) close() error {
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.watch == nil {
		return nil
	}
	l := s.watch
	s.watch = nil
	return l.close()
}

// Heads returns the number of the newest event of these agents, or of every agent.
func (s *eventLog) Heads(ctx context.Context, agents ...string) (map[string]int64, error) {
	const all = "SELECT agent, seq FROM lives JOIN agents ON agents.id = lives.agent WHERE seq > 0"
	return in(ctx, s.readOnce, "newest events of agents", func(d *tx) map[string]int64 {
		if len(agents) == 0 {
			return pairs[int64](d, all)
		}
		return pairs[int64](d, all+" AND agent IN (SELECT value FROM json_each(?))", jsonText{agents})
	})
}

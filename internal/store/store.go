// Package store has what both stores do alike: checks before a write, plans of an undo and of an erasure, searches, and
// the conversion of records between a store and an archive.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// ErrClosed is returned by every method of a closed store.
var ErrClosed = errors.New("the store is closed")

// Wrap says what failed. It returns nil for nil.
func Wrap(err error, what ...string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(what, ""), err)
}

// Result returns a value, or after an error its zero value and what failed.
func Result[T any](value T, err error, what ...string) (T, error) {
	if err != nil {
		var none T
		return none, Wrap(err, what...)
	}
	return value, nil
}

// awayError is a failure to reach the store in time, with its own text.
type awayError struct{ error }

func (awayError) Is(target error) bool { return target == memory.ErrAway }
func (a awayError) Unwrap() error      { return a.error }

// Away marks an error as memory.ErrAway.
func Away(err error) error { return awayError{err} }

// CheckNames refuses names that are empty or not UTF-8 text; what says whose names they are.
func CheckNames(what string, names ...string) error {
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("%s must be UTF-8 text and not empty", what)
		}
	}
	return nil
}

// Pause waits for d. It returns early when ctx ends or closed is closed, with the error of ctx or ErrClosed.
func Pause(ctx context.Context, d time.Duration, closed <-chan struct{}) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiters are the callers of this process that wait for an agent's next event. The zero value is ready.
type Waiters struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// Listen returns a channel that is closed at the agent's next event.
func (w *Waiters) Listen(agent string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[string]chan struct{}{}
	}
	c, ok := w.waiting[agent]
	if !ok {
		c = make(chan struct{})
		w.waiting[agent] = c
	}
	return c
}

// Notify wakes everyone who waits for an event of the agent.
func (w *Waiters) Notify(agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.waiting[agent]; ok {
		close(c)
		delete(w.waiting, agent)
	}
}

// CheckDeparture refuses a departure of nobody, or with a negative lock.
func CheckDeparture(agent, client string, lock time.Duration) error {
	if lock < 0 {
		return fmt.Errorf("lock is %v; it must not be negative", lock)
	}
	return CheckNames("agent and client", agent, client)
}

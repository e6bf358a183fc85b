package sqlitestore

import (
	"context"
	"slices"
	"sync"
)

// maxUrgentTurns is how many urgent turns in a row may come before a waiting ordinary one.
const maxUrgentTurns = 8

// priorityLock lends the one writing connection: to urgent callers first, otherwise in order of arrival.
type priorityLock struct {
	mu     sync.Mutex
	free   *dbConn
	urgent []chan *dbConn
	plain  []chan *dbConn
	passed int // urgent turns since the last ordinary one, while an ordinary caller waits
}

// take waits until the connection is free, ctx ends or the store is closed.
func (w *priorityLock) take(ctx context.Context, closed <-chan struct{}, urgent bool) (*dbConn, error) {
	w.mu.Lock()
	if l := w.free; l != nil {
		w.free = nil
		w.mu.Unlock()
		return l, nil
	}
	turn := make(chan *dbConn, 1)
	queue := &w.plain
	if urgent {
		queue = &w.urgent
	}
	*queue = append(*queue, turn)
	w.mu.Unlock()
	select {
	case l := <-turn:
		return l, nil
	case <-closed:
		w.cancel(queue, turn)
		return nil, ErrClosed
	case <-ctx.Done():
		w.cancel(queue, turn)
		return nil, ctx.Err()
	}
}

// urgentWaits reports whether an urgent caller waits for the connection.
func (w *priorityLock) urgentWaits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.urgent) > 0
}

// cancel gives up a place in a queue, or returns the connection when the turn has just come.
func (w *priorityLock) cancel(queue *[]chan *dbConn, turn chan *dbConn) {
	w.mu.Lock()
	i := slices.Index(*queue, turn)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 {
		w.release(<-turn)
	}
}

// release hands the connection to the next caller.
func (w *priorityLock) release(l *dbConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue := &w.plain
	switch {
	case len(w.plain) == 0:
		queue, w.passed = &w.urgent, 0
	case len(w.urgent) > 0 && w.passed < maxUrgentTurns:
		queue, w.passed = &w.urgent, w.passed+1
	default:
		w.passed = 0
	}
	if len(*queue) == 0 {
		w.free = l
		return
	}
	turn := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	turn <- l
}

package sqlitestore

import (
	"context"
	"slices"
	"sync"
)

// patience is how many urgent turns in a row may pass those who wait for an ordinary one.
const patience = 8

// lane lends the one connection that writes: to those in a hurry first, otherwise in the order they came.
type lane struct {
	mu     sync.Mutex
	free   *dbConn
	urgent []chan *dbConn
	plain  []chan *dbConn
	passed int // urgent turns since the last ordinary one, while somebody waited for it
}

// take waits for the connection until it comes, ctx ends or the store is closed.
func (w *lane) take(ctx context.Context, closed <-chan struct{}, urgent bool) (*dbConn, error) {
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
		w.leave(queue, turn)
		return nil, ErrClosed
	case <-ctx.Done():
		w.leave(queue, turn)
		return nil, ctx.Err()
	}
}

// leave gives up a turn, or gives the connection back when the turn has just come.
func (w *lane) leave(queue *[]chan *dbConn, turn chan *dbConn) {
	w.mu.Lock()
	i := slices.Index(*queue, turn)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 {
		w.give(<-turn)
	}
}

// give hands the connection to the next in turn.
func (w *lane) give(l *dbConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	queue := &w.plain
	switch {
	case len(w.plain) == 0:
		queue, w.passed = &w.urgent, 0
	case len(w.urgent) > 0 && w.passed < patience:
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

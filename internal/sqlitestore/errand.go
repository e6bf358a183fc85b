package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// together is how many urgent steps share one transaction at most: enough that a thousand knocks cost eight commits,
// few enough that the first of them are not kept waiting by the last.
const together = 128

// queuedWrite is a step that shares a transaction with others: an urgent one, such as a visit, a departure or the last
// words of a sitting that was woken; or a reservation or settlement, many of which come at once.
type queuedWrite struct {
	do    func(tx) error
	state atomic.Int32 // waiting, begun or withdrawn
	err   error
	done  chan struct{}
}

const (
	waiting int32 = iota
	begun
	withdrawn
)

// writeQueue are the steps that wait for the writing connection, the urgent ones and those of the ledger apart. One
// goroutine runs while there are any, and takes all that have come, in order, into one durable transaction.
type writeQueue struct {
	mu      sync.Mutex
	queue   []*queuedWrite
	running bool
	served  sync.WaitGroup
}

// urgently is write for a step that must not queue behind ordinary ones. Simultaneous steps share a transaction; one
// that fails undoes nothing of the others. The wait ends with ctx; a step that has begun runs to its end.
func (s *Store) urgently(ctx context.Context, do func(tx) error) error {
	return s.join(ctx, &s.writes, true, do)
}

// bookkeep is write for a step of the ledger: simultaneous ones share a transaction, and so one wait for the disk. Each
// is durable when it returns, and one that is refused undoes nothing of the others.
func (s *Store) bookkeep(ctx context.Context, do func(tx) error) error {
	return s.join(ctx, &s.ledgerWrites, false, do)
}

func (s *Store) join(ctx context.Context, q *writeQueue, urgent bool, do func(tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &queuedWrite{do: do, done: make(chan struct{})}
	if !q.add(e, s.closed, func() { s.serve(q, urgent) }) {
		return ErrClosed
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		if e.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
		<-e.done
		return e.err
	}
}

// add queues an errand and starts the goroutine that serves it; false when the store is closed.
func (q *writeQueue) add(e *queuedWrite, closed <-chan struct{}, serve func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-closed:
		return false
	default:
	}
	q.queue = append(q.queue, e)
	if !q.running {
		q.running = true
		q.served.Go(serve)
	}
	return true
}

// begin takes up to n errands from the queue that nobody has withdrawn.
func (q *writeQueue) begin(n int) []*queuedWrite {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*queuedWrite
	for len(q.queue) > 0 && len(batch) < n {
		e := q.queue[0]
		q.queue[0] = nil
		q.queue = q.queue[1:]
		if e.state.CompareAndSwap(waiting, begun) {
			batch = append(batch, e)
		}
	}
	return batch
}

// rest says whether the queue is empty, and that nobody serves it any more when it is.
func (q *writeQueue) rest() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		return false
	}
	q.queue, q.running = nil, false
	return true
}

// serve runs until no errand waits.
func (s *Store) serve(q *writeQueue, urgent bool) {
	for !q.rest() {
		var batch []*queuedWrite
		err := s.writing(context.Background(), urgent, func(l *dbConn) error {
			return l.within(context.Background(), "BEGIN IMMEDIATE", func() error {
				batch = q.begin(together)
				return tx{l, context.Background()}.all(batch)
			})
		})
		if batch == nil && err != nil { // no transaction began
			batch = q.begin(math.MaxInt)
		}
		for _, e := range batch {
			if err != nil {
				e.err = s.explain(err)
			}
			close(e.done)
		}
	}
}

// shut closes the store to errands and waits until those that came before are done or refused.
func shut(closed chan struct{}, queues ...*writeQueue) {
	for _, q := range queues {
		q.mu.Lock()
	}
	close(closed)
	for _, q := range queues {
		q.mu.Unlock()
	}
	for _, q := range queues {
		q.served.Wait()
	}
}

// all does every errand of a batch, each behind a savepoint of its own when there are several. The error ends the whole
// transaction.
func (d tx) all(batch []*queuedWrite) error {
	if len(batch) == 1 {
		return batch[0].attempt(d)
	}
	for _, e := range batch {
		if _, err := d.exec("SAVEPOINT errand"); err != nil {
			return err
		}
		e.err = e.attempt(d)
		if e.err != nil {
			if _, err := d.exec("ROLLBACK TO errand"); err != nil {
				return errors.Join(e.err, err)
			}
		}
		if _, err := d.exec("RELEASE errand"); err != nil {
			return err
		}
	}
	return nil
}

// attempt does one errand. A panic in it must not take the others with it.
func (e *queuedWrite) attempt(d tx) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("a defect: %v", fault)
		}
	}()
	return e.do(d)
}

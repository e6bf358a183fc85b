package sqlitestore

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// maxBatch is the maximum number of urgent writes in one transaction: a thousand connecting clients cost eight commits,
// and the first of them need not wait long for the last.
const maxBatch = 128

// queuedWrite is a write that shares a transaction with others: an urgent one, such as a visit, a departure or the last
// write of a woken stretch; or a reservation or settlement, many of which come at once.
type queuedWrite struct {
	do    func(*tx)
	state atomic.Int32 // waiting, begun or withdrawn
	err   error
	done  chan struct{}
}

const (
	waiting int32 = iota
	begun
	withdrawn
)

// writeQueue holds the writes that wait for the writing connection. There is one queue for urgent writes and one for
// ledger writes. While a queue is not empty, one goroutine takes the waiting writes, in order, into one durable
// transaction. A transaction of ledger writes ends early when an urgent writer waits: a connecting client waits for one
// of them at most, and for one commit.
type writeQueue struct {
	mu      sync.Mutex
	queue   []*queuedWrite
	running bool
	served  sync.WaitGroup
}

// writeUrgent is write for a step that must not wait behind ordinary ones. Simultaneous steps share a transaction, and
// a step that fails does not undo the others. The wait ends with ctx; a step that has begun runs to its end.
func (s *file) writeUrgent(ctx context.Context, do func(*tx)) error {
	return s.enqueue(ctx, &s.writes, true, do)
}

// writeLedger is write for a step of the ledger. Simultaneous steps share a transaction and so one wait for the disk.
// Each is durable when it returns, and a refused step does not undo the others.
func (s *file) writeLedger(ctx context.Context, do func(*tx)) error {
	return s.enqueue(ctx, &s.ledgerWrites, false, do)
}

func (s *file) enqueue(ctx context.Context, q *writeQueue, urgent bool, do func(*tx)) error {
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

// add queues a write and starts the goroutine that serves the queue; false when the store is closed.
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

// begin takes up to n writes from the queue, without those that were withdrawn.
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

// waits reports whether a write waits.
func (q *writeQueue) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue) > 0
}

// idle reports whether the queue is empty, and if so marks it as not being served.
func (q *writeQueue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		return false
	}
	q.queue, q.running = nil, false
	return true
}

// serve runs until no write waits.
func (s *file) serve(q *writeQueue, urgent bool) {
	for !q.idle() {
		var batch []*queuedWrite
		err := s.lendWriter(context.Background(), urgent, func(l *dbConn) error {
			ctx := context.Background()
			return l.inTransaction(ctx, ctx, "BEGIN IMMEDIATE", func(d *tx) {
				batch = d.runAll(q, func() bool { return !urgent && s.writer.urgentWaits() })
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

// closeQueues closes the queues to new writes and waits until earlier ones are done or refused.
func closeQueues(closed chan struct{}, queues ...*writeQueue) {
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

// runAll runs up to maxBatch writes of a queue, until it is empty or enough says so after a write, and returns those
// that it began. Each has a savepoint of its own when there are several. An error of a single write, or of a savepoint,
// ends the whole transaction.
func (d *tx) runAll(q *writeQueue, enough func() bool) []*queuedWrite {
	batch := q.begin(1)
	if len(batch) == 0 { // withdrawn
		return batch
	}
	if !q.waits() {
		d.fail(batch[0].run(d.dbConn))
		return batch
	}
	d.runSaved(batch[0])
	for d.err == nil && len(batch) < maxBatch && !enough() {
		next := q.begin(1)
		if len(next) == 0 {
			break
		}
		batch = append(batch, next[0])
		d.runSaved(next[0])
	}
	return batch
}

// runSaved runs one write of several behind a savepoint.
func (d *tx) runSaved(e *queuedWrite) {
	d.exec("SAVEPOINT queued")
	if d.err != nil {
		return
	}
	e.err = e.run(d.dbConn)
	if e.err != nil {
		d.exec("ROLLBACK TO queued")
	}
	d.exec("RELEASE queued")
}

// run runs one write. A panic in it must not affect the others.
func (e *queuedWrite) run(l *dbConn) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("a defect: %v", fault)
		}
	}()
	d := &tx{dbConn: l, ctx: context.Background()}
	e.do(d)
	return d.err
}

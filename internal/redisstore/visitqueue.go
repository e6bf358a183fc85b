package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

const (
	// mostVisits is how many visits are sent together: they take the server some ten milliseconds.
	mostVisits = 256
	// visitBatches is how many batches wait for the server's reply at the same time. A single visit then waits for no
	// other one.
	visitBatches = 4
)

// visitQueue sends visits together that come at the same time. On a busy host each round trip waits until the server
// and this process are scheduled again: a thousand visits over 32 connections wait for it 31 times, and together a few
// times.
type visitQueue struct {
	mu       sync.Mutex
	waiting  []*queuedVisit
	inFlight int // batches
}

// queuedVisit is a visit with the keys and arguments of arriveScript.
type queuedVisit struct {
	keys  []string
	args  []any
	reply any
	err   error
	done  chan struct{}
}

// send carries out a visit and returns the reply of arriveScript. A visit that was not carried out, or whose reply was
// lost, is sent again by itself: its token makes that harmless.
func (q *visitQueue) send(ctx context.Context, s *server, keys []string, args ...any) ([]string, error) {
	v := &queuedVisit{keys: keys, args: append([]any{s.set.prefix}, args...), done: make(chan struct{})}
	bounded, cancel := context.WithTimeoutCause(ctx, s.set.timeout, s.late)
	defer cancel()
	if q.add(v) {
		go q.serve(s)
	}
	select {
	case <-v.done:
	case <-s.closed:
		return nil, ErrClosed
	case <-bounded.Done():
		return nil, asAway(context.Cause(bounded))
	}
	switch {
	case v.err == nil:
		return texts(v.reply)
	case !final(v.err) || unloaded(v.err):
		reply, err := s.runTexts(bounded, arriveScript, keys, args...)
		if refused(v.err) && errors.Is(err, memory.ErrAway) {
			err = unwritable(v.err)
		}
		return reply, err
	default:
		return nil, explainRefusal(bounded, s, v.err)
	}
}

// add queues a visit and says whether another batch may be sent now.
func (q *visitQueue) add(v *queuedVisit) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, v)
	if q.inFlight == visitBatches {
		return false
	}
	q.inFlight++
	return true
}

// next takes a batch of visits; none: nothing waits, and the caller sends no more.
func (q *visitQueue) next() []*queuedVisit {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), mostVisits)
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if n == 0 {
		q.waiting = nil
		q.inFlight--
	}
	return batch
}

// serve sends batches until no visit waits.
func (q *visitQueue) serve(s *server) {
	for batch := q.next(); len(batch) > 0; batch = q.next() {
		s.sendVisits(batch)
		for _, v := range batch {
			close(v.done)
		}
	}
}

// sendVisits sends visits in one round trip, and once more those that found the script missing on the server.
func (s *server) sendVisits(batch []*queuedVisit) {
	ctx, cancel := context.WithTimeout(context.Background(), s.set.timeout)
	defer cancel()
	s.pipeVisits(ctx, batch)
	var missing []*queuedVisit
	for _, v := range batch {
		if unloaded(v.err) {
			missing = append(missing, v)
		}
	}
	if len(missing) > 0 && arriveScript.Load(ctx, s.client).Err() == nil {
		s.pipeVisits(ctx, missing)
	}
}

// pipeVisits sends visits in one round trip. Each gets its own reply or error.
func (s *server) pipeVisits(ctx context.Context, batch []*queuedVisit) {
	pipe := s.client.Pipeline()
	sent := make([]*redis.Cmd, len(batch))
	for i, v := range batch {
		sent[i] = arriveScript.EvalSha(ctx, pipe, v.keys, v.args...)
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	for i, v := range batch {
		v.reply, v.err = sent[i].Result()
	}
}

// unloaded says whether the server does not have a script yet, or not any more.
func unloaded(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && redis.HasErrorPrefix(err, "NOSCRIPT")
}

// Package fairqueue decides who is served next where only so many can be served at once: each key gets its share,
// whatever another key sends, and one class goes before another.
package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Class is who asks. A lower class is served first, and refused last.
type Class int

// The classes.
const (
	Person  Class = iota // somebody waits for the answer
	Program              // a program or an agent waits for it
	Dream                // nobody waits
)

// Reason is why a request was refused.
type Reason string

// The reasons.
const (
	Full   Reason = "full"   // as many wait as may
	Late   Reason = "late"   // it waited as long as it may
	Owners Reason = "owners" // its key has as many places as it may, and no more of it may wait, or not for longer
)

// Refused is the error of a request that got no place.
type Refused struct {
	Reason Reason
	After  time.Duration // when a place is likely, by how long places were held so far
}

func (r *Refused) Error() string {
	return fmt.Sprintf("no place is free (%s); one is likely in %v", r.Reason, r.After)
}

// AsRefused finds a *Refused in an error.
func AsRefused(err error) (*Refused, bool) { return errors.AsType[*Refused](err) }

// Options of a queue. They must not change once it is used.
type Options struct {
	Places  int           // how many are served at once
	Each    int           // most places of one key; 0: every place
	Dreams  int           // most places of class Dream; 0: every place
	Waiting int           // most that wait
	Wait    time.Duration // longest wait; 0: nothing waits
	Length  func(int)     // is told how many wait when that changed; may be nil
	// Waited is told of each request that got no place at once, when it no longer waits: for how long it did, and why it
	// got no place. The reason is empty when it got one, and GaveUp when it gave up. May be nil.
	Waited func(waited time.Duration, refused Reason)
}

// GaveUp is the reason of a request that gave up.
const GaveUp Reason = "gave_up"

// Request is what asks for a place.
type Request struct {
	Key   string
	Class Class
	// Lasting requests hold a place for as long as their client likes: they never wait, and the time that they hold it
	// tells nothing about others.
	Lasting bool
}

// Queue hands out places. Among those that wait, the class counts first, then which key holds the fewest places, then
// which key got one the longest time ago, and then who came first. Use New. It is safe for concurrent use.
type Queue struct {
	o      Options
	before func(a, b *Ticket) bool // whether a goes before b, of which b came first

	mu      sync.Mutex
	keys    map[string]*holder
	held    int
	lasting int // of those held
	dreams  int // of those held
	waiting []*Ticket
	turn    uint64        // places handed out so far
	mean    time.Duration // for which a place was held, of late; 0: not known
	load    *Load         // since it was last asked for; nil: it never was
}

// holder is a key that holds places or waits for some.
type holder struct {
	key           string
	since         time.Time // when its places were last counted
	held, waiting int
	turn          uint64 // of the last place that it got
}

// Ticket is a request that has a place, or waits for one. Leave must be called once.
type Ticket struct {
	Request
	queue  *Queue
	holder *holder
	joined time.Time
	queued bool          // it got no place at once
	since  time.Time     // when it got its place; zero before
	ready  chan struct{} // closed when it has a place, or was refused
	why    *Refused
}

// New makes a queue. It panics when Options has no places.
func New(o Options) *Queue {
	if o.Places < 1 {
		panic("fairqueue: a queue needs a place")
	}
	if o.Each <= 0 {
		o.Each = o.Places
	}
	if o.Dreams <= 0 {
		o.Dreams = o.Places
	}
	if o.Length == nil {
		o.Length = func(int) {}
	}
	if o.Waited == nil {
		o.Waited = func(time.Duration, Reason) {}
	}
	return &Queue{o: o, before: fair, keys: map[string]*holder{}}
}

// Watch sets Options.Length and Options.Waited of a queue that is in use.
func (q *Queue) Watch(length func(int), waited func(time.Duration, Reason)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.o.Length, q.o.Waited = length, waited
}

// fair is the order of Queue.
func fair(a, b *Ticket) bool {
	if a.Class != b.Class {
		return a.Class < b.Class
	}
	if a.holder.held != b.holder.held {
		return a.holder.held < b.holder.held
	}
	return a.holder.turn < b.holder.turn
}

// Join takes a place, or a position in the queue. The error is a *Refused. When as many wait as may, one of those that
// wait for the key with the most of them makes room, the one that came last, of the last class that waits.
func (q *Queue) Join(r Request) (*Ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &Ticket{Request: r, queue: q, joined: time.Now(), ready: make(chan struct{})}
	t.holder = q.keys[r.Key]
	if t.holder == nil {
		t.holder = &holder{key: r.Key}
		q.keys[r.Key] = t.holder
	}
	q.add(t)
	q.serve()
	if t.placed() {
		return t, nil
	}
	t.queued = true
	switch {
	case r.Lasting || q.o.Wait <= 0 || q.o.Waiting < 1:
		return nil, q.turnAway(t, Full)
	case len(q.waiting) > q.o.Waiting:
		out := q.outermost()
		if why := q.turnAway(out, Full); out == t {
			return nil, why
		}
	}
	q.o.Length(len(q.waiting))
	return t, nil
}

// Placed reports whether the ticket has a place.
func (t *Ticket) Placed() bool {
	t.queue.mu.Lock()
	defer t.queue.mu.Unlock()
	return t.placed()
}

func (t *Ticket) placed() bool { return !t.since.IsZero() }

// Wait returns when the ticket has a place. The error is a *Refused, or the cause of the context's end.
func (t *Ticket) Wait(ctx context.Context) error {
	if t.Placed() {
		return nil
	}
	timer := time.NewTimer(time.Until(t.joined.Add(t.queue.o.Wait)))
	defer timer.Stop()
	gaveUp := false
	select {
	case <-t.ready:
	case <-timer.C:
	case <-ctx.Done():
		gaveUp = true
	}
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case gaveUp:
		q.drop(t, GaveUp)
		return context.Cause(ctx)
	case t.placed():
		return nil
	case t.why == nil:
		return q.turnAway(t, Late)
	}
	return t.why
}

// Leave gives the place back, or the position in the queue.
func (t *Ticket) Leave() {
	q := t.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(t, GaveUp)
	if !t.placed() || t.why != nil {
		return
	}
	q.count(t.holder, time.Now())
	q.held--
	t.holder.held--
	if t.Class == Dream {
		q.dreams--
	}
	if t.Lasting {
		q.lasting--
	} else {
		q.note(time.Since(t.since))
	}
	t.why = &Refused{Reason: GaveUp}
	q.forget(t)
	if q.serve() {
		q.o.Length(len(q.waiting))
	}
}

// add puts a ticket at the end of the queue.
func (q *Queue) add(t *Ticket) {
	q.waiting = append(q.waiting, t)
	t.holder.waiting++
}

// remove takes a ticket out of the queue, and reports whether it was there.
func (q *Queue) remove(t *Ticket) bool {
	at := slices.Index(q.waiting, t)
	if at < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, at, at+1)
	t.holder.waiting--
	return true
}

// forget drops a key that neither holds nor waits.
func (q *Queue) forget(t *Ticket) {
	if t.holder.held == 0 && t.holder.waiting == 0 {
		delete(q.keys, t.Key)
	}
}

// drop takes a ticket that waits out of the queue.
func (q *Queue) drop(t *Ticket, why Reason) {
	if q.remove(t) {
		q.forget(t)
		q.o.Length(len(q.waiting))
		q.countWait(time.Since(t.joined), why)
	}
}

// turnAway refuses a ticket that waits.
func (q *Queue) turnAway(t *Ticket, why Reason) *Refused {
	after := q.after(t)
	if q.owns(t.holder) && q.o.Each < q.o.Places {
		why = Owners
	}
	t.why = &Refused{Reason: why, After: after}
	close(t.ready)
	q.drop(t, why)
	return t.why
}

// owns reports whether a key has as many places as it may.
func (q *Queue) owns(h *holder) bool { return h.held >= q.o.Each }

// serve hands out free places, and reports whether it did.
func (q *Queue) serve() bool {
	served := false
	for q.held < q.o.Places {
		t := q.next()
		if t == nil {
			break
		}
		q.remove(t)
		now := time.Now()
		t.since = now
		q.count(t.holder, now)
		q.held++
		q.turn++
		t.holder.held++
		t.holder.turn = q.turn
		if t.Class == Dream {
			q.dreams++
		}
		if t.Lasting {
			q.lasting++
		}
		close(t.ready)
		if t.queued {
			q.countWait(now.Sub(t.joined), "")
		}
		served = true
	}
	return served
}

// next is the ticket that gets the next place; nil when none may have it.
func (q *Queue) next() *Ticket {
	var first *Ticket
	for _, t := range q.waiting {
		if q.owns(t.holder) || t.Class == Dream && q.dreams >= q.o.Dreams {
			continue
		}
		if first == nil || q.before(t, first) {
			first = t
		}
	}
	return first
}

// outermost is the ticket that makes room for another.
func (q *Queue) outermost() *Ticket {
	var last *Ticket
	for _, t := range q.waiting {
		if last == nil || t.Class > last.Class || t.Class == last.Class && t.holder.waiting >= last.holder.waiting {
			last = t
		}
	}
	return last
}

// The bounds of what Refused says, and how much one place changes the mean.
const (
	soonest  = time.Second
	latest   = time.Minute
	weighing = 8
)

// note learns from a place that was given back how long places are held.
func (q *Queue) note(held time.Duration) {
	if q.mean == 0 {
		q.mean = held
		return
	}
	q.mean += (held - q.mean) / weighing
}

// after is when a place is likely for one more request such as this: those that go before it, at the rate at which
// places become free.
func (q *Queue) after(t *Ticket) time.Duration {
	own := t.holder.waiting
	ahead := 0
	counted := map[*holder]int{}
	for _, w := range q.waiting {
		switch {
		case w == t || w.Class > t.Class:
		case w.Class < t.Class:
			ahead++
		case counted[w.holder] < own:
			counted[w.holder]++
			ahead++
		}
	}
	free := max(1, q.o.Places-q.lasting)
	wait := q.mean * time.Duration(ahead+1) / time.Duration(free)
	if q.owns(t.holder) {
		wait = max(wait, q.mean*time.Duration(own)/time.Duration(q.o.Each))
	}
	return min(max(wait, soonest), latest)
}

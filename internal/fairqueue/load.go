package fairqueue

import (
	"maps"
	"time"
)

// Load is what a queue had to do in a time.
type Load struct {
	Since   time.Time
	Refused int           // requests that got no place because the queue was full, or their wait was over
	Waited  int           // requests that got no place at once, and were served or refused
	Longest time.Duration // of these waits
	// Held is how long the requests of each key held places, together.
	Held map[string]time.Duration
}

// Load returns the load since it was last called, and begins anew. The first call only begins.
func (q *Queue) Load() Load {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	taken := Load{Since: now}
	if q.load != nil {
		for _, h := range q.keys {
			q.count(h, now)
		}
		taken = *q.load
	}
	q.load = &Load{Since: now, Held: map[string]time.Duration{}}
	return taken
}

// count adds how long a key has held its places since the last time.
func (q *Queue) count(h *holder, now time.Time) {
	if q.load != nil && h.held > 0 {
		since := h.since
		if q.load.Since.After(since) {
			since = q.load.Since
		}
		q.load.Held[h.key] += time.Duration(h.held) * now.Sub(since)
	}
	h.since = now
}

// countWait adds a request that got no place at once.
func (q *Queue) countWait(waited time.Duration, why Reason) {
	if q.load != nil && why != GaveUp {
		q.load.Waited++
		q.load.Longest = max(q.load.Longest, waited)
		if why == Full || why == Late {
			q.load.Refused++
		}
	}
	q.o.Waited(waited, why)
}

// Shares returns what each key held of all places that were held, from 0 to 1.
func (l Load) Shares() map[string]float64 {
	var all time.Duration
	for held := range maps.Values(l.Held) {
		all += held
	}
	shares := map[string]float64{}
	for key, held := range l.Held {
		if all > 0 {
			shares[key] = float64(held) / float64(all)
		}
	}
	return shares
}

// Package bucket keeps a bucket for each caller, which fills evenly and holds a minute's worth.
package bucket

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-56a03226/oneiros/internal/ratelimit"
)

// mostCallers bounds a table. Only principals of valid keys are in it.
const mostCallers = 10000

// mostMinutes bounds what one use counts for, in limits: a provider that reports too much locks nobody out for days.
const mostMinutes = 60

// Table keeps what is left to each caller, so that a second key of a principal does not double its limit. After a
// pause a caller may use a minute's worth at once. It is safe for concurrent use.
type Table struct {
	now   func() time.Time
	mu    sync.Mutex
	byKey map[string]*limiter
}

type limiter struct {
	limit int
	*rate.Limiter
	full time.Time // when all of it is left again
}

// New makes an empty table.
func New(now func() time.Time) *Table { return &Table{now: now, byKey: map[string]*limiter{}} }

var _ ratelimit.Table = (*Table)(nil)

// Take uses one, unless none is left.
func (t *Table) Take(caller string, limit int) (left ratelimit.State, taken bool) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of(caller, limit, now)
	taken = l.AllowN(now, 1)
	return l.state(now), taken
}

// Use uses n, an hour's worth at most, whether or not so many are left.
func (t *Table) Use(caller string, limit, n int) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of(caller, limit, now)
	for range mostMinutes { // a limiter gives no more than its limit at once
		some := min(n, limit)
		l.ReserveN(now, some)
		n -= some
	}
	l.state(now)
}

// Left says what is left.
func (t *Table) Left(caller string, limit int) ratelimit.State {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(caller, limit, now).state(now)
}

// of is a caller's limiter, with this limit from now on.
func (t *Table) of(caller string, limit int, now time.Time) *limiter {
	perSecond := rate.Limit(float64(limit) / 60)
	l := t.byKey[caller]
	if l == nil {
		t.makeRoom(now)
		l = &limiter{limit: limit, Limiter: rate.NewLimiter(perSecond, limit)}
		t.byKey[caller] = l
	}
	if l.limit != limit {
		l.SetLimitAt(now, perSecond)
		l.SetBurstAt(now, limit)
		l.limit = limit
	}
	return l
}

// state is what is left; it notes when all of it will be.
func (l *limiter) state(now time.Time) ratelimit.State {
	left := l.TokensAt(now)
	each := float64(time.Minute) / float64(l.limit)
	s := ratelimit.State{
		Limit:     l.limit,
		Remaining: max(0, int(left)),
		Wait:      max(0, time.Duration((1-left)*each)),
		Reset:     time.Duration((float64(l.limit) - left) * each),
		At:        now,
	}
	l.full = now.Add(s.Reset)
	return s
}

// makeRoom drops callers to whom all is left, and a tenth of the others only where that is not enough.
func (t *Table) makeRoom(now time.Time) {
	if len(t.byKey) < mostCallers {
		return
	}
	for id, l := range t.byKey {
		if !now.Before(l.full) {
			delete(t.byKey, id)
		}
	}
	if len(t.byKey) < mostCallers {
		return
	}
	for id := range t.byKey {
		if len(t.byKey) < mostCallers-mostCallers/10 {
			return
		}
		delete(t.byKey, id)
	}
}

package psyche

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// clientLease is the lease of one client on an agent, as this process knows it.
type clientLease struct {
	agent  string // id
	client string

	waking sync.Mutex // one wake at a time

	mu          sync.Mutex
	busy        int       // turns and streams under way
	until       time.Time // end of the lease that the store has granted; zero: none was granted
	confirmedAt time.Time // when the store last said that it holds; zero: it was not asked since a notice of a change
	doubts      int       // number of such notices
	wanted      time.Time // how long the lease should last
	woken       WakeResult
}

// clientLeases are the leases by which this process holds agents awake.
type clientLeases struct {
	waker Waker
	hold  time.Duration // how long a request holds the agent awake after its end
	now   func() time.Time
	log   *slog.Logger
	woke  func(WakeResult) // is called after each wake

	mu   sync.Mutex
	all  map[string]*clientLease // by agent and client
	over chan struct{}           // closed by stop
	once sync.Once
}

func (l *clientLeases) of(agent, client string) *clientLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := agent + "\x00" + client
	found := l.all[key]
	if found == nil {
		found = &clientLease{agent: agent, client: client}
		l.all[key] = found
	}
	found.mu.Lock()
	found.busy++
	found.mu.Unlock()
	return found
}

func (l *clientLeases) stop() { l.once.Do(func() { close(l.over) }) }

// list returns every lease and removes those that have ended.
func (l *clientLeases) list(now time.Time) []*clientLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*clientLease
	for key, each := range l.all {
		each.mu.Lock()
		if each.busy == 0 && !each.wanted.After(now) && !each.until.After(now) {
			delete(l.all, key)
		} else {
			out = append(out, each)
		}
		each.mu.Unlock()
	}
	return out
}

// forget drops a lease that was given up.
func (l *clientLeases) forget(agent, client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.all[agent+"\x00"+client]; found != nil {
		found.forget()
	}
}

func (v *clientLease) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until, v.wanted = time.Time{}, time.Time{}
}

// doubt makes the next turn with an agent ask the store whether its lease still holds.
func (l *clientLeases) doubt(agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.all {
		if each.agent == agent {
			each.doubt()
		}
	}
}

func (v *clientLease) doubt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.confirmedAt = time.Time{}
	v.doubts++
}

// doubted is how many notices of a change there were.
func (v *clientLease) doubted() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.doubts
}

// confirmed notes that the store, asked at a time after so many notices, said that the lease holds.
func (v *clientLease) confirmed(at time.Time, doubts int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.doubts == doubts {
		v.confirmedAt = at
	}
}

// leaseBelieved is how long turns rely on what the store has said of a lease, unless a wake notice tells of a change.
const leaseBelieved = time.Second

// believed reports whether the store said a moment ago that the lease holds.
func (v *clientLease) believed(now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return now.Sub(v.confirmedAt) < leaseBelieved
}

// drop drops every lease of an agent.
func (l *clientLeases) drop(agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, each := range l.all {
		if each.agent == agent {
			each.forget()
		}
	}
}

// connect renews or takes the client's lease and wakes the agent if need be. While two thirds of a granted lease
// remain it is not renewed; the store is only asked, once a second, whether somebody else has ended it. The lease must
// be released.
func (l *clientLeases) connect(ctx context.Context, agent, client string) (*clientLease, WakeResult, error) {
	v, woken, err := l.connecting(ctx, agent, client)
	if err != nil {
		return nil, WakeResult{}, err
	}
	w, err := woken()
	if err != nil {
		l.release(v)
		return nil, WakeResult{}, err
	}
	return v, w, nil
}

// connecting is connect for a turn, which goes on while the store is asked about a lease that needs no renewal. woken
// waits for the answer, after which the agent is awake: it must be called, before the client is answered.
func (l *clientLeases) connecting(ctx context.Context, agent, client string) (
	v *clientLease, woken func() (WakeResult, error), err error,
) {
	v = l.of(agent, client)
	now := l.now()
	if w, held := v.fresh(now, l.hold); held {
		if v.believed(now) {
			return v, func() (WakeResult, error) { return w, nil }, nil
		}
		var lost error
		wait := beside(func() { w, lost = l.acquire(ctx, v) })
		return v, func() (WakeResult, error) { wait(); return w, lost }, nil
	}
	w, err := readOnOwnStack(func() (WakeResult, error) { return l.acquire(ctx, v) })
	if err != nil {
		l.release(v)
		return nil, nil, err
	}
	return v, func() (WakeResult, error) { return w, nil }, nil
}

func (l *clientLeases) acquire(ctx context.Context, v *clientLease) (WakeResult, error) {
	now := l.now()
	if w, ok := v.fresh(now, l.hold); ok && (v.believed(now) || !l.endedElsewhere(ctx, v)) {
		return w, nil
	}
	v.waking.Lock()
	defer v.waking.Unlock()
	now = l.now()
	if w, ok := v.fresh(now, l.hold); ok { // another request woke it meanwhile
		return w, nil
	}
	w, err := l.waker.Wake(ctx, v.agent, v.client, l.hold)
	if errors.Is(err, memory.ErrNotFound) { // removed since its record was read
		return WakeResult{}, unknownAgent(v.agent)
	}
	if err != nil {
		return WakeResult{}, storeFault("wake the agent", err)
	}
	if w.Epoch > 0 {
		v.granted(w, now.Add(l.hold))
	}
	l.woke(w)
	return w, nil
}

// fresh returns the wake of a lease that needs no renewal yet.
func (v *clientLease) fresh(now time.Time, hold time.Duration) (WakeResult, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.woken
	w.Raised, w.Degraded = false, ""
	return w, v.until.Sub(now) >= hold-hold/3
}

func (v *clientLease) granted(w WakeResult, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.woken = w
	if until.After(v.until) {
		v.until = until
	}
}

// release ends a turn: the lease lasts for the configured time from now on.
func (l *clientLeases) release(v *clientLease) {
	now := l.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy--
	v.wanted = now.Add(l.hold)
}

// keep renews leases that must outlast what was granted: those of streams, and of requests that ended long
// after they began.
func (l *clientLeases) keep(running context.Context) {
	tick := time.NewTicker(max(l.hold/6, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.renew(running)
		case <-l.over:
			return
		}
	}
}

// renew renews the leases of which less than two thirds remain and that are wanted for longer.
func (l *clientLeases) renew(ctx context.Context) {
	now := l.now()
	for _, v := range l.list(now) {
		v.mu.Lock()
		if v.busy > 0 {
			v.wanted = now.Add(l.hold)
		}
		hold, until, busy := v.wanted.Sub(now), v.until, v.busy > 0
		due := !until.IsZero() && v.wanted.After(until) && hold > 0 && until.Sub(now) < l.hold-l.hold/3
		v.mu.Unlock()
		if !due {
			continue
		}
		if until.After(now) && l.endedByOthers(ctx, v, now) {
			l.forget(v.agent, v.client)
			continue
		}
		if !until.After(now) && !busy { // it ended while this process did not run, and no request uses it
			continue
		}
		w, err := l.waker.Wake(ctx, v.agent, v.client, hold)
		if err != nil || w.Epoch == 0 {
			l.log.WarnContext(ctx, "a lease could not be renewed", "agent", v.agent, "error", err)
			continue
		}
		v.granted(w, now.Add(hold))
	}
}

// leaseAnswerWithin is how long a turn waits to learn whether its lease still holds. When the store takes longer, the
// lease counts as held and is renewed after a third of its time.
const leaseAnswerWithin = 100 * time.Millisecond

// endedElsewhere reports whether another process has ended the lease early, as `oneiros sleep --force` does, and
// drops the lease then. The agent may be dreaming by now, so that the next turn must wake it.
func (l *clientLeases) endedElsewhere(ctx context.Context, v *clientLease) bool {
	ctx, cancel := context.WithTimeout(ctx, leaseAnswerWithin)
	defer cancel()
	now, doubts := l.now(), v.doubted()
	if !l.endedByOthers(ctx, v, now) {
		v.confirmed(now, doubts)
		return false
	}
	v.forget()
	return true
}

// endedByOthers reports whether somebody has ended a lease that still held. It stays ended until the client makes a
// request.
func (l *clientLeases) endedByOthers(ctx context.Context, v *clientLease, now time.Time) bool {
	s, err := l.waker.Status(ctx, v.agent)
	return err == nil && !hasLease(s, v.client, now)
}

func hasLease(s presence.Status, client string, now time.Time) bool {
	for _, l := range s.Leases {
		if l.Client == client && l.Until.After(now) {
			return true
		}
	}
	return false
}

// client names the lease of a caller. Users are hashed: leases are shown to operators and stored.
func (t Turn) client() string {
	if t.Client != "" {
		return t.Client
	}
	if t.Session != "" {
		return t.Caller.session(t.Session)
	}
	return dream.TalkOrigin + t.Caller.Key.SpeaksAs() + "/" + short(t.Caller.User)
}

// short stands for a text: 48 bits of its digest. Empty for an empty one.
func short(text string) string {
	if text == "" {
		return ""
	}
	return shortOf([]byte(text))
}

// shortOf is short for a text in bytes.
func shortOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

package psyche

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// clientLease is the lease of one client on an agent, as this process knows it.
type clientLease struct {
	agent  string // id
	client string

	waking sync.Mutex // one wake at a time

	mu     sync.Mutex
	busy   int       // turns and streams under way
	until  time.Time // end of the lease that the store has granted; zero: none was granted
	wanted time.Time // how long the lease should last
	woken  Woken
}

type clientLeases struct {
	mu   sync.Mutex
	all  map[string]*clientLease
	over chan struct{}
	once sync.Once
}

func (v *clientLeases) of(agent, client string) *clientLease {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin()
	key := agent + "\x00" + client
	found := v.all[key]
	if found == nil {
		found = &clientLease{agent: agent, client: client}
		v.all[key] = found
	}
	found.mu.Lock()
	found.busy++
	found.mu.Unlock()
	return found
}

func (v *clientLeases) begin() {
	if v.all == nil {
		v.all, v.over = map[string]*clientLease{}, make(chan struct{})
	}
}

// ended is closed by stop.
func (v *clientLeases) ended() chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin()
	return v.over
}

func (v *clientLeases) stop() { v.once.Do(func() { close(v.ended()) }) }

// list returns every lease and removes those that have ended.
func (v *clientLeases) list(now time.Time) []*clientLease {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []*clientLease
	for key, each := range v.all {
		each.mu.Lock()
		if each.busy == 0 && !each.wanted.After(now) && !each.until.After(now) {
			delete(v.all, key)
		} else {
			out = append(out, each)
		}
		each.mu.Unlock()
	}
	return out
}

// forget drops a lease that was given up.
func (v *clientLeases) forget(agent, client string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if found := v.all[agent+"\x00"+client]; found != nil {
		found.forget()
	}
}

func (v *clientLease) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until, v.wanted = time.Time{}, time.Time{}
}

// drop drops every lease of an agent.
func (v *clientLeases) drop(agent string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, each := range v.all {
		if each.agent == agent {
			each.forget()
		}
	}
}

// connect renews or takes the client's lease and wakes the agent if need be. While two thirds of a granted lease
// remain it is not renewed; the store is only asked whether somebody else has ended it. The lease must be released.
func (b *Service) connect(ctx context.Context, agent, client string) (*clientLease, Woken, error) {
	v := b.visits.of(agent, client)
	w, err := b.acquire(ctx, v, b.o.Hold)
	if err != nil {
		b.release(v)
		return nil, Woken{}, err
	}
	return v, w, nil
}

func (b *Service) acquire(ctx context.Context, v *clientLease, hold time.Duration) (Woken, error) {
	if w, ok := v.fresh(b.now(), hold); ok && !b.endedElsewhere(ctx, v) {
		return w, nil
	}
	v.waking.Lock()
	defer v.waking.Unlock()
	now := b.now()
	if w, ok := v.fresh(now, hold); ok { // another request woke it meanwhile
		return w, nil
	}
	w, err := b.Dreams.Wake(ctx, v.agent, v.client, hold)
	if errors.Is(err, memory.ErrNotFound) { // removed since its record was read
		return Woken{}, unknownAgent(v.agent)
	}
	if err != nil {
		return Woken{}, storeFault("wake the agent", err)
	}
	if w.Epoch > 0 {
		v.granted(w, now.Add(hold))
	}
	b.digests.woke(w)
	return w, nil
}

// fresh returns the wake of a lease that needs no renewal yet.
func (v *clientLease) fresh(now time.Time, hold time.Duration) (Woken, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.woken
	w.Raised, w.Degraded = false, ""
	return w, v.until.Sub(now) >= hold-hold/3
}

func (v *clientLease) granted(w Woken, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.woken = w
	if until.After(v.until) {
		v.until = until
	}
}

// release ends a turn: the lease lasts for the configured time from now on.
func (b *Service) release(v *clientLease) {
	now := b.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy--
	v.wanted = now.Add(b.o.Hold)
}

// keepLeases renews leases that must outlast what was granted: those of streams, and of requests that ended long
// after they began.
func (b *Service) keepLeases() {
	tick := time.NewTicker(max(b.o.Hold/6, 10*time.Millisecond))
	defer tick.Stop()
	over := b.visits.ended()
	for {
		select {
		case <-tick.C:
			b.renewLeases(b.running)
		case <-over:
			return
		}
	}
}

// renewLeases renews the leases of which less than two thirds remain and that are wanted for longer.
func (b *Service) renewLeases(ctx context.Context) {
	now := b.now()
	for _, v := range b.visits.list(now) {
		v.mu.Lock()
		if v.busy > 0 {
			v.wanted = now.Add(b.o.Hold)
		}
		hold, until, busy := v.wanted.Sub(now), v.until, v.busy > 0
		due := !until.IsZero() && v.wanted.After(until) && hold > 0 && until.Sub(now) < b.o.Hold-b.o.Hold/3
		v.mu.Unlock()
		if !due {
			continue
		}
		if until.After(now) && b.endedByOthers(ctx, v, now) {
			b.visits.forget(v.agent, v.client)
			continue
		}
		if !until.After(now) && !busy { // it ended while this process did not run, and no request uses it
			continue
		}
		w, err := b.Dreams.Wake(ctx, v.agent, v.client, hold)
		if err != nil || w.Epoch == 0 {
			b.Log.WarnContext(ctx, "a lease could not be renewed", "agent", v.agent, "error", err)
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
func (b *Service) endedElsewhere(ctx context.Context, v *clientLease) bool {
	ctx, cancel := context.WithTimeout(ctx, leaseAnswerWithin)
	defer cancel()
	if !b.endedByOthers(ctx, v, b.now()) {
		return false
	}
	v.forget()
	return true
}

// endedByOthers reports whether somebody has ended a lease that still held. It stays ended until the client makes a
// request.
func (b *Service) endedByOthers(ctx context.Context, v *clientLease, now time.Time) bool {
	s, err := b.Dreams.Status(ctx, v.agent)
	return err == nil && !holds(s, v.client, now)
}

func holds(s presence.Status, client string, now time.Time) bool {
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
	return dream.TalkOrigin + t.Caller.Key.SpeaksAs() + "/" + short(t.Caller.User)
}

// short stands for a text: 48 bits of its digest. Empty for an empty one.
func short(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

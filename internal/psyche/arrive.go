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

// visit is one client of an agent, as this process sees it.
type visit struct {
	agent  string // id
	client string

	waking sync.Mutex // one knock at a time

	mu     sync.Mutex
	busy   int       // turns and streams under way
	until  time.Time // when the lease ends that the store has granted; zero: it granted none
	wanted time.Time // how long it should hold
	woken  Woken
}

type visits struct {
	mu   sync.Mutex
	all  map[string]*visit
	over chan struct{}
	once sync.Once
}

func (v *visits) of(agent, client string) *visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin()
	key := agent + "\x00" + client
	found := v.all[key]
	if found == nil {
		found = &visit{agent: agent, client: client}
		v.all[key] = found
	}
	found.mu.Lock()
	found.busy++
	found.mu.Unlock()
	return found
}

func (v *visits) begin() {
	if v.all == nil {
		v.all, v.over = map[string]*visit{}, make(chan struct{})
	}
}

// ended is closed when no visit is kept any more.
func (v *visits) ended() chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begin()
	return v.over
}

func (v *visits) stop() { v.once.Do(func() { close(v.ended()) }) }

// list gives every visit, and lets go of those that are over.
func (v *visits) list(now time.Time) []*visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []*visit
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

// forget drops what is known of a lease that was given up.
func (v *visits) forget(agent, client string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if found := v.all[agent+"\x00"+client]; found != nil {
		found.forget()
	}
}

func (v *visit) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until, v.wanted = time.Time{}, time.Time{}
}

// drop forgets every lease of an agent.
func (v *visits) drop(agent string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, each := range v.all {
		if each.agent == agent {
			each.forget()
		}
	}
}

// arrive lets a caller in. While the lease that the store granted has two thirds of its time before it, it is not
// renewed; the store is asked only whether somebody else has ended it. The visit must be left.
func (b *Service) arrive(ctx context.Context, agent, client string) (*visit, Woken, error) {
	v := b.visits.of(agent, client)
	w, err := b.enter(ctx, v, b.o.Hold)
	if err != nil {
		b.leave(v)
		return nil, Woken{}, err
	}
	return v, w, nil
}

func (b *Service) enter(ctx context.Context, v *visit, hold time.Duration) (Woken, error) {
	if w, ok := v.fresh(b.now(), hold); ok && !b.endedElsewhere(ctx, v) {
		return w, nil
	}
	v.waking.Lock()
	defer v.waking.Unlock()
	now := b.now()
	if w, ok := v.fresh(now, hold); ok { // somebody knocked meanwhile
		return w, nil
	}
	w, err := b.Dreams.Wake(ctx, v.agent, v.client, hold)
	if errors.Is(err, memory.ErrNotFound) { // it was removed since its record was read
		return Woken{}, unknownAgent(v.agent)
	}
	if err != nil {
		return Woken{}, stored("wake the agent", err)
	}
	if w.Epoch > 0 {
		v.granted(w, now.Add(hold))
	}
	b.digests.met(w)
	return w, nil
}

// fresh is the wake of a lease that needs no renewing yet.
func (v *visit) fresh(now time.Time, hold time.Duration) (Woken, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := v.woken
	w.Raised, w.Degraded = false, ""
	return w, v.until.Sub(now) >= hold-hold/3
}

func (v *visit) granted(w Woken, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.woken = w
	if until.After(v.until) {
		v.until = until
	}
}

// leave ends a turn: its lease holds for as long as a request's after its end.
func (b *Service) leave(v *visit) {
	now := b.now()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.busy--
	v.wanted = now.Add(b.o.Hold)
}

// keepLeases renews what must outlast the lease that was granted: streams, and requests that ended long after they
// began.
func (b *Service) keepLeases() {
	tick := time.NewTicker(max(b.o.Hold/6, 10*time.Millisecond))
	defer tick.Stop()
	over := b.visits.ended()
	for {
		select {
		case <-tick.C:
			b.tend(b.hear)
		case <-over:
			return
		}
	}
}

// tend renews the leases that have less than two thirds of their time before them and are wanted for longer.
func (b *Service) tend(ctx context.Context) {
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
		if until.After(now) && b.dismissed(ctx, v, now) {
			b.visits.forget(v.agent, v.client)
			continue
		}
		if !until.After(now) && !busy { // it ran out while this process stood still, and nobody is there
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

// leaseAnswerWithin is how long a turn waits to learn whether its lease still holds. A store that takes longer is not
// waited for: the lease counts as held, and is renewed when a third of its time has passed.
const leaseAnswerWithin = 100 * time.Millisecond

// endedElsewhere says whether another process has ended the visit's lease before its time, as `oneiros sleep --force`
// does, and forgets the lease then. The agent may dream by now, so that the next turn must wake it.
func (b *Service) endedElsewhere(ctx context.Context, v *visit) bool {
	ctx, cancel := context.WithTimeout(ctx, leaseAnswerWithin)
	defer cancel()
	if !b.dismissed(ctx, v, b.now()) {
		return false
	}
	v.forget()
	return true
}

// dismissed says whether somebody has ended a lease that still held: it stays ended until the client asks for
// something.
func (b *Service) dismissed(ctx context.Context, v *visit, now time.Time) bool {
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

// client names the lease of a caller. Users are not named in it: leases are shown to operators and kept.
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

package front

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
)

// How old the list of keys may be. A revoked key opens nothing after fresh; from ageing on the list is read again in
// the background, so that under steady traffic no request waits for it. While the store does not answer the list is
// used until stale: a server without a newer one continues, but not for ever.
const (
	ageing = 3 * time.Second
	fresh  = 5 * time.Second
	stale  = 5 * time.Minute
	// readWithin bounds one reading, and pause is how long nothing is read after a failed reading, or for an unknown
	// secret.
	readWithin = 2 * time.Second
	pause      = time.Second
	// freshOpen and ageingOpen bound the age of a list that admits requests without a key: the first key closes every
	// server within freshOpen. While the store does not answer it is used no longer than fresh.
	freshOpen  = time.Second
	ageingOpen = 500 * time.Millisecond
)

// ring is the list of keys at one moment.
type ring struct {
	at    time.Time
	count int                  // all keys, also dead ones
	keys  map[[4]byte][]hashed // by the beginning of the hash
	open  bool                 // no key is required, and none is live
}

type hashed struct {
	sum [sha256.Size]byte
	key access.Key
}

// keysLost reports that keys are required and there is none: the store was replaced or damaged.
func (r *ring) keysLost() bool { return !r.open && r.count == 0 }

// fresh is how old the list may be; from ageing on it is read again in the background.
func (r *ring) fresh() time.Duration {
	if r.open {
		return freshOpen
	}
	return fresh
}

func (r *ring) ageing() time.Duration {
	if r.open {
		return ageingOpen
	}
	return ageing
}

// stale is how old the list may be while the store cannot be read.
func (r *ring) stale() time.Duration {
	if r.open {
		return fresh
	}
	return stale
}

// find compares whole hashes in constant time. That the list is indexed by their beginning helps no attacker, who
// cannot extend a known beginning of a hash.
func (r *ring) find(secret string) (access.Key, bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, h := range r.keys[[4]byte(sum[:4])] {
		if subtle.ConstantTimeCompare(h.sum[:], sum[:]) == 1 {
			return h.key, true
		}
	}
	return access.Key{}, false
}

// keyring holds a fresh ring.
type keyring struct {
	store  access.Store
	now    func() time.Time
	report func(error)
	ring   atomic.Pointer[ring]
	mu     sync.Mutex // held while the store is read
	failed time.Time  // last failed reading
	why    error
	behind sync.WaitGroup
}

// current returns a fresh ring, or the last one that could be read. Without any it fails, and every request with it.
func (k *keyring) current(ctx context.Context) (*ring, error) {
	r := k.ring.Load()
	if r == nil || k.now().Sub(r.at) >= r.fresh() {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.read(ctx, (*ring).fresh)
	}
	if k.now().Sub(r.at) >= r.ageing() && k.mu.TryLock() {
		k.behind.Go(func() {
			defer k.mu.Unlock()
			_, _ = k.read(context.WithoutCancel(ctx), (*ring).ageing) // an error reaches those that need it fresh
		})
	}
	return r, nil
}

// refresh looks for a secret that the list does not have, since its key may be new.
func (k *keyring) refresh(ctx context.Context, secret string) (access.Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, err := k.read(ctx, func(*ring) time.Duration { return pause })
	if err != nil {
		return access.Key{}, false
	}
	return r.find(secret)
}

// read reads the store unless the list is younger than young allows, or the last reading failed a moment ago. Its
// caller holds the lock.
func (k *keyring) read(ctx context.Context, young func(*ring) time.Duration) (*ring, error) {
	r, now := k.ring.Load(), k.now()
	if r != nil && now.Sub(r.at) < young(r) {
		return r, nil
	}
	if k.failed.IsZero() || now.Sub(k.failed) >= pause {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
		required, keys, err := k.look(ctx)
		cancel()
		if err == nil {
			next := newRing(keys, now, k.report)
			next.open = !required && !access.AnyLive(keys, now)
			if next.keysLost() && (r == nil || !r.keysLost()) {
				k.report(errKeysLost)
			}
			k.failed, k.why = time.Time{}, nil
			k.ring.Store(next)
			return next, nil
		}
		k.failed, k.why = now, err
		k.report(fmt.Errorf("read the keys: %w", err))
	}
	if r != nil && now.Sub(r.at) < r.stale() {
		return r, nil
	}
	return nil, k.why
}

// errKeysLost is reported when a server begins to be in that state.
var errKeysLost = errors.New("every request is refused: " + keysLost)

// look reads first whether keys are required, so that a key stored in between is seen at least in the list.
func (k *keyring) look(ctx context.Context) (required bool, keys []access.Key, err error) {
	required, err = k.store.KeysRequired(ctx)
	if err != nil {
		return false, nil, err
	}
	keys, err = k.store.Keys(ctx)
	return required, keys, err
}

// newRing indexes keys. A key with an invalid hash opens nothing, yet still counts as a key.
func newRing(keys []access.Key, at time.Time, report func(error)) *ring {
	r := &ring{at: at, count: len(keys), keys: make(map[[4]byte][]hashed, len(keys))}
	for _, key := range keys {
		h := hashed{key: key}
		if sum, err := hex.DecodeString(key.Hash); err != nil || copy(h.sum[:], sum) != sha256.Size ||
			len(sum) != sha256.Size {
			report(fmt.Errorf("key %s: its hash is no SHA-256 in hex", key.ID))
			continue
		}
		start := [4]byte(h.sum[:4])
		r.keys[start] = append(r.keys[start], h)
	}
	return r
}

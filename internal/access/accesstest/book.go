// Package accesstest is the contract suite of access.Store, with a simple store in memory for other packages' tests.
package accesstest

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
)

// Book is an access.Store in memory: the model that real stores are compared with, and a fake for tests. The zero
// value is empty and ready.
type Book struct {
	mu     sync.Mutex
	away   error
	keys   map[string]access.Key
	must   bool // a key is required
	claims map[[2]string]*page
}

var _ access.Store = (*Book)(nil)

type page struct {
	digest   string
	at, ends time.Time
	answer   *access.StoredResponse
	dropped  bool // its response made room for newer ones
}

// With is a book that has keys already.
func With(keys ...access.Key) *Book {
	b := &Book{keys: map[string]access.Key{}, must: len(keys) > 0}
	for _, k := range keys {
		b.keys[k.ID] = k
	}
	return b
}

// Fail makes every method fail with an error from now on; nil ends that.
func (b *Book) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = err
}

// PutKey creates a key or replaces the one with its id.
func (b *Book) PutKey(_ context.Context, k access.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmp.Or(b.away, k.Validate()); err != nil {
		return err
	}
	for id, other := range b.keys {
		if other.Hash == k.Hash && id != k.ID {
			return memory.ErrTaken
		}
	}
	if !b.keys[k.ID].Revoked.IsZero() && k.Revoked.IsZero() {
		return access.ErrRevoked
	}
	if b.keys == nil {
		b.keys = map[string]access.Key{}
	}
	b.keys[k.ID] = k.UTC()
	b.must = true
	return nil
}

// KeysRequired reports whether a key was put since the book was made or AllowKeyless was called.
func (b *Book) KeysRequired(context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.must, b.away
}

// AllowKeyless admits requests without a key again.
func (b *Book) AllowKeyless(_ context.Context, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return b.away
	}
	if access.AnyLive(slices.Collect(maps.Values(b.keys)), now) {
		return access.ErrLiveKey
	}
	b.must = false
	return nil
}

// LoseKeys removes every key, as in a store that was replaced or damaged.
func (b *Book) LoseKeys() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys = nil
}

// Keys lists all by creation, then id.
func (b *Book) Keys(context.Context) ([]access.Key, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away != nil {
		return nil, b.away
	}
	return slices.SortedFunc(maps.Values(b.keys), func(a, b access.Key) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	}), nil
}

// Claim claims a request.
func (b *Book) Claim(_ context.Context, c access.Claim) (*access.StoredResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmp.Or(b.away, c.Validate()); err != nil {
		return nil, err
	}
	name := [2]string{c.Scope, c.Name}
	p := b.claims[name]
	switch {
	case p == nil || !c.Now.Before(p.ends) && (p.answer != nil || !c.Now.Before(p.at.Add(c.Keep))):
		if b.claims == nil {
			b.claims = map[[2]string]*page{}
		}
		b.claims[name] = &page{digest: c.Digest, at: c.Now, ends: c.Now.Add(c.Hold)}
		return nil, nil
	case p.digest != c.Digest:
		return nil, access.ErrOther
	case p.answer == nil && c.Now.Before(p.ends):
		return nil, access.ErrBusy
	case p.answer == nil:
		return nil, access.ErrLost
	}
	answer := *p.answer
	answer.Body, answer.Header = bytes.Clone(answer.Body), maps.Clone(answer.Header)
	return &answer, nil
}

// Renew extends a claim.
func (b *Book) Renew(_ context.Context, c access.Claim, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmp.Or(b.away, c.Validate()); err != nil {
		return err
	}
	if p := b.claims[[2]string{c.Scope, c.Name}]; p != nil && p.digest == c.Digest && p.at.Equal(c.Now) &&
		p.answer == nil && now.Before(p.at.Add(c.Keep)) {
		p.ends = now.Add(c.Hold)
	}
	return nil
}

// Answer stores a response, or gives the claim up.
func (b *Book) Answer(_ context.Context, c access.Claim, a *access.StoredResponse) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmp.Or(b.away, c.Validate()); err != nil {
		return err
	}
	name := [2]string{c.Scope, c.Name}
	p := b.claims[name]
	switch {
	case p != nil && (p.digest != c.Digest || p.answer != nil):
	case a != nil:
		if b.claims == nil {
			b.claims = map[[2]string]*page{}
		}
		b.claims[name] = &page{digest: c.Digest, at: c.Now, ends: c.Now.Add(c.Keep), answer: &access.StoredResponse{
			Status: a.Status, Type: a.Type, Body: append([]byte{}, a.Body...), Header: maps.Clone(a.Header),
		}}
		b.bound(c)
	case p != nil && p.at.Equal(c.Now):
		delete(b.claims, name)
	}
	return nil
}

// bound drops the oldest responses of a scope beyond its limit. Its caller holds the lock.
func (b *Book) bound(c access.Claim) {
	var kept []*page
	for name, p := range b.claims {
		if name[0] == c.Scope && p.answer != nil && !p.dropped {
			kept = append(kept, p)
		}
	}
	if c.Most <= 0 || len(kept) <= c.Most {
		return
	}
	slices.SortFunc(kept, func(a, b *page) int { return b.ends.Compare(a.ends) })
	for _, p := range kept[c.Most:] {
		none := access.Dropped()
		p.answer, p.dropped = &none, true
	}
}

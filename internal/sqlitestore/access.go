package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// apiKeys keeps the keys of the server, and the claims of requests that may come twice.
type apiKeys struct{ *file }

// PutKey creates a key or replaces the one with its id.
func (s apiKeys) PutKey(ctx context.Context, k access.Key) error {
	err := k.Validate()
	if err == nil {
		err = s.write(ctx, func(d *tx) {
			if cell[bool](d, "SELECT EXISTS (SELECT 1 FROM keys WHERE hash = ? AND id <> ?)", k.Hash, k.ID) {
				d.fail(memory.ErrTaken)
			}
			for _, before := range decoded[access.Key](d, "SELECT body FROM keys WHERE id = ?", k.ID) {
				if !before.Revoked.IsZero() && k.Revoked.IsZero() {
					d.fail(access.ErrRevoked)
				}
			}
			d.exec(`INSERT INTO keys (id, hash, body) VALUES (?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, body = excluded.body`, k.ID, k.Hash, jsonText{k.UTC()})
			d.requireKeys(true)
		})
	}
	return store.Wrap(err, "put key ", k.ID)
}

// Keys lists all keys by creation, then id.
func (s apiKeys) Keys(ctx context.Context) ([]access.Key, error) {
	keys, err := in(ctx, s.readOnce, "list keys", (*tx).keys)
	slices.SortFunc(keys, access.CompareKeys)
	return keys, err
}

func (d *tx) keys() []access.Key { return decoded[access.Key](d, "SELECT body FROM keys") }

// KeysRequired reports whether every request needs a key.
func (s apiKeys) KeysRequired(ctx context.Context) (bool, error) {
	return in(ctx, s.readOnce, "whether keys are required", (*tx).keysRequired)
}

func (d *tx) keysRequired() bool {
	return cell[bool](d, "SELECT EXISTS (SELECT 1 FROM access_settings WHERE keys_required)")
}

func (d *tx) requireKeys(required bool) {
	d.exec(`INSERT INTO access_settings (one, keys_required) VALUES (1, ?)
		ON CONFLICT (one) DO UPDATE SET keys_required = excluded.keys_required WHERE keys_required <> excluded.keys_required`,
		required)
}

// AllowKeyless allows requests without a key again.
func (s apiKeys) AllowKeyless(ctx context.Context, now time.Time) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		if access.AnyLive(d.keys(), now) {
			d.fail(access.ErrLiveKey)
		}
		d.exec("DELETE FROM access_settings")
	}), "allow requests without a key")
}

// Claim claims a request for execution.
func (s apiKeys) Claim(ctx context.Context, c access.Claim) (*access.StoredResponse, error) {
	what := fmt.Sprintf("claim %q of %s", c.Name, c.Scope)
	if err := c.Validate(); err != nil {
		return nil, store.Wrap(err, what)
	}
	return in(ctx, s.write, what, func(d *tx) *access.StoredResponse { return claim{d, c}.take() })
}

// claim is a claim in a transaction.
type claim struct {
	*tx
	access.Claim
}

func (c claim) take() *access.StoredResponse {
	c.exec("DELETE FROM claims WHERE ends <= ? AND (status IS NOT NULL OR at <= ?)", nanos(c.Now),
		nanos(c.Now.Add(-c.Keep)))
	var digest string
	var answered bool
	var ends int64
	var answer access.StoredResponse
	found := c.one(
		"SELECT digest, status IS NOT NULL, coalesce(status, 0), type, coalesce(body, x''), header, ends FROM claims WHERE scope = ? AND name = ?",
		[]any{c.Scope, c.Name}, &digest, &answered, &answer.Status, &answer.Type, &answer.Body, jsonText{&answer.Header},
		&ends)
	switch {
	case !found:
		c.exec("INSERT INTO claims (scope, name, digest, at, ends) VALUES (?, ?, ?, ?, ?)", c.Scope, c.Name, c.Digest,
			nanos(c.Now), nanos(c.Now.Add(c.Hold)))
		return nil
	case digest != c.Digest:
		c.fail(access.ErrOther)
	case !answered && ends > nanos(c.Now):
		c.fail(access.ErrBusy)
	case !answered:
		c.fail(access.ErrLost)
	}
	answer.Body = append([]byte{}, answer.Body...)
	return &answer
}

// Renew prolongs the time for which a claim blocks the same request.
func (s apiKeys) Renew(ctx context.Context, c access.Claim, now time.Time) error {
	err := c.Validate()
	if err == nil {
		err = s.write(ctx, func(d *tx) {
			d.exec(
				"UPDATE claims SET ends = ? WHERE scope = ? AND name = ? AND digest = ? AND at = ? AND at > ? AND status IS NULL",
				nanos(now.Add(c.Hold)), c.Scope, c.Name, c.Digest, nanos(c.Now), nanos(now.Add(-c.Keep)))
		})
	}
	return store.Wrap(err, "renew ", c.Name, " of ", c.Scope)
}

// Answer stores the response to a claimed request, or gives up the claim.
func (s apiKeys) Answer(ctx context.Context, c access.Claim, a *access.StoredResponse) error {
	err := c.Validate()
	if err == nil {
		err = s.write(ctx, func(d *tx) { claim{d, c}.answer(a) })
	}
	return store.Wrap(err, "answer ", c.Name, " of ", c.Scope)
}

func (c claim) answer(a *access.StoredResponse) {
	if a == nil {
		c.exec("DELETE FROM claims WHERE scope = ? AND name = ? AND digest = ? AND at = ? AND status IS NULL", c.Scope,
			c.Name, c.Digest, nanos(c.Now))
		return
	}
	var header any = ""
	if len(a.Header) > 0 {
		header = jsonText{a.Header}
	}
	c.exec(
		`INSERT INTO claims (scope, name, digest, at, ends, status, type, body, header) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (scope, name) DO UPDATE SET ends = excluded.ends, status = excluded.status, type = excluded.type, body = excluded.body, header = excluded.header
		WHERE digest = excluded.digest AND status IS NULL`,
		c.Scope, c.Name, c.Digest, nanos(c.Now), nanos(c.Now.Add(c.Keep)), a.Status, a.Type, append([]byte{}, a.Body...),
		header)
	if c.Most > 0 {
		none := access.Dropped()
		c.exec(`UPDATE claims SET status = ?, type = ?, body = ?, header = '', dropped = 1 WHERE key IN (
			SELECT key FROM claims WHERE scope = ? AND status IS NOT NULL AND dropped = 0 ORDER BY ends DESC, key DESC LIMIT -1 OFFSET ?)`,
			none.Status, none.Type, none.Body, c.Scope, c.Most)
	}
}

// eraseResponses deletes the stored responses to requests, because they may quote what is about to be erased.
func (d *tx) eraseResponses() {
	erased := access.Erased()
	d.exec("UPDATE claims SET status = ?, type = ?, body = ?, header = '' WHERE status IS NOT NULL", erased.Status,
		erased.Type, erased.Body)
}

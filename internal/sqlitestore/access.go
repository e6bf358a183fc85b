package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var _ access.Store = (*Store)(nil)

// PutKey creates a key or replaces the one with its id.
func (s *Store) PutKey(ctx context.Context, k access.Key) error {
	err := k.Validate()
	var body []byte
	if err == nil {
		body, err = json.Marshal(k.UTC())
	}
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			var taken bool
			_, err := d.one("SELECT EXISTS (SELECT 1 FROM keys WHERE hash = ? AND id <> ?)", []any{k.Hash, k.ID},
				&taken)
			if err == nil && taken {
				err = memory.ErrTaken
			}
			if err != nil {
				return err
			}
			_, err = d.exec(`INSERT INTO keys (id, hash, body) VALUES (?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, body = excluded.body`, k.ID, k.Hash, string(body))
			if err != nil {
				return err
			}
			return d.requireKeys(true)
		})
	}
	return wrap(err, "put key "+k.ID)
}

// Keys lists all keys by creation, then id.
func (s *Store) Keys(ctx context.Context) ([]access.Key, error) {
	var keys []access.Key
	err := s.read(ctx, func(d tx) error {
		var err error
		keys, err = d.keys()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	slices.SortFunc(keys,
		func(a, b access.Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return keys, nil
}

func (d tx) keys() (keys []access.Key, err error) {
	err = d.each("SELECT body FROM keys", nil, func(scan func(...any) error) error {
		var body []byte
		var k access.Key
		if err := scan(&body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &k); err != nil {
			return err
		}
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

// KeysRequired reports whether every request needs a key.
func (s *Store) KeysRequired(ctx context.Context) (bool, error) {
	var required bool
	err := s.read(ctx, func(d tx) error {
		var err error
		required, err = d.keysRequired()
		return err
	})
	return required, wrap(err, "whether keys are required")
}

func (d tx) keysRequired() (required bool, err error) {
	_, err = d.one("SELECT EXISTS (SELECT 1 FROM access_settings WHERE keys_required)", nil, &required)
	return required, err
}

func (d tx) requireKeys(required bool) error {
	_, err := d.exec(`INSERT INTO access_settings (one, keys_required) VALUES (1, ?)
		ON CONFLICT (one) DO UPDATE SET keys_required = excluded.keys_required WHERE keys_required <> excluded.keys_required`,
		required)
	return err
}

// AllowKeyless allows requests without a key again.
func (s *Store) AllowKeyless(ctx context.Context, now time.Time) error {
	err := s.write(ctx, func(d tx) error {
		keys, err := d.keys()
		if err != nil {
			return err
		}
		if access.AnyLive(keys, now) {
			return access.ErrLiveKey
		}
		_, err = d.exec("DELETE FROM access_settings")
		return err
	})
	return wrap(err, "allow requests without a key")
}

// Claim claims a request for execution.
func (s *Store) Claim(ctx context.Context, c access.Claim) (*access.Answered, error) {
	var answer *access.Answered
	err := c.Validate()
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			var err error
			answer, err = d.claim(c)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("claim %q of %s: %w", c.Name, c.Scope, err)
	}
	return answer, nil
}

func (d tx) claim(c access.Claim) (*access.Answered, error) {
	if _, err := d.exec("DELETE FROM claims WHERE ends <= ? AND (status IS NOT NULL OR at <= ?)", nanos(c.Now),
		nanos(c.Now.Add(-c.Keep))); err != nil {
		return nil, err
	}
	var digest, header string
	var answered bool
	var ends int64
	var answer access.Answered
	found, err := d.one(
		"SELECT digest, status IS NOT NULL, coalesce(status, 0), type, coalesce(body, x''), header, ends FROM claims WHERE scope = ? AND name = ?",
		[]any{c.Scope, c.Name}, &digest, &answered, &answer.Status, &answer.Type, &answer.Body, &header, &ends)
	switch {
	case err != nil:
		return nil, err
	case !found:
		_, err := d.exec("INSERT INTO claims (scope, name, digest, at, ends) VALUES (?, ?, ?, ?, ?)", c.Scope, c.Name,
			c.Digest, nanos(c.Now), nanos(c.Now.Add(c.Hold)))
		return nil, err
	case digest != c.Digest:
		return nil, access.ErrOther
	case !answered && ends > nanos(c.Now):
		return nil, access.ErrBusy
	case !answered:
		return nil, access.ErrLost
	}
	answer.Body = append([]byte{}, answer.Body...)
	if header != "" {
		if err := json.Unmarshal([]byte(header), &answer.Header); err != nil {
			return nil, err
		}
	}
	return &answer, nil
}

// Renew prolongs the time for which a claim blocks the same request.
func (s *Store) Renew(ctx context.Context, c access.Claim, now time.Time) error {
	err := c.Validate()
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			_, err := d.exec(
				"UPDATE claims SET ends = ? WHERE scope = ? AND name = ? AND digest = ? AND at = ? AND at > ? AND status IS NULL",
				nanos(now.Add(c.Hold)), c.Scope, c.Name, c.Digest, nanos(c.Now), nanos(now.Add(-c.Keep)))
			return err
		})
	}
	return wrap(err, fmt.Sprintf("renew %q of %s", c.Name, c.Scope))
}

// Answer stores the response to a claimed request, or gives up the claim.
func (s *Store) Answer(ctx context.Context, c access.Claim, a *access.Answered) error {
	err := c.Validate()
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			if a == nil {
				_, err := d.exec(
					"DELETE FROM claims WHERE scope = ? AND name = ? AND digest = ? AND at = ? AND status IS NULL",
					c.Scope, c.Name, c.Digest, nanos(c.Now))
				return err
			}
			header, err := headerText(a.Header)
			if err != nil {
				return err
			}
			_, err = d.exec(
				`INSERT INTO claims (scope, name, digest, at, ends, status, type, body, header) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (scope, name) DO UPDATE SET ends = excluded.ends, status = excluded.status, type = excluded.type, body = excluded.body, header = excluded.header
				WHERE digest = excluded.digest AND status IS NULL`,
				c.Scope, c.Name, c.Digest, nanos(c.Now), nanos(c.Now.Add(c.Keep)), a.Status, a.Type,
				append([]byte{}, a.Body...), header)
			if err != nil || c.Most <= 0 {
				return err
			}
			return d.limitResponses(c)
		})
	}
	return wrap(err, fmt.Sprintf("answer %q of %s", c.Name, c.Scope))
}

// limitResponses empties the oldest responses of a scope that keeps too many.
func (d tx) limitResponses(c access.Claim) error {
	none := access.Dropped()
	_, err := d.exec(`UPDATE claims SET status = ?, type = ?, body = ?, header = '', dropped = 1 WHERE key IN (
		SELECT key FROM claims WHERE scope = ? AND status IS NOT NULL AND dropped = 0 ORDER BY ends DESC, key DESC LIMIT -1 OFFSET ?)`,
		none.Status, none.Type, none.Body, c.Scope, c.Most)
	return err
}

// headerText is the stored form of a header; empty for none.
func headerText(h map[string][]string) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	text, err := json.Marshal(h)
	return string(text), err
}

// eraseResponses deletes the stored responses to requests, because they may quote what is about to be erased.
func (d tx) eraseResponses() error {
	erased := access.Erased()
	_, err := d.exec("UPDATE claims SET status = ?, type = ?, body = ?, header = '' WHERE status IS NOT NULL",
		erased.Status, erased.Type, erased.Body)
	return err
}

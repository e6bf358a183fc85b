package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var _ access.Store = (*Store)(nil)

var (
	putKeyScript         = script("putkey")
	claimScript          = script("claim")
	answerScript         = script("answer")
	renewScript          = script("renew")
	eraseResponsesScript = script("unsay")
)

// keysKey is a hash of id -> JSON of access.Key; keyHashesKey is a hash of key hash -> id.
func (s *Store) keysKey() string      { return s.set.prefix + "keys" }
func (s *Store) keyHashesKey() string { return s.set.prefix + "keyhashes" }

// keysRequiredKey holds 1 or 0. When it is missing, keys are required if there are any: older programs did not write
// it.
func (s *Store) keysRequiredKey() string { return s.set.prefix + "keysrequired" }

// claimKey is a hash: digest, at, ends, token, and after the response status, type, body and header.
func (s *Store) claimKey(c access.Claim) string {
	return s.set.prefix + "claim:" + escaped.Replace(c.Scope) + ":" + escaped.Replace(c.Name)
}

// PutKey creates a key or replaces the one with its id.
func (s *Store) PutKey(ctx context.Context, k access.Key) error {
	err := k.Validate()
	var body []byte
	if err == nil {
		body, err = json.Marshal(k.UTC())
	}
	var word any
	if err == nil {
		word, err = s.run(ctx, again, putKeyScript, []string{s.keysKey(), s.keyHashesKey(), s.keysRequiredKey()},
			k.ID, k.Hash, body)
	}
	if err == nil && word == "taken" {
		err = memory.ErrTaken
	}
	return wrap(err, "put key ", k.ID)
}

// Keys lists all keys by creation, then id.
func (s *Store) Keys(ctx context.Context) ([]access.Key, error) {
	var all []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		all, err = s.client.HVals(ctx, s.keysKey()).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	keys, err := keysOf(all)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	slices.SortFunc(keys,
		func(a, b access.Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return keys, nil
}

func keysOf(bodies []string) ([]access.Key, error) {
	keys := make([]access.Key, len(bodies))
	var err error
	for i, body := range bodies {
		err = errors.Join(err, json.Unmarshal([]byte(body), &keys[i]))
	}
	return keys, err
}

// KeysRequired reports whether every request needs a key.
func (s *Store) KeysRequired(ctx context.Context) (bool, error) {
	var mark *redis.StringCmd
	var count *redis.IntCmd
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			mark, count = p.Get(ctx, s.keysRequiredKey()), p.HLen(ctx, s.keysKey())
			return nil
		})
		return ignoreMissing(err)
	})
	if err != nil {
		return false, wrap(err, "whether keys are required")
	}
	return keysRequired(mark.Val(), count.Val()), nil
}

// keysRequired decides by the stored mark, empty for none, and the number of keys.
func keysRequired(mark string, keys int64) bool {
	if mark == "" {
		return keys > 0
	}
	return mark != "0"
}

// AllowKeyless allows requests without a key again. It starts over when a key is put meanwhile.
func (s *Store) AllowKeyless(ctx context.Context, now time.Time) error {
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		for {
			err := s.client.Watch(ctx, func(tx *redis.Tx) error { return s.allowKeyless(ctx, tx, now) }, s.keysKey())
			if !errors.Is(err, redis.TxFailedErr) {
				return err
			}
		}
	})
	return wrap(err, "allow requests without a key")
}

func (s *Store) allowKeyless(ctx context.Context, tx *redis.Tx, now time.Time) error {
	bodies, err := tx.HVals(ctx, s.keysKey()).Result()
	if err != nil {
		return err
	}
	keys, err := keysOf(bodies)
	if err != nil {
		return err
	}
	if access.AnyLive(keys, now) {
		return access.ErrLiveKey
	}
	_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if len(keys) == 0 {
			return p.Del(ctx, s.keysRequiredKey()).Err()
		}
		return p.Set(ctx, s.keysRequiredKey(), "0", 0).Err()
	})
	return err
}

// answersKey is a sorted set: the answered claims of a scope, by the time of the claim in microseconds.
func (s *Store) answersKey(scope string) string {
	return s.set.prefix + "answers:" + escaped.Replace(scope)
}

// keepMargin is how much longer than its validity the server keeps a claim: the clocks of the claimants decide about
// its validity, and they differ.
const keepMargin = time.Hour

func keepMillis(d time.Duration) int64 { return (d + keepMargin).Milliseconds() }

// Claim claims a request for execution. When the server's reply is lost it asks again with the same token, so that the
// claimant still learns that the claim is its own.
func (s *Store) Claim(ctx context.Context, c access.Claim) (*access.Answered, error) {
	a, err := s.claimRequest(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("claim %q of %s: %w", c.Name, c.Scope, err)
	}
	return a, nil
}

func (s *Store) claimRequest(ctx context.Context, c access.Claim) (*access.Answered, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	reply, err := s.run(ctx, again, claimScript, []string{s.claimKey(c)}, c.Digest, date(c.Now),
		date(c.Now.Add(c.Hold)), keepMillis(max(c.Hold, c.Keep)), rand.Text(), date(c.Now.Add(-c.Keep)))
	if err != nil {
		return nil, err
	}
	values, err := texts(reply)
	if err != nil {
		return nil, err
	}
	switch word := values[0]; {
	case word == "yours":
		return nil, nil
	case word == "busy":
		return nil, access.ErrBusy
	case word == "lost":
		return nil, access.ErrLost
	case word == "other":
		return nil, access.ErrOther
	case word != "said" || len(values) != 5:
		return nil, fmt.Errorf("the server replied with %q; expected a claim", values)
	}
	status, err := strconv.Atoi(values[1])
	if err != nil {
		return nil, fmt.Errorf("kept status %q: %w", values[1], err)
	}
	a := &access.Answered{Status: status, Type: values[2], Body: []byte(values[3])}
	if values[4] != "" {
		if err := json.Unmarshal([]byte(values[4]), &a.Header); err != nil {
			return nil, fmt.Errorf("kept header: %w", err)
		}
	}
	return a, nil
}

// Renew prolongs the time for which a claim blocks the same request.
func (s *Store) Renew(ctx context.Context, c access.Claim, now time.Time) error {
	err := c.Validate()
	if err == nil {
		_, err = s.run(ctx, again, renewScript, []string{s.claimKey(c)}, c.Digest, date(c.Now), date(now.Add(c.Hold)),
			date(now.Add(-c.Keep)))
	}
	return wrap(err, fmt.Sprintf("renew %q of %s", c.Name, c.Scope))
}

// Answer stores the response to a claimed request, or gives up the claim.
func (s *Store) Answer(ctx context.Context, c access.Claim, a *access.Answered) error {
	err := c.Validate()
	if err == nil {
		status := ""
		kind := ""
		body := []byte{}
		header := []byte{}
		if a != nil {
			status, kind, body = strconv.Itoa(a.Status), a.Type, append(body, a.Body...)
			if len(a.Header) > 0 {
				header, err = json.Marshal(a.Header)
			}
		}
		if err != nil {
			return wrap(err, fmt.Sprintf("answer %q of %s", c.Name, c.Scope))
		}
		none := access.Dropped()
		_, err = s.run(ctx, again, answerScript, []string{s.claimKey(c), s.answersKey(c.Scope)}, c.Digest,
			date(c.Now), date(c.Now.Add(c.Keep)), keepMillis(c.Keep),
			status, kind, body, header, c.Most, c.Now.UnixMicro(), c.Now.Add(-c.Keep).UnixMicro(),
			strconv.Itoa(none.Status), none.Type, none.Body)
	}
	return wrap(err, fmt.Sprintf("answer %q of %s", c.Name, c.Scope))
}

// eraseResponses deletes the stored responses to requests, because they may quote what was erased.
func (s *Store) eraseResponses(ctx context.Context) error {
	erased := access.Erased()
	return s.scanFrom(ctx, s.set.prefix+"claim:", func(keys []string) error {
		_, err := s.run(ctx, again, eraseResponsesScript, keys, strconv.Itoa(erased.Status), erased.Type,
			erased.Body)
		return err
	})
}

// keys exports the API keys.
func (r *reader) keys() error {
	keys, err := r.tx.HGetAll(r.ctx, r.keysKey()).Result()
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		var answer struct{ Hash string }
		if err := json.Unmarshal([]byte(keys[id]), &answer); err != nil {
			return fmt.Errorf("key %q: %w", id, err)
		}
		k := memory.KeptKey{ID: id, Hash: answer.Hash, Body: memory.Raw(keys[id])}
		if err := r.hold(memory.Record{Key: &k}, len(k.Body)); err != nil {
			return err
		}
	}
	mark, err := r.tx.Get(r.ctx, r.keysRequiredKey()).Result()
	if ignoreMissing(err) != nil {
		return err
	}
	required := keysRequired(mark, int64(len(keys)))
	if required == (len(keys) > 0) {
		return nil
	}
	return r.hold(memory.Record{Access: &memory.KeptAccess{KeysRequired: required}}, 0)
}

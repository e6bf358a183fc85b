package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	putKeyScript         = script("putkey")
	claimScript          = script("claim")
	answerScript         = script("answer")
	renewScript          = script("renew")
	eraseResponsesScript = script("unsay")
)

// apiKeys keeps the keys of the server, and the claims of requests that may come twice.
type apiKeys struct{ *server }

// claimKey is a hash: digest, at, ends, token, and after the response status, type, body and header.
func (s apiKeys) claimKey(c access.Claim) string {
	return s.set.prefix + "claim:" + escaped.Replace(c.Scope) + ":" + escaped.Replace(c.Name)
}

// PutKey creates a key or replaces the one with its id.
func (s apiKeys) PutKey(ctx context.Context, k access.Key) error {
	err := k.Validate()
	var body []byte
	if err == nil {
		body, err = json.Marshal(k.UTC())
	}
	var word any
	if err == nil {
		word, err = s.run(ctx, putKeyScript, []string{s.root(keysKey), s.root(keyHashesKey), s.root(keysRequiredKey)},
			k.ID, k.Hash, body)
	}
	if err == nil {
		switch word {
		case "taken":
			err = memory.ErrTaken
		case "revoked":
			err = access.ErrRevoked
		}
	}
	return store.Wrap(err, "put key ", k.ID)
}

// Keys lists all keys by creation, then id.
func (s apiKeys) Keys(ctx context.Context) ([]access.Key, error) {
	keys, err := list(ctx, s.server, s.root(keysKey), access.CompareKeys)
	return store.Result(keys, err, "list keys")
}

// KeysRequired reports whether every request needs a key.
func (s apiKeys) KeysRequired(ctx context.Context) (bool, error) {
	var mark *redis.StringCmd
	var count *redis.IntCmd
	err := s.together(ctx, func(ctx context.Context, p redis.Pipeliner) {
		mark, count = p.Get(ctx, s.root(keysRequiredKey)), p.HLen(ctx, s.root(keysKey))
	})
	return keysRequired(mark.Val(), count.Val()), store.Wrap(err, "whether keys are required")
}

// keysRequired decides by the stored mark, empty for none, and the number of keys.
func keysRequired(mark string, keys int64) bool {
	if mark == "" {
		return keys > 0
	}
	return mark != "0"
}

// AllowKeyless allows requests without a key again. It starts over when a key is put meanwhile.
func (s apiKeys) AllowKeyless(ctx context.Context, now time.Time) error {
	err := s.exchange(ctx, func(ctx context.Context) error {
		for {
			err := s.client.Watch(ctx, func(tx *redis.Tx) error { return s.allowKeyless(ctx, tx, now) },
				s.root(keysKey))
			if !errors.Is(err, redis.TxFailedErr) {
				return err
			}
		}
	})
	return store.Wrap(err, "allow requests without a key")
}

func (s apiKeys) allowKeyless(ctx context.Context, tx *redis.Tx, now time.Time) error {
	bodies, err := tx.HVals(ctx, s.root(keysKey)).Result()
	if err != nil {
		return err
	}
	keys, err := store.Decode[access.Key](bodies)
	if err != nil {
		return err
	}
	if access.AnyLive(keys, now) {
		return access.ErrLiveKey
	}
	_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if len(keys) == 0 {
			return p.Del(ctx, s.root(keysRequiredKey)).Err()
		}
		return p.Set(ctx, s.root(keysRequiredKey), "0", 0).Err()
	})
	return err
}

// answersKey is a sorted set: the answered claims of a scope, by the time of the claim in microseconds.
func (s apiKeys) answersKey(scope string) string {
	return s.set.prefix + "answers:" + escaped.Replace(scope)
}

// keepMargin is how much longer than its validity the server keeps a claim: the clocks of the claimants decide about
// its validity, and they differ.
const keepMargin = time.Hour

func keepMillis(d time.Duration) int64 { return (d + keepMargin).Milliseconds() }

// Claim claims a request for execution. When the server's reply is lost it asks again with the same token, so that the
// claimant still learns that the claim is its own.
func (s apiKeys) Claim(ctx context.Context, c access.Claim) (*access.StoredResponse, error) {
	a, err := s.claim(ctx, c)
	return store.Result(a, err, "claim ", c.Name, " of ", c.Scope)
}

func (s apiKeys) claim(ctx context.Context, c access.Claim) (*access.StoredResponse, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	values, err := s.runTexts(ctx, claimScript, []string{s.claimKey(c)}, c.Digest, date(c.Now),
		date(c.Now.Add(c.Hold)), keepMillis(max(c.Hold, c.Keep)), rand.Text(), date(c.Now.Add(-c.Keep)))
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
	var p parser
	a := &access.StoredResponse{Status: int(p.number(values[1])), Type: values[2], Body: []byte(values[3])}
	p.json(values[4], &a.Header)
	return a, p.err
}

// Renew prolongs the time for which a claim blocks the same request.
func (s apiKeys) Renew(ctx context.Context, c access.Claim, now time.Time) error {
	err := c.Validate()
	if err == nil {
		_, err = s.run(ctx, renewScript, []string{s.claimKey(c)}, c.Digest, date(c.Now), date(now.Add(c.Hold)),
			date(now.Add(-c.Keep)))
	}
	return store.Wrap(err, "renew ", c.Name, " of ", c.Scope)
}

// Answer stores the response to a claimed request, or gives up the claim.
func (s apiKeys) Answer(ctx context.Context, c access.Claim, a *access.StoredResponse) error {
	err := c.Validate()
	status, given, header := "", access.StoredResponse{}, []byte{}
	if a != nil {
		status, given = strconv.Itoa(a.Status), *a
	}
	if err == nil && len(given.Header) > 0 {
		header, err = json.Marshal(given.Header)
	}
	if err == nil {
		none := access.Dropped()
		_, err = s.run(ctx, answerScript, []string{s.claimKey(c), s.answersKey(c.Scope)}, c.Digest,
			date(c.Now), date(c.Now.Add(c.Keep)), keepMillis(c.Keep),
			status, given.Type, append([]byte{}, given.Body...), header, c.Most, c.Now.UnixMicro(),
			c.Now.Add(-c.Keep).UnixMicro(), strconv.Itoa(none.Status), none.Type, none.Body)
	}
	return store.Wrap(err, "answer ", c.Name, " of ", c.Scope)
}

// eraseResponses deletes the stored responses to requests, because they may quote what was erased.
func (s *server) eraseResponses(ctx context.Context) error {
	erased := access.Erased()
	return s.scan(ctx, s.set.prefix+"claim:", func(keys []string) error {
		_, err := s.run(ctx, eraseResponsesScript, keys, strconv.Itoa(erased.Status), erased.Type,
			erased.Body)
		return err
	})
}

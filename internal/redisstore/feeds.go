package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var dropFeedScript = script("dropfeed")

func (s *Store) feedsKey() string { return s.set.prefix + "feeds" }

// PutFeed creates or replaces a feed.
func (s *Store) PutFeed(ctx context.Context, f dream.Feed) error {
	if f.Name == "" || !utf8.ValidString(f.Name) {
		return fmt.Errorf("put feed %q: its name must be UTF-8 text and not empty", f.Name)
	}
	body, err := json.Marshal(f)
	if err == nil {
		err = s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
			return s.client.HSet(ctx, s.feedsKey(), f.Name, body).Err()
		})
	}
	return wrap(err, "put feed ", f.Name)
}

// Feed finds a feed by name.
func (s *Store) Feed(ctx context.Context, name string) (dream.Feed, error) {
	var f dream.Feed
	var body []byte
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		body, err = s.client.HGet(ctx, s.feedsKey(), name).Bytes()
		return err
	})
	switch {
	case errors.Is(err, redis.Nil):
		err = memory.ErrNotFound
	case err == nil:
		err = json.Unmarshal(body, &f)
	}
	if err != nil {
		return dream.Feed{}, fmt.Errorf("feed %q: %w", name, err)
	}
	return f, nil
}

// Feeds lists all feeds by name.
func (s *Store) Feeds(ctx context.Context) ([]dream.Feed, error) {
	var all []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		all, err = s.client.HVals(ctx, s.feedsKey()).Result()
		return err
	})
	feeds := make([]dream.Feed, len(all))
	for i, body := range all {
		err = errors.Join(err, json.Unmarshal([]byte(body), &feeds[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("list feeds: %w", err)
	}
	slices.SortFunc(feeds, func(a, b dream.Feed) int { return cmp.Compare(a.Name, b.Name) })
	return feeds, nil
}

// DropFeed removes a feed, and its name from the agents that follow it, in one step.
func (s *Store) DropFeed(ctx context.Context, name string) error {
	err := s.retryTorn(ctx, func(int) (bool, error) {
		records, err := s.records(ctx)
		if err != nil {
			return false, err
		}
		args := []any{name}
		for id, record := range records {
			var a dream.Agent
			if err := json.Unmarshal([]byte(record), &a); err != nil {
				return false, err
			}
			if a.Feed != name {
				continue
			}
			a.Feed = ""
			body, err := json.Marshal(a)
			if err != nil {
				return false, err
			}
			args = append(args, id, record, body)
		}
		word, err := s.run(ctx, again, dropFeedScript, nil, args...)
		if err == nil && word == "missing" {
			err = memory.ErrNotFound
		}
		return word == "torn", err
	})
	return wrap(err, "drop feed ", name)
}

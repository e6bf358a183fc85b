package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var dropFeedScript = script("dropfeed")

// feeds keeps the sources of outside readings.
type feeds struct{ *server }

// PutFeed creates or replaces a feed.
func (s feeds) PutFeed(ctx context.Context, f dream.Feed) error {
	body, err := json.Marshal(f)
	if err == nil {
		err = store.CheckNames("its name", f.Name)
	}
	if err == nil {
		err = s.exchange(ctx, func(ctx context.Context) error {
			return s.client.HSet(ctx, s.root(feedsKey), f.Name, body).Err()
		})
	}
	return store.Wrap(err, "put feed ", f.Name)
}

// Feed finds a feed by name.
func (s feeds) Feed(ctx context.Context, name string) (dream.Feed, error) {
	var f dream.Feed
	body, err := s.field(ctx, s.root(feedsKey), name)
	p := parser{err: notFound(err)}
	p.json(body, &f)
	return store.Result(f, p.err, fmt.Sprintf("feed %q", name))
}

// Feeds lists all feeds by name.
func (s feeds) Feeds(ctx context.Context) ([]dream.Feed, error) {
	feeds, err := list(ctx, s.server, s.root(feedsKey),
		func(a, b dream.Feed) int { return strings.Compare(a.Name, b.Name) })
	return store.Result(feeds, err, "list feeds")
}

// DropFeed removes a feed, and its name from the agents that follow it, in one step.
func (s feeds) DropFeed(ctx context.Context, name string) error {
	err := s.retryTorn(ctx, func(int) (bool, error) {
		records, err := s.hash(ctx, s.root(agentsKey))
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
		word, err := s.run(ctx, dropFeedScript, nil, args...)
		if err == nil && word == "missing" {
			err = memory.ErrNotFound
		}
		return word == "torn", err
	})
	return store.Wrap(err, "drop feed ", name)
}

package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// PutFeed creates a feed or replaces the one with the same name.
func (s *Store) PutFeed(ctx context.Context, f dream.Feed) error {
	body, err := json.Marshal(f)
	if err == nil && f.Name == "" {
		err = errors.New("its name is empty")
	}
	if err == nil {
		err = s.write(ctx, func(d tx) error {
			_, err := d.exec(
				"INSERT INTO feeds (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
				f.Name, string(body))
			return err
		})
	}
	return wrap(err, fmt.Sprintf("put feed %q", f.Name))
}

// Feed finds a feed by name.
func (s *Store) Feed(ctx context.Context, name string) (dream.Feed, error) {
	var f dream.Feed
	err := s.read(ctx, func(d tx) error {
		var body []byte
		found, err := d.one("SELECT body FROM feeds WHERE name = ?", []any{name}, &body)
		if err == nil && !found {
			err = memory.ErrNotFound
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &f)
	})
	if err != nil {
		return dream.Feed{}, fmt.Errorf("feed %q: %w", name, err)
	}
	return f, nil
}

// Feeds lists all feeds by name.
func (s *Store) Feeds(ctx context.Context) ([]dream.Feed, error) {
	var feeds []dream.Feed
	err := s.read(ctx, func(d tx) error {
		return d.each("SELECT body FROM feeds ORDER BY name", nil, func(scan func(...any) error) error {
			var body []byte
			var f dream.Feed
			if err := scan(&body); err != nil {
				return err
			}
			if err := json.Unmarshal(body, &f); err != nil {
				return err
			}
			feeds = append(feeds, f)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list feeds: %w", err)
	}
	return feeds, nil
}

// DropFeed removes a feed; agents that followed it follow none afterwards.
func (s *Store) DropFeed(ctx context.Context, name string) error {
	err := s.write(ctx, func(d tx) error {
		n, err := d.exec("DELETE FROM feeds WHERE name = ?", name)
		if err == nil && n == 0 {
			err = memory.ErrNotFound
		}
		if err != nil {
			return err
		}
		return d.unfollow(name)
	})
	return wrap(err, fmt.Sprintf("drop feed %q", name))
}

// unfollow removes a feed's name from the agents that follow it.
func (d tx) unfollow(name string) error {
	var followers []dream.Agent
	err := d.each("SELECT body FROM agents", nil, func(scan func(...any) error) error {
		var body []byte
		var a dream.Agent
		if err := scan(&body); err != nil {
			return err
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return err
		}
		if a.Feed == name {
			a.Feed = ""
			followers = append(followers, a)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range followers {
		body, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := d.exec("UPDATE agents SET body = ? WHERE id = ?", string(body), a.ID); err != nil {
			return err
		}
	}
	return nil
}

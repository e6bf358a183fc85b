package sqlitestore

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// feeds keeps the sources of outside readings.
type feeds struct{ *file }

// PutFeed creates a feed or replaces the one with the same name.
func (s feeds) PutFeed(ctx context.Context, f dream.Feed) error {
	err := store.CheckNames("its name", f.Name)
	if err == nil {
		err = s.write(ctx, func(d *tx) {
			d.exec("INSERT INTO feeds (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body",
				f.Name, jsonText{f})
		})
	}
	return store.Wrap(err, "put feed ", f.Name)
}

// Feed finds a feed by name.
func (s feeds) Feed(ctx context.Context, name string) (dream.Feed, error) {
	return in(ctx, s.readOnce, fmt.Sprintf("feed %q", name), func(d *tx) (f dream.Feed) {
		if !d.one("SELECT body FROM feeds WHERE name = ?", []any{name}, jsonText{&f}) {
			d.fail(memory.ErrNotFound)
		}
		return f
	})
}

// Feeds lists all feeds by name.
func (s feeds) Feeds(ctx context.Context) ([]dream.Feed, error) {
	return in(ctx, s.readOnce, "list feeds", func(d *tx) []dream.Feed {
		return decoded[dream.Feed](d, "SELECT body FROM feeds ORDER BY name")
	})
}

// DropFeed removes a feed; agents that followed it follow none afterwards.
func (s feeds) DropFeed(ctx context.Context, name string) error {
	return store.Wrap(s.write(ctx, func(d *tx) {
		if d.exec("DELETE FROM feeds WHERE name = ?", name) == 0 {
			d.fail(memory.ErrNotFound)
		}
		for _, a := range decoded[dream.Agent](d, "SELECT body FROM agents") {
			if a.Feed == name {
				a.Feed = ""
				d.exec("UPDATE agents SET body = ? WHERE id = ?", jsonText{a}, a.ID)
			}
		}
	}), "drop feed ", name)
}

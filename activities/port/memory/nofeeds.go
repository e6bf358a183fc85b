package memory

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// NoFeeds is the Feeds of a program without feeds: none exists, and none can be stored.
type NoFeeds struct{}

// PutFeed always fails.
func (NoFeeds) PutFeed(_ context.Context, f dream.Feed) error {
	return fmt.Errorf("store feed %q: this program keeps no feeds; give its Ports and Starter a memory.Feeds", f.Name)
}

// Feed returns ErrNotFound.
func (NoFeeds) Feed(_ context.Context, name string) (dream.Feed, error) {
	return dream.Feed{}, fmt.Errorf("feed %q: %w", name, ErrNotFound)
}

// Feeds returns none.
func (NoFeeds) Feeds(context.Context) ([]dream.Feed, error) { return nil, nil }

// DropFeed returns ErrNotFound.
func (NoFeeds) DropFeed(_ context.Context, name string) error {
	return fmt.Errorf("feed %q: %w", name, ErrNotFound)
}

package rooms

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// AllPages reads a list whole that is read in pages of room.MaxPage entries. number is the number of an entry, after
// which the next page begins.
func AllPages[T any](read func(after int64) ([]T, error), number func(T) int64) ([]T, error) {
	var all []T
	for after := int64(0); ; {
		page, err := read(after)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < room.MaxPage {
			return all, nil
		}
		after = number(page[len(page)-1])
	}
}

// open are all items that wait for an agent or are being answered, oldest first.
func (s *core) open(ctx context.Context, agent string) ([]room.Item, error) {
	return AllPages(func(after int64) ([]room.Item, error) {
		return s.Rooms.Inbox(ctx, agent, after, true, 0)
	}, func(i room.Item) int64 { return i.Number })
}

// held are all actions that are held for an agent, in the order in which it asked for them.
func (s *core) held(ctx context.Context, agent string) ([]room.Action, error) {
	return AllPages(func(after int64) ([]room.Action, error) {
		return s.Rooms.Held(ctx, agent, after, 0)
	}, func(a room.Action) int64 { return a.Number })
}

package room

import (
	"context"
	"errors"
	"time"
)

// Behind returns how many events of a room are after an offset, and how old the first of them is at that time. A room
// that is gone has none.
func Behind(ctx context.Context, store Store, id string, after int64, now time.Time) (int64, time.Duration, error) {
	r, err := store.Get(ctx, AsOperator, id)
	if errors.Is(err, ErrNotFound) || err == nil && r.Events <= after {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	first, err := store.Events(ctx, AsOperator, id, after, 1)
	if err != nil || len(first) == 0 {
		return 0, 0, err
	}
	return r.Events - after, max(0, now.Sub(first[0].At)), nil
}

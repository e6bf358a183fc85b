// Package fabric is the delivery of events, with two named promises: every event, in order, from an offset; and a hint
// that there are new ones, which may be lost.
package fabric

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/event"
)

// Log is an agent's events as the store holds them.
type Log interface {
	// Events returns up to limit events with Seq > after, in order. No event is ever missing from its place.
	Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error)
	// Await returns when the agent may have events with Seq > after, or ctx ends (ctx.Err()).
	// It may return early or late (bounded by a second), never not at all.
	Await(ctx context.Context, agent string, after int64) error
	// Heads returns, by id, the Seq of the newest event of every agent on record. Agents without events are left out.
	Heads(ctx context.Context) (map[string]int64, error)
}

// Package fabric delivers events in two ways: every event, in order, from an offset (Events), and a hint that there are
// new ones, which may be late (Await).
//
// Dreams write events through memory.Write and need no Log; programs that show or count events do. A store numbers the
// events of an agent 1, 2, 3, … in the step that writes them, and returns ID, time and data byte for byte.
package fabric

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// Log is the event log of each agent, as the store keeps it.
type Log interface {
	// Events returns up to limit events with Seq > after, in order and without gaps.
	Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error)
	// Await returns when the agent may have events with Seq > after, or when ctx ends (ctx.Err()). It may return
	// without a new event, and up to a second late.
	Await(ctx context.Context, agent string, after int64) error
	// Heads returns, by agent id, the Seq of the newest event of these agents, or of all when none is named. Agents
	// without events, and those that do not exist, are left out. What it costs grows with the number of agents asked for.
	Heads(ctx context.Context, agents ...string) (map[string]int64, error)
}

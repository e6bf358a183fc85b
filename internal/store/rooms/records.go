// Package rooms keeps rooms over sorted records, so that both stores share one implementation of the port.
package rooms

import (
	"context"
	"strings"
)

// Record is a value in JSON under a name. Records sort by the bytes of their names. The records of an index have no
// body.
type Record struct {
	Name string
	Body []byte
}

// Range selects the records whose names begin with a prefix.
type Range struct {
	Prefix string
	After  string // only names above it; empty: all
	Before string // only names below it; empty: all
	Back   bool   // from the last one back
	Limit  int    // 0: all
}

// Bounds returns the names that the range lies strictly between, or begins with when open is false.
func (r Range) Bounds() (from string, open bool, to string) {
	from, to = r.Prefix, r.Prefix+"\xff" // no name has this byte: names are UTF-8
	if r.After >= from {
		from, open = r.After, r.After != ""
	}
	if r.Before != "" && r.Before < to {
		to = r.Before
	}
	return from, open, to
}

// View reads records as of one moment, or, outside of Update, each call as of its own.
type View interface {
	// Get returns the bodies of the records in the order of names; nil for those that do not exist.
	Get(names ...string) ([][]byte, error)
	// Scan returns the records of a range, in order.
	Scan(r Range) ([]Record, error)
}

// Changes are what a step writes.
type Changes struct {
	Put    []Record // by name
	Delete []string
	Agents []string // the step fails when one of them was removed, or is being removed
	Rooms  []string // with new events
}

// Backend stores the records.
type Backend interface {
	// Update runs do and applies the changes that it returns, as one durable step. Nothing that do has read changes
	// before; do may run several times. After an error of do nothing is applied.
	Update(ctx context.Context, do func(View) (Changes, error)) error
	// View runs do, which only reads.
	View(ctx context.Context, do func(View) error) error
	// AwaitRoom returns when changed does, which it calls first, and again after changes of the room.
	AwaitRoom(ctx context.Context, room string, changed func() (bool, error)) error
}

// Part returns the part of the records that a name belongs to: an agent's, a room's, a guard, or one index of either.
// A store that does not lock compares versions of parts.
func Part(name string) string {
	depth := 2
	switch {
	case strings.HasPrefix(name, guards):
		return name
	case strings.HasPrefix(name, indexes):
		depth = 3
	}
	parts := strings.SplitN(name, "/", depth+1)
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

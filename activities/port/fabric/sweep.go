package fabric

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// page is how many events a sweep reads in one call.
const page = 500

// Sweep reads the events of all agents, each once and in order. Its position is kept in memory; a reader that must not
// lose it stores After itself. It is not safe for concurrent use.
type Sweep struct {
	Log   Log
	After map[string]int64 // by agent, the Seq of the newest event read; absent: none

	// Lost is called when an agent's log ends at head, before an event that was read: the store was restored without
	// its newest events. The sweep continues from head, so that new events with the same numbers are read. It may be
	// nil.
	Lost func(agent string, head int64)
}

// Skip moves the position past all existing events.
func (s *Sweep) Skip(ctx context.Context) error {
	heads, err := s.Log.Heads(ctx)
	if err == nil {
		s.After = heads
	}
	return err
}

// Once calls f for every new event, agent by agent in the order of their ids. When f returns an error, Once returns it,
// and the next call begins with that event again.
func (s *Sweep) Once(ctx context.Context, f func(event.Event) error) error {
	heads, err := s.Log.Heads(ctx)
	if err != nil {
		return err
	}
	if s.After == nil {
		s.After = map[string]int64{}
	}
	for _, agent := range slices.Sorted(maps.Keys(s.After)) {
		if head := heads[agent]; head < s.After[agent] {
			s.After[agent] = head
			if s.Lost != nil {
				s.Lost(agent, head)
			}
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(heads)) {
		for s.After[agent] < heads[agent] {
			events, err := s.Log.Events(ctx, agent, s.After[agent], page)
			if err != nil {
				return err
			}
			for _, e := range events {
				if err := f(e); err != nil {
					return err
				}
				s.After[agent] = e.Seq
			}
			if len(events) == 0 {
				break // the events are missing: the store was replaced by another one
			}
		}
	}
	return nil
}

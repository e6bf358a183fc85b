package fabric

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/event"
)

// page is how many events a sweep reads at once.
const page = 500

// Sweep reads the events of every agent, each once and in order, from where it stands. It keeps its place in memory:
// where it must outlive a process, it is the reader's own to keep. It is not safe for concurrent use.
type Sweep struct {
	Log   Log
	After map[string]int64 // by agent, the newest Seq that was read; nil or absent: none

	// Lost hears that an agent's log ends at head, before what was read of it: the store came back without its newest
	// events. The sweep goes on from there, so that those which take their numbers are read. It may be nil.
	Lost func(agent string, head int64)
}

// Skip makes a sweep begin behind everything that there is.
func (s *Sweep) Skip(ctx context.Context) error {
	heads, err := s.Log.Heads(ctx)
	if err == nil {
		s.After = heads
	}
	return err
}

// Once gives f every event that has come since, one agent after the other, by their ids. An event that f refuses is
// given again the next time, and its error is answered.
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
				break // what was there is gone: another store was put in its place
			}
		}
	}
	return nil
}

package week

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// slots is a store that records which dreams take and free the dreaming slots, and when two hold one.
type slots struct {
	memory.Store

	mu      sync.Mutex
	holders map[string]memory.Fence
	Taken   int
	Refused int // takings refused because another dream held the slot
	Faults  []string
}

func watch(s memory.Store) *slots { return &slots{Store: s, holders: map[string]memory.Fence{}} }

// TakeSlot records the holder. Taking and recording are one step here, so that the record is in the store's order.
func (s *slots) TakeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, err := s.Store.TakeSlot(ctx, agent, want, steal)
	if errors.Is(err, memory.ErrTaken) {
		s.Refused++
	}
	if err != nil {
		return got, err
	}
	if held, ok := s.holders[agent]; ok && !held.Same(want.Fence) && !held.Same(steal) {
		s.Faults = append(s.Faults,
			fmt.Sprintf("%s took the slot of %s while %s held it", want.Dream, agent, held.Dream))
	}
	s.holders[agent] = want.Fence
	s.Taken++
	return got, nil
}

// FreeSlot records that the holder freed it.
func (s *slots) FreeSlot(ctx context.Context, agent string, f memory.Fence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Store.FreeSlot(ctx, agent, f)
	if err == nil && s.holders[agent].Same(f) {
		delete(s.holders, agent)
	}
	return err
}

// Slots returns how often a dreaming slot was taken, how often it was refused because another dream held it, and all
// faults.
func (h *Deployment) Slots() (taken, refused int, faults []string) {
	h.slots.mu.Lock()
	defer h.slots.mu.Unlock()
	return h.slots.Taken, h.slots.Refused, h.slots.Faults
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

var (
	takeSlotScript = script("awake", "memory", "takeslot")
	freeSlotScript = script("memory", "freeslot")
	slotsScript    = script("slots")
)

// TakeSlot takes, confirms or steals the agent's dreaming slot. Leases and lock are checked in the same step.
func (s *Store) TakeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	got, err := s.takeSlot(ctx, agent, want, steal)
	if err != nil {
		return got, fmt.Errorf("take the dreaming slot of %s: %w", agent, err)
	}
	return got, nil
}

func (s *Store) takeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	if want.Same(memory.Fence{}) || !utf8.ValidString(want.Dream+want.Run+want.Workflow+want.Cluster) {
		return memory.Slot{}, errors.New("a fence names a dream and a run, and a slot's fields are UTF-8 text")
	}
	plan := struct {
		Agent    string `json:"agent"`
		Dream    string `json:"dream"`
		Run      string `json:"run"`
		Workflow string `json:"workflow"`
		Cluster  string `json:"cluster"`
		Since    string `json:"since"`
		Steal    holder `json:"steal"`
	}{
		agent, want.Dream, want.Run, want.Workflow, want.Cluster, date(want.Since),
		holder{Dream: steal.Dream, Run: steal.Run},
	}
	args, err := s.runMemory(ctx, takeSlotScript, agent, plan)
	if err != nil {
		return memory.Slot{}, err
	}
	if word := text(args, 0); word == "removed" || word == "removing" {
		return memory.Slot{}, refusal(args)
	}
	if text(args, 0) == "awake" {
		return memory.Slot{}, fmt.Errorf("the agent is held awake until %s: %w", text(args, 1), memory.ErrAwake)
	}
	got, err := readSlot(args)
	if err == nil && text(args, 0) == "taken" {
		err = fmt.Errorf("dream %q run %q holds it: %w", got.Dream, got.Run, memory.ErrTaken)
	}
	return got, err
}

// readSlot parses a slot after a word: dream, run, epoch, workflow, cluster, since.
func readSlot(args []any) (memory.Slot, error) {
	if len(args) != 7 {
		return memory.Slot{}, fmt.Errorf("the server replied with a slot of %d parts; expected 7", len(args))
	}
	var slot memory.Slot
	slot.Dream, slot.Run = text(args, 1), text(args, 2)
	slot.Workflow, slot.Cluster = text(args, 4), text(args, 5)
	var err error
	slot.Epoch, err = strconv.ParseInt(text(args, 3), 10, 64)
	if err != nil {
		return memory.Slot{}, fmt.Errorf("the slot's epoch: %w", err)
	}
	slot.Since, err = parseDate(text(args, 6))
	return slot, err
}

// FreeSlot frees the slot if the fence holds it.
func (s *Store) FreeSlot(ctx context.Context, agent string, f memory.Fence) error {
	plan := struct {
		Agent string `json:"agent"`
		Dream string `json:"dream"`
		Run   string `json:"run"`
		Epoch int64  `json:"epoch"`
	}{agent, f.Dream, f.Run, f.Epoch}
	args, err := s.runMemory(ctx, freeSlotScript, agent, plan)
	if err == nil {
		err = refusal(args)
	}
	return wrap(err, "free the dreaming slot of ", agent)
}

// Slots lists every taken slot.
func (s *Store) Slots(ctx context.Context) (map[string]memory.Slot, error) {
	slots := map[string]memory.Slot{}
	reply, err := s.run(ctx, again, slotsScript, nil)
	all, _ := reply.([]any)
	for i := 0; err == nil && i < len(all); i++ {
		one, _ := all[i].([]any)
		slots[text(one, 0)], err = readSlot(one)
	}
	if err != nil {
		return nil, fmt.Errorf("list dreaming slots: %w", err)
	}
	return slots, nil
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	takeSlotScript = script("awake", "memory", "takeslot")
	freeSlotScript = script("memory", "freeslot")
	slotsScript    = script("slots")
)

// slots lets one dream of an agent write at a time.
type slots struct{ *server }

// TakeSlot takes, confirms or steals the agent's dreaming slot. Leases and lock are checked in the same step.
func (s slots) TakeSlot(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	got, err := s.take(ctx, agent, want, steal)
	return got, store.Wrap(err, "take the dreaming slot of ", agent)
}

func (s slots) take(ctx context.Context, agent string, want memory.Slot, steal memory.Fence) (memory.Slot, error) {
	if want.Same(memory.Fence{}) || !utf8.ValidString(want.Dream+want.Run+want.Workflow+want.Cluster) {
		return memory.Slot{}, errors.New("a fence names a dream and a run, and a slot's fields are UTF-8 text")
	}
	plan := map[string]any{
		"agent":    agent,
		"dream":    want.Dream,
		"run":      want.Run,
		"workflow": want.Workflow,
		"cluster":  want.Cluster,
		"since":    date(want.Since),
		"steal":    holder{Dream: steal.Dream, Run: steal.Run},
	}
	args, err := s.runMemory(ctx, takeSlotScript, agent, plan)
	word := text(args, 0)
	switch {
	case err != nil:
		return memory.Slot{}, err
	case word == "removed", word == "removing":
		return memory.Slot{}, refusal(args)
	case word == "awake":
		return memory.Slot{}, fmt.Errorf("the agent is held awake until %s: %w", text(args, 1), memory.ErrAwake)
	}
	got, err := readSlot(args)
	if err == nil && word == "taken" {
		err = fmt.Errorf("dream %q run %q holds it: %w", got.Dream, got.Run, memory.ErrTaken)
	}
	return got, err
}

// readSlot parses a slot after a word: dream, run, epoch, workflow, cluster, since.
func readSlot(args []any) (memory.Slot, error) {
	if len(args) != 7 {
		return memory.Slot{}, fmt.Errorf("the server replied with a slot of %d parts; expected 7", len(args))
	}
	var p parser
	slot := memory.Slot{
		Fence:    memory.Fence{Dream: text(args, 1), Run: text(args, 2), Epoch: p.number(text(args, 3))},
		Workflow: text(args, 4),
		Cluster:  text(args, 5),
		Since:    p.time(text(args, 6)),
	}
	return slot, p.err
}

// FreeSlot frees the slot if the fence holds it.
func (s slots) FreeSlot(ctx context.Context, agent string, f memory.Fence) error {
	plan := map[string]any{"agent": agent, "dream": f.Dream, "run": f.Run, "epoch": f.Epoch}
	_, err := s.apply(ctx, freeSlotScript, agent, plan)
	return store.Wrap(err, "free the dreaming slot of ", agent)
}

// Slots lists every taken slot.
func (s slots) Slots(ctx context.Context) (map[string]memory.Slot, error) {
	slots := map[string]memory.Slot{}
	reply, err := s.run(ctx, slotsScript, nil)
	all, _ := reply.([]any)
	for i := 0; err == nil && i < len(all); i++ {
		one, _ := all[i].([]any)
		slots[text(one, 0)], err = readSlot(one)
	}
	return store.Result(slots, err, "list dreaming slots")
}

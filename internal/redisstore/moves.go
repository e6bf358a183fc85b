package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

var (
	collectScript = script("money", "book", "memory", "collect")
	moveScript    = script("memory", "move")
	spacesScript  = script("memory", "spaces")
)

// Space returns the space of the agent's vectors.
func (s vectors) Space(ctx context.Context, agent string) (string, error) {
	space, err := s.field(ctx, s.key(agent, countersPart), "space")
	return space, store.Wrap(ignoreMissing(err), "space of ", agent)
}

// Spaces counts the agent's vectors by space.
func (s vectors) Spaces(ctx context.Context, agent string) (map[string]int, error) {
	args, err := s.runMemory(ctx, spacesScript, agent, struct{}{})
	spaces := map[string]int{}
	for i := 0; i+1 < len(args); i += 2 {
		spaces[text(args, i)] = int(integer(args, i+1))
	}
	return store.Result(spaces, err, "spaces of ", agent)
}

// Collect stores vectors of another space beside those of the agent's own.
func (s vectors) Collect(ctx context.Context, agent string, vectors []memory.Vector) error {
	plans := []vectorPlan{}
	var blobs []any
	for _, v := range vectors {
		if err := v.Validate(); err != nil {
			return store.Wrap(err, "collect vectors of ", agent)
		}
		plans = append(plans, vectorPlan{v.Item, v.Space, len(v.V)})
		blobs = append(blobs, packed.PlainVector(v.V))
	}
	plan := map[string]any{"agent": agent, "vectors": plans}
	_, err := s.apply(ctx, collectScript, agent, plan, blobs...)
	return store.Wrap(err, "collect vectors of ", agent)
}

// Move makes a space the agent's own.
func (s vectors) Move(ctx context.Context, agent, space string) (int, error) {
	missing, err := s.move(ctx, agent, space)
	return store.Result(missing, err, "move ", agent, " to space ", space)
}

func (s vectors) move(ctx context.Context, agent, space string) (int, error) {
	if space == "" {
		return 0, errNoSpace
	}
	args, err := s.runMemory(ctx, moveScript, agent, map[string]string{"token": rand.Text(), "space": space})
	switch {
	case err != nil:
		return 0, err
	case text(args, 0) == "taken":
		return 0, fmt.Errorf("dream %q holds the slot and uses the old space: %w", text(args, 1), memory.ErrTaken)
	case text(args, 0) == "missing" && len(args) == 2:
		return int(integer(args, 1)), nil
	}
	return 0, refusal(args)
}

package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/memory"
)

var (
	collectScript = script("money", "book", "memory", "collect")
	moveScript    = script("memory", "move")
)

// Space returns the space of the agent's vectors.
func (s *Store) Space(ctx context.Context, agent string) (string, error) {
	var space string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		space, err = s.client.HGet(ctx, s.key(agent, countersPart), "space").Result()
		return ignoreMissing(err)
	})
	return space, wrap(err, "space of ", agent)
}

var spacesScript = script("memory", "spaces")

// Spaces counts the agent's vectors by space.
func (s *Store) Spaces(ctx context.Context, agent string) (map[string]int, error) {
	args, err := s.runMemory(ctx, spacesScript, agent, struct{}{})
	if err != nil {
		return nil, fmt.Errorf("spaces of %s: %w", agent, err)
	}
	spaces := map[string]int{}
	for i := 0; i+1 < len(args); i += 2 {
		spaces[text(args, i)] = int(integer(args, i+1))
	}
	return spaces, nil
}

// Collect stores vectors of another space beside those of the agent's own.
func (s *Store) Collect(ctx context.Context, agent string, vectors []memory.Vector) error {
	plan := struct {
		Agent   string       `json:"agent"`
		Vectors []vectorPlan `json:"vectors"`
	}{agent, []vectorPlan{}}
	var blobs []any
	for _, v := range vectors {
		if err := checkVector(v); err != nil {
			return fmt.Errorf("collect vectors of %s: %w", agent, err)
		}
		plan.Vectors = append(plan.Vectors, vectorPlan{v.Item, v.Space, len(v.V)})
		blobs = append(blobs, packVector(v.V))
	}
	args, err := s.runMemory(ctx, collectScript, agent, plan, blobs...)
	if err == nil {
		err = refusal(args)
	}
	return wrap(err, "collect vectors of ", agent)
}

// Move makes a space the agent's own.
func (s *Store) Move(ctx context.Context, agent, space string) (int, error) {
	missing, err := s.move(ctx, agent, space)
	if err != nil {
		return 0, fmt.Errorf("move %s to space %s: %w", agent, space, err)
	}
	return missing, nil
}

func (s *Store) move(ctx context.Context, agent, space string) (int, error) {
	if space == "" {
		return 0, errNoSpace
	}
	plan := struct {
		Token string `json:"token"`
		Space string `json:"space"`
	}{rand.Text(), space}
	args, err := s.runMemory(ctx, moveScript, agent, plan)
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

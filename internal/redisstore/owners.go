package redisstore

import (
	"context"
	"fmt"
)

var (
	ownersScript = script("memory", "owners")
	tallyScript  = script("memory", "tally")
)

// Owners counts the agent's live items by owner, from sets that every write updates. For an agent of an older program
// these sets are built first, a page at a time.
func (s *Store) Owners(ctx context.Context, agent string) (map[string]int, error) {
	for {
		args, err := s.runMemory(ctx, ownersScript, agent, struct{}{})
		if err == nil && integer(args, 0) == 0 {
			err = s.countOldItems(ctx, agent)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("count the memories of %s by owner: %w", agent, err)
		}
		counts := map[string]int{}
		for i := 1; i+1 < len(args); i += 2 {
			counts[text(args, i)] = int(integer(args, i+1))
		}
		return counts, nil
	}
}

// countOldItems counts the items that an older program wrote.
func (s *Store) countOldItems(ctx context.Context, agent string) error {
	for cursor := "0"; ; {
		args, err := s.runMemory(ctx, tallyScript, agent, struct{}{}, cursor)
		if err != nil {
			return fmt.Errorf("count the items of an older deployment: %w", err)
		}
		cursor = text(args, 0)
		if cursor == "0" {
			return nil
		}
	}
}

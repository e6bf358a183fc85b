package redisstore

import (
	"context"
	"fmt"
)

var ownersScript = script("memory", "owners")

// Owners counts the agent's live items by owner, a page of them at a time.
func (s *Store) Owners(ctx context.Context, agent string) (map[string]int, error) {
	counts, seen := map[string]int{}, map[string]bool{}
	for cursor := "0"; ; {
		page, err := s.of(ctx, ownersScript, agent, struct{}{}, cursor)
		if err != nil {
			return nil, fmt.Errorf("count the memories of %s by owner: %w", agent, err)
		}
		for i := 1; i+1 < len(page); i += 2 {
			if id := text(page, i); !seen[id] {
				seen[id] = true
				counts[text(page, i+1)]++
			}
		}
		if cursor = text(page, 0); cursor == "0" {
			return counts, nil
		}
	}
}

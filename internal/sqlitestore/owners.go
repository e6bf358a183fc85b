package sqlitestore

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Owners counts the agent's live items by owner.
func (s *Store) Owners(ctx context.Context, agent string) (map[string]int, error) {
	counts := map[string]int{}
	err := s.readOnce(ctx, func(d tx) error {
		clear(counts) // this function may run more than once
		query := "SELECT owner, count(*) FROM items INDEXED BY items_owner WHERE agent = ? AND owner <> '' AND state = ? GROUP BY owner"
		return d.each(query, []any{agent, string(dream.Live)}, func(scan func(...any) error) error {
			var owner string
			var n int
			if err := scan(&owner, &n); err != nil {
				return err
			}
			counts[owner] = n
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count the memories of %s by owner: %w", agent, err)
	}
	return counts, nil
}

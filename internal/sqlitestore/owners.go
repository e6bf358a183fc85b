package sqlitestore

import (
	"context"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Owners counts the agent's live items by owner.
func (s items) Owners(ctx context.Context, agent string) (map[string]int, error) {
	return in(ctx, s.readOnce, "count the memories of "+agent+" by owner", func(d *tx) map[string]int {
		return pairs[int](d, "SELECT owner, count(*) FROM items INDEXED BY items_owner "+
			"WHERE agent = ? AND owner <> '' AND state = ? GROUP BY owner", agent, string(dream.Live))
	})
}

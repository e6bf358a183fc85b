package triggers

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// LastDream is the dream since which new memories are counted.
type LastDream struct {
	Record *dream.Record // the last dream that read memory; nil: none yet
	Newest string        // the id of the newest record, even of a refused dream
}

// Lookback is how many records are searched for one that began; the others were refused.
const Lookback = 20

// ReadLastDream reads an agent's last dream.
func ReadLastDream(ctx context.Context, store memory.DreamStore, agent string) (LastDream, error) {
	items, err := store.Find(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: Lookback})
	if err != nil {
		return LastDream{}, fmt.Errorf("read when %s dreamt last: %w", agent, err)
	}
	var last LastDream
	for _, record := range memory.As[*dream.Record](items) {
		if last.Newest == "" {
			last.Newest = record.ID
		}
		if record.Episodes != nil || len(record.Phases) > 0 {
			last.Record = record
			break
		}
	}
	return last, nil
}

// NewEpisodes counts the episodes that no dream could have seen: those added since the last dream, whenever they
// happened. If the last dream's record has no count of episodes, those that happened since then are counted.
func (d LastDream) NewEpisodes(ctx context.Context, store memory.DreamStore, agent string) (int, error) {
	if d.Record != nil && d.Record.Episodes == nil {
		count, err := store.Count(ctx,
			memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Since: d.Record.AsOf})
		if err != nil {
			return 0, fmt.Errorf("count the new episodes of %s: %w", agent, err)
		}
		return count, nil
	}
	all, err := memory.CountEpisodes(ctx, store, agent)
	if err != nil || d.Record == nil {
		return all, err
	}
	return max(0, all-*d.Record.Episodes), nil
}

package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Changes measures how fast an agent's life changes, by its newest episodes as of a time; regime is how recently its
// surprise rose.
func Changes(ctx context.Context, store memory.DreamStore, agent string, asOf time.Time,
	regime float64,
) (circadian.Changes, error) {
	c := circadian.Changes{Regime: regime}
	items, err := store.Find(ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Limit: calibrating, Until: asOf.Add(1),
	})
	if err != nil {
		return c, fmt.Errorf("read how the life of %s changes: %w", agent, err)
	}
	episodes := memory.As[*dream.Episode](items)
	slices.Reverse(episodes) // newest first
	affects := make([]mood.PAD, len(episodes))
	for i, e := range episodes {
		affects[i] = e.Affect
	}
	c.Affect = circadian.AffectChange(affects)
	newest, err := Newest(ctx, store, agent, asOf)
	if err != nil {
		return c, err
	}
	slices.SortStableFunc(newest, func(a, b hypnagogia.EpisodeVector) int {
		return cmp.Or(a.Episode.At.Compare(b.Episode.At), cmp.Compare(a.Episode.ID, b.Episode.ID))
	})
	positions := make([][]float32, len(newest))
	for i, e := range newest {
		positions[i] = e.Place
	}
	c.Subject = circadian.SubjectChange(positions, hypnagogia.Cosine)
	return c, nil
}

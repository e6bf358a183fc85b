package replay

import (
	"context"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

// mentions is the cosine from which an episode counts as mentioning a piece of knowledge: the calibrated cosine of
// related texts of the embedder.
func (n replayRun) mentions(ctx context.Context) float64 {
	existing, _ := n.Guard.Calibration(ctx, n.Spec.Models[dream.Embedder])
	return existing.Related
}

// renew strengthens knowledge that was used since the last dream. Repeating it counts once. A dream under review
// leaves this to the next one.
func (n replayRun) renew(ctx context.Context) error {
	if n.Spec.Review.Holds() {
		return nil
	}
	uses, err := memory.Uses(ctx, n.Memory, n.Agent)
	if err != nil || len(uses) == 0 {
		return err
	}
	slices.SortFunc(uses, func(a, b memory.Use) int { return a.At.Compare(b.At) })
	var ids []string
	at := map[string][]time.Time{}
	for _, u := range uses {
		if at[u.Item] == nil {
			ids = append(ids, u.Item)
		}
		at[u.Item] = append(at[u.Item], u.At)
	}
	items, err := n.Get(ctx, ids...)
	if err != nil {
		return err
	}
	var w memory.Write
	for _, e := range memory.As[*dream.Semantic](items) {
		if e.State != dream.Live {
			continue
		}
		use := useOf(e)
		for _, when := range at[e.ID] {
			use = use.With(when)
		}
		e.Uses, e.Used = use.Count, use.Last
		e.Due = n.due(e, 0)
		w.Change = append(w.Change, e)
	}
	if len(w.Change) > 0 {
		last := uses[len(uses)-1].At.UTC().Format(time.RFC3339Nano)
		w.Events = append(w.Events, n.Event("nrem/renewed/"+last, event.MemoriesRenewed{Memories: len(w.Change)}))
		if err := n.Write(ctx, w); err != nil {
			return err
		}
	}
	return memory.DropUses(ctx, n.Memory, n.Agent, uses)
}

func useOf(e *dream.Semantic) forgetting.Use { return forgetting.Use{Count: e.Uses, Last: e.Used} }

// mentioned is the newest time at which an episode mentioned a piece of knowledge after it was learned and last used;
// zero for none. Episodes that it was derived from do not count.
func (n replayRun) mentioned(ctx context.Context, e *dream.Semantic) (time.Time, error) {
	var newest time.Time
	at, err := n.Memory.Space(ctx, n.Agent)
	if err != nil || at == "" {
		return newest, err
	}
	placed, err := n.Memory.Vectors(ctx, n.Agent, at, e.ID)
	if err != nil || len(placed) == 0 {
		return newest, err
	}
	hits, err := n.Memory.Near(ctx, memory.Near{
		Agent: n.Agent, Space: at, V: placed[0].V, Limit: core.Neighbours,
		Filter: memory.Filter{Kinds: []dream.Kind{dream.KindEpisode}, Except: e.Sources},
	})
	if err != nil {
		return newest, err
	}
	var ids []string
	for _, hit := range hits {
		if hit.Cosine >= n.mentions(ctx) {
			ids = append(ids, hit.Item)
		}
	}
	items, err := n.Get(ctx, ids...)
	for _, item := range items {
		when := item.Header().At
		if when.After(e.At) && when.After(e.Used) && !when.After(n.Spec.AsOf) && when.After(newest) {
			newest = when
		}
	}
	return newest, err
}

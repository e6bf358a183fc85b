package psyche

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// wordSurprise is how surprising texts are by their words, where their meaning cannot be measured: the rule of imports,
// with the owner's newest memories as the past.
func wordSurprise(ctx context.Context, store memory.Store, agent, owner string, texts ...string) ([]float64, error) {
	items, err := newestOf(ctx, store, agent, owner)
	if err != nil {
		return nil, fmt.Errorf("read what came before: %w", err)
	}
	existing := memory.As[*dream.Episode](items)
	slices.Reverse(existing) // newest first
	gauge := derive.NewGauge()
	gauge.Recall(existing)
	all := make([]float64, len(texts))
	for i, text := range texts {
		all[i] = gauge.Measure(&derive.Draft{Episode: dream.Episode{Content: text}, Felt: true}).Surprise()
	}
	return all, nil
}

// newestOf are an owner's newest episodes, oldest first.
func newestOf(ctx context.Context, store memory.Store, agent, owner string) ([]dream.Item, error) {
	return store.Find(ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindEpisode}, Owners: []string{owner}, Limit: mostNewest,
	})
}

// surprises are those of lines to be remembered: the distance in meaning to the nearest memory on the scale of the
// embedder, and without vectors the words that the owner's newest memories lack.
func (b *memoryWriter) surprises(ctx context.Context, agent, owner string, lines []line, p comparison) ([]float64, error) {
	if p.v != nil {
		return p.novelty, nil
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return wordSurprise(ctx, b.Memory, agent, owner, texts...)
}

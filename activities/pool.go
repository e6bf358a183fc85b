package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// poolNote freezes which episodes a night draws from, so that a deed done again draws the same from another memory.
const poolNote = "pool"

// pool are the episodes that replay and recombination draw from: those an onset chooses from. They must not be changed.
func (p Ports) pool(ctx context.Context, o Spec, s Stretch) ([]*dream.Episode, error) {
	var existing []*dream.Episode
	p.cache.read(ctx, o.Dream, func(v *cachedRun) { existing = v.episodes })
	if existing != nil {
		return existing, nil
	}
	ids, err := p.frozen(ctx, s, poolNote, func() ([]string, error) {
		items, err := p.choose(ctx, o)
		return idsOf(memory.As[*dream.Episode](items)), err
	})
	if err != nil {
		return nil, err
	}
	items, err := p.again(ctx, s, ids)
	if err != nil {
		return nil, fmt.Errorf("read the episodes of the night: %w", err)
	}
	episodes := memory.As[*dream.Episode](items)
	p.cache.put(ctx, o.Dream, func(v *cachedRun) { v.episodes = episodes })
	return episodes, nil
}

// frozen is a choice of items that is made once in a dream: the first that is noted holds.
func (p Ports) frozen(ctx context.Context, s Stretch, key string, choose func() ([]string, error)) ([]string, error) {
	body, err := p.Memory.Note(ctx, s.Agent, s.Dream, key)
	if errors.Is(err, memory.ErrNotFound) {
		var ids []string
		ids, err = choose()
		if err != nil {
			return nil, err
		}
		body, err = json.Marshal(ids)
		if err != nil {
			return nil, fmt.Errorf("note %s: %w", key, err)
		}
		body, err = p.Memory.PutNote(ctx, s.Agent, s.fence(), key, body)
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	if err := json.Unmarshal(body, &ids); err != nil {
		return nil, fmt.Errorf("read what was noted as %s: %w", key, err)
	}
	return ids, nil
}

func idsOf[T dream.Item](items []T) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Header().ID
	}
	return ids
}

// draw samples episodes by surprise (Schaul 2016), without replacement.
func (p Ports) draw(ctx context.Context, o Spec, s Stretch, purpose string, n int) ([]*dream.Episode, error) {
	all, err := p.pool(ctx, o, s)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(all))
	for i, e := range all {
		weights[i] = e.Surprise
	}
	drawn := hypnagogia.Sample(weights, min(n, len(all)), o.Knobs.ReplayAlpha,
		hypnagogia.Dice(o.Seed, dream.NREM, 0, 0, purpose))
	episodes := make([]*dream.Episode, len(drawn))
	for i, at := range drawn {
		episodes[i] = all[at]
	}
	return episodes, nil
}

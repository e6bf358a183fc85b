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

// poolNote freezes the episodes that a dream draws from, so that a repeated activity draws the same ones.
const poolNote = "pool"

// pool are the episodes that replay and recombination draw from, the same that the onset chooses from. They must not
// be changed.
func (p Ports) pool(ctx context.Context, spec Spec, s Stretch) ([]*dream.Episode, error) {
	var existing []*dream.Episode
	p.cache.read(ctx, spec.Dream, func(v *cachedRun) { existing = v.episodes })
	if existing != nil {
		return existing, nil
	}
	ids, err := p.frozen(ctx, s, poolNote, func() ([]string, error) {
		items, err := p.choose(ctx, spec)
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
	p.cache.put(ctx, spec.Dream, func(v *cachedRun) { v.episodes = episodes })
	return episodes, nil
}

// frozen returns a choice of items that is made once in a dream and kept in a note.
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

// draw samples episodes by surprise without replacement (Schaul et al. 2016).
func (p Ports) draw(ctx context.Context, spec Spec, s Stretch, purpose string, n int) ([]*dream.Episode, error) {
	all, err := p.pool(ctx, spec, s)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(all))
	for i, e := range all {
		weights[i] = e.Surprise
	}
	drawn := hypnagogia.Sample(weights, min(n, len(all)), spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(spec.Seed, dream.NREM, 0, 0, purpose))
	episodes := make([]*dream.Episode, len(drawn))
	for i, at := range drawn {
		episodes[i] = all[at]
	}
	return episodes, nil
}

package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/probe"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// SameSpace refuses a dream whose embedder differs from that of the agent's vectors, since their distances would have
// no meaning.
func SameSpace(ctx context.Context, r *Run) error {
	space, err := r.Memory.Space(ctx, r.Agent)
	if err != nil || space == "" {
		return err
	}
	model, err := r.Catalog.Lookup(r.Spec.Models[dream.Embedder])
	if err != nil {
		return err
	}
	if !model.Makes(space) {
		return fmt.Errorf(
			"the vectors of %s are of %s and the embedder is %s; run oneiros memory embed --agent %s first: %w",
			r.Spec.Handle, space, model.Name, r.Spec.Handle, memory.ErrSpace)
	}
	return nil
}

// Choose selects the newest, the most salient and the soonest fading memories, each once, none later than the spec's
// time. The result is cached and must not be changed.
func (r *Run) Choose(ctx context.Context) ([]dream.Item, error) {
	var existing []dream.Item
	r.Cached(ctx, func(v *CachedRun) { existing = v.chosen })
	if existing != nil {
		return existing, nil
	}
	k, until := r.Spec.Knobs, r.Spec.AsOf.Add(1)
	episodes := []dream.Kind{dream.KindEpisode}
	queries := []memory.Query{
		{
			Agent: r.Agent,
			Kinds: episodes,
			Sort:  memory.Newest,
			Limit: k.Recent,
			Until: until,
		},
		{
			Agent:       r.Agent,
			Kinds:       episodes,
			Sort:        memory.MostSalient,
			SalientFrom: k.SalientAbove,
			Limit:       k.Salient,
			Until:       until,
		},
		{
			Agent: r.Agent,
			Kinds: []dream.Kind{dream.KindSemantic},
			Sort:  memory.SoonestDue,
			Limit: k.Decaying,
			Until: until,
		},
	}
	var chosen []dream.Item
	seen := map[string]dream.Item{}
	for _, q := range queries {
		if q.Limit == 0 {
			continue
		}
		items, err := r.Memory.Find(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("choose memories (%s): %w", q.Sort, err)
		}
		for _, item := range items {
			if id := item.Header().ID; seen[id] == nil {
				seen[id] = item
				chosen = append(chosen, item)
			}
		}
	}
	r.Cached(ctx, func(v *CachedRun) { v.chosen, v.byID = chosen, seen })
	return chosen, nil
}

// Again reads memories that a dream has chosen, from the cache if possible. They must not be changed.
func (r *Run) Again(ctx context.Context, ids []string) ([]dream.Item, error) {
	var existing []dream.Item
	r.Cached(ctx, func(v *CachedRun) { existing = v.those(ids) })
	if existing != nil {
		return existing, nil
	}
	return r.Get(ctx, ids...)
}

// Measurable are the kinds that distances are measured against.
var Measurable = []dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindPlaybook, dream.KindGist}

// PoolNote freezes the episodes that a dream draws from, so that a repeated activity draws the same ones.
const PoolNote = "pool"

// Pool are the episodes that replay and recombination draw from, the same that the onset chooses from. They must not
// be changed.
func (r *Run) Pool(ctx context.Context) ([]*dream.Episode, error) {
	var existing []*dream.Episode
	r.Cached(ctx, func(v *CachedRun) { existing = v.episodes })
	if existing != nil {
		return existing, nil
	}
	ids, err := r.Frozen(ctx, PoolNote, func() ([]string, error) {
		items, err := r.Choose(ctx)
		return IdsOf(memory.As[*dream.Episode](items)), err
	})
	if err != nil {
		return nil, err
	}
	items, err := r.Again(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the episodes of the night: %w", err)
	}
	episodes := memory.As[*dream.Episode](items)
	r.Cached(ctx, func(v *CachedRun) { v.episodes = episodes })
	return episodes, nil
}

// Frozen returns a choice of items that is made once in a dream and kept in a note.
func (r *Run) Frozen(ctx context.Context, key string, choose func() ([]string, error)) ([]string, error) {
	body, err := r.Note(ctx, key)
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
		body, err = r.PutNote(ctx, key, body)
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

// IdsOf returns the ids of items, in their order.
func IdsOf[T dream.Item](items []T) []string {
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.Header().ID
	}
	return ids
}

// SurpriseOf is how surprising an episode was, by the outcomes that were known at the spec's time.
func SurpriseOf(ctx context.Context, r *Run) (func(episode string, stored float64) float64, error) {
	all, err := review.Outcomes(ctx, r.Memory, r.Agent)
	if err != nil {
		return nil, err
	}
	return prediction.SurpriseOf(prediction.KnownAt(all, r.Spec.AsOf)), nil
}

// Draw samples episodes by surprise without replacement (Schaul et al. 2016).
func Draw(ctx context.Context, r *Run, purpose string, n int) ([]*dream.Episode, error) {
	all, err := r.Pool(ctx)
	if err != nil {
		return nil, err
	}
	surpriseOf, err := SurpriseOf(ctx, r)
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(all))
	for i, e := range all {
		weights[i] = surpriseOf(e.ID, e.Surprise)
	}
	drawn := hypnagogia.Sample(weights, min(n, len(all)), r.Spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(r.Spec.Seed, dream.NREM, 0, 0, purpose))
	episodes := make([]*dream.Episode, len(drawn))
	for i, at := range drawn {
		episodes[i] = all[at]
	}
	return episodes, nil
}

// mostProbed is how many of the newest memories questions are made of. With 10,000 memories the probe takes 0.7 s of
// one core before a dream and 0.15 s after it.
const mostProbed = 20_000

// Recallable are the texts that recall may find, and the ids of those that people and agents said.
func Recallable(ctx context.Context, store memory.DreamStore, agent string) ([]probe.Doc, []string, error) {
	items, err := store.Find(ctx, memory.Query{Agent: agent, Kinds: recall.Kinds, Limit: mostProbed})
	if err != nil {
		return nil, nil, fmt.Errorf("read what recall may find: %w", err)
	}
	var docs []probe.Doc
	var own []string
	for _, item := range items {
		h := item.Header()
		if h.Dreamt() {
			continue
		}
		docs = append(docs, probe.Doc{ID: h.ID, Text: item.Text()})
		if forgetting.Protected(h.Taint) {
			own = append(own, h.ID)
		}
	}
	return docs, own, nil
}

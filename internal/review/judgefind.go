package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
	"github.com/seed-56a03226/oneiros/internal/recall"
)

// finder finds the episodes that match a prediction.
type finder struct {
	*judging
	evidence    map[string]time.Time // by id, when each was lived; copies are left out
	space       string
	vectors     map[string][]float32 // by id, of the predictions and of their fragments
	calibration inference.Calibration
}

// newFinder reads what is evidence for any open prediction. It pays for nothing: a prediction without a vector of its
// own is compared by its words.
func (j *judging) newFinder(ctx context.Context) (*finder, error) {
	f := &finder{judging: j, evidence: map[string]time.Time{}, vectors: map[string][]float32{}}
	first := j.now
	var ids []string
	for _, p := range j.open {
		ids = append(ids, cmp.Or(p.Fragment, p.ID))
		if p.At.Before(first) {
			first = p.At
		}
	}
	const day = 24 * time.Hour // a copy repeats an episode of the same day
	found, err := j.Resolver.evidence(ctx, j.agent.ID, first.Add(-day))
	if err != nil {
		return nil, err
	}
	for _, e := range found.lived {
		f.evidence[e.ID] = e.At
	}
	f.space, err = j.Memory.Space(ctx, j.agent.ID)
	if err != nil || f.space == "" {
		return f, err
	}
	vectors, err := j.Memory.Vectors(ctx, j.agent.ID, f.space, ids...)
	if err != nil {
		return nil, fmt.Errorf("read the vectors of predictions: %w", err)
	}
	for _, v := range vectors {
		f.vectors[v.Item] = v.V
	}
	f.calibration, _ = j.Guard.Calibration(ctx, inference.NamedBy(f.space))
	return f, nil
}

// match returns a prediction with the episodes that match its claim or its criterion best, of those that were lived in
// its time and not shown with it before.
func (f *finder) match(ctx context.Context, p *dream.Prediction) (matched, error) {
	m := matched{Prediction: p}
	seen, fresh := f.seen[p.ID], false
	for id, at := range f.evidence {
		fresh = fresh || inTime(p, at) && !seen[id]
	}
	if !fresh {
		return m, nil
	}
	scores := map[string]float64{}
	for _, text := range []string{p.Claim, p.Criterion} {
		hits, err := f.search(ctx, p, text)
		if err != nil {
			return m, err
		}
		for _, h := range hits {
			if at, ok := f.evidence[h.Item]; ok && inTime(p, at) && !seen[h.Item] {
				scores[h.Item] = max(scores[h.Item], h.Score)
			}
		}
	}
	ids := make([]string, 0, len(scores))
	for id := range scores {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	ids = ids[:min(len(ids), episodesAtOnce)]
	if len(ids) == 0 {
		return m, nil
	}
	items, err := f.Memory.Get(ctx, f.agent.ID, ids...)
	if err != nil {
		return m, fmt.Errorf("read what matches %s: %w", p.ID, err)
	}
	m.episodes, m.score = memory.As[*dream.Episode](items), scores[ids[0]]
	return m, nil
}

// search returns the episodes that match a text of a prediction; none where nothing is near.
func (f *finder) search(ctx context.Context, p *dream.Prediction, text string) ([]rank.Hit, error) {
	if text == "" {
		return nil, nil
	}
	until := p.Horizon
	if f.now.Before(until) {
		until = f.now
	}
	s := memory.Search{
		Agent: f.agent.ID,
		Text:  text,
		Blend: recall.Weights(f.calibration),
		Limit: searched,
		Filter: memory.Filter{
			Kinds:  []dream.Kind{dream.KindEpisode},
			Dreamt: memory.NoneDreamt,
			Since:  p.At,
			Until:  until.Add(time.Second),
		},
	}
	for id := range f.seen[p.ID] {
		s.Except = append(s.Except, id)
	}
	if v := f.vectors[cmp.Or(p.Fragment, p.ID)]; v != nil && text == p.Claim {
		s.V, s.Space = v, f.space
	}
	found, err := f.Memory.Search(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look for what matches %s: %w", p.ID, err)
	}
	near := f.calibration
	if !near.Measured() {
		near = inference.Cautious
	}
	return rank.Thresholds{Near: near.Unrelated, Sure: near.Related}.Supported(found.Hits), nil
}

// inTime says whether something lived at a time can decide a prediction.
func inTime(p *dream.Prediction, at time.Time) bool { return at.After(p.At) && !at.After(p.Horizon) }

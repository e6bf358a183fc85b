package starter

import (
	"context"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Latest answers the newest reading of each metric that a feed's probe still knows, for the dreams of agents that follow it (H20).
func (s *Starter) Latest(ctx context.Context, feed string) ([]dream.Reading, error) {
	state, err := s.FeedState(ctx, feed)
	if err != nil {
		return nil, err
	}
	newest := map[string]dream.Reading{}
	var metrics []string
	take := func(r dream.Reading) {
		before, known := newest[r.Metric]
		if !known {
			metrics = append(metrics, r.Metric)
		}
		if !known || !r.At.Before(before.At) {
			newest[r.Metric] = r
		}
	}
	for _, r := range state.Watch.Readings {
		take(r)
	}
	for _, stray := range state.Untaken.Metrics {
		take(stray.Reading)
	}
	readings := make([]dream.Reading, len(metrics))
	for i, metric := range metrics {
		readings[i] = newest[metric]
	}
	return readings, nil
}

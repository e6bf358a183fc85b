package starter

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Resolve writes the verdict of a person on a prediction and updates its hypotheses. Repeating a verdict changes
// nothing; a different one is prediction.ErrResolved unless Again is set. memory.ErrNotFound.
func (s *Starter) Resolve(ctx context.Context, agent, id string, v prediction.Verdict) (activities.Resolved, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return activities.Resolved{}, fmt.Errorf("resolve %s: %w", id, err)
	}
	return s.reckoning().Resolve(ctx, a.ID, id, v)
}

// Foretell stores an analytical prediction of a person or tool; false when it existed. memory.ErrNotFound, and
// activities.ErrNotFollowed when the agent does not follow the feed to watch.
func (s *Starter) Foretell(ctx context.Context, agent string,
	f activities.PredictionRequest,
) (*dream.Prediction, bool, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, false, fmt.Errorf("store a prediction: %w", err)
	}
	return s.reckoning().Foretell(ctx, a, f)
}

// Watch lets a rule of the agent's feed resolve an open prediction; nil removes the rule. memory.ErrNotFound,
// activities.ErrNotFollowed, activities.ErrOverdue, prediction.ErrResolved.
func (s *Starter) Watch(ctx context.Context, agent, id string, w *dream.Watch) (*dream.Prediction, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", id, err)
	}
	return s.reckoning().Watch(ctx, a, id, w)
}

// Scores are the calibration figures of an agent's predictions.
func (s *Starter) Scores(ctx context.Context, agent string) (prediction.Scores, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return prediction.Scores{}, fmt.Errorf("score predictions: %w", err)
	}
	outcomes, err := activities.Outcomes(ctx, s.Memory, a.ID)
	return prediction.Calibration(outcomes), err
}

func (s *Starter) reckoning() activities.Resolver {
	return activities.Resolver{Memory: s.Memory, Feeds: s.Feeds, Now: s.Now}
}

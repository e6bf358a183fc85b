package starter

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Resolve writes what somebody saw of a prediction, and moves the hypotheses that rest on it. The same verdict twice
// changes nothing; another one than stands is prediction.ErrResolved, unless it says Again. memory.ErrNotFound.
func (s *Starter) Resolve(ctx context.Context, agent, id string, v prediction.Verdict) (activities.Resolved, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return activities.Resolved{}, fmt.Errorf("resolve %s: %w", id, err)
	}
	return s.reckoning().Resolve(ctx, a.ID, id, v)
}

// Foretell keeps an analytical prediction of a person or a tool; false: it was known. memory.ErrNotFound, and
// activities.ErrUnheard when the agent does not follow the feed that is to be watched.
func (s *Starter) Foretell(ctx context.Context, agent string,
	f activities.Foretelling,
) (*dream.Prediction, bool, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, false, fmt.Errorf("foretell: %w", err)
	}
	return s.reckoning().Foretell(ctx, a, f)
}

// Watch lets a rule over the agent's feed resolve an open prediction; nil lets none. memory.ErrNotFound,
// activities.ErrUnheard, activities.ErrOverdue, prediction.ErrResolved.
func (s *Starter) Watch(ctx context.Context, agent, id string, w *dream.Watch) (*dream.Prediction, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", id, err)
	}
	return s.reckoning().Watch(ctx, a, id, w)
}

// Scores says how well an agent has foretold so far.
func (s *Starter) Scores(ctx context.Context, agent string) (prediction.Scores, error) {
	a, err := s.Memory.Agent(ctx, agent)
	if err != nil {
		return prediction.Scores{}, fmt.Errorf("score predictions: %w", err)
	}
	outcomes, err := activities.Outcomes(ctx, s.Memory, a.ID)
	return prediction.Calibration(outcomes), err
}

func (s *Starter) reckoning() activities.Reckoning {
	return activities.Reckoning{Memory: s.Memory, Feeds: s.Feeds, Now: s.Now}
}

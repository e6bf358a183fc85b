package starter

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
)

// Predictions are what an agent and its people foretell: they are added, watched, resolved and scored.
type Predictions struct{ starter *Starter }

// ForPredictions is the part of the starter for predictions.
func (s *Starter) ForPredictions() Predictions { return Predictions{s} }

// Resolve writes the verdict of a person on a prediction and updates its hypotheses. Repeating a verdict changes
// nothing; a different one is prediction.ErrResolved unless Again is set. memory.ErrNotFound.
func (s Predictions) Resolve(ctx context.Context, agent, id string, v prediction.Verdict) (review.Resolution, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return review.Resolution{}, fmt.Errorf("resolve %s: %w", id, err)
	}
	return s.resolver().Resolve(ctx, a.ID, id, v)
}

// AddPrediction stores an analytical prediction of a person or tool; false when it existed. memory.ErrNotFound, and
// review.ErrNotFollowed when the agent does not follow the feed to watch.
func (s Predictions) AddPrediction(ctx context.Context, agent string,
	f review.PredictionRequest,
) (*dream.Prediction, bool, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, false, fmt.Errorf("store a prediction: %w", err)
	}
	return s.resolver().AddPrediction(ctx, a, f)
}

// Watch lets a rule of the agent's feed resolve an open prediction; nil removes the rule. memory.ErrNotFound,
// review.ErrNotFollowed, review.ErrOverdue, prediction.ErrResolved.
func (s Predictions) Watch(ctx context.Context, agent, id string, w *dream.Watch) (*dream.Prediction, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", id, err)
	}
	return s.resolver().Watch(ctx, a, id, w)
}

// Scores are the calibration figures of an agent's predictions.
func (s Predictions) Scores(ctx context.Context, agent string) (prediction.Scores, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return prediction.Scores{}, fmt.Errorf("score predictions: %w", err)
	}
	return review.Scores(ctx, s.starter.Memory, a.ID)
}

// Claims are all claims of an agent, the oldest first. memory.ErrNotFound.
func (s Predictions) Claims(ctx context.Context, agent string) ([]*dream.Claim, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	return review.Claims(ctx, s.starter.Memory, a.ID)
}

// Hypotheses are an agent's hypotheses of a status, the most confident first; without a status those that are staged or
// promoted. memory.ErrNotFound.
func (s Predictions) Hypotheses(ctx context.Context, agent, status string) ([]*dream.Hypothesis, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("list hypotheses: %w", err)
	}
	items, err := s.starter.Memory.Find(ctx, review.HypothesesOf(a.ID, status))
	if err != nil {
		return nil, fmt.Errorf("list the hypotheses of %s: %w", a.Handle, err)
	}
	return memory.As[*dream.Hypothesis](items), nil
}

// Check resolves the open predictions of an agent that can be decided by now: by their checks, then by the judge, which
// asks the agent's observer under the limit of Options.Predictions. The judgement says why the judge was not asked.
func (s Predictions) Check(ctx context.Context, agent string) ([]*dream.Prediction, review.Judgement, error) {
	a, err := s.starter.Memory.Agent(ctx, agent)
	if err != nil {
		return nil, review.Judgement{}, fmt.Errorf("check predictions: %w", err)
	}
	done, err := s.Judge().Check(ctx, a, false)
	if done.Judged == nil {
		return done.Decided, review.Judgement{}, err
	}
	return append(done.Decided, done.Judged.Decided...), *done.Judged, err
}

// Judge is a judge of predictions. Each is another holder of calls, so that two never make the same one.
func (s Predictions) Judge() review.Judge {
	o := s.starter.Options
	return review.Judge{
		Resolver: s.resolver(),
		Guard:    s.starter.Guard,
		Model:    o.Models[dream.Observer],
		AutoPaid: o.AutoPaid,
		Holder:   rand.Text(),
		Accounts: func(agent dream.Agent, day string) []budget.Account {
			return activities.DayAccounts(agent, day, o.FleetDay)
		},
	}
}

func (s Predictions) resolver() review.Resolver {
	return review.Resolver{
		Memory: s.starter.Memory,
		Feeds:  s.starter.Feeds,
		Now:    s.starter.Now,
		Rules:  s.starter.Options.Predictions,
	}
}

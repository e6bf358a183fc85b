package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// PredictionRequest is an analytical prediction by a person or a tool.
type PredictionRequest struct {
	Claim      string
	Criterion  string
	Horizon    time.Time
	Confidence float64 // [0, 1]
	By         string  // dream.ByPerson, or a name behind dream.ByTool
	Trace      string  // the reasoning given for it; may be empty
	Episodes   []string
	Watch      *dream.Watch
	Check      *dream.Check // resolves it from what is lived; not together with Watch
}

// AddPrediction stores a prediction made by a person or a tool. Repeating it changes nothing and returns false.
// memory.ErrNotFound when an episode, the feed or the rule does not exist; ErrNotFollowed when the agent does not
// follow the feed.
func (k Resolver) AddPrediction(ctx context.Context, agent dream.Agent,
	f PredictionRequest,
) (*dream.Prediction, bool, error) {
	now := k.Now().UTC()
	p := &dream.Prediction{
		Head: dream.Head{
			Agent:   agent.ID,
			Kind:    dream.KindPrediction,
			At:      now,
			State:   dream.Live,
			Taint:   dream.FromHuman,
			Sources: f.Episodes,
		},
		Source:     dream.Analytical,
		Claim:      strings.TrimSpace(f.Claim),
		Criterion:  strings.TrimSpace(f.Criterion),
		Horizon:    f.Horizon.UTC(),
		Confidence: f.Confidence,
		Session:    f.By,
		Episodes:   f.Episodes,
		Trace:      f.Trace,
		Status:     dream.PredictionOpen,
	}
	if strings.HasPrefix(f.By, dream.ByTool) {
		p.Taint = dream.FromTool
	}
	if f.Check != nil {
		p.Check = f.Check
		if p.Criterion == "" {
			p.Criterion = claims.Describe(*f.Check)
		}
	}
	p.ID = foretoldID(p)
	if err := errors.Join(prediction.Check(p, now), checkOf(f)); err != nil {
		return nil, false, err
	}
	for _, id := range f.Episodes {
		if _, err := memory.One[*dream.Episode](ctx, k.Memory, agent.ID, id); err != nil {
			return nil, false, fmt.Errorf("what the prediction rests on: %w", err)
		}
	}
	if f.Watch != nil {
		if err := k.fit(ctx, agent, *f.Watch); err != nil {
			return nil, false, err
		}
		p.Watch = f.Watch
		p.Watch.Since = now
	}
	kept, err := k.Memory.Commit(ctx,
		memory.Write{Agent: agent.ID, Cause: causeOf(prediction.Verdict{By: f.By}), Add: []dream.Item{p}})
	if err != nil {
		return nil, false, fmt.Errorf("keep the prediction: %w", err)
	}
	if kept.Added == 0 {
		p, err = memory.One[*dream.Prediction](ctx, k.Memory, agent.ID, p.ID)
	}
	return p, kept.Added > 0, err
}

// checkOf returns what is wrong with the check of a request.
func checkOf(f PredictionRequest) error {
	switch {
	case f.Check == nil:
		return nil
	case f.Watch != nil:
		return errors.New("a prediction is resolved by a rule of a feed or by a check, not by both")
	}
	if err := claims.Validate(*f.Check); err != nil {
		return fmt.Errorf("the check: %w", err)
	}
	return nil
}

// foretoldID derives an id from the claim, its author, its horizon and its check.
func foretoldID(p *dream.Prediction) string {
	parts := []string{p.Agent, p.Session, p.Claim, p.Criterion, p.Horizon.Format(time.RFC3339)}
	if p.Check != nil {
		parts = append(parts, claims.Describe(*p.Check))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "pr_" + hex.EncodeToString(sum[:8])
}

// Watch lets a rule of the agent's feed resolve an open prediction from now on; nil removes the rule.
// memory.ErrNotFound when the prediction, the feed or the rule does not exist, ErrNotFollowed when the agent does not
// follow the feed, prediction.ErrResolved when it is resolved.
func (k Resolver) Watch(ctx context.Context, agent dream.Agent, id string, w *dream.Watch) (*dream.Prediction, error) {
	if w != nil {
		if err := k.fit(ctx, agent, *w); err != nil {
			return nil, err
		}
	}
	var p *dream.Prediction
	err := retryStale(func() (err error) {
		p, err = k.watch(ctx, agent.ID, id, w)
		return err
	})
	if err == nil {
		err = k.claimed(ctx, p)
	}
	return p, err
}

// fit returns what is wrong with a watch for an agent.
func (k Resolver) fit(ctx context.Context, agent dream.Agent, w dream.Watch) error {
	if err := prediction.CheckWatch(w); err != nil {
		return err
	}
	return k.checkRule(ctx, agent, w)
}

func (k Resolver) watch(ctx context.Context, agent, id string, w *dream.Watch) (*dream.Prediction, error) {
	p, err := memory.One[*dream.Prediction](ctx, k.Memory, agent, id)
	if err != nil {
		return nil, err
	}
	now := k.Now().UTC()
	switch {
	case p.Status != dream.PredictionOpen:
		return p, fmt.Errorf("%s is %s: %w", p.ID, p.Status, prediction.ErrResolved)
	case w != nil && !p.Horizon.After(now):
		return p, fmt.Errorf("%s was due at %s: %w", p.ID, p.Horizon.Format(time.RFC3339), ErrOverdue)
	case w == nil && p.Watch == nil, w != nil && p.Watch != nil && same(*w, *p.Watch):
		return p, nil
	}
	p.Watch = nil
	if w != nil {
		p.Watch = &dream.Watch{Feed: w.Feed, Rule: w.Rule, Means: w.Means, Since: now}
	}
	if _, err := k.Memory.Commit(ctx,
		memory.Write{Agent: agent, Cause: "operator", Change: []dream.Item{p}}); err != nil {
		return p, fmt.Errorf("watch %s: %w", p.ID, err)
	}
	return p, nil
}

// ErrOverdue says that a prediction's horizon has passed.
var ErrOverdue = errors.New("overdue")

func same(a, b dream.Watch) bool { return a.Feed == b.Feed && a.Rule == b.Rule && a.Means == b.Means }

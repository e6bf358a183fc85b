package activities

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Resolver resolves predictions by what happened, on behalf of people, tools, feed rules and the clock; no activity
// of a dream does. Everything it writes can be written twice safely.
type Resolver struct {
	Memory memory.Store
	Feeds  memory.Feeds // nil: no prediction can be watched
	World  World        // if it has Heard, silence of a feed that never sent a reading is no verdict
	Now    func() time.Time
}

// NewResolver is a Resolver over the same memory. It is not a method of Ports, whose exported methods become
// activities.
func NewResolver(p Ports) Resolver {
	return Resolver{Memory: p.Memory, Feeds: p.Feeds, World: p.World, Now: p.Now}
}

// Resolved is a prediction after a verdict.
type Resolved struct {
	Prediction *dream.Prediction   `json:"prediction"`
	Changed    bool                `json:"changed"` // false: the same verdict was there already
	Moved      []*dream.Hypothesis `json:"moved"`   // the hypotheses that rest on it, after the change
}

// tries is how often a verdict is retried after a concurrent write.
const tries = 5

// Resolve writes a verdict, updates the hypotheses that rest on the prediction and announces both, in one
// transaction. A verdict without a time counts as now. memory.ErrNotFound, or prediction.ErrResolved when a different
// verdict exists and Again is not set; the revisions keep both.
func (k Resolver) Resolve(ctx context.Context, agent, id string, v prediction.Verdict) (Resolved, error) {
	if v.At.IsZero() {
		v.At = k.Now()
	}
	var resolved Resolved
	err := again(func() (err error) {
		resolved, err = k.resolve(ctx, agent, id, v)
		return err
	})
	if err == nil {
		err = k.claimed(ctx, resolved.Prediction)
	}
	return resolved, err
}

// claimed fills in the claim of a fragment's prediction for an answer; it is not written.
func (k Resolver) claimed(ctx context.Context, p *dream.Prediction) error {
	if err := memory.ReadClaims(ctx, k.Memory, p.Agent, []dream.Item{p}); err != nil {
		return fmt.Errorf("%s is %s, but its claim could not be read: %w", p.ID, p.Status, err)
	}
	return nil
}

// again repeats a read and write until no concurrent write interferes, at most tries times.
func again(do func() error) error {
	for try := 1; ; try++ {
		if err := do(); !errors.Is(err, memory.ErrStale) || try == tries {
			return err
		}
	}
}

func (k Resolver) resolve(ctx context.Context, agent, id string, v prediction.Verdict) (Resolved, error) {
	p, err := memory.One[*dream.Prediction](ctx, k.Memory, agent, id)
	if err != nil {
		return Resolved{}, err
	}
	if p.State == dream.Proposed {
		return Resolved{}, fmt.Errorf("%s %w; oneiros review accepts it", p.ID, ErrProposed)
	}
	before := p.Status
	changed, err := prediction.Resolve(p, v)
	if err != nil || !changed {
		return Resolved{Prediction: p, Moved: []*dream.Hypothesis{}}, err
	}
	activityName := "prediction/" + p.ID + "/" + strconv.Itoa(p.Revision) + "/"
	w := memory.Write{Agent: agent, Cause: causeOf(v), Change: []dream.Item{p}}
	result := event.PredictionResolved{
		Prediction: p.ID,
		Source:     p.Source,
		Phase:      p.Phase,
		Status:     p.Status,
		Confidence: p.Confidence,
		Residual:   p.Residual,
		By:         v.By,
		Again:      before != dream.PredictionOpen,
	}
	w.Events = append(w.Events, event.New(activityName+result.EventType(), agent, "", v.At, result))
	moved, err := k.moved(ctx, p, before != dream.PredictionOpen)
	if err != nil {
		return Resolved{}, err
	}
	for _, h := range moved {
		result := event.HypothesisMoved{Hypothesis: h.ID, Prediction: p.ID, Confidence: h.Confidence, Status: h.Status}
		w.Change = append(w.Change, h)
		w.Events = append(w.Events, event.New(activityName+h.ID+"/"+result.EventType(), agent, "", v.At, result))
	}
	if _, err := k.Memory.Commit(ctx, w); err != nil {
		return Resolved{}, fmt.Errorf("resolve %s as %s: %w", p.ID, v.Status, err)
	}
	return Resolved{Prediction: p, Changed: true, Moved: moved}, nil
}

// moved are the hypotheses that rest on a prediction, updated by its verdict. With before set, they include
// hypotheses that an earlier verdict refuted or promoted.
func (k Resolver) moved(ctx context.Context, p *dream.Prediction, before bool) ([]*dream.Hypothesis, error) {
	q := memory.Query{
		Agent: p.Agent, Kinds: []dream.Kind{dream.KindHypothesis},
		Statuses: []string{dream.HypothesisStaged}, Sort: memory.Oldest,
	}
	if before {
		q.Statuses, q.States = nil, []dream.State{dream.Live, dream.Archived}
	}
	found, err := k.Memory.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the hypotheses that rest on %s: %w", p.ID, err)
	}
	moved := []*dream.Hypothesis{}
	for _, h := range memory.As[*dream.Hypothesis](found) {
		if prediction.RestsOn(h, p) && prediction.Test(h, p.ID, p.Status) {
			moved = append(moved, h)
		}
	}
	return moved, nil
}

// causeOf is the cause of a resolution in revisions. It is never the id of a dream.
func causeOf(v prediction.Verdict) string {
	if v.By == dream.ByPerson {
		return "operator"
	}
	return v.By
}

// Outcomes are the outcomes of an agent's predictions, in the order of their resolution.
func Outcomes(ctx context.Context, s memory.Store, agent string) ([]prediction.Outcome, error) {
	items, err := s.Find(ctx, memory.Query{
		Agent: agent, Kinds: []dream.Kind{dream.KindPrediction},
		Statuses: []string{dream.PredictionRight, dream.PredictionWrong},
	})
	if err != nil {
		return nil, fmt.Errorf("read the outcomes of predictions: %w", err)
	}
	return prediction.Outcomes(memory.As[*dream.Prediction](items)), nil
}

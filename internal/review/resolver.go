package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Resolver resolves predictions by what happened, on behalf of people, tools, feed rules and the clock; no activity
// of a dream does. Everything it writes can be written twice safely.
type Resolver struct {
	Memory memory.DreamStore
	Feeds  memory.Feeds // nil: no prediction can be watched
	Times  ReadingTimes // nil: silence of a feed that never sent a reading is taken for a verdict
	Now    func() time.Time
	Rules  dream.PredictionRules

	reading memory.SeenForgettings // what the verdicts follow from was read then; zero: it is not checked
}

// Resolution is a prediction after a verdict.
type Resolution struct {
	Prediction *dream.Prediction   `json:"prediction"`
	Changed    bool                `json:"changed"` // false: the same verdict was there already
	Moved      []*dream.Hypothesis `json:"moved"`   // the hypotheses that rest on it, after the change
}

// tries is how often a verdict is retried after a concurrent write.
const tries = 5

// Resolve writes a verdict, updates the hypotheses that rest on the prediction and announces both, in one
// transaction. A verdict without a time counts as now. memory.ErrNotFound, or prediction.ErrResolved when a different
// verdict exists and Again is not set; the revisions keep both.
func (k Resolver) Resolve(ctx context.Context, agent, id string, v prediction.Verdict) (Resolution, error) {
	if v.At.IsZero() {
		v.At = k.Now()
	}
	var resolved Resolution
	err := retryStale(func() (err error) {
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

// retryStale repeats a read and write until no concurrent write interferes, at most tries times.
func retryStale(do func() error) error {
	for try := 1; ; try++ {
		if err := do(); !errors.Is(err, memory.ErrStale) || try == tries {
			return err
		}
	}
}

func (k Resolver) resolve(ctx context.Context, agent, id string, v prediction.Verdict) (Resolution, error) {
	p, err := memory.One[*dream.Prediction](ctx, k.Memory, agent, id)
	if err != nil {
		return Resolution{}, err
	}
	if p.State == dream.Proposed {
		return Resolution{}, fmt.Errorf("%s %w; oneiros review accepts it", p.ID, ErrProposed)
	}
	before := p.Status
	changed, err := prediction.Resolve(p, v)
	if err != nil || !changed {
		return Resolution{Prediction: p, Moved: []*dream.Hypothesis{}}, err
	}
	name := "prediction/" + p.ID + "/" + strconv.Itoa(p.Revision) + "/"
	w := memory.Write{Agent: agent, Cause: causeOf(v), Change: []dream.Item{p}}
	w.Fence.Read = k.reading
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
	w.Events = append(w.Events, event.New(name+result.EventType(), agent, "", v.At, result))
	moved, err := k.moved(ctx, p, before != dream.PredictionOpen)
	if err != nil {
		return Resolution{}, err
	}
	if err := k.writeMoved(ctx, &w, moved, p, name, "", v.At); err != nil {
		return Resolution{}, err
	}
	if _, err := k.Memory.Commit(ctx, w); err != nil {
		return Resolution{}, fmt.Errorf("resolve %s as %s: %w", p.ID, v.Status, err)
	}
	return Resolution{Prediction: p, Changed: true, Moved: moved}, nil
}

// writeMoved adds to a write the hypotheses that a prediction has moved, with their entries and their events, whose ids
// begin with name; they are of a dream where one is named.
func (k Resolver) writeMoved(ctx context.Context, w *memory.Write, moved []*dream.Hypothesis, p *dream.Prediction,
	name, of string, at time.Time,
) error {
	for _, h := range moved {
		if err := k.writeEntry(ctx, w, h); err != nil {
			return err
		}
		changed := hypothesisChanged(h, p.ID)
		w.Change = append(w.Change, h)
		w.Events = append(w.Events, event.New(name+h.ID+"/"+changed.EventType(), p.Agent, of, at, changed))
	}
	return nil
}

// moved are the hypotheses that rest on a prediction, updated by its verdict. With before set, they include
// hypotheses that an earlier verdict ended.
func (k Resolver) moved(ctx context.Context, p *dream.Prediction, before bool) ([]*dream.Hypothesis, error) {
	q := memory.Query{
		Agent: p.Agent, Statuses: []string{dream.HypothesisStaged, dream.HypothesisPromoted}, Sort: memory.Oldest,
	}
	if before {
		q.Statuses, q.States = nil, []dream.State{dream.Live, dream.Archived}
	}
	found, err := find[*dream.Hypothesis](ctx, k.Memory, "the hypotheses", dream.KindHypothesis, q)
	if err != nil {
		return nil, err
	}
	resting := slices.DeleteFunc(found,
		func(h *dream.Hypothesis) bool { return !prediction.RestsOn(h, p) })
	moved := []*dream.Hypothesis{}
	if len(resting) == 0 {
		return moved, nil
	}
	from, owners, err := k.support(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, h := range resting {
		if !prediction.Test(h, p, from, k.isStrict()) {
			continue
		}
		if err := k.own(ctx, h, owners); err != nil {
			return nil, err
		}
		moved = append(moved, h)
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

// Scores are the calibration figures of an agent's predictions.
func Scores(ctx context.Context, s memory.DreamStore, agent string) (prediction.Scores, error) {
	found, err := resolved(ctx, s, agent, dream.PredictionRight, dream.PredictionWrong, dream.PredictionVoid)
	return prediction.Calibration(found), err
}

// Outcomes are the outcomes of an agent's predictions, in the order of their resolution.
func Outcomes(ctx context.Context, s memory.DreamStore, agent string) ([]prediction.Outcome, error) {
	found, err := resolved(ctx, s, agent, dream.PredictionRight, dream.PredictionWrong)
	return prediction.Outcomes(found), err
}

func resolved(ctx context.Context, s memory.DreamStore, agent string, statuses ...string) ([]*dream.Prediction, error) {
	return find[*dream.Prediction](ctx, s, "the outcomes of predictions", dream.KindPrediction,
		memory.Query{Agent: agent, Statuses: statuses})
}

package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/urgency"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/prediction"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/triggers"
)

// lessonNote freezes the episodes that a dream replays first.
const lessonNote = "lesson"

// queue is what is replayed in one direction: first the episodes behind predictions that were soundly reasoned and
// wrong, as the dream before found, then those behind large, novel residuals, the largest first, then episodes drawn by
// surprise. Without a curriculum all are drawn.
func (n replayRun) queue(ctx context.Context,
	r activities.ReplayRequest,
) ([]*dream.Episode, activities.CallOutcome, error) {
	if n.Spec.Curriculum == nil {
		episodes, err := core.Draw(ctx, n.Run, direction(r), n.Spec.Knobs.ReplayEpisodes)
		return episodes, activities.CallOutcome{}, err
	}
	first, done, err := n.lesson(ctx, r)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	first = first[:min(len(first), int(n.Spec.Curriculum.Share*float64(n.Spec.Knobs.ReplayEpisodes)))]
	all, err := n.Pool(ctx)
	if err != nil {
		return nil, done, err
	}
	surpriseOf, err := core.SurpriseOf(ctx, n.Run)
	if err != nil {
		return nil, done, err
	}
	var rest []*dream.Episode
	var weights []float64
	for _, e := range all {
		if !slices.ContainsFunc(first, func(f *dream.Episode) bool { return f.ID == e.ID }) {
			rest, weights = append(rest, e), append(weights, surpriseOf(e.ID, e.Surprise))
		}
	}
	queue := slices.Clone(first)
	left := min(n.Spec.Knobs.ReplayEpisodes-len(first), len(rest))
	for _, at := range hypnagogia.Sample(weights, left, n.Spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(n.Spec.Seed, dream.NREM, 0, 0, direction(r))) {
		queue = append(queue, rest[at])
	}
	return queue, activities.CallOutcome{}, nil
}

// lesson are the episodes behind the large, novel residuals since the last dream. They are chosen once per dream.
func (n replayRun) lesson(ctx context.Context,
	r activities.ReplayRequest,
) ([]*dream.Episode, activities.CallOutcome, error) {
	var done activities.CallOutcome
	ids, err := n.Frozen(ctx, lessonNote, func() (ids []string, err error) {
		ids, done, err = n.pressing(ctx, r)
		if err == nil && done.Interrupted() {
			err = errPaused
		}
		return ids, err
	})
	if errors.Is(err, errPaused) {
		return nil, done, nil
	}
	if err != nil || len(ids) == 0 {
		return nil, activities.CallOutcome{}, err
	}
	items, err := n.Get(ctx, ids...)
	if err != nil {
		return nil, activities.CallOutcome{}, fmt.Errorf("read the episodes that are replayed first: %w", err)
	}
	return memory.As[*dream.Episode](items), activities.CallOutcome{}, nil
}

// errPaused prevents an interrupted choice from being frozen.
var errPaused = errors.New("paused")

// pressing are the episodes to replay first.
func (n replayRun) pressing(ctx context.Context, r activities.ReplayRequest) ([]string, activities.CallOutcome, error) {
	updates, err := n.modelUpdates(ctx)
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	novel, done, err := n.novelResiduals(ctx, r)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	ids, err := n.behind(ctx, append(updates, novel...))
	return ids, activities.CallOutcome{}, err
}

// modelUpdates are the predictions that the dream before found to be soundly reasoned and wrong: what the agent takes
// the world for needs a look.
func (n replayRun) modelUpdates(ctx context.Context) ([]prediction.Outcome, error) {
	before, err := n.dreamBefore(ctx)
	if err != nil || before == nil {
		return nil, err
	}
	items, err := n.Memory.Find(ctx, memory.Query{
		Agent: n.Agent, Kinds: []dream.Kind{dream.KindPrediction}, Statuses: []string{dream.PredictionWrong},
	})
	if err != nil {
		return nil, fmt.Errorf("read what was reviewed: %w", err)
	}
	found := slices.DeleteFunc(memory.As[*dream.Prediction](items), func(p *dream.Prediction) bool {
		return p.Quadrant() != dream.AlignedIncorrect || p.Reasoning.Dream != before.ID
	})
	outcomes := prediction.Outcomes(found)
	slices.SortStableFunc(outcomes, func(a, b prediction.Outcome) int {
		return cmp.Compare(math.Abs(b.Residual()), math.Abs(a.Residual()))
	})
	return outcomes, nil
}

// novelResiduals are the outcomes since the dream before with a large and novel residual, the largest first.
func (n replayRun) novelResiduals(ctx context.Context,
	r activities.ReplayRequest,
) ([]prediction.Outcome, activities.CallOutcome, error) {
	outcomes, err := n.since(ctx)
	if err != nil {
		return nil, activities.CallOutcome{}, err
	}
	large := slices.DeleteFunc(outcomes,
		func(out prediction.Outcome) bool { return math.Abs(out.Residual()) < n.Spec.Curriculum.Large })
	if len(large) == 0 {
		return nil, activities.CallOutcome{}, nil
	}
	var done activities.CallOutcome
	c := core.Call{
		Phase: dream.NREM,
		Limit: r.Limit,
		Step:  lessonNote,
	}
	needs := urgency.Reader{
		Memory: n.Memory,
		Place: func(ctx context.Context, texts []string) ([][]float32, string,
			error,
		) {
			got, ended, err := n.Embed(ctx, c, lessonNote+"/embed", texts)
			done = ended
			return got.V, got.Space, err
		},
	}
	novel, _, err := needs.Novel(ctx, n.Agent, large, n.Spec.AsOf)
	if err != nil || done.Interrupted() || novel == nil { // without money, or in another space, nothing comes first
		return nil, done, err
	}
	var pressing []prediction.Outcome
	for i, out := range large {
		if novel[i] {
			pressing = append(pressing, out)
		}
	}
	slices.SortStableFunc(pressing, func(a, b prediction.Outcome) int {
		return cmp.Compare(math.Abs(b.Residual()), math.Abs(a.Residual()))
	})
	return pressing, activities.CallOutcome{}, nil
}

// since are the newest outcomes that no earlier dream has seen.
func (n replayRun) since(ctx context.Context) ([]prediction.Outcome, error) {
	before, err := n.dreamBefore(ctx)
	if err != nil {
		return nil, err
	}
	all, err := review.Outcomes(ctx, n.Memory, n.Agent)
	if err != nil {
		return nil, err
	}
	outcomes := prediction.KnownAt(all, n.Spec.AsOf)
	if before != nil {
		outcomes = prediction.After(outcomes, before.AsOf)
	}
	return slices.Clone(prediction.Recent(outcomes, circadian.RecentResiduals)), nil
}

// dreamBefore is the newest earlier dream that began; nil for none.
func (n replayRun) dreamBefore(ctx context.Context) (*dream.Record, error) {
	items, err := n.Memory.Find(ctx,
		memory.Query{Agent: n.Agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: triggers.Lookback})
	if err != nil {
		return nil, fmt.Errorf("read the dreams before: %w", err)
	}
	for _, record := range memory.As[*dream.Record](items) {
		if record.ID != n.Dream && record.AsOf.Before(n.Spec.AsOf) &&
			(record.Episodes != nil || len(record.Phases) > 0) {
			return record, nil
		}
	}
	return nil, nil
}

// behind are the episodes that predictions rest on, each once, in order.
func (n replayRun) behind(ctx context.Context, outcomes []prediction.Outcome) ([]string, error) {
	var ids []string
	for _, out := range outcomes {
		items, err := n.Get(ctx, out.Prediction)
		if err != nil {
			return nil, fmt.Errorf("read what was foretold: %w", err)
		}
		for _, p := range memory.As[*dream.Prediction](items) {
			rests := append(slices.Clone(p.Episodes), p.Sources...)
			found, err := n.Get(ctx, rests...)
			if err != nil {
				return nil, fmt.Errorf("read what a prediction rests on: %w", err)
			}
			for _, e := range memory.As[*dream.Episode](found) {
				if e.State == dream.Live && !e.At.After(n.Spec.AsOf) && !slices.Contains(ids, e.ID) {
					ids = append(ids, e.ID)
				}
			}
		}
	}
	return ids, nil
}

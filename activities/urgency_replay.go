package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/prediction"
)

// Curriculum is what NREM replays first, frozen in a spec.
type Curriculum struct {
	Large float64 `json:"large"` // absolute residual from which it counts as large
	Share float64 `json:"share"` // largest share of a direction's episodes that may come first, in [0, 1]
}

// Validate returns what is wrong with a curriculum.
func (c Curriculum) Validate() error {
	if !(c.Large > 0 && c.Large <= 1) || !(c.Share >= 0 && c.Share <= 1) {
		return fmt.Errorf("curriculum is large %v, share %v; both must lie between 0 and 1, and large above 0",
			c.Large, c.Share)
	}
	return nil
}

// DefaultCurriculum leaves half of the replay to surprise, so that one error does not fill a dream.
var DefaultCurriculum = Curriculum{Large: circadian.LargeResidual, Share: .5}

// lessonNote freezes the episodes that a dream replays first.
const lessonNote = "lesson"

// queue is what is replayed in one direction: first the episodes behind large, novel residuals, the largest first,
// then episodes drawn by surprise. Without a curriculum all are drawn.
func (n *Replay) queue(ctx context.Context, spec Spec, r ReplayRequest) ([]*dream.Episode, Done, error) {
	if spec.Curriculum == nil {
		episodes, err := n.draw(ctx, spec, r.Stretch, r.direction(), spec.Knobs.ReplayEpisodes)
		return episodes, Done{}, err
	}
	first, done, err := n.lesson(ctx, spec, r)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	first = first[:min(len(first), int(spec.Curriculum.Share*float64(spec.Knobs.ReplayEpisodes)))]
	all, err := n.pool(ctx, spec, r.Stretch)
	if err != nil {
		return nil, done, err
	}
	var rest []*dream.Episode
	var weights []float64
	for _, e := range all {
		if !slices.ContainsFunc(first, func(f *dream.Episode) bool { return f.ID == e.ID }) {
			rest, weights = append(rest, e), append(weights, e.Surprise)
		}
	}
	queue := slices.Clone(first)
	left := min(spec.Knobs.ReplayEpisodes-len(first), len(rest))
	for _, at := range hypnagogia.Sample(weights, left, spec.Knobs.ReplayAlpha,
		hypnagogia.Dice(spec.Seed, dream.NREM, 0, 0, r.direction())) {
		queue = append(queue, rest[at])
	}
	return queue, Done{}, nil
}

// lesson are the episodes behind the large, novel residuals since the last dream. They are chosen once per dream.
func (n *Replay) lesson(ctx context.Context, spec Spec, r ReplayRequest) ([]*dream.Episode, Done, error) {
	var done Done
	ids, err := n.frozen(ctx, r.Stretch, lessonNote, func() (ids []string, err error) {
		ids, done, err = n.pressing(ctx, spec, r)
		if err == nil && done.Interrupted() {
			err = errPaused
		}
		return ids, err
	})
	if errors.Is(err, errPaused) {
		return nil, done, nil
	}
	if err != nil || len(ids) == 0 {
		return nil, Done{}, err
	}
	items, err := n.Memory.Get(ctx, spec.Agent, ids...)
	if err != nil {
		return nil, Done{}, fmt.Errorf("read the episodes that are replayed first: %w", err)
	}
	return memory.As[*dream.Episode](items), Done{}, nil
}

// errPaused prevents an interrupted choice from being frozen.
var errPaused = errors.New("paused")

func (n *Replay) pressing(ctx context.Context, spec Spec, r ReplayRequest) ([]string, Done, error) {
	outcomes, err := n.since(ctx, spec)
	if err != nil {
		return nil, Done{}, err
	}
	large := slices.DeleteFunc(outcomes,
		func(out prediction.Outcome) bool { return math.Abs(out.Residual()) < spec.Curriculum.Large })
	if len(large) == 0 {
		return nil, Done{}, nil
	}
	var done Done
	c := call{
		spec:    spec,
		phase:   dream.NREM,
		limit:   r.Limit,
		stretch: r.Stretch,
		step:    lessonNote,
	}
	needs := Needs{Memory: n.Memory, Place: func(ctx context.Context, texts []string) ([][]float32, string, error) {
		got, ended, err := n.embed(ctx, c, lessonNote+"/embed", texts)
		done = ended
		return got.V, got.Space, err
	}}
	novel, _, err := needs.Novel(ctx, spec.Agent, large, spec.AsOf)
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
	ids, err := n.behind(ctx, spec, pressing)
	return ids, Done{}, err
}

// since are the newest outcomes that no earlier dream has seen.
func (n *Replay) since(ctx context.Context, spec Spec) ([]prediction.Outcome, error) {
	items, err := n.Memory.Find(ctx,
		memory.Query{Agent: spec.Agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: lookback})
	if err != nil {
		return nil, fmt.Errorf("read the nights before: %w", err)
	}
	all, err := Outcomes(ctx, n.Memory, spec.Agent)
	if err != nil {
		return nil, err
	}
	outcomes := prediction.KnownAt(all, spec.AsOf)
	for _, record := range memory.As[*dream.Record](items) {
		if record.ID != spec.Dream && record.AsOf.Before(spec.AsOf) &&
			(record.Episodes != nil || len(record.Phases) > 0) {
			outcomes = prediction.After(outcomes, record.AsOf)
			break
		}
	}
	return slices.Clone(prediction.Recent(outcomes, circadian.RecentResiduals)), nil
}

// behind are the episodes that predictions rest on, each once, in order.
func (n *Replay) behind(ctx context.Context, spec Spec, outcomes []prediction.Outcome) ([]string, error) {
	var ids []string
	for _, out := range outcomes {
		items, err := n.Memory.Get(ctx, spec.Agent, out.Prediction)
		if err != nil {
			return nil, fmt.Errorf("read what was foretold: %w", err)
		}
		for _, p := range memory.As[*dream.Prediction](items) {
			rests := append(slices.Clone(p.Episodes), p.Sources...)
			found, err := n.Memory.Get(ctx, spec.Agent, rests...)
			if err != nil {
				return nil, fmt.Errorf("read what a prediction rests on: %w", err)
			}
			for _, e := range memory.As[*dream.Episode](found) {
				if e.State == dream.Live && !e.At.After(spec.AsOf) && !slices.Contains(ids, e.ID) {
					ids = append(ids, e.ID)
				}
			}
		}
	}
	return ids, nil
}

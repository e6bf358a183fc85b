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

// Curriculum is what NREM replays first, frozen with an order.
type Curriculum struct {
	Large float64 `json:"large"` // size from which a residual is large
	Share float64 `json:"share"` // of the episodes replayed in one direction that may come first, in [0, 1]
}

// Validate names what is wrong.
func (c Curriculum) Validate() error {
	if !(c.Large > 0 && c.Large <= 1) || !(c.Share >= 0 && c.Share <= 1) {
		return fmt.Errorf("curriculum is large %v, share %v; both must lie between 0 and 1, and large above 0",
			c.Large, c.Share)
	}
	return nil
}

// DefaultCurriculum leaves half of what is replayed to surprise: one error must not be all that a night sees.
var DefaultCurriculum = Curriculum{Large: circadian.LargeResidual, Share: .5}

// lessonNote freezes which episodes a night replays first.
const lessonNote = "lesson"

// queue is what is replayed in one direction: first the episodes behind residuals that are large and novel, the largest
// in front, then those drawn by surprise. An order without a curriculum draws all of them.
func (n *Replay) queue(ctx context.Context, o Spec, r ReplayRequest) ([]*dream.Episode, Done, error) {
	if o.Curriculum == nil {
		episodes, err := n.draw(ctx, o, r.Stretch, r.direction(), o.Knobs.ReplayEpisodes)
		return episodes, Done{}, err
	}
	first, done, err := n.lesson(ctx, o, r)
	if err != nil || done.Interrupted() {
		return nil, done, err
	}
	first = first[:min(len(first), int(o.Curriculum.Share*float64(o.Knobs.ReplayEpisodes)))]
	all, err := n.pool(ctx, o, r.Stretch)
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
	left := min(o.Knobs.ReplayEpisodes-len(first), len(rest))
	for _, at := range hypnagogia.Sample(weights, left, o.Knobs.ReplayAlpha,
		hypnagogia.Dice(o.Seed, dream.NREM, 0, 0, r.direction())) {
		queue = append(queue, rest[at])
	}
	return queue, Done{}, nil
}

// lesson are the episodes behind the residuals since the last dream that are large and novel. They are chosen once in a
// night.
func (n *Replay) lesson(ctx context.Context, o Spec, r ReplayRequest) ([]*dream.Episode, Done, error) {
	var done Done
	ids, err := n.frozen(ctx, r.Stretch, lessonNote, func() (ids []string, err error) {
		ids, done, err = n.pressing(ctx, o, r)
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
	items, err := n.Memory.Get(ctx, o.Agent, ids...)
	if err != nil {
		return nil, Done{}, fmt.Errorf("read the episodes that are replayed first: %w", err)
	}
	return memory.As[*dream.Episode](items), Done{}, nil
}

// errPaused keeps a choice that was interrupted from being frozen.
var errPaused = errors.New("paused")

func (n *Replay) pressing(ctx context.Context, o Spec, r ReplayRequest) ([]string, Done, error) {
	outcomes, err := n.since(ctx, o)
	if err != nil {
		return nil, Done{}, err
	}
	large := slices.DeleteFunc(outcomes,
		func(out prediction.Outcome) bool { return math.Abs(out.Residual()) < o.Curriculum.Large })
	if len(large) == 0 {
		return nil, Done{}, nil
	}
	var done Done
	c := call{
		spec:    o,
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
	novel, _, err := needs.Novel(ctx, o.Agent, large, o.AsOf)
	if err != nil || done.Interrupted() || novel == nil { // over a cap, or in another space, nothing comes first
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
	ids, err := n.behind(ctx, o, pressing)
	return ids, Done{}, err
}

// since are the newest outcomes that no dream before this one has seen.
func (n *Replay) since(ctx context.Context, o Spec) ([]prediction.Outcome, error) {
	items, err := n.Memory.Find(ctx,
		memory.Query{Agent: o.Agent, Kinds: []dream.Kind{dream.KindRecord}, Limit: lookback})
	if err != nil {
		return nil, fmt.Errorf("read the nights before: %w", err)
	}
	all, err := Outcomes(ctx, n.Memory, o.Agent)
	if err != nil {
		return nil, err
	}
	outcomes := prediction.Until(all, o.AsOf)
	for _, record := range memory.As[*dream.Record](items) {
		if record.ID != o.Dream && record.AsOf.Before(o.AsOf) && (record.Episodes != nil || len(record.Phases) > 0) {
			outcomes = prediction.After(outcomes, record.AsOf)
			break
		}
	}
	return slices.Clone(prediction.Recent(outcomes, circadian.RecentResiduals)), nil
}

// behind are the episodes that predictions rest on, each once, in their order.
func (n *Replay) behind(ctx context.Context, o Spec, outcomes []prediction.Outcome) ([]string, error) {
	var ids []string
	for _, out := range outcomes {
		items, err := n.Memory.Get(ctx, o.Agent, out.Prediction)
		if err != nil {
			return nil, fmt.Errorf("read what was foretold: %w", err)
		}
		for _, p := range memory.As[*dream.Prediction](items) {
			rests := append(slices.Clone(p.Episodes), p.Sources...)
			found, err := n.Memory.Get(ctx, o.Agent, rests...)
			if err != nil {
				return nil, fmt.Errorf("read what a prediction rests on: %w", err)
			}
			for _, e := range memory.As[*dream.Episode](found) {
				if e.State == dream.Live && !e.At.After(o.AsOf) && !slices.Contains(ids, e.ID) {
					ids = append(ids, e.ID)
				}
			}
		}
	}
	return ids, nil
}

package hypnagogia

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// ScoredDream is an earlier dream whose depth can be scored.
type ScoredDream struct {
	ID    string
	At    time.Time // the time of its spec
	Depth dream.Depth
	Ran   int // Dali cycles that it actually had
}

// ResolvedPrediction is a resolved prediction.
type ResolvedPrediction struct {
	Dream    string // the dream that made it; empty for none
	Sort     string // kind of prediction: only the same kinds are compared
	Made, At time.Time
	Surprise float64
}

// DepthOutcome is a dream and its effect on later surprise.
type DepthOutcome struct {
	Depth dream.Depth `json:"depth"`
	Ran   int         `json:"ran"`
	// mean surprise of outcomes before the dream minus that after it, in [-1, 1]; positive when it improved
	Shrunk float64 `json:"shrunk"`
}

// How many predictions are used on each side of a dream; our choice.
const (
	scoreWindow = 10 // predictions of a kind, the nearest to the dream
	scoreLeast  = 3  // of a kind, on each side: a mean of fewer is meaningless
)

// Scored measures by how much surprise shrank after dreams. Before a dream, predictions count that were resolved by
// then; after it, those made since and resolved now. The dream's own predictions do not count: a low confidence that
// proves wrong surprises little, so timid dreams would be rewarded. For the same reason each kind is compared
// with itself, weighted by number. Dreams without cycles, or with too few predictions on either side, are left out.
// The order is that of the dreams.
func Scored(nights []ScoredDream, judged []ResolvedPrediction) []DepthOutcome {
	sorts := map[string][]ResolvedPrediction{}
	for _, j := range judged {
		if !math.IsNaN(j.Surprise) {
			sorts[j.Sort] = append(sorts[j.Sort], j)
		}
	}
	names := slices.Sorted(maps.Keys(sorts))
	for _, name := range names {
		slices.SortStableFunc(sorts[name],
			func(a, b ResolvedPrediction) int { return cmp.Or(a.Made.Compare(b.Made), a.At.Compare(b.At)) })
	}
	var out []DepthOutcome
	for _, n := range nights {
		if n.Ran < 1 {
			continue
		}
		sum, weight := 0.0, 0.0
		for _, name := range names {
			before, after := around(n, sorts[name])
			if w := float64(min(len(before), len(after))); w >= scoreLeast {
				sum += w * (mean(before) - mean(after))
				weight += w
			}
		}
		if weight > 0 {
			out = append(out, DepthOutcome{Depth: n.Depth, Ran: n.Ran, Shrunk: sum / weight})
		}
	}
	return out
}

// around are the surprises nearest to a dream on each side, of predictions of one kind in the order of their
// creation.
func around(n ScoredDream, judged []ResolvedPrediction) (before, after []float64) {
	since, _ := slices.BinarySearchFunc(judged, n.At, func(j ResolvedPrediction, at time.Time) int {
		if j.Made.After(at) {
			return 1
		}
		return -1
	})
	for i := since - 1; i >= 0 && len(before) < scoreWindow; i-- {
		if j := judged[i]; j.Dream != n.ID && !j.At.After(n.At) {
			before = append(before, math.Abs(j.Surprise))
		}
	}
	for i := since; i < len(judged) && len(after) < scoreWindow; i++ {
		if j := judged[i]; j.Dream != n.ID {
			after = append(after, math.Abs(j.Surprise))
		}
	}
	return before, after
}

package hypnagogia

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Dreamt is a past night whose depth can be scored.
type Dreamt struct {
	ID    string
	At    time.Time // its now
	Depth dream.Depth
	Ran   int // Dali cycles that it really had
}

// Judged is a prediction that reality has resolved.
type Judged struct {
	Dream    string // that made it; empty when none did
	Sort     string // of prediction: like is compared with like only
	Made, At time.Time
	Residual float64
}

// DepthOutcome is a night and what came of it.
type DepthOutcome struct {
	Depth dream.Depth `json:"depth"`
	Ran   int         `json:"ran"`
	// mean size of residuals before the night less that after it, in [-1, 1]; above 0 it became less wrong
	Shrunk float64 `json:"shrunk"`
}

// How much is looked at on each side of a night; ours.
const (
	scoreWindow = 10 // predictions of a sort, the nearest to the night
	scoreLeast  = 3  // of a sort, on each side: of fewer a mean says nothing
)

// Scored says what came of past nights (H3: by how much later residuals shrink). Before a night counts what was
// resolved by then; after it, what was made since and is resolved now. What the night itself foretold counts on neither
// side: it would be paid for its own timidity, because a low confidence that proves wrong is hardly off. For the same
// reason sorts are compared each with itself, and weighed by how much there is of them. A night with no cycles, and one
// that has too little on either side, is left out. The order is that of the nights.
func Scored(nights []Dreamt, judged []Judged) []DepthOutcome {
	sorts := map[string][]Judged{}
	for _, j := range judged {
		if !math.IsNaN(j.Residual) {
			sorts[j.Sort] = append(sorts[j.Sort], j)
		}
	}
	names := slices.Sorted(maps.Keys(sorts))
	for _, name := range names {
		slices.SortStableFunc(sorts[name],
			func(a, b Judged) int { return cmp.Or(a.Made.Compare(b.Made), a.At.Compare(b.At)) })
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

// around are the sizes of the residuals nearest to a night on each side, of predictions of one sort in the order in
// which they were made.
func around(n Dreamt, judged []Judged) (before, after []float64) {
	since, _ := slices.BinarySearchFunc(judged, n.At, func(j Judged, at time.Time) int {
		if j.Made.After(at) {
			return 1
		}
		return -1
	})
	for i := since - 1; i >= 0 && len(before) < scoreWindow; i-- {
		if j := judged[i]; j.Dream != n.ID && !j.At.After(n.At) {
			before = append(before, math.Abs(j.Residual))
		}
	}
	for i := since; i < len(judged) && len(after) < scoreWindow; i++ {
		if j := judged[i]; j.Dream != n.ID {
			after = append(after, math.Abs(j.Residual))
		}
	}
	return before, after
}

package hypnagogia

import (
	"cmp"
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
	Depth  dream.Depth `json:"depth"`
	Ran    int         `json:"ran"`
	Shrunk float64     `json:"shrunk"` // mean size of residuals before the night less that after it, in [-1, 1]; above 0 it became less wrong
}

// How much is looked at on each side of a night; ours.
const (
	scoreWindow = 10 // predictions of a sort, the nearest to the night
	scoreLeast  = 3  // of a sort, on each side: of fewer a mean says nothing
)

// Scored says what came of past nights (H3: by how much later residuals shrink). Before a night counts what was resolved by then; after it, what was
// made since and is resolved now. What the night itself foretold counts on neither side: it would be paid for its own timidity, because a
// low confidence that proves wrong is hardly off. For the same reason sorts are compared each with itself, and weighed by how much there is of them.
// A night with no cycles, and one that has too little on either side, is left out. The order is that of the nights.
func Scored(nights []Dreamt, judged []Judged) []DepthOutcome {
	judged = slices.Clone(judged)
	slices.SortStableFunc(judged, func(a, b Judged) int { return cmp.Or(a.Made.Compare(b.Made), a.At.Compare(b.At)) })
	var out []DepthOutcome
	for _, n := range nights {
		if n.Ran < 1 {
			continue
		}
		if shrunk, ok := shrinkage(n, judged); ok {
			out = append(out, DepthOutcome{Depth: n.Depth, Ran: n.Ran, Shrunk: shrunk})
		}
	}
	return out
}

// shrinkage compares both sides of a night. Predictions come in the order in which they were made.
func shrinkage(n Dreamt, judged []Judged) (float64, bool) {
	before, after := map[string][]float64{}, map[string][]float64{}
	var sorts []string
	for _, j := range judged {
		size := math.Abs(j.Residual)
		switch {
		case j.Dream == n.ID || math.IsNaN(size):
		case j.Made.After(n.At):
			if len(after[j.Sort]) < scoreWindow {
				after[j.Sort] = append(after[j.Sort], size)
			}
		case !j.At.After(n.At):
			if !slices.Contains(sorts, j.Sort) {
				sorts = append(sorts, j.Sort)
			}
			before[j.Sort] = append(before[j.Sort], size)
		}
	}
	sum, weight := 0.0, 0.0
	for _, s := range sorts {
		b, a := before[s][max(0, len(before[s])-scoreWindow):], after[s]
		if w := float64(min(len(b), len(a))); w >= scoreLeast {
			sum += w * (mean(b) - mean(a))
			weight += w
		}
	}
	if weight == 0 {
		return 0, false
	}
	return sum / weight, true
}

package hypnagogia

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Sample draws up to n indices without replacement, each with probability proportional to weight^alpha among the
// remaining ones (importance sampling, Schaul et al. 2016). Negative and NaN weights count as 0; indices of weight 0
// are drawn only when no others are left, each equally likely. The result is in the order of the draws.
//
// Each index gets a random u and the key ln(u)/weight; the n highest keys in descending order are distributed like n
// consecutive draws (Efraimidis and Spirakis 2006).
func Sample(weights []float64, n int, alpha float64, r *rand.Rand) []int {
	tickets := make([]ticket, len(weights))
	for i, w := range weights {
		t := ticket{index: i, u: 1 - r.Float64(), key: math.Inf(-1)} // u in (0, 1]
		if mass := math.Pow(weight(w), math.Max(0, alpha)); mass > 0 {
			t.key = math.Log(t.u) / mass
		}
		tickets[i] = t
	}
	slices.SortFunc(tickets, func(a, b ticket) int { return b.before(a) })
	drawn := make([]int, max(0, min(n, len(weights))))
	for i := range drawn {
		drawn[i] = tickets[i].index
	}
	return drawn
}

func weight(w float64) float64 {
	if math.IsNaN(w) || w < 0 {
		return 0
	}
	return math.Min(w, math.MaxFloat64)
}

type ticket struct {
	key, u float64
	index  int
}

// before orders tickets from the last drawn to the first; equal keys are ordered by u.
func (t ticket) before(o ticket) int {
	return cmp.Or(cmp.Compare(t.key, o.key), cmp.Compare(t.u, o.u), cmp.Compare(o.index, t.index))
}

package hypnagogia

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// Sample draws up to n indices without replacement, each with probability proportional to weight^alpha among the
// remaining ones (importance sampling, Schaul et al. 2016). Negative and NaN weights count as 0; indices of weight 0
// are drawn only when no others are left, each equally likely. The result is in the order of the draws.
//
// Each index gets a random u and the key ln(u)/weight; the n highest keys in descending order are distributed like n
// consecutive draws (Efraimidis and Spirakis 2006). This takes one pass over the weights.
func Sample(weights []float64, n int, alpha float64, r *rand.Rand) []int {
	n = max(0, min(n, len(weights)))
	best := make(tickets, 0, n)
	for i, w := range weights {
		t := ticket{index: i, u: 1 - r.Float64(), key: math.Inf(-1)} // u in (0, 1]
		if mass := math.Pow(weight(w), math.Max(0, alpha)); mass > 0 {
			t.key = math.Log(t.u) / mass
		}
		switch {
		case len(best) < n:
			heap.Push(&best, t)
		case n > 0 && best[0].before(t) < 0:
			best[0] = t
			heap.Fix(&best, 0)
		}
	}
	slices.SortFunc(best, func(a, b ticket) int { return b.before(a) })
	drawn := make([]int, len(best))
	for i, t := range best {
		drawn[i] = t.index
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

// tickets is a heap with the last drawn on top.
type tickets []ticket

func (h tickets) Len() int           { return len(h) }
func (h tickets) Less(i, j int) bool { return h[i].before(h[j]) < 0 }
func (h tickets) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop implement heap.Interface.
func (h *tickets) Push(x any) { *h = append(*h, x.(ticket)) }

// Pop is never called: tickets are only replaced.
func (h *tickets) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

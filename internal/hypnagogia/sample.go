package hypnagogia

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// Sample draws up to n indices without replacement, each draw with probability proportional to weight^alpha among what
// is left (importance sampling, Schaul 2016). Weights that are negative or not a number count as 0; what weighs nothing
// is drawn only when nothing else is left, each equally likely, so all-zero weights are a uniform draw. The answer is
// in drawn order.
//
// Each index throws one die u and gets the key ln(u)/weight; the n highest keys in falling order are distributed like n
// draws one after another (Efraimidis and Spirakis 2006). One pass over the weights, whatever n is.
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

// before orders tickets from the last to the first drawn; equal keys fall back on their dice.
func (t ticket) before(o ticket) int {
	return cmp.Or(cmp.Compare(t.key, o.key), cmp.Compare(t.u, o.u), cmp.Compare(o.index, t.index))
}

// tickets is a heap with the last drawn on top.
type tickets []ticket

func (h tickets) Len() int           { return len(h) }
func (h tickets) Less(i, j int) bool { return h[i].before(h[j]) < 0 }
func (h tickets) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop are for container/heap alone.
func (h *tickets) Push(x any) { *h = append(*h, x.(ticket)) }

// Pop is never reached: tickets are only replaced.
func (h *tickets) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

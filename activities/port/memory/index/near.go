package index

import (
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Near answers the nearest items, best first, ties by id; false when the index is of another space by now.
func (x *Index) Near(q memory.Near) ([]memory.Hit, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.version.Space != q.Space || x.version.Numbers != len(q.V) {
		return nil, false
	}
	if q.Limit <= 0 {
		return nil, true
	}
	s := x.scan(q.Filter, q.V)
	best := make([]top, s.workers())
	for w := range best {
		best[w].size = min(q.Limit, len(x.at))
	}
	s.run(func(worker int, b block) { s.nearest(&best[worker], b) })
	var out []memory.Hit
	for _, p := range joined(best, q.Limit) {
		out = append(out, memory.Hit{Item: p.id, Cosine: max(-1, min(1, float64(p.score)))})
	}
	return out, true
}

func (s *scan) nearest(best *top, b block) {
	g := b.group
	for row := b.from; row < b.to; row++ {
		if !s.places(g, row) || !s.wants(g, row) {
			continue
		}
		if score := dot(s.sought, g.vector(row)); best.admits(score) {
			best.offer(place{id: g.ids[row], score: score})
		}
	}
}

// joined are the best places that the workers found, best first.
func joined(best []top, limit int) []place {
	var all []place
	for _, t := range best {
		all = append(all, t.heap...)
	}
	slices.SortFunc(all, func(a, b place) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	return all[:min(limit, len(all))]
}

package index

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Rows are handed out in blocks, so that a core that is busy elsewhere holds nobody up. A search of a few blocks is
// done before a second goroutine has begun.
const (
	block     = 1024
	fewBlocks = 4
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
	s := x.scanOf(q.Filter)
	s.sought = make([]float32, (len(q.V)+7)/8*8)
	copy(s.sought, q.V)
	normalise(s.sought)
	best := make([]podium, s.workers())
	for w := range best {
		best[w].size = min(q.Limit, len(x.at))
	}
	s.run(func(worker int, b blockOf) { s.nearest(&best[worker], b) })
	return hits(best, q.Limit), true
}

// scan is one look over the rows that a filter leaves.
type scan struct {
	sought []float32
	blocks []blockOf
	kinds  [256]bool // wanted
	dreams [256]bool // wanted of what was dreamt
	except map[string]bool

	since, until int64 // seconds since 1970
}

// blockOf is a stretch of a group's rows.
type blockOf struct {
	group    *group
	from, to int
}

func (x *Index) scanOf(f memory.Filter) *scan {
	s := &scan{}
	add := func(g *group) {
		for from := 0; from < len(g.ids); from += block {
			s.blocks = append(s.blocks, blockOf{group: g, from: from, to: min(from+block, len(g.ids))})
		}
	}
	if len(f.Owners) == 0 {
		for _, g := range x.groups {
			add(g)
		}
	}
	seen := map[string]bool{}
	for _, owner := range f.Owners {
		if g := x.groups[owner]; g != nil && !seen[owner] {
			seen[owner] = true
			add(g)
		}
	}
	for i, kind := range dream.Kinds {
		s.kinds[i] = len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind)
		switch f.Dreamt {
		case memory.AllDreamt:
			s.dreams[i] = s.kinds[i]
		case memory.PromotedDreamt:
			s.dreams[i] = s.kinds[i] && kind == dream.KindPlaybook
		case memory.NoneDreamt:
		}
	}
	s.since, s.until = math.MinInt64, math.MaxInt64
	if !f.Since.IsZero() {
		s.since = f.Since.Unix()
	}
	if !f.Until.IsZero() {
		s.until = f.Until.Unix()
	}
	if len(f.Except) > 0 {
		s.except = make(map[string]bool, len(f.Except))
		for _, id := range f.Except {
			s.except[id] = true
		}
	}
	return s
}

// wants says whether the filter leaves a row.
func (s *scan) wants(g *group, row int) bool {
	return s.counts(g, row) && g.times[row] >= s.since && g.times[row] < s.until &&
		(s.except == nil || !s.except[g.ids[row]])
}

// counts says whether a row is of what is looked at, be it excepted or of another time: by such rows the rarity of
// words is weighed.
func (s *scan) counts(g *group, row int) bool {
	flags := g.flags[row]
	if flags&held == 0 {
		return false
	}
	wanted := &s.kinds
	if flags&dreamt != 0 {
		wanted = &s.dreams
	}
	return wanted[g.kinds[row]]
}

func (s *scan) workers() int {
	if len(s.blocks) <= fewBlocks {
		return 1
	}
	rows := 0
	for _, b := range s.blocks {
		rows += b.to - b.from
	}
	if rows <= fewBlocks*block {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// run calls do for every block, on as many goroutines as there are workers.
func (s *scan) run(do func(worker int, b blockOf)) {
	var next atomic.Int64
	work := func(worker int) {
		for i := next.Add(1) - 1; i < int64(len(s.blocks)); i = next.Add(1) - 1 {
			do(worker, s.blocks[i])
		}
	}
	var wg sync.WaitGroup
	for worker := 1; worker < s.workers(); worker++ {
		wg.Go(func() { work(worker) })
	}
	work(0)
	wg.Wait()
}

func (s *scan) nearest(best *podium, b blockOf) {
	g := b.group
	for row := b.from; row < b.to; row++ {
		if g.flags[row]&placed != 0 && s.wants(g, row) {
			best.offer(place{id: g.ids[row], score: dot(s.sought, g.vector(row))})
		}
	}
}

// hits joins what the workers found.
func hits(best []podium, limit int) []memory.Hit {
	var all []place
	for _, p := range best {
		all = append(all, p.heap...)
	}
	slices.SortFunc(all, func(a, b place) int {
		if a.better(b) {
			return -1
		}
		return 1
	})
	out := make([]memory.Hit, 0, min(limit, len(all)))
	for _, p := range all[:min(limit, len(all))] {
		out = append(out, memory.Hit{Item: p.id, Cosine: max(-1, min(1, float64(p.score)))})
	}
	return out
}

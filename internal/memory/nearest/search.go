package nearest

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Rows are handed out in blocks, so that a core that is busy elsewhere holds nobody up. A search of a few blocks is done
// before a second goroutine has begun.
const (
	block     = 1024
	fewBlocks = 4
)

// Search answers the k live items nearest to v, best first, ties by id. kinds empty means all.
func (m *Matrix) Search(v []float32, k int, kinds []dream.Kind) []memory.Hit {
	if k <= 0 {
		return nil
	}
	sought := make([]float32, m.stride)
	copy(sought, v)
	normalise(sought)
	var wanted [256]bool
	for i, kind := range dream.Kinds {
		wanted[i] = len(kinds) == 0 || slices.Contains(kinds, kind)
	}
	best := make([]podium, m.workers())
	var next atomic.Int64
	work := func(p *podium) {
		for from := next.Add(block) - block; from < int64(len(m.ids)); from = next.Add(block) - block {
			m.scan(sought, int(from), min(int(from)+block, len(m.ids)), &wanted, p)
		}
	}
	var wg sync.WaitGroup
	for w := range best {
		best[w] = podium{m: m, size: min(k, len(m.ids))}
		if w > 0 {
			wg.Go(func() { work(&best[w]) })
		}
	}
	work(&best[0])
	wg.Wait()
	return m.merge(best, k)
}

func (m *Matrix) workers() int {
	if len(m.ids) <= fewBlocks*block {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

func (m *Matrix) scan(sought []float32, from, to int, wanted *[256]bool, best *podium) {
	for i := from; i < to; i++ {
		if m.live[i] && wanted[m.kinds[i]] {
			best.offer(place{row: i, cosine: dot(sought, m.rows[i*m.stride:(i+1)*m.stride])})
		}
	}
}

func (m *Matrix) merge(best []podium, k int) []memory.Hit {
	var all []place
	for _, p := range best {
		all = append(all, p.heap...)
	}
	slices.SortFunc(all, func(a, b place) int {
		if m.better(a, b) {
			return -1
		}
		return 1
	})
	hits := make([]memory.Hit, 0, min(k, len(all)))
	for _, p := range all[:min(k, len(all))] {
		hits = append(hits, memory.Hit{Item: m.ids[p.row], Cosine: max(-1, min(1, float64(p.cosine)))})
	}
	return hits
}

type place struct {
	row    int
	cosine float32
}

// better orders by cosine, then by id.
func (m *Matrix) better(a, b place) bool {
	if a.cosine != b.cosine {
		return a.cosine > b.cosine
	}
	return m.ids[a.row] < m.ids[b.row]
}

// podium keeps the best of what it is offered in a heap whose root is the worst kept.
type podium struct {
	m    *Matrix
	size int
	heap []place
}

func (p *podium) offer(c place) {
	switch {
	case p.size == 0:
	case len(p.heap) < p.size:
		p.heap = append(p.heap, c)
		for i := len(p.heap) - 1; i > 0 && p.m.better(p.heap[(i-1)/2], p.heap[i]); i = (i - 1) / 2 {
			p.heap[i], p.heap[(i-1)/2] = p.heap[(i-1)/2], p.heap[i]
		}
	case c.cosine < p.heap[0].cosine || !p.m.better(c, p.heap[0]):
	default:
		p.heap[0] = c
		p.sink()
	}
}

func (p *podium) sink() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(p.heap); child++ {
			if p.m.better(p.heap[worst], p.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		p.heap[i], p.heap[worst] = p.heap[worst], p.heap[i]
		i = worst
	}
}

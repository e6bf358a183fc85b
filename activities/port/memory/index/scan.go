package index

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Rows are handed out in blocks, so that a core that is busy elsewhere delays nothing. A search of a few blocks is done
// before a second goroutine has begun.
const (
	blockRows = 1024
	fewBlocks = 4
)

// scan is one look over the rows that a filter leaves.
type scan struct {
	sought       []float32 // a unit vector; nil: none is sought
	wanted       [256]bool // by the marks of a row
	except       map[string]bool
	since, until int64 // Unix seconds
	groups       []*scanned
	blocks       []block
	rows         int
}

// scanned is a group with the postings of the terms that are sought.
type scanned struct {
	*group
	terms []soughtTerm
}

// block is some rows of a group.
type block struct {
	group    *scanned
	from, to int
	at       int // of its first row among the rows of the scan
}

// scan plans a look over what a filter leaves. A vector that is sought is copied.
func (x *Index) scan(f memory.Filter, vector []float32) *scan {
	s := &scan{since: math.MinInt64, until: math.MaxInt64}
	if vector != nil {
		s.sought = slices.Clone(vector)
		normalise(s.sought)
	}
	if len(f.Owners) == 0 {
		for _, g := range x.groups {
			s.add(g)
		}
	}
	owners := slices.Clone(f.Owners)
	slices.Sort(owners)
	for _, owner := range slices.Compact(owners) {
		if g := x.groups[owner]; g != nil {
			s.add(g)
		}
	}
	for marks := range s.wanted {
		s.wanted[marks] = wants(f, uint8(marks))
	}
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

func (s *scan) add(g *group) {
	scanned := &scanned{group: g}
	s.groups = append(s.groups, scanned)
	for from := 0; from < len(g.ids); from += blockRows {
		to := min(from+blockRows, len(g.ids))
		s.blocks = append(s.blocks, block{group: scanned, from: from, to: to, at: s.rows})
		s.rows += to - from
	}
}

// wants says whether a filter leaves items with these marks.
func wants(f memory.Filter, marks uint8) bool {
	kind := int(marks &^ (held | placed | dreamt))
	if marks&held == 0 || kind >= len(dream.Kinds) {
		return false
	}
	if len(f.Kinds) > 0 && !slices.Contains(f.Kinds, dream.Kinds[kind]) {
		return false
	}
	if marks&dreamt == 0 {
		return true
	}
	switch f.Dreamt {
	case memory.AllDreamt:
		return true
	case memory.PromotedDreamt:
		return dream.Kinds[kind] == dream.KindPlaybook
	case memory.NoneDreamt:
	}
	return false
}

// wants says whether the filter leaves a row.
func (s *scan) wants(g *scanned, row int) bool {
	return s.wanted[g.marks[row]] && g.times[row] >= s.since && g.times[row] < s.until &&
		(s.except == nil || !s.except[g.ids[row]])
}

// places says whether a row has a vector that can be compared with the one sought.
func (s *scan) places(g *scanned, row int) bool { return s.sought != nil && g.marks[row]&placed != 0 }

func (s *scan) workers() int {
	if len(s.blocks) <= fewBlocks || s.rows <= fewBlocks*blockRows {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// run calls do for every block, on as many goroutines as there are workers.
func (s *scan) run(do func(worker int, b block)) {
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

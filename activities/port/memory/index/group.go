package index

import (
	"cmp"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// group holds the items of one owner, one row each. The row of an item that left is used again.
type group struct {
	stride  int // numbers of a vector
	ids     []string
	marks   []uint8
	times   []int64     // Unix seconds
	vectors [][]float32 // chunks of chunkRows rows
	free    []int       // rows that hold no item

	postings  map[uint32]*[]posting // by term, in the order of rows
	terms     [][]uint32            // the terms of each row, each once
	lengths   []uint32              // terms of each row, with repetitions
	languages []words.Language
	tallies   []tally
	posted    int64 // postings in all
}

// chunkRows is how many rows have their vectors in one piece of memory: a group that grows copies one piece at most.
const chunkRows = 1024

// posting says that a row holds a term so many times.
type posting struct {
	row   uint32
	times uint32
}

// tally counts the texts with the same marks, and their terms with repetitions.
type tally struct {
	marks uint8
	texts int
	terms int64
}

// The marks of a row: three bits, and the place of its kind in dream.Kinds. A row without marks holds no item.
const (
	held = 1 << (7 - iota)
	placed
	dreamt
)

// About what is taken by an item beside its vector and words (its id, its place in the map, its marks), by a term of a
// row (its posting, with the room that slices keep, and its place among the row's terms), and by a term itself.
const (
	rowBytes     = 176
	postingBytes = 16
	termBytes    = 96
)

func (g *group) bytes() int64 {
	n := int64(rowBytes*len(g.ids)+termBytes*len(g.postings)) + postingBytes*g.posted
	for _, chunk := range g.vectors {
		n += int64(4 * cap(chunk))
	}
	return n
}

// take gives a row to an item.
func (g *group) take(id string) int {
	if n := len(g.free); n > 0 {
		row := g.free[n-1]
		g.free = g.free[:n-1]
		g.ids[row] = id
		return row
	}
	g.ids = append(g.ids, id)
	g.marks = append(g.marks, 0)
	g.times = append(g.times, 0)
	g.terms = append(g.terms, nil)
	g.lengths = append(g.lengths, 0)
	g.languages = append(g.languages, 0)
	row := len(g.ids) - 1
	if row%chunkRows == 0 {
		g.vectors = append(g.vectors, nil)
	}
	chunk := &g.vectors[row/chunkRows]
	*chunk = slices.Grow(*chunk, g.stride)[:len(*chunk)+g.stride]
	return row
}

// set writes the marks and the vector of a row that has no terms. The vector is copied; nil: it has none.
func (g *group) set(row int, kind uint8, dreamed bool, v []float32) {
	g.marks[row] = held | kind
	if dreamed {
		g.marks[row] |= dreamt
	}
	numbers := g.vector(row)
	clear(numbers)
	if v != nil {
		g.marks[row] |= placed
		copy(numbers, v)
		normalise(numbers)
	}
}

func (g *group) vector(row int) []float32 {
	at := row % chunkRows * g.stride
	return g.vectors[row/chunkRows][at : at+g.stride]
}

// drop frees a row that has no terms.
func (g *group) drop(row int) {
	g.ids[row], g.marks[row] = "", 0
	g.free = append(g.free, row)
}

func (g *group) empty() bool { return len(g.free) == len(g.ids) }

// write posts the sorted terms of a row that has its marks and no terms.
func (g *group) write(row int, l words.Language, terms []uint32) {
	g.languages[row], g.lengths[row] = l, uint32(len(terms))
	if len(terms) == 0 {
		return
	}
	own := make([]uint32, 0, len(terms))
	for i := 0; i < len(terms); {
		n := 1
		for i+n < len(terms) && terms[i+n] == terms[i] {
			n++
		}
		g.post(terms[i], posting{row: uint32(row), times: uint32(n)})
		own = append(own, terms[i])
		i += n
	}
	g.terms[row] = own
	g.posted += int64(len(own))
	t := g.tally(g.marks[row])
	t.texts++
	t.terms += int64(len(terms))
}

func (g *group) post(term uint32, p posting) {
	list := g.postings[term]
	if list == nil {
		list = new([]posting)
		g.postings[term] = list
	}
	if n := len(*list); n == 0 || (*list)[n-1].row < p.row {
		*list = append(*list, p)
		return
	}
	*list = slices.Insert(*list, firstAt(*list, int(p.row)), p)
}

// firstAt is the place of the first posting of a row or a later one.
func firstAt(list []posting, row int) int {
	at, _ := slices.BinarySearchFunc(list, uint32(row), func(p posting, row uint32) int { return cmp.Compare(p.row, row) })
	return at
}

// tally is that of some marks.
func (g *group) tally(marks uint8) *tally {
	at := slices.IndexFunc(g.tallies, func(t tally) bool { return t.marks == marks })
	if at < 0 {
		at = len(g.tallies)
		g.tallies = append(g.tallies, tally{marks: marks})
	}
	return &g.tallies[at]
}

// erase takes the terms of a row away and answers the language that it was in.
func (g *group) erase(row int) words.Language {
	for _, term := range g.terms[row] {
		list := g.postings[term]
		at := firstAt(*list, row)
		*list = slices.Delete(*list, at, at+1)
		if len(*list) == 0 {
			delete(g.postings, term)
		}
	}
	if n := g.lengths[row]; n > 0 {
		t := g.tally(g.marks[row])
		t.texts--
		t.terms -= int64(n)
	}
	g.posted -= int64(len(g.terms[row]))
	l := g.languages[row]
	g.terms[row], g.lengths[row], g.languages[row] = nil, 0, words.Unknown
	return l
}

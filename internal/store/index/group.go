package index

import (
	"slices"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// group holds the items of one owner, one row each. The row of an item that left is used again.
type group struct {
	stride int
	ids    []string
	kinds  []uint8 // place in dream.Kinds
	flags  []uint8
	times  []int64 // Unix seconds
	rows   []float32
	free   []int

	postings  map[uint32][]posting // by term, in no order
	holds     [][]uint32           // the terms of each row, each once
	lengths   []uint32             // terms of each row, with repetitions
	languages []words.Language
	posted    int64 // postings in all
}

// posting says that a row holds a term so many times.
type posting struct {
	row   uint32
	times uint32
}

// Flags of a row.
const (
	held   = 1 << iota // the row holds an item
	placed             // the item has a vector
	dreamt
)

// About what is taken by an item beside its vector and words (its id, its place in the map, its flags), by a term of a
// row (its posting, with the room that slices keep, and its place among the row's terms), and by a term itself.
const (
	rowBytes     = 176
	postingBytes = 16
	termBytes    = 96
)

func (g *group) bytes() int64 {
	return int64(4*cap(g.rows)+rowBytes*len(g.ids)) + postingBytes*g.posted + int64(termBytes*len(g.postings))
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
	g.kinds = append(g.kinds, 0)
	g.flags = append(g.flags, 0)
	g.times = append(g.times, 0)
	g.holds = append(g.holds, nil)
	g.lengths = append(g.lengths, 0)
	g.languages = append(g.languages, 0)
	g.rows = slices.Grow(g.rows, g.stride)[:len(g.rows)+g.stride]
	return len(g.ids) - 1
}

// set writes what a row holds.
func (g *group) set(row int, kind uint8, dreamed bool, v []float32) {
	g.kinds[row], g.flags[row] = kind, held
	if dreamed {
		g.flags[row] |= dreamt
	}
	numbers := g.vector(row)
	clear(numbers)
	if v != nil {
		g.flags[row] |= placed
		copy(numbers, v)
		normalise(numbers)
	}
}

func (g *group) vector(row int) []float32 { return g.rows[row*g.stride : (row+1)*g.stride] }

// drop frees a row.
func (g *group) drop(row int) {
	g.ids[row], g.flags[row] = "", 0
	g.free = append(g.free, row)
}

func (g *group) empty() bool { return len(g.free) == len(g.ids) }

// write posts the terms of a row that has none.
func (g *group) write(row int, l words.Language, terms []uint32) {
	g.languages[row], g.lengths[row] = l, uint32(len(terms))
	if len(terms) == 0 {
		return
	}
	slices.Sort(terms)
	var own []uint32
	for i := 0; i < len(terms); {
		n := 1
		for i+n < len(terms) && terms[i+n] == terms[i] {
			n++
		}
		g.postings[terms[i]] = append(g.postings[terms[i]], posting{row: uint32(row), times: uint32(n)})
		own = append(own, terms[i])
		i += n
	}
	g.holds[row] = slices.Clip(own)
	g.posted += int64(len(own))
}

// erase takes the terms of a row away and answers the language that it was in.
func (g *group) erase(row int) words.Language {
	for _, term := range g.holds[row] {
		list := g.postings[term]
		for i := range list {
			if list[i].row == uint32(row) {
				list[i] = list[len(list)-1]
				list = list[:len(list)-1]
				break
			}
		}
		if len(list) == 0 {
			delete(g.postings, term)
		} else {
			g.postings[term] = list
		}
	}
	g.posted -= int64(len(g.holds[row]))
	l := g.languages[row]
	g.holds[row], g.lengths[row], g.languages[row] = nil, 0, words.Unknown
	return l
}

package index

import "slices"

// group holds the items of one owner, one row each. The row of an item that left is used again.
type group struct {
	stride int
	ids    []string
	kinds  []uint8 // place in dream.Kinds
	flags  []uint8
	rows   []float32
	free   []int
}

// Flags of a row.
const (
	held   = 1 << iota // the row holds an item
	placed             // the item has a vector
	dreamt
)

// rowBytes is about what an item takes beside its vector: its id, its place in the map, its flags.
const rowBytes = 112

func (g *group) bytes() int64 { return int64(4*cap(g.rows) + rowBytes*len(g.ids)) }

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

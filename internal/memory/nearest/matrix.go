// Package nearest holds an agent's vectors in memory and finds the nearest by cosine, exactly.
package nearest

import (
	"math"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Matrix is vectors of one length, a unit row each, padded with zeros to a multiple of eight numbers. Searches may run at
// once; a Put may not run beside anything.
type Matrix struct {
	numbers int
	stride  int
	rows    []float32
	ids     []string
	kinds   []uint8 // place in dream.Kinds
	live    []bool
	at      map[string]int
}

// New makes an empty matrix for vectors of so many numbers.
func New(numbers int) *Matrix {
	return &Matrix{numbers: numbers, stride: (numbers + 7) / 8 * 8, at: map[string]int{}}
}

// Numbers is the length of the vectors.
func (m *Matrix) Numbers() int { return m.numbers }

// Len counts the vectors, dead ones too.
func (m *Matrix) Len() int { return len(m.ids) }

// Bytes is about what the matrix takes: each row, its id, its place in the map.
func (m *Matrix) Bytes() int64 { return int64(4*cap(m.rows) + 96*len(m.ids)) }

// Reserve makes room for n vectors and some more at once.
func (m *Matrix) Reserve(n int) {
	if n <= len(m.ids) {
		return
	}
	m.rows = slices.Grow(m.rows, (n-len(m.ids)+n/16)*m.stride)
	m.ids, m.kinds, m.live = slices.Grow(m.ids, n-len(m.ids)), slices.Grow(m.kinds, n-len(m.kinds)), slices.Grow(m.live, n-len(m.live))
}

// Put places an item anew. Only live items are found. v has the matrix's numbers; it is copied.
func (m *Matrix) Put(id string, kind dream.Kind, live bool, v []float32) {
	i, known := m.at[id]
	if !known {
		i = len(m.ids)
		m.at[id] = i
		m.ids = append(m.ids, id)
		m.kinds = append(m.kinds, 0)
		m.live = append(m.live, false)
		m.rows = slices.Grow(m.rows, m.stride)[:len(m.rows)+m.stride]
	}
	m.kinds[i], m.live[i] = uint8(max(0, slices.Index(dream.Kinds, kind))), live
	row := m.rows[i*m.stride : (i+1)*m.stride]
	clear(row[copy(row, v):])
	normalise(row)
}

// normalise makes v a unit vector; a vector of zeros stays one, and its cosine with anything is 0.
func normalise(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}

// dot multiplies two vectors of equal length, a multiple of eight. Four sums in eight steps are as fast as two loads a
// product allow; eight sums are slower.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for i := 0; i+8 <= len(a); i += 8 {
		x, y := (*[8]float32)(a[i:]), (*[8]float32)(b[i:])
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s0 += x[4] * y[4]
		s1 += x[5] * y[5]
		s2 += x[6] * y[6]
		s3 += x[7] * y[7]
	}
	return (s0 + s1) + (s2 + s3)
}

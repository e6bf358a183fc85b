package main

import (
	"math"
	"runtime"
	"sync"
)

// matrix is rows of width numbers, one after the other.
type matrix struct {
	width int
	data  []float32
}

func newMatrix(rows, width int) matrix { return matrix{width, make([]float32, rows*width)} }

func (m matrix) rows() int           { return len(m.data) / m.width }
func (m matrix) row(i int) []float32 { return m.data[i*m.width : (i+1)*m.width] }

// parallel calls each for 0..n-1 on all cores. The calls must write to separate places.
func parallel(n int, each func(i int)) {
	var all sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for core := range cores {
		all.Go(func() {
			for i := core * n / cores; i < (core+1)*n/cores; i++ {
				each(i)
			}
		})
	}
	all.Wait()
}

func (m matrix) mean() []float64 {
	out := make([]float64, m.width)
	for i := range m.rows() {
		for j, x := range m.row(i) {
			out[j] += float64(x)
		}
	}
	for j := range out {
		out[j] /= float64(m.rows())
	}
	return out
}

// principal returns the directions in which the rows differ most from their mean, greatest first, as the rows of a
// square matrix.
func (m matrix) principal() [][]float64 {
	n, mean := m.width, m.mean()
	covariance := make([][]float64, n)
	parallel(n, func(i int) {
		covariance[i] = make([]float64, n)
		for r := range m.rows() {
			row := m.row(r)
			x := float64(row[i]) - mean[i]
			for j := 0; j <= i; j++ {
				covariance[i][j] += x * (float64(row[j]) - mean[j])
			}
		}
	})
	for i := range n {
		for j := i + 1; j < n; j++ {
			covariance[i][j] = covariance[j][i]
		}
	}
	return eigenvectors(covariance)
}

// eigenvectors returns those of a symmetric matrix, by Jacobi's rotations, greatest eigenvalue first. The matrix is
// destroyed. The sign of each is chosen so that its greatest component is positive.
func eigenvectors(a [][]float64) [][]float64 {
	n := len(a)
	v := make([][]float64, n) // rows are eigenvectors
	for i := range v {
		v[i] = make([]float64, n)
		v[i][i] = 1
	}
	for range 30 {
		off, all := 0.0, 0.0
		for i := range n {
			for j := range n {
				all += a[i][j] * a[i][j]
				if i != j {
					off += a[i][j] * a[i][j]
				}
			}
		}
		if off <= 1e-18*all {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, v, p, q)
			}
		}
	}
	columns := make([]int, n)
	for i := range columns {
		columns[i] = i
	}
	for i := range n { // selection sort: n is small, and equal values keep their order
		for j := i + 1; j < n; j++ {
			if a[columns[j]][columns[j]] > a[columns[i]][columns[i]] {
				columns[i], columns[j] = columns[j], columns[i]
			}
		}
	}
	out := make([][]float64, n)
	for i, from := range columns {
		out[i] = v[from]
		top := 0.0
		for _, x := range out[i] {
			if math.Abs(x) > math.Abs(top) {
				top = x
			}
		}
		if top < 0 {
			for j := range out[i] {
				out[i][j] = -out[i][j]
			}
		}
	}
	return out
}

func rotate(a, v [][]float64, p, q int) {
	if a[p][q] == 0 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range a {
		x, y := a[k][p], a[k][q]
		a[k][p], a[k][q] = c*x-s*y, s*x+c*y
	}
	for k := range a {
		x, y := a[p][k], a[q][k]
		a[p][k], a[q][k] = c*x-s*y, s*x+c*y
	}
	for k := range v {
		x, y := v[p][k], v[q][k]
		v[p][k], v[q][k] = c*x-s*y, s*x+c*y
	}
}

// project maps the rows, less shift, to kept directions from drop on.
func (m matrix) project(shift []float64, directions [][]float64, drop, kept int) matrix {
	out := newMatrix(m.rows(), kept)
	parallel(m.rows(), func(i int) {
		row, to := m.row(i), out.row(i)
		for k := range to {
			sum := 0.0
			for j, d := range directions[drop+k] {
				sum += d * (float64(row[j]) - shift[j])
			}
			to[k] = float32(sum)
		}
	})
	return out
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum > 0 {
		by := float32(1 / math.Sqrt(sum))
		for i := range v {
			v[i] *= by
		}
	}
	return v
}

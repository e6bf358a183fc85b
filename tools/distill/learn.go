package main

import (
	"math"
	"sync"
)

// lesson is a sentence as the table has it, and the model's vector of it.
type lesson struct {
	pieces []int32
	place  []float32
}

// learn moves the rows of a table so that the mean of a sentence's rows comes near the model's vector of the
// sentence, as Model2Vec's tokenlearn does, but by least squares: it minimises the squared distances plus pull times
// the squared movement of each row. The vectors are centred and scaled to the length of the means first. Conjugate
// gradients find the minimum; each core has columns of its own, so that the sums are always taken in the same order.
func learn(table matrix, lessons []lesson, pull float64, rounds, cores int) matrix {
	width := table.width
	centre := make([]float64, width)
	for _, l := range lessons {
		for j, x := range l.place {
			centre[j] += float64(x) / float64(len(lessons))
		}
	}
	means := make([][]float32, len(lessons))
	lengthOfMeans, lengthOfPlaces := 0.0, 0.0
	parallel(len(lessons), func(i int) {
		means[i] = mean(table, lessons[i].pieces)
	})
	for i, l := range lessons {
		a, b := 0.0, 0.0
		for j, x := range means[i] {
			a += float64(x) * float64(x)
			y := float64(l.place[j]) - centre[j]
			b += y * y
		}
		lengthOfMeans += math.Sqrt(a)
		lengthOfPlaces += math.Sqrt(b)
	}
	scale := lengthOfMeans / lengthOfPlaces
	out := newMatrix(table.rows(), width)
	copy(out.data, table.data)
	var all sync.WaitGroup
	for core := range cores {
		from, to := core*width/cores, (core+1)*width/cores
		all.Go(func() { learnColumns(out, lessons, means, centre, scale, pull, rounds, from, to) })
	}
	all.Wait()
	return out
}

func mean(table matrix, pieces []int32) []float32 {
	out := make([]float32, table.width)
	for _, id := range pieces {
		for j, x := range table.row(int(id)) {
			out[j] += x
		}
	}
	for j := range out {
		out[j] /= float32(max(1, len(pieces)))
	}
	return out
}

// learnColumns solves for the columns from from to to. All columns share a matrix and are solved side by side.
func learnColumns(table matrix, lessons []lesson, means [][]float32, centre []float64, scale, pull float64,
	rounds, from, to int,
) {
	w := to - from
	n := table.rows()
	spread := func(into []float32, l lesson, by []float32) { // adds Xᵀ·by of one sentence
		part := 1 / float32(len(l.pieces))
		for _, id := range l.pieces {
			row := into[int(id)*w : (int(id)+1)*w]
			for j := range row {
				row[j] += part * by[j]
			}
		}
	}
	rest := make([]float32, n*w) // what is left of the right side
	by := make([]float32, w)
	for i, l := range lessons {
		if len(l.pieces) == 0 {
			continue
		}
		for j := range by {
			by[j] = float32(scale*(float64(l.place[from+j])-centre[from+j])) - means[i][from+j]
		}
		spread(rest, l, by)
	}
	moved, way, image := make([]float32, n*w), make([]float32, n*w), make([]float32, n*w)
	copy(way, rest)
	products := func(a, b []float32) []float64 {
		out := make([]float64, w)
		for i := range n {
			for j := range w {
				out[j] += float64(a[i*w+j]) * float64(b[i*w+j])
			}
		}
		return out
	}
	left := products(rest, rest)
	for range rounds {
		for i := range image {
			image[i] = float32(pull) * way[i]
		}
		for _, l := range lessons {
			if len(l.pieces) == 0 {
				continue
			}
			clear(by)
			part := 1 / float32(len(l.pieces))
			for _, id := range l.pieces {
				for j, x := range way[int(id)*w : (int(id)+1)*w] {
					by[j] += part * x
				}
			}
			spread(image, l, by)
		}
		along := products(way, image)
		step := make([]float32, w)
		for j := range step {
			if along[j] > 0 {
				step[j] = float32(left[j] / along[j])
			}
		}
		for i := range n {
			for j := range w {
				moved[i*w+j] += step[j] * way[i*w+j]
				rest[i*w+j] -= step[j] * image[i*w+j]
			}
		}
		now := products(rest, rest)
		for j := range step {
			step[j] = 0
			if left[j] > 0 {
				step[j] = float32(now[j] / left[j])
			}
		}
		left = now
		for i := range n {
			for j := range w {
				way[i*w+j] = rest[i*w+j] + step[j]*way[i*w+j]
			}
		}
	}
	for i := range n {
		for j := range w {
			table.data[i*table.width+from+j] += moved[i*w+j]
		}
	}
}

package index

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

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

// dot multiplies two vectors of equal length. gonum's is written in assembly on amd64 and twice as fast as a loop in
// Go.
func dot(a, b []float32) float32 {
	return blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
}

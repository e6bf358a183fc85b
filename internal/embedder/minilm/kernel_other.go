//go:build !amd64

package minilm

// dot4 gives the products of one row of weights with four rows of values, all of len(w).
func dot4(w, x0, x1, x2, x3 []float32, out *[4]float32) { dot4Portable(w, x0, x1, x2, x3, out) }

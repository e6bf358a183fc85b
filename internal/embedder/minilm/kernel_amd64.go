package minilm

import "golang.org/x/sys/cpu"

// wide says whether this processor multiplies and adds eight numbers at once.
var wide = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dot4AVX is dot4 for a positive n that is a multiple of 8, by AVX2 and FMA.
//
//go:noescape
func dot4AVX(w, x0, x1, x2, x3 *float32, n int, out *[4]float32)

// dot4 gives the products of one row of weights with four rows of values, all of len(w).
func dot4(w, x0, x1, x2, x3 []float32, out *[4]float32) {
	n := len(w)
	if !wide || n == 0 || n%8 != 0 {
		dot4Portable(w, x0, x1, x2, x3, out)
		return
	}
	_ = x0[n-1]
	_ = x1[n-1]
	_ = x2[n-1]
	_ = x3[n-1]
	dot4AVX(&w[0], &x0[0], &x1[0], &x2[0], &x3[0], n, out)
}

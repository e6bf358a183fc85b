package minilm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheWideKernelComputesWhatThePortableOneDoes(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	row := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = dice.Float32() - .5
		}
		return out
	}
	for _, n := range []int{0, 1, 7, 8, 16, 31, 32, 384, 1536} {
		w := row(n)
		a := row(n)
		b := row(n)
		c := row(n)
		d := row(n)
		var got, want [4]float32
		dot4(w, a, b, c, d, &got)
		dot4Portable(w, a, b, c, d, &want)
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-4, "length %d, row %d", n, i)
		}
	}
}

package packed_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// unit returns a vector of length one, as embedders produce them.
func unit(r *rand.Rand, n int) []float32 {
	v, sum := make([]float64, n), 0.
	for i := range v {
		v[i] = r.NormFloat64()
		sum += v[i] * v[i]
	}
	out := make([]float32, n)
	for i := range v {
		out[i] = float32(v[i] / math.Sqrt(sum))
	}
	return out
}

func TestVectorsAreUnpackedBitByBit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range [][]float32{
		{0},
		{1, -1, .5},
		{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Copysign(0, -1))},
		unit(r, 256), unit(r, 384), unit(r, 1536), make([]float32, 64),
	} {
		got := make([]float32, len(v))
		short := packed.PackVector(v)
		require.NoError(t, packed.UnpackVector(short, got))
		for i := range v {
			require.Equal(t, math.Float32bits(v[i]), math.Float32bits(got[i]), "number %d of %v", i, v)
		}
		require.ErrorIs(t, packed.UnpackVector(short, make([]float32, len(v)+1)), packed.ErrForm)
	}
	require.Less(t, len(packed.PackVector(unit(r, 256))), 4*256*9/10)
}

func TestUnpackVectorRefusesOtherBytes(t *testing.T) {
	t.Parallel()
	short := packed.PackVector([]float32{1, 2, 3})
	for _, bad := range [][]byte{nil, {}, {2}, short[:4], short[:len(short)-1], append([]byte{2}, short[1:]...)} {
		require.ErrorIs(t, packed.UnpackVector(bad, make([]float32, 3)), packed.ErrForm, bad)
	}
	require.ErrorIs(t, packed.UnpackVector(short, make([]float32, 2)), packed.ErrForm)
}

func FuzzNumbers(f *testing.F) {
	f.Add(packed.PackVector([]float32{1, 2, 3}), 3)
	f.Add([]byte{1}, 0)
	f.Fuzz(func(t *testing.T, short []byte, n int) {
		got := make([]float32, max(0, min(n, 100)))
		if err := packed.UnpackVector(short, got); err != nil {
			require.ErrorIs(t, err, packed.ErrForm)
		}
	})
}

func BenchmarkNumbers(b *testing.B) {
	v := unit(rand.New(rand.NewPCG(1, 2)), 256)
	short := packed.PackVector(v)
	for b.Loop() {
		if err := packed.UnpackVector(short, v); err != nil {
			b.Fatal(err)
		}
	}
}

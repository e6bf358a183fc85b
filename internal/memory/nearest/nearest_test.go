package nearest_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/nearest"
)

// Searches of one block and of many, by one goroutine and by all, agree with a plain scan.
func TestSearchAgreesWithAPlainScan(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 84))
	for _, n := range []int{0, 1, 40, 1024, 6000} {
		m := nearest.New(5)
		m.Reserve(n / 2)
		type known struct {
			v    []float32
			kind dream.Kind
			live bool
		}
		all := map[string]known{}
		for i := range n + n/4 { // some are placed anew
			id := fmt.Sprintf("%04d", i%max(n, 1))
			k := known{v: throw(r), kind: dream.Kinds[r.IntN(3)], live: r.IntN(4) > 0}
			all[id] = k
			m.Put(id, k.kind, k.live, k.v)
		}
		require.Equal(t, n, m.Len())
		require.GreaterOrEqual(t, m.Bytes(), int64(n*5*4))
		sought := throw(r)
		for _, kinds := range [][]dream.Kind{nil, {dream.Kinds[1]}, {dream.Kinds[0], dream.Kinds[2]}} {
			var want []memory.Hit
			for id, k := range all {
				if k.live && (len(kinds) == 0 || slices.Contains(kinds, k.kind)) {
					want = append(want, memory.Hit{Item: id, Cosine: cosine(sought, k.v)})
				}
			}
			slices.SortFunc(want, func(a, b memory.Hit) int { return cmp.Compare(b.Cosine, a.Cosine) })
			for _, k := range []int{0, 1, 7, n + 1} {
				got := m.Search(sought, k, kinds)
				require.Len(t, got, min(k, len(want)))
				for i, hit := range got {
					require.InDelta(t, want[i].Cosine, hit.Cosine, 1e-5)
				}
			}
		}
	}
}

func throw(r *rand.Rand) []float32 {
	v := make([]float32, 5)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot, x, y = dot+float64(a[i])*float64(b[i]), x+float64(a[i])*float64(a[i]), y+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}

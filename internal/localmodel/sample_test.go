package localmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/localmodel"
)

var someLogits = []float64{3, 2.5, 2.2, 1.1, 1, .4, 0, -.5, -1, -3}

func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func TestTemperatureZeroIsTheHighestLogit(t *testing.T) {
	t.Parallel()
	r := dice(1)
	for range 1000 {
		logits := make([]float64, 1+r.IntN(20))
		best := 0
		for i := range logits {
			logits[i] = float64(r.IntN(6)) // ties are common
			if logits[i] > logits[best] {
				best = i
			}
		}
		require.Equal(t, best, localmodel.Sample(logits, 0, r.Float64(), 1-r.Float64(), r),
			"the first of the highest wins")
	}
}

func TestEntropyOverAThousandDrawsRisesWithTemperature(t *testing.T) {
	t.Parallel()
	before := -1.0
	for _, temperature := range []float64{0, .2, .4, .7, 1, 1.4, 2} {
		count := map[int]int{}
		r := dice(2)
		for range 1000 {
			count[localmodel.Sample(someLogits, temperature, 0, 1, r)]++
		}
		h := 0.0
		for _, n := range count {
			p := float64(n) / 1000
			h -= p * math.Log2(p)
		}
		require.Greater(t, h, before, "temperature %v", temperature)
		before = h
	}
}

func TestMinPRemovesExactlyTheTokensBelowItsShareOfTheBest(t *testing.T) {
	t.Parallel()
	for _, temperature := range []float64{.3, 1, 1.4, 2} {
		plain := localmodel.Distribution(someLogits, temperature, 0, 1)
		best := plain[0]
		for _, minP := range []float64{.01, .05, .1, .3, .9} {
			cut := localmodel.Distribution(someLogits, temperature, minP, 1)
			left := 0.0
			for i, p := range plain {
				if p >= minP*best {
					require.Positive(t, cut[i], "T %v, min-p %v, token %d", temperature, minP, i)
					left += p
				} else {
					require.Zero(t, cut[i], "T %v, min-p %v, token %d", temperature, minP, i)
				}
			}
			for i, p := range plain {
				if cut[i] > 0 {
					require.InDelta(t, p/left, cut[i], 1e-12, "those left keep their proportions")
				}
			}
		}
	}
}

func TestTopPKeepsTheFewestTokensThatReachIt(t *testing.T) {
	t.Parallel()
	plain := localmodel.Distribution(someLogits, 1, 0, 1)
	for _, topP := range []float64{.1, .5, .8, .95} {
		kept, sum := 0, 0.0
		for sum < topP {
			sum += plain[kept] // the logits stand in falling order
			kept++
		}
		for i, p := range localmodel.Distribution(someLogits, 1, 0, topP) {
			require.Equal(t, i < kept, p > 0, "top-p %v, token %d", topP, i)
		}
	}
}

func TestDrawsFollowTheDistribution(t *testing.T) {
	t.Parallel()
	const draws = 200_000
	p := localmodel.Distribution(someLogits, 1.2, .05, 1)
	count := make([]int, len(p))
	r := dice(3)
	for range draws {
		count[localmodel.Sample(someLogits, 1.2, .05, 1, r)]++
	}
	for i := range p {
		sigma := math.Sqrt(draws * p[i] * (1 - p[i]))
		require.InDelta(t, draws*p[i], count[i], 5*sigma+1e-9, fmt.Sprint("token ", i))
	}
}

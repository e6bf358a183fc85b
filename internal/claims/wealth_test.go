package claims_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

func TestWealthIsTheMeanOverAllRatesAboveChance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		chance       float64
		hits, misses int
		want         float64
	}{
		{.5, 0, 0, 1},
		{.5, 1, 0, 1.5}, // the mean of p/.5 for p between .5 and 1
		{.5, 0, 1, .5},
		{.5, 2, 0, 7. / 3},
		{.34, 1, 0, .67 / .34},
		{1, 9, 0, 1}, // what always happens proves nothing
	} {
		require.InDelta(t, c.want, claims.Wealth(c.chance, c.hits, c.misses), 1e-3*c.want, "%v", c)
	}
	require.Greater(t, claims.Wealth(0, 1, 0), 1e6, "what never happens by chance, and happens")
}

func TestChanceSeldomGetsRich(t *testing.T) {
	t.Parallel()
	const runs, looks = 2000, 200
	for _, chance := range []float64{.1, .34, .7} {
		dice, rich := rand.New(rand.NewPCG(5, 6)), 0
		wealth := map[[2]int]float64{}
		for range runs {
			hits := 0
			for n := range looks {
				if dice.Float64() < chance {
					hits++
				}
				at := [2]int{n, hits}
				if _, there := wealth[at]; !there {
					wealth[at] = claims.Wealth(chance, hits, n+1-hits)
				}
				if wealth[at] >= claims.Alone {
					rich++
					break
				}
			}
		}
		require.LessOrEqual(t, rich, runs/claims.Alone, "looked at after every outcome, at a chance of %v", chance)
	}
}

func TestChanceIsAnUpperBoundOfTheDecoysRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hits, all int
		sure      float64
		want      float64
	}{
		{0, 0, .9, 1},
		{10, 10, .9, 1},
		{0, 10, .9, 1 - math.Pow(.1, .1)},
		{9, 10, .9, math.Pow(.9, .1)},
		{3, 10, .95, .6066}, // Clopper and Pearson
	} {
		require.InDelta(t, c.want, claims.Chance(c.hits, c.all, c.sure), 5e-5, "%v", c)
	}
}

func TestWhichClaimsPassTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wealth []float64
		want   []int
	}{
		"none":              {nil, nil},
		"one is rich":       {[]float64{1, 40, 0, 1}, []int{1}},
		"not rich enough":   {[]float64{1, 39.9, 0, 1}, nil},
		"two make it lower": {[]float64{20, 1, 20, 0}, []int{0, 2}},
		"the richest first": {[]float64{25, 1, 400}, []int{2, 0}},
		"dropped ones keep counting": {
			append([]float64{99}, make([]float64, 9)...), nil,
		},
	} {
		require.Equal(t, c.want, claims.Passing(c.wealth, .1), name)
	}
	require.Empty(t, promoted(24, 24, 24), "together they pass, and each alone could be chance")
	require.Equal(t, []string{"0"}, promoted(40, 24, 1, 1))
}

// promoted are the ids of the claims that pass, of claims with these wealths.
func promoted(wealth ...float64) []string {
	var all []*dream.Claim
	for i, w := range wealth {
		all = append(all, &dream.Claim{Head: dream.Head{ID: strconv.Itoa(i)}, Status: dream.ClaimTried, Hits: 3, Wealth: w})
	}
	var ids []string
	for _, c := range claims.Promote(all, time.Time{}) {
		ids = append(ids, c.ID)
	}
	return ids
}

package hypnagogia_test

import (
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// BenchmarkAYearIsLearnedFrom scores and learns from a year of dreams and twenty resolved predictions a day.
func BenchmarkAYearIsLearnedFrom(b *testing.B) {
	dice := hypnagogia.Dice(1, dream.Onset, 0, 0, "year")
	prior := hypnagogia.Prior(3)
	var nights []hypnagogia.ScoredDream
	var judged []hypnagogia.ResolvedPrediction
	for i := range 365 {
		at := day.AddDate(0, 0, i)
		nights = append(nights,
			hypnagogia.ScoredDream{
				At: at, Ran: 3,
				Depth: prior.Aim(hypnagogia.DepthInput{Surprise: dice.Float64()}, 0, "", 3),
			})
		for k := range 20 {
			made := at.Add(time.Duration(k) * time.Hour)
			judged = append(judged,
				hypnagogia.ResolvedPrediction{
					Sort: []string{"analytical", "creative/rem"}[k%2], Made: made,
					At: made.Add(time.Hour), Surprise: dice.Float64(),
				})
		}
	}
	for b.Loop() {
		hypnagogia.Learn(prior, hypnagogia.Scored(nights, judged))
	}
}

package foretelling_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
	"github.com/seed-56a03226/oneiros/testsuite/foretelling"
)

// A life in which the kettle is followed by the vane, while the lamp, the stove and the rope come up as often.
func TestAClaimThatHoldsLeadsItsDecoysAndOneThatDoesNotIsBehind(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	var lived []claims.Episode
	for i := range 90 {
		text := []string{"kettle vane", "lamp", "stove", "rope", "vane", "rain"}[i%6]
		lived = append(lived, claims.Episode{At: start.AddDate(0, 0, i), Terms: claims.NameOf(text)})
	}
	made := func(when, then string) *dream.Prediction {
		p := &dream.Prediction{Confidence: .4, Check: &dream.Check{When: when, Then: then}}
		p.At = start.AddDate(0, 0, 45)
		p.Horizon = p.At.AddDate(0, 0, 14)
		return p
	}
	dice := rand.New(rand.NewPCG(1, 2))
	judged := foretelling.Judge([]*dream.Prediction{
		made("kettle", "vane"), made("vane", "kettle"), made("lamp", "vane"), {Claim: "prose"},
	}, lived, dice)
	require.Len(t, judged, 2, "the second says the same as the first, and the last has no check")
	require.Equal(t, claims.Right, judged[0].First)
	require.Zero(t, judged[0].Misses)
	require.Equal(t, 7, judged[0].Hits)
	require.Zero(t, judged[0].DecoyHits)
	require.Less(t, judged[0].Base, .05)
	require.Equal(t, claims.Wrong, judged[1].First)
	require.Zero(t, judged[1].Hits)
	require.NotZero(t, judged[1].DecoyHits)

	good, bad := foretelling.Sum(judged[:1], dice), foretelling.Sum(judged[1:], dice)
	require.InDelta(t, 1, good.Lead.Mean, 1e-9)
	require.Positive(t, good.Brier.Mean)
	require.Negative(t, bad.Lead.Mean)
	require.Negative(t, bad.Brier.Mean)
}

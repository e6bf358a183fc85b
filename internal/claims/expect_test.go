package claims_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/claims"
)

func TestOutcomesAreExpectedAsOftenAsBefore(t *testing.T) {
	t.Parallel()
	rains := func(d int) string {
		switch d % 6 {
		case 0:
			return "The rain came in. Is the vane stuck?"
		case 3:
			return "the rain"
		}
		return ""
	}
	past := diary(61, rains)
	found := claims.Associate(past)
	require.Len(t, found, 1)
	n, outcomes := claims.Expect(past, 30*24*time.Hour)
	require.Equal(t, 1, n)
	require.InDelta(t, float64(found[0].Trials)/2, outcomes, 1, "half as long")
	n, outcomes = claims.Expect(past, time.Hour)
	require.Zero(t, n+outcomes, "too short for an outcome")
	n, outcomes = claims.Expect(nil, 30*24*time.Hour)
	require.Zero(t, n+outcomes)
	n, outcomes = claims.Expect(past[:1], 30*24*time.Hour)
	require.Zero(t, n+outcomes)
}

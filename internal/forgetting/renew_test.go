package forgetting_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

func TestUseRenewsStrength(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		uses []time.Duration // after noon
		from time.Duration
		half time.Duration
	}{
		{"never used", nil, 0, month},
		{"once", []time.Duration{10 * day}, 10 * day, 2 * month},
		{
			"twice in one day counts once, and from the later",
			[]time.Duration{10 * day, 10*day + time.Hour},
			10*day + time.Hour, 2 * month,
		},
		{"a day apart counts twice", []time.Duration{10 * day, 11 * day}, 11 * day, 4 * month},
		{"told out of order", []time.Duration{11 * day, 10 * day}, 11 * day, 2 * month},
		{
			"no more than five times",
			[]time.Duration{day, 2 * day, 3 * day, 4 * day, 5 * day, 6 * day, 7 * day},
			7 * day, 32 * month,
		},
		{"before it was told", []time.Duration{-day}, 0, 2 * month},
	} {
		var u forgetting.Use
		for _, after := range c.uses {
			u = u.With(noon.Add(after))
		}
		from, half := forgetting.Renewed(noon, month, u)
		require.Equal(t, noon.Add(c.from), from, c.name)
		require.Equal(t, c.half, half, c.name)
	}
	_, half := forgetting.Renewed(noon, math.MaxInt64, forgetting.Use{Count: 3})
	require.EqualValues(t, math.MaxInt64, half)
}

package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

func TestAnOverloadGoesOnUntilItIsOverForLong(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(server string, minute, refused int) memory.Overload {
		last := noon.Add(time.Duration(minute) * time.Minute)
		return memory.Overload{
			Server:   server,
			Since:    last.Add(-15 * time.Second),
			Last:     last,
			Refused:  refused,
			Waited:   2 * refused,
			Longest:  time.Duration(refused) * time.Second,
			Heaviest: []memory.PlaceShare{{Principal: fmt.Sprint("team", minute), Share: .5}},
		}
	}
	first := memory.SweepState{}.WithOverload(at("a", 0, 9))
	both := first.WithOverload(at("b", 3, 1)).WithOverload(at("a", 5, 3))
	require.Len(t, first.Overloads, 1, "the value before is as it was")
	a := at("a", 5, 3)
	a.Since, a.Longest = at("a", 0, 9).Since, 9*time.Second
	a.Refused, a.Waited = 12, 24
	require.Equal(t, []memory.Overload{at("b", 3, 1), a}, both.Overloads)
	late := both.WithOverload(at("a", 18, 1))
	require.Equal(t, 13, late.Overloads[0].Refused)
	require.Len(t, late.Overloads, 1, "that of b is over")
	require.Equal(t, []memory.Overload{at("a", 40, 1)}, late.WithOverload(at("a", 40, 1)).Overloads, "another one")
	for i := range 99 {
		late = late.WithOverload(at(fmt.Sprint(i), 20, 1))
	}
	require.Len(t, late.Overloads, 32)
	require.Equal(t, "98", late.Overloads[31].Server)
}

package hypnagogia_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// A changed number here changes dreams: recorded dreams could not be repeated.
func TestDiceAreStable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seed        uint64
		phase       dream.Phase
		cycle, step int
		purpose     string
		want        [3]uint64
	}{
		{1, dream.Onset, 0, 0, "shuffle", [3]uint64{0x847f35e60c880ad5, 0x5b2e93ee39711a87, 0x6cad046daed8301d}},
		{1, dream.Onset, 2, 3, "partial", [3]uint64{0xab164f1540d144df, 0x3cdb1716c61348e2, 0xa1f5df84e38ba6e6}},
		{1 << 63, dream.REM, 0, 1, "recombine", [3]uint64{0xfe3057e7d506e237, 0x7199037cba535793, 0xf7b1b80a60c26f7c}},
	} {
		r := hypnagogia.Dice(c.seed, c.phase, c.cycle, c.step, c.purpose)
		require.Equal(t, c.want, [3]uint64{r.Uint64(), r.Uint64(), r.Uint64()}, "%+v", c)
	}
	require.Equal(t, []int{5, 1, 7, 4, 6, 2, 3, 0}, hypnagogia.Dice(7, dream.NREM, 0, 0, "replay").Perm(8))
}

func TestEveryPartOfAStepsNameChangesItsDice(t *testing.T) {
	t.Parallel()
	first := func(seed uint64, phase dream.Phase, cycle, step int, purpose string) uint64 {
		return hypnagogia.Dice(seed, phase, cycle, step, purpose).Uint64()
	}
	seen := map[uint64]bool{
		first(1, dream.Onset, 1, 11, "a"): true,
		first(2, dream.Onset, 1, 11, "a"): true,
		first(1, dream.NREM, 1, 11, "a"):  true,
		first(1, dream.Onset, 11, 1, "a"): true,
		first(1, dream.Onset, 1, 12, "a"): true,
		first(1, dream.Onset, 1, 11, "b"): true,
		first(1, dream.Onset, 1, 1, "1a"): true,
	}
	require.Len(t, seen, 7)
}

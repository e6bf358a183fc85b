// Package hypnagogia holds the rules of the onset and of the creative phases: temperature, depth, the choice of
// fragments, recombination, the search of REM, and the observer's scores.
package hypnagogia

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Dice are the random numbers of one activity of a dream. They are derived, never stored: the same seed, phase,
// cycle, step and purpose always give the same numbers, in whatever order activities run.
func Dice(seed uint64, phase dream.Phase, cycle, step int, purpose string) *rand.Rand {
	h := fnv.New64a()
	for _, part := range []string{string(phase), strconv.Itoa(cycle), strconv.Itoa(step), purpose} {
		h.Write([]byte(part))
		h.Write([]byte{0}) // so that ("ab", "c") and ("a", "bc") differ
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Package hypnagogia owns the laws of the onset: heat, depth, choice of fragments, recombination and the observer's
// measure.
package hypnagogia

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Dice are the dream's own chance for one deed. They are derived, never carried: the same seed, phase, cycle, step and
// purpose always fall the same way, in whatever order the deeds are done (decision 3).
func Dice(seed uint64, phase dream.Phase, cycle, step int, purpose string) *rand.Rand {
	h := fnv.New64a()
	for _, part := range []string{string(phase), strconv.Itoa(cycle), strconv.Itoa(step), purpose} {
		h.Write([]byte(part))
		h.Write([]byte{0}) // so that ("ab", "c") and ("a", "bc") stay two
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

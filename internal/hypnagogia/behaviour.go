package hypnagogia

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Bound limits the depth and duration of an onset.
type Bound struct {
	CyclesLeast int           // Dali cycles of a full onset
	CyclesMost  int           // the most cycles; 0 with Allowed: no limit
	Onset       time.Duration // time limit of the onset; 0: none of its own
	Allowed     bool          // an onset may begin and continue
	Deepest     dream.Stage   // deepest stage of a cycle; empty without a limit
}

// Bounds is the depth table: three to five cycles within 90 s for thriving agents, two or three within 60 s for
// stable ones, one within 30 s to conserve, and none below that. Cycles run at the peak or not at all, so their
// number limits the depth. An unknown or empty behaviour has no limit.
func Bounds(b dream.Behaviour) Bound {
	bound := Bound{Allowed: true, Deepest: dream.Peak}
	switch b {
	case dream.Thriving:
		bound.CyclesLeast, bound.CyclesMost, bound.Onset = 3, 5, 90*time.Second
	case dream.Stable:
		bound.CyclesLeast, bound.CyclesMost, bound.Onset = 2, 3, 60*time.Second
	case dream.Conservation:
		bound.CyclesLeast, bound.CyclesMost, bound.Onset = 1, 1, 30*time.Second
	case dream.Declining, dream.Terminal:
		return Bound{}
	}
	return bound
}

// Bounded holds the knobs within the bounds of a behaviour. It only lowers the number of cycles, so a configuration
// with fewer than the table's least is kept. Whether an onset begins at all is Bounds(b).Allowed, so that its
// skipping has the right reason; if it may not, no cycles are left.
func Bounded(k dream.Knobs, b dream.Behaviour) dream.Knobs {
	bound := Bounds(b)
	if bound.Allowed && bound.CyclesMost == 0 {
		return k
	}
	k.Cycles = min(k.Cycles, bound.CyclesMost)
	return k
}

package hypnagogia

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Bound is how deep and how long an onset may go.
type Bound struct {
	CyclesLeast int           // Dali cycles of a full onset
	CyclesMost  int           // 0 where nothing is bounded: see Allowed
	Onset       time.Duration // wall of the onset; 0: none of its own
	Allowed     bool          // an onset may begin, and go on
	Deepest     dream.Stage   // that a cycle may be dreamt at; empty when there is none
}

// Bounds is the depth table: three to five cycles within 90 s for the thriving, two or three within 60 s for the
// stable, one within 30 s to conserve, none below that. Cycles are dreamt at the peak or not at all, so depth is
// bounded by their number. An unknown or empty phase bounds nothing.
func Bounds(b dream.Behaviour) Bound {
	switch b {
	case dream.Thriving:
		return Bound{
			CyclesLeast: 3,
			CyclesMost:  5,
			Onset:       90 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		}
	case dream.Stable:
		return Bound{
			CyclesLeast: 2,
			CyclesMost:  3,
			Onset:       60 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		}
	case dream.Conservation:
		return Bound{
			CyclesLeast: 1,
			CyclesMost:  1,
			Onset:       30 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		}
	case dream.Declining, dream.Terminal:
		return Bound{}
	}
	return Bound{Allowed: true, Deepest: dream.Peak}
}

// Bounded holds the knobs inside the bounds of a behavioural phase. It lowers the cycles and never raises them: whoever
// configured fewer than the table's least spends no more than that. Whether an onset begins at all is told by
// Bounds(b).Allowed, so that its skipping carries the right reason; where it may not, no cycles are left.
func Bounded(k dream.Knobs, b dream.Behaviour) dream.Knobs {
	bound := Bounds(b)
	if bound.Allowed && bound.CyclesMost == 0 {
		return k
	}
	k.Cycles = min(k.Cycles, bound.CyclesMost)
	return k
}

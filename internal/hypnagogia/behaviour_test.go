package hypnagogia_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// The depth table.
func TestTheBoundsOfABehaviour(t *testing.T) {
	t.Parallel()
	want := map[dream.Behaviour]hypnagogia.Bound{
		dream.Thriving: {
			CyclesLeast: 3,
			CyclesMost:  5,
			Onset:       90 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		},
		dream.Stable: {
			CyclesLeast: 2,
			CyclesMost:  3,
			Onset:       60 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		},
		dream.Conservation: {
			CyclesLeast: 1,
			CyclesMost:  1,
			Onset:       30 * time.Second,
			Allowed:     true,
			Deepest:     dream.Peak,
		},
		dream.Declining: {},
		dream.Terminal:  {},
	}
	require.Len(t, want, len(dream.Behaviours))
	for _, b := range dream.Behaviours {
		require.Equal(t, want[b], hypnagogia.Bounds(b), b)
	}
	for _, b := range []dream.Behaviour{"", "blissful"} {
		require.Equal(t, hypnagogia.Bound{Allowed: true, Deepest: dream.Peak}, hypnagogia.Bounds(b), b)
	}
}

func TestBoundsLowerCyclesAndNeverRaiseThem(t *testing.T) {
	t.Parallel()
	for requests, want := range map[int]map[dream.Behaviour]int{
		9: {"": 9, dream.Thriving: 5, dream.Stable: 3, dream.Conservation: 1, dream.Declining: 0, dream.Terminal: 0},
		3: {"": 3, dream.Thriving: 3, dream.Stable: 3, dream.Conservation: 1, dream.Declining: 0, dream.Terminal: 0},
		1: {"": 1, dream.Thriving: 1, dream.Stable: 1, dream.Conservation: 1, dream.Declining: 0, dream.Terminal: 0},
		0: {"": 0, dream.Thriving: 0, dream.Stable: 0, dream.Conservation: 0, dream.Declining: 0, dream.Terminal: 0},
	} {
		for b, cycles := range want {
			knobs := dream.DefaultKnobs()
			knobs.Cycles = requests
			expected := knobs
			expected.Cycles = cycles
			require.Equal(t, expected, hypnagogia.Bounded(knobs, b), "%d cycles while %q", requests, b)
		}
	}
}

// A worse behaviour never has wider bounds than a better one.
func TestBoundsOnlyTighten(t *testing.T) {
	t.Parallel()
	for i := 1; i < len(dream.Behaviours); i++ {
		better, worse := hypnagogia.Bounds(dream.Behaviours[i-1]), hypnagogia.Bounds(dream.Behaviours[i])
		require.LessOrEqual(t, worse.CyclesMost, better.CyclesMost)
		require.LessOrEqual(t, worse.CyclesLeast, better.CyclesLeast)
		require.LessOrEqual(t, worse.Onset, better.Onset)
		require.True(t, better.Allowed || !worse.Allowed)
	}
}

package dreamrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

func TestTheDurationOfAnOnsetExcludesTimeAwake(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)
	m := activities.Mark{
		Phase:   dream.Onset,
		Name:    "close",
		State:   "ran",
		Started: started,
		Away:    2 * time.Hour,
	}
	result := edge(m, dream.Tally{}, started.Add(2*time.Hour+30*time.Second))
	require.Equal(t, []event.Payload{event.OnsetCompleted{Seconds: 30}}, result)
}

func TestASkippedPhaseIsAnnounced(t *testing.T) {
	t.Parallel()
	for phase, want := range map[dream.Phase][]event.Payload{
		dream.Onset:       {event.OnsetSkipped{Reason: "off"}},
		dream.NREM:        {event.PhaseCompleted{Phase: dream.NREM, State: "skipped", Reason: "off"}},
		dream.REM:         {event.PhaseCompleted{Phase: dream.REM, State: "skipped", Reason: "off"}},
		dream.Integration: {event.PhaseCompleted{Phase: dream.Integration, State: "skipped", Reason: "off"}},
		dream.Return:      nil,
	} {
		m := activities.Mark{Phase: phase, Name: "skip", State: "skipped", Reason: "off"}
		require.Equal(t, want, edge(m, dream.Tally{}, time.Time{}), phase)
	}
}

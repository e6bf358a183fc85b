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

package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
)

func TestTheDurationOfAnOnsetExcludesTimeAwake(t *testing.T) {
	t.Parallel()
	m := Mark{
		Phase:   dream.Onset,
		Name:    "close",
		State:   "ran",
		Started: tonight,
		Away:    2 * time.Hour,
	}
	result := edge(m, dream.Tally{}, tonight.Add(2*time.Hour+30*time.Second))
	require.Equal(t, []event.Payload{event.OnsetCompleted{Seconds: 30}}, result)
}

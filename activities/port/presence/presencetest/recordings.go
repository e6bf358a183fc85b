package presencetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

var recordings = []clause{
	{"AWakeIsUnrecordedUntilTheWorkflowRecordsIt", unrecordedUntilRecorded},
	{"ARecordedWakeStaysRecorded", recordedStays},
}

func unrecorded(t *testing.T, s presence.Store) map[string]presence.Wake {
	t.Helper()
	u, err := s.Unrecorded(t.Context())
	require.NoError(t, err)
	return u
}

func unrecordedUntilRecorded(t *testing.T, s Store) {
	first := raise(t, s, visit("web", 0))
	require.Equal(t, map[string]presence.Wake{echo: first}, unrecorded(t, s))
	second := raise(t, s, visit("web", time.Hour))
	other := visit("web", 0)
	other.Agent = vega
	apart := raise(t, s, other)
	require.Equal(t, map[string]presence.Wake{echo: second, vega: apart}, unrecorded(t, s), "the newest of each")
	require.NoError(t, s.Recorded(t.Context(), echo, 1))
	require.Equal(t, map[string]presence.Wake{echo: second, vega: apart}, unrecorded(t, s))
	require.NoError(t, s.Recorded(t.Context(), echo, 2))
	require.Equal(t, map[string]presence.Wake{vega: apart}, unrecorded(t, s))
	require.NoError(t, s.Recorded(t.Context(), vega, 1))
	require.Empty(t, unrecorded(t, s))
	require.EqualValues(t, 2, status(t, s, time.Hour).Recorded)
}

func recordedStays(t *testing.T, s Store) {
	raise(t, s, visit("web", 0))
	raise(t, s, visit("web", time.Hour))
	require.NoError(t, s.Recorded(t.Context(), echo, 2))
	for _, epoch := range []int64{0, 1, 2} {
		require.NoError(t, s.Recorded(t.Context(), echo, epoch))
		require.EqualValues(t, 2, status(t, s, time.Hour).Recorded)
	}
	require.ErrorContains(t, s.Recorded(t.Context(), echo, 3), "epoch 3",
		"an epoch that was never raised cannot be recorded")
	require.ErrorContains(t, s.Recorded(t.Context(), vega, 1), "epoch 1")
	require.ErrorContains(t, s.Recorded(t.Context(), "", 0), "agent")
	require.EqualValues(t, 2, status(t, s, time.Hour).Recorded)
	third := raise(t, s, visit("web", 2*time.Hour))
	require.Equal(t, map[string]presence.Wake{echo: third}, unrecorded(t, s))
}

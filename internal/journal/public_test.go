package journal_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/journal"
)

func TestAPublicEntryHasItsWakeInMilliseconds(t *testing.T) {
	t.Parallel()
	j := &dream.Journal{
		Head: dream.Head{ID: "j"}, Content: "a tide",
		Wake: &dream.WakeTimes{Receipt: 1500 * time.Microsecond, Switch: time.Second, Light: true},
	}
	body, err := json.Marshal(journal.PublicOf(j))
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, json.Unmarshal(body, &values))
	require.Equal(t,
		map[string]any{
			"receipt_ms": 1.5, "stop_ms": 0., "preserve_ms": 0., "switch_ms": 1000., "light": true,
			"forced": false,
		}, values["wake"])
	require.Equal(t, "a tide", values["content"])
	j.Wake = nil
	body, err = json.Marshal(journal.PublicOf(j))
	require.NoError(t, err)
	require.NotContains(t, string(body), "wake")
}

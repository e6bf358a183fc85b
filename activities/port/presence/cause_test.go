package presence_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

func TestACauseThatWasStoredUnderItsFormerNameIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]presence.Cause{
		"knock": presence.Connect, "connect": presence.Connect, "alarm": presence.Alarm, "": "", "other": "other",
	} {
		require.Equal(t, want, presence.CauseOf(text))
		var wake presence.Wake
		require.NoError(t, json.Unmarshal([]byte(`{"cause":"`+text+`"}`), &wake))
		require.Equal(t, want, wake.Cause)
	}
}

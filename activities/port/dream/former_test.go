package dream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestWhatEarlierBuildsStoredIsReadAndWrittenWithTheNamesOfToday(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		into    any
		was, is string
	}{
		{new(dream.Parts), `{"way":"batched","said":"plain"}`, `"judge_reason":"plain"`},
		{new(dream.Parts), `{"judge_reason":"plain"}`, `"judge_reason":"plain"`},
		{new(dream.Scenario), `{"id":"sc_1","content":"a","said":"plain","parent":"f_1"}`, `"judge_reason":"plain"`},
		{new(dream.Scenario), `{"id":"sc_1","content":"a","said":"plain","parent":"f_1"}`, `"parent":"f_1"`},
		{new(dream.Settings), `{"loosening":"heat"}`, `"loosening":"temperature"`},
		{new(dream.Settings), `{"loosening":"heat+min_p"}`, `"loosening":"temperature+min_p"`},
		{new(dream.Settings), `{"loosening":"two_phase"}`, `"loosening":"two_phase"`},
		{new(map[dream.Role]dream.Loosening), `{"generator":"heat"}`, `{"generator":"temperature"}`},
	} {
		require.NoError(t, json.Unmarshal([]byte(c.was), c.into))
		body, err := json.Marshal(c.into)
		require.NoError(t, err)
		require.Contains(t, string(body), c.is)
		require.NotContains(t, string(body), "said")
		require.NotContains(t, string(body), "heat")
	}
	require.Error(t, json.Unmarshal([]byte(`{"score":"high"}`), new(dream.Scenario)))
}

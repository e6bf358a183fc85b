package past_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

func TestWhatAnUndoTookBackStandsNoMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		causes   []string
		standing []int
	}{
		{nil, nil},
		{[]string{"import", "d1", "d2"}, []int{0, 1, 2}},
		{[]string{"import", "d1", "d1", "undo:d1"}, []int{0}},
		{[]string{"import", "d1", "d2", "undo:d1"}, []int{0, 1, 2}}, // d2 lies on top
		{[]string{"import", "d1", "d2", "undo:d2", "undo:d1"}, []int{0}},
		{[]string{"import", "d1", "undo:d1", "d1"}, []int{0, 3}},
		{[]string{"d1", "undo:d1"}, []int{}},
	} {
		got := past.Unwind(c.causes)
		require.Equal(t, len(c.standing), len(got), c.causes)
		for i := range got {
			require.Equal(t, c.standing[i], got[i], c.causes)
		}
	}
}

func TestReferencesAreNamedAndScrubbed(t *testing.T) {
	t.Parallel()
	p := &dream.Prediction{
		Head:  dream.Head{ID: "p", Kind: dream.KindPrediction, At: time.Unix(0, 0).UTC(), Sources: []string{"a", "b", "a"}, NewerID: "c"},
		Claim: "a is not a reference", Episodes: []string{"d", "b"}, Fragment: "f", Session: "a",
	}
	body, err := json.Marshal(p)
	require.NoError(t, err)
	ids, err := past.Named(body)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b", "c", "d", "f"}, ids)
	_, changed, err := past.Scrub(dream.KindPrediction, body, map[string]bool{"nobody": true})
	require.NoError(t, err)
	require.False(t, changed)
	scrubbed, changed, err := past.Scrub(dream.KindPrediction, body, map[string]bool{"a": true, "c": true, "d": true, "f": true})
	require.NoError(t, err)
	require.True(t, changed)
	left, err := past.Named(scrubbed)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, left)
	item, err := dream.Decode(dream.KindPrediction, scrubbed)
	require.NoError(t, err)
	require.Equal(t, "a is not a reference", item.Text())
	_, _, err = past.Scrub(dream.KindPrediction, []byte("{"), nil)
	require.Error(t, err)
	_, err = past.Named([]byte("[]"))
	require.Error(t, err)
}

func TestWhatACorrectionQuotesIsScrubbedWithItsWords(t *testing.T) {
	t.Parallel()
	e := &dream.Episode{
		Head: dream.Head{ID: "e", Kind: dream.KindEpisode, At: time.Unix(0, 0).UTC()}, Content: "The port is 5434.",
		Replaces: []dream.Replaced{{ID: "a", Content: "The port is 5433."}, {ID: "b", Content: "The port is 5432."}},
	}
	body, err := json.Marshal(e)
	require.NoError(t, err)
	named, err := past.Named(body)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b"}, named)
	scrubbed, changed, err := past.Scrub(dream.KindEpisode, body, map[string]bool{"a": true})
	require.NoError(t, err)
	require.True(t, changed)
	require.NotContains(t, string(scrubbed), "5433")
	require.Contains(t, string(scrubbed), "5432")
	_, changed, err = past.Scrub(dream.KindEpisode, body, map[string]bool{"c": true})
	require.NoError(t, err)
	require.False(t, changed)
}

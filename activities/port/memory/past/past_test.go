package past_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

func TestUndoneRevisionsDoNotCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		causes   []string
		counting []int
	}{
		{nil, nil},
		{[]string{"import", "d1", "d2"}, []int{0, 1, 2}},
		{[]string{"import", "d1", "d1", "undo:d1"}, []int{0}},
		{[]string{"import", "d1", "d2", "undo:d1"}, []int{0, 2}}, // d2 wrote after d1
		{[]string{"import", "d1", "d2", "undo:d1", "undo:d2"}, []int{0}},
		{[]string{"import", "d1", "d2", "undo:d2", "undo:d1"}, []int{0}},
		{[]string{"import", "d1", "undo:d1", "d1"}, []int{0, 3}},
		{[]string{"d1", "undo:d1"}, []int{}},
	} {
		got := past.Counting(c.causes)
		require.Equal(t, len(c.counting), len(got), c.causes)
		for i := range got {
			require.Equal(t, c.counting[i], got[i], c.causes)
		}
	}
}

func TestUndoingReturnsToTheNewestRevisionThatCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		causes []string
		undone string
		effect past.Effect
		at     int
	}{
		{nil, "d1", past.None, -1},
		{[]string{"import"}, "d1", past.None, -1},
		{[]string{"import", "d1"}, "d1", past.Restores, 0},
		{[]string{"d1"}, "d1", past.Archives, -1},
		{[]string{"d1", "operator"}, "d1", past.Keeps, 1},
		{[]string{"import", "d1", "d2"}, "d1", past.Keeps, 2},
		{[]string{"import", "d1", "d2", "undo:d1"}, "d1", past.None, -1},
		{[]string{"import", "d1", "d2", "undo:d1"}, "d2", past.Restores, 0},
		{[]string{"import", "d1", "d2", "d3", "undo:d2"}, "d3", past.Restores, 1},
		{[]string{"d1", "d2", "undo:d1"}, "d2", past.Archives, -1},
		{[]string{"import", "d1", "operator", "d2", "undo:d1"}, "d2", past.Restores, 2},
	} {
		effect, at := past.Undoing(c.causes, c.undone)
		require.Equal(t, c.effect, effect, "%v without %s", c.causes, c.undone)
		require.Equal(t, c.at, at, "%v without %s", c.causes, c.undone)
	}
}

func TestReferencesAreListedAndScrubbed(t *testing.T) {
	t.Parallel()
	p := &dream.Prediction{
		Head: dream.Head{
			ID:      "p",
			Kind:    dream.KindPrediction,
			At:      time.Unix(0, 0).UTC(),
			Sources: []string{"a", "b", "a"},
			NewerID: "c",
		},
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
	scrubbed, changed, err := past.Scrub(dream.KindPrediction, body,
		map[string]bool{"a": true, "c": true, "d": true, "f": true})
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

func TestAScrubbedCorrectionLosesItsQuotedWords(t *testing.T) {
	t.Parallel()
	e := &dream.Episode{
		Head: dream.Head{ID: "e", Kind: dream.KindEpisode, At: time.Unix(0, 0).UTC()}, Content: "The port is 5434.",
		Replaces: []dream.EarlierVersion{{ID: "a", Content: "The port is 5433."}, {
			ID:      "b",
			Content: "The port is 5432.",
		}},
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

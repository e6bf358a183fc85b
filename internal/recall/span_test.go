package recall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/recall"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// TestTheTimeOfAQuestionNarrowsTheCallersFilter: a question that names a time and shares no word with any memory is
// answered by the episodes of that time, but only by those that the caller's filter admits.
func TestTheTimeOfAQuestionNarrowsTheCallersFilter(t *testing.T) {
	t.Parallel()
	s, err := sqlitestore.Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	now := time.Date(2026, 3, 12, 18, 0, 0, 0, time.UTC)
	yesterday := time.Date(2026, 3, 11, 0, 0, 0, 0, time.UTC)
	episode := func(id string, at time.Time) *dream.Episode {
		return &dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    at,
				State: dream.Live,
			},
			Content:  "Mended the gutter.",
			Salience: .5,
		}
	}
	_, err = s.Commit(t.Context(), memory.Write{Agent: "a", Cause: "import", Add: []dream.Item{
		episode("morning", yesterday.Add(9*time.Hour)),
		episode("evening", yesterday.Add(20*time.Hour)),
		episode("earlier", yesterday.Add(-9*time.Hour)),
	}})
	require.NoError(t, err)
	noon := yesterday.Add(12 * time.Hour)
	for _, c := range []struct {
		name   string
		filter memory.Filter
		want   []string
	}{
		{"no filter", memory.Filter{}, []string{"evening", "morning"}},
		{"kinds with episodes", memory.Filter{Kinds: recall.Kinds}, []string{"evening", "morning"}},
		{"kinds without episodes", memory.Filter{Kinds: []dream.Kind{dream.KindPlaybook}}, nil},
		{"a later beginning", memory.Filter{Since: noon}, []string{"evening"}},
		{"an earlier end", memory.Filter{Until: noon}, []string{"morning"}},
		{"a wider time", memory.Filter{Since: noon.AddDate(-1, 0, 0), Until: now}, []string{"evening", "morning"}},
		{"another time", memory.Filter{Until: yesterday}, nil},
	} {
		answer, err := recall.Find(t.Context(), s, recall.Question{
			Agent:  "a",
			Text:   "What happened yesterday?",
			Limit:  5,
			Filter: c.filter,
			Now:    now,
		})
		require.NoError(t, err, c.name)
		var ids []string
		for _, m := range answer.Memories {
			ids = append(ids, m.Item.Header().ID)
		}
		require.ElementsMatch(t, c.want, ids, c.name)
	}
}

package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// TestEverySortOrderIsReadFromItsIndex asks SQLite for its plan: a limit must end the reading, however many memories
// there are.
func TestEverySortOrderIsReadFromItsIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for by, sort := range sorts {
		query, args := findSQL(
			memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}, Sort: by, Limit: 5}, sort, condition{})
		plan := planOf(t, s, query, args)
		require.Contains(t, plan, "SEARCH items USING INDEX "+sort.index+" (agent=? AND kind=? AND state=?", by)
		require.Contains(t, plan, "USE TEMP B-TREE FOR LAST", by) // only ties are sorted
		require.NotContains(t, plan, "SCAN items", by)
	}
	for index, q := range map[string]memory.Query{
		"items_dream":   {Agent: "a", Dream: "d"},
		"items_session": {Agent: "a", Session: "s"},
	} {
		query, args := findSQL(q, sorts[memory.Newest], condition{})
		require.Contains(t, planOf(t, s, query, args), "USING INDEX "+index)
	}
}

func planOf(t *testing.T, s *Store, query string, args []any) string {
	t.Helper()
	var plan strings.Builder
	require.NoError(t, s.read(t.Context(), func(d *tx) {
		d.each("EXPLAIN QUERY PLAN "+query, args, func(scan scanner) {
			var id, parent, unused int
			var detail string
			scan(&id, &parent, &unused, &detail)
			fmt.Fprintln(&plan, detail)
		})
	}))
	return plan.String()
}

func TestTheIndexesOfLeastRecentlySearchedAgentsAreEvicted(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	s.Limit = 5_000
	defer func() { require.NoError(t, s.Close()) }()
	for _, agent := range []string{"a", "b", "c", "a"} {
		w := memory.Write{Agent: agent, Cause: "import"}
		for i := range 10 {
			id := fmt.Sprint(i)
			w.Add = append(w.Add, &dream.Gist{Head: dream.Head{
				ID:    id,
				Agent: agent,
				Kind:  dream.KindGist,
				At:    time.Unix(0, 0),
				State: dream.Live,
			}})
			w.Vectors = append(w.Vectors, memory.Vector{Item: id, Space: "s", V: []float32{1, float32(i)}})
		}
		_, err := s.Commit(t.Context(), w)
		require.NoError(t, err)
		hits, err := s.Near(t.Context(), memory.Near{Agent: agent, Space: "s", V: []float32{1, 0}, Limit: 99})
		require.NoError(t, err)
		require.Len(t, hits, 10)
	}
	require.Equal(t, 2, s.Indexes.Agents())
	require.True(t, s.Indexes.Holds("a"))
	require.False(t, s.Indexes.Holds("b"))
}

func TestAPanicLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, transact := range []func(context.Context, func(*tx)) error{s.write, s.read} {
		require.Panics(t, func() { _ = transact(t.Context(), func(*tx) { panic("a defect") }) })
	}
	for want := range s.set.readers {
		n, err := s.NextDream(t.Context(), "a")
		require.NoError(t, err)
		require.EqualValues(t, want+1, n)
		_, err = s.Affect(t.Context(), "a")
		require.NoError(t, err)
	}
}

// A transaction keeps its first error, does nothing after it, and leaves nothing behind.
func TestATransactionStopsAtItsFirstError(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	first := errors.New("first")
	n, err := in(t.Context(), s.write, "count", func(d *tx) int64 {
		d.setCounters("a", agentCounters{dreams: 7})
		d.doing("the second step", func() { d.fail(first) })
		d.doing("the third step", func() { d.fail(errors.New("second")) })
		require.Zero(t, d.counters("a"))
		require.Zero(t, d.exec("INSERT INTO lives (agent) VALUES ('b')"))
		require.False(t, d.one("SELECT nothing", nil))
		d.each("SELECT 1", nil, func(scanner) { t.Error("a row after an error") })
		return 7
	})
	require.ErrorIs(t, err, first)
	require.EqualError(t, err, "count: the second step: first")
	require.Zero(t, n)
	next, err := s.NextDream(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 1, next)
}

func TestAnIndexOfTheNewSpaceIsNotSearchedForTheOld(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	item := &dream.Gist{Head: dream.Head{
		ID:    "g",
		Agent: "a",
		Kind:  dream.KindGist,
		At:    time.Unix(0, 0),
		State: dream.Live,
	}}
	_, err = s.Commit(t.Context(), memory.Write{
		Agent: "a", Cause: "import", Add: []dream.Item{item},
		Vectors: []memory.Vector{{Item: "g", Space: "old", V: []float32{1, 0}}},
	})
	require.NoError(t, err)
	require.NoError(t, s.Collect(t.Context(), "a", []memory.Vector{{Item: "g", Space: "new", V: []float32{0, 1}}}))
	missing, err := s.Move(t.Context(), "a", "new")
	require.NoError(t, err)
	require.Zero(t, missing)
	_, err = s.Near(t.Context(), memory.Near{Agent: "a", Space: "new", V: []float32{0, 1}, Limit: 1})
	require.NoError(t, err)
	x := s.Indexes.Of("a")
	_, same := x.Near(memory.Near{Space: "old", V: []float32{1, 0}, Limit: 1})
	require.False(t, same)
	hits, same := x.Near(memory.Near{Space: "new", V: []float32{0, 1}, Limit: 1})
	require.True(t, same)
	require.Equal(t, []memory.Hit{{Item: "g", Cosine: 1}}, hits)
}

// TestARemovalCoversEveryTableOfAnAgent reads the schema: a table with an agent column must be deleted with the agent
// or be one of those that stay.
func TestARemovalCoversEveryTableOfAnAgent(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	tables, err := in(t.Context(), s.read, "tables", func(d *tx) []string {
		return column[string](d,
			`SELECT m.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND c.name = 'agent'`)
	})
	require.NoError(t, err)
	counters, money := []string{"lives", "presences"}, []string{"attempts", "sums", "spent", "allowances"}
	require.ElementsMatch(t, slices.Concat(agentTables, counters, money), tables)
}

func TestAnAdditionalConditionAppliesToEveryQuery(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w := memory.Write{Agent: "a", Cause: "import"}
	for _, id := range []string{"one", "two"} {
		w.Add = append(w.Add, &dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "a",
				Kind:  dream.KindEpisode,
				At:    time.Unix(0, 0),
				State: dream.Live,
				Dream: "d",
			},
			Session: "s",
			Origin:  dream.TalkOrigin + "k/u",
		})
	}
	_, err = s.Commit(t.Context(), w)
	require.NoError(t, err)
	for name, q := range map[string]memory.Query{
		"all":         {Agent: "a"},
		"its dream":   {Agent: "a", Dream: "d"},
		"its session": {Agent: "a", Session: "s"},
		"its owner":   {Agent: "a", Owners: []string{dream.TalkOrigin + "k/u"}},
	} {
		for _, only := range []condition{{}, {"id <> ?", []any{"one"}}} {
			query, args := findSQL(q, sorts[memory.Newest], only)
			found, err := in(t.Context(), s.read, name, func(d *tx) []dream.Item { return d.items(query, args) })
			require.NoError(t, err, name)
			want := 2
			if only.term != "" {
				want = 1
			}
			require.Len(t, found, want, name)
		}
	}
}

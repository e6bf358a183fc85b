package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
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
			memory.Query{Agent: "a", Kinds: []dream.Kind{dream.KindEpisode}, Sort: by, Limit: 5}, sort)
		plan := planOf(t, s, query, args)
		require.Contains(t, plan, "SEARCH items USING INDEX "+sort.index+" (agent=? AND kind=? AND state=?", by)
		require.Contains(t, plan, "USE TEMP B-TREE FOR LAST", by) // only ties are sorted
		require.NotContains(t, plan, "SCAN items", by)
	}
	for index, q := range map[string]memory.Query{
		"items_dream":   {Agent: "a", Dream: "d"},
		"items_session": {Agent: "a", Session: "s"},
	} {
		query, args := findSQL(q, sorts[memory.Newest])
		require.Contains(t, planOf(t, s, query, args), "USING INDEX "+index)
	}
}

func planOf(t *testing.T, s *Store, query string, args []any) string {
	t.Helper()
	var plan strings.Builder
	require.NoError(t, s.read(t.Context(), func(d tx) error {
		return d.each("EXPLAIN QUERY PLAN "+query, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			fmt.Fprintln(&plan, detail)
			return err
		})
	}))
	return plan.String()
}

func TestTheIndexesOfLeastRecentlySearchedAgentsAreEvicted(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), ":memory:", VectorMemory(5_000))
	require.NoError(t, err)
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
	require.Equal(t, 2, s.indexes.Agents())
	require.True(t, s.indexes.Holds("a"))
	require.False(t, s.indexes.Holds("b"))
}

func TestAPanicLeavesNoTransaction(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "oneiros.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, transact := range []func(context.Context, func(tx) error) error{s.write, s.read} {
		require.Panics(t, func() { _ = transact(t.Context(), func(tx) error { panic("a defect") }) })
	}
	for want := range s.set.readers {
		n, err := s.NextDream(t.Context(), "a")
		require.NoError(t, err)
		require.EqualValues(t, want+1, n)
		_, err = s.Affect(t.Context(), "a")
		require.NoError(t, err)
	}
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
	x := s.indexes.Of("a")
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
	var tables []string
	require.NoError(t, s.read(t.Context(), func(d tx) error {
		return d.each(
			`SELECT m.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND c.name = 'agent'`,
			nil, func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				tables = append(tables, name)
				return err
			})
	}))
	counters, money := []string{"lives", "presences"}, []string{"attempts", "allowances"}
	require.ElementsMatch(t, slices.Concat(agentTables, counters, money), tables)
}

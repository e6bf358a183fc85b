package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Get returns the newest revisions in the order of ids.
func (s items) Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	if len(ids) == 0 {
		return []dream.Item{}, nil
	}
	return in(ctx, s.readOnce, "get memories of "+agent, func(d *tx) []dream.Item {
		return d.items(`SELECT kind, body, revision, text, items.id, packed FROM json_each(?) AS asked
			CROSS JOIN items ON agent = ? AND items.id = asked.value
			ORDER BY asked.key`, []any{jsonText{ids}, agent})
	})
}

// Find returns the items that match a query.
func (s items) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	sort, ok := sorts[q.Sort]
	if !ok {
		return nil, fmt.Errorf("find memories of %s: unknown sort order %q", q.Agent, q.Sort)
	}
	query, args := findSQL(q, sort, condition{})
	return in(ctx, s.readOnce, "find memories of "+q.Agent, func(d *tx) []dream.Item { return d.items(query, args) })
}

// Count counts what Find would return without a limit.
func (s items) Count(ctx context.Context, q memory.Query) (int, error) {
	if _, ok := sorts[q.Sort]; !ok {
		return 0, fmt.Errorf("count memories of %s: unknown sort order %q", q.Agent, q.Sort)
	}
	w := where{}
	w.filter(q)
	return in(ctx, s.readOnce, "count memories of "+q.Agent, func(d *tx) int {
		return cell[int](d, "SELECT count(*) FROM items"+w.indexedBy(q, "")+w.String(), w.args...)
	})
}

// itemColumns are the columns that items scans.
const itemColumns = "kind, body, revision, text, id, packed"

// items decodes rows of itemColumns.
func (d *tx) items(query string, args []any) []dream.Item {
	return rows(d, query, args, func(scan scanner) dream.Item {
		var kind, text, id string
		var whole, short sql.RawBytes // valid until the next row
		var revision int
		scan(&kind, &whole, &revision, &text, &id, &short)
		return d.decode(kind, d.unpacked(id, whole, short, text, id), revision)
	})
}

// sorting is the ORDER BY clause of a sort order, with the index that yields it.
type sorting struct{ by, index string }

// condition is an SQL condition with its arguments.
type condition struct {
	term string
	args []any
}

var sorts = map[memory.SortOrder]sorting{
	"":                  {by: "at DESC, text, id", index: "items_at"},
	memory.Newest:       {by: "at DESC, text, id", index: "items_at"},
	memory.Oldest:       {by: "at, text, id", index: "items_at"},
	memory.MostSalient:  {by: "salience DESC, at DESC, text, id", index: "items_salience"},
	memory.HighestScore: {by: "score DESC, at DESC, text, id", index: "items_score"},
	memory.SoonestDue:   {by: "due, text, id", index: "items_due"},
}

// partialIndexes lists the indexes that hold some kinds only, with the condition in their definitions: SQLite uses such
// an index for a query that repeats the condition. Other kinds are found by items_at and sorted.
var partialIndexes = map[string]struct {
	kinds     []dream.Kind
	condition string
}{
	"items_salience": {[]dream.Kind{dream.KindEpisode}, "kind = 'episode'"},
	"items_bare": {
		[]dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindPlaybook, dream.KindGist},
		"kind IN ('episode', 'semantic', 'playbook', 'gist')",
	},
}

// findSQL returns the statement of a query. A query by dream, by session or by one owner (otherOwner) reads what the
// index of that column finds and sorts it. Any other query reads, for each pair of kind and state, a range of an index
// that has the right order, as far as the limit, and merges the ranges. only is a condition beside those of the query;
// an empty one adds none.
func findSQL(q memory.Query, sort sorting, only condition) (string, []any) {
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	if q.Dream != "" || q.Session != "" || otherOwner(q) != "" {
		w := where{}
		w.filter(q)
		w.addCondition(only)
		return "SELECT " + itemColumns + " FROM items" + w.indexedBy(q, "") + w.String() + " ORDER BY " + sort.by +
			" LIMIT ?", append(w.args, limit)
	}
	var parts []string
	var args []any
	for _, kind := range store.Kinds(q) {
		for _, state := range store.States(q) {
			one := q
			one.Kinds, one.States = []dream.Kind{kind}, []dream.State{state}
			w := where{}
			w.filter(one)
			w.addCondition(only)
			indexName := sort.index
			if p, ok := partialIndexes[indexName]; ok && slices.Contains(p.kinds, kind) {
				w.add(p.condition)
			} else if ok {
				indexName = "items_at"
			}
			parts = append(parts, "SELECT * FROM (SELECT "+itemColumns+", at, salience, score, due FROM items"+
				w.indexedBy(q, indexName)+w.String()+" ORDER BY "+sort.by+" LIMIT ?)")
			args = append(append(args, w.args...), limit)
		}
	}
	return "SELECT " + itemColumns + " FROM (" + strings.Join(parts, " UNION ALL ") + ") ORDER BY " + sort.by +
		" LIMIT ?", append(args, limit)
}

// otherOwner is the owner of a query that names exactly one. It is empty when the query names several, none, or only
// the agent itself.
func otherOwner(q memory.Query) string {
	if owners := store.Distinct(q.Owners); len(owners) == 1 {
		return owners[0]
	}
	return ""
}

// where collects conditions and their arguments.
type where struct {
	terms []string
	args  []any
}

func (w *where) String() string { return " WHERE " + strings.Join(w.terms, " AND ") }

func (w *where) add(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// addCondition adds a condition, unless it is empty.
func (w *where) addCondition(c condition) {
	if c.term != "" {
		w.add(c.term, c.args...)
	}
}

// addIn adds a condition that a column has one of several values.
func addIn[T ~string](w *where, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	w.add(column+" IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

// filter adds the conditions of a query.
func (w *where) filter(q memory.Query) {
	w.add("agent = ?", q.Agent)
	if q.Dream != "" {
		w.add("dream = ? AND dream <> ''", q.Dream)
	}
	if q.Session != "" {
		w.add("session = ? AND session <> ''", q.Session)
	}
	if len(q.Owners) > 0 {
		addIn(w, "owner", store.Distinct(q.Owners))
	}
	if owner := otherOwner(q); owner != "" {
		w.add("owner <> ''")
	}
	addIn(w, "kind", store.Kinds(q))
	addIn(w, "state", store.States(q))
	if len(q.Statuses) > 0 {
		addIn(w, "status", store.Distinct(q.Statuses))
	}
	if q.SalientFrom != 0 {
		w.add("salience >= ?", q.SalientFrom)
	}
	if q.ScoreFrom != 0 {
		w.add("score >= ?", q.ScoreFrom)
	}
	w.addTime("at >= ?", q.Since)
	w.addTime("at < ?", q.Until)
	w.addTime("due IS NOT NULL AND due < ?", q.DueBefore)
	if q.Sort == memory.SoonestDue {
		w.add("due IS NOT NULL")
	}
}

// addTime adds a condition on a time, unless the time is zero.
func (w *where) addTime(term string, t time.Time) {
	if !t.IsZero() {
		w.add(term, nanos(t))
	}
}

// indexedBy names the index to use, so that no plan depends on statistics, which are not collected. indexName is the
// index of the sort order, or empty when the order does not matter.
func (w *where) indexedBy(q memory.Query, indexName string) string {
	switch {
	case q.Dream != "":
		return " INDEXED BY items_dream"
	case q.Session != "":
		return " INDEXED BY items_session"
	case otherOwner(q) != "":
		return " INDEXED BY items_owner"
	case indexName != "":
		return " INDEXED BY " + indexName
	case !q.DueBefore.IsZero():
		return " INDEXED BY items_due"
	default:
		return " INDEXED BY items_at"
	}
}

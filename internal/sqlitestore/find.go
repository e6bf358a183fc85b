package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Get returns the newest revisions in the order of ids.
func (s *Store) Get(ctx context.Context, agent string, ids ...string) ([]dream.Item, error) {
	items := make([]dream.Item, 0, len(ids))
	list, err := json.Marshal(ids)
	if err == nil && len(ids) > 0 {
		err = s.readOnce(ctx, func(d tx) error {
			return d.items(
				`SELECT kind, body, revision, text, items.id, packed FROM json_each(?) AS asked CROSS JOIN items ON agent = ? AND items.id = asked.value
				ORDER BY asked.key`, []any{string(list), agent}, &items)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("get memories of %s: %w", agent, err)
	}
	return items, nil
}

// Find returns the items that match a query.
func (s *Store) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	sort, ok := sorts[q.Sort]
	if !ok {
		return nil, fmt.Errorf("find memories of %s: unknown sort order %q", q.Agent, q.Sort)
	}
	query, args := findSQL(q, sort)
	var items []dream.Item
	err := s.readOnce(ctx, func(d tx) error { return d.items(query, args, &items) })
	if err != nil {
		return nil, fmt.Errorf("find memories of %s: %w", q.Agent, err)
	}
	return items, nil
}

// Count counts what Find would return without a limit.
func (s *Store) Count(ctx context.Context, q memory.Query) (int, error) {
	if _, ok := sorts[q.Sort]; !ok {
		return 0, fmt.Errorf("count memories of %s: unknown sort order %q", q.Agent, q.Sort)
	}
	w := where{}
	w.filter(q)
	n := 0
	err := s.readOnce(ctx, func(d tx) error {
		_, err := d.one("SELECT count(*) FROM items"+w.index(q, "")+w.String(), w.args, &n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count memories of %s: %w", q.Agent, err)
	}
	return n, nil
}

// itemColumns are the columns that items scans.
const itemColumns = "kind, body, revision, text, id, packed"

// items scans rows of itemColumns.
func (d tx) items(query string, args []any, out *[]dream.Item) error {
	return d.each(query, args, func(scan func(...any) error) error {
		var kind, text, id string
		var whole, short sql.RawBytes // valid until the next row
		var revision int
		if err := scan(&kind, &whole, &revision, &text, &id, &short); err != nil {
			return err
		}
		body, err := unpacked(whole, short, text, id)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		item, err := decode(kind, body, revision)
		if err != nil {
			return err
		}
		*out = append(*out, item)
		return nil
	})
}

// sorting is the ORDER BY clause of a sort order, with the index that yields it. only is an additional condition, with
// its arguments.
type sorting struct {
	by, index, only string
	args            []any
}

var sorts = map[memory.SortOrder]sorting{
	"":                  {by: "at DESC, text, id", index: "items_at"},
	memory.Newest:       {by: "at DESC, text, id", index: "items_at"},
	memory.Oldest:       {by: "at, text, id", index: "items_at"},
	memory.MostSalient:  {by: "salience DESC, at DESC, text, id", index: "items_salience"},
	memory.HighestScore: {by: "score DESC, at DESC, text, id", index: "items_score"},
	memory.SoonestDue:   {by: "due, text, id", index: "items_due"},
}

// partial lists the indexes that hold some kinds only, with the condition in their definitions: SQLite uses such an
// index for a query that repeats the condition. Other kinds are found by items_at and sorted.
var partial = map[string]struct {
	kinds []dream.Kind
	says  string
}{
	"items_salience": {[]dream.Kind{dream.KindEpisode}, "kind = 'episode'"},
	"items_bare": {
		[]dream.Kind{dream.KindEpisode, dream.KindSemantic, dream.KindPlaybook, dream.KindGist},
		"kind IN ('episode', 'semantic', 'playbook', 'gist')",
	},
}

// findSQL uses one index when the query names a dream, a session or an owner other than the agent. Otherwise each pair
// of kind and state is a range of an index in the right order, read only as far as the limit, and the ranges are
// merged.
func findSQL(q memory.Query, sort sorting) (string, []any) {
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	if q.Dream != "" || q.Session != "" || otherOwner(q) != "" {
		w := where{}
		w.filter(q)
		return "SELECT " + itemColumns + " FROM items" + w.index(q, "") + w.String() + " ORDER BY " + sort.by +
			" LIMIT ?", append(w.args, limit)
	}
	var parts []string
	var args []any
	for _, kind := range kindsOf(q) {
		for _, state := range statesOf(q) {
			one := q
			one.Kinds, one.States = []dream.Kind{kind}, []dream.State{state}
			w := where{}
			w.filter(one)
			if sort.only != "" {
				w.and(sort.only, sort.args...)
			}
			sorted := sort.index
			if p, ok := partial[sorted]; ok && slices.Contains(p.kinds, kind) {
				w.and(p.says)
			} else if ok {
				sorted = "items_at"
			}
			parts = append(parts, "SELECT * FROM (SELECT "+itemColumns+", at, salience, score, due FROM items"+
				w.index(q, sorted)+w.String()+" ORDER BY "+sort.by+" LIMIT ?)")
			args = append(append(args, w.args...), limit)
		}
	}
	return "SELECT " + itemColumns + " FROM (" + strings.Join(parts, " UNION ALL ") + ") ORDER BY " + sort.by +
		" LIMIT ?", append(args, limit)
}

func kindsOf(q memory.Query) []dream.Kind {
	if len(q.Kinds) == 0 {
		return dream.Kinds
	}
	return unique(q.Kinds)
}

func statesOf(q memory.Query) []dream.State {
	if len(q.States) == 0 {
		return []dream.State{dream.Live}
	}
	return unique(q.States)
}

func unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	var out []T
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// otherOwner is the one owner other than the agent that a query names; empty otherwise.
func otherOwner(q memory.Query) string {
	if owners := unique(q.Owners); len(owners) == 1 {
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

func (w *where) and(term string, args ...any) {
	w.terms = append(w.terms, term)
	w.args = append(w.args, args...)
}

// in adds a condition that a column has one of several values.
func in[T ~string](w *where, column string, values []T) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = string(v)
	}
	w.and(column+" IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

func (w *where) filter(q memory.Query) {
	w.and("agent = ?", q.Agent)
	if q.Dream != "" {
		w.and("dream = ? AND dream <> ''", q.Dream)
	}
	if q.Session != "" {
		w.and("session = ? AND session <> ''", q.Session)
	}
	if len(q.Owners) > 0 {
		in(w, "owner", unique(q.Owners))
	}
	if owner := otherOwner(q); owner != "" {
		w.and("owner <> ''")
	}
	in(w, "kind", kindsOf(q))
	in(w, "state", statesOf(q))
	if len(q.Statuses) > 0 {
		in(w, "status", unique(q.Statuses))
	}
	if q.SalientFrom != 0 {
		w.and("salience >= ?", q.SalientFrom)
	}
	if q.ScoreFrom != 0 {
		w.and("score >= ?", q.ScoreFrom)
	}
	w.time("at >= ?", q.Since)
	w.time("at < ?", q.Until)
	w.time("due IS NOT NULL AND due < ?", q.DueBefore)
	if q.Sort == memory.SoonestDue {
		w.and("due IS NOT NULL")
	}
}

func (w *where) time(term string, t time.Time) {
	if !t.IsZero() {
		w.and(term, nanos(t))
	}
}

// index names the index to use, so that no plan depends on statistics, which are not collected. sorted is the index of
// the sort order, or empty when the order does not matter.
func (w *where) index(q memory.Query, sorted string) string {
	switch {
	case q.Dream != "":
		return " INDEXED BY items_dream"
	case q.Session != "":
		return " INDEXED BY items_session"
	case otherOwner(q) != "":
		return " INDEXED BY items_owner"
	case sorted != "":
		return " INDEXED BY " + sorted
	case !q.DueBefore.IsZero():
		return " INDEXED BY items_due"
	default:
		return " INDEXED BY items_at"
	}
}

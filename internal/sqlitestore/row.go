package sqlitestore

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// row is an item as its table stores it.
type row struct {
	head  dream.Head
	marks dream.Marks
	id    string
	text  string
	body  string
	kept  storedText // the body, packed relative to text and id
	read  int        // the revision it was read at; 0 for none
	same  bool       // add a revision even if it equals the newest
}

// encodeAll encodes items of one agent.
func encodeAll(agent string, items []dream.Item) ([]row, error) {
	out := make([]row, len(items))
	for i, item := range items {
		if err := memory.ValidateItem(agent, item); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		body, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %s: %w", i, item.Header().ID, err)
		}
		out[i] = rowOf(item, string(body))
	}
	return out, nil
}

// rowOf makes the row of a valid item, given its JSON.
func rowOf(item dream.Item, body string) row {
	h, text := *item.Header(), item.Text()
	return row{
		head:  h,
		marks: item.Marks(),
		id:    h.ID,
		text:  text,
		body:  body,
		kept:  storeText(body, h.Dream, text, h.ID),
		read:  h.Revision,
	}
}

// decode reads an item from its row.
func (d *tx) decode(kind string, body []byte, revision int) dream.Item {
	item, err := dream.Decode(dream.Kind(kind), body)
	d.fail(err)
	if d.err != nil {
		return nil
	}
	item.Header().Revision = revision
	return item
}

// revisedColumns are the columns of an item that a revision sets, in the order of revised.
const revisedColumns = "state, at, salience, surprise, score, due, status, session, dream, cause, changed, text, body, " +
	"owner, dreamt, tide, packed"

// revised returns the values of revisedColumns.
func (r row) revised(cause string, changed, vectorRevision int64) []any {
	var due any
	if !r.marks.Due.IsZero() {
		due = nanos(r.marks.Due)
	}
	return []any{
		string(r.head.State), nanos(r.head.At), r.marks.Salience, r.marks.Surprise, r.marks.Score, due, r.marks.Status,
		r.marks.Session, r.head.Dream, cause, changed, r.text, r.kept.text, r.marks.Owner, r.head.Dreamt(),
		vectorRevision, r.kept.packed,
	}
}

var (
	insertItem = insertInto("items", "agent, id, kind, bare, revision, "+revisedColumns)
	reviseItem = "UPDATE items SET revision = revision + 1, (" + revisedColumns + ") = " + valuesOf(revisedColumns) +
		" WHERE key = ?"
)

// putItem inserts a row as a revision of this number; false when the id exists. bare says that it has no vector in the
// agent's space.
func (d *tx) putItem(r row, number int, bare bool, cause string, changed, vectorRevision int64) bool {
	fixed := []any{r.head.Agent, r.id, string(r.head.Kind), bare, number}
	return d.exec(insertItem+" ON CONFLICT (agent, id) DO NOTHING",
		append(fixed, r.revised(cause, changed, vectorRevision)...)...) == 1
}

// insert adds a new item; false when the id exists.
func (d *tx) insert(r row, cause string, now, vectorRevision int64) bool {
	return d.putItem(r, 1, true, cause, now, vectorRevision)
}

// revise makes r the newest revision. changed is false when it equals the one before.
func (d *tx) revise(r row, w memory.Write, now, vectorRevision int64) (changed bool) {
	var key int64
	var kind, state, cause, text, dreamID string
	var body storedText
	var newest int
	found := d.one(
		"SELECT key, kind, state, cause, dream, text, body, packed, revision FROM items WHERE agent = ? AND id = ?",
		[]any{r.head.Agent, r.id}, &key, &kind, &state, &cause, &dreamID, &text, &body.text, &body.packed, &newest)
	switch {
	case !found:
		d.fail(memory.ErrNotFound)
	case kind != string(r.head.Kind):
		d.fail(fmt.Errorf("it is a %s and cannot become a %s", kind, r.head.Kind))
	default:
		d.fail(memory.CheckRevision(r.read, newest))
	}
	before := string(d.unpacked("its newest revision", []byte(body.text), body.packed, text, r.id))
	changed = before != r.body
	if d.err != nil || !changed && !r.same {
		return false
	}
	if !w.Replaces(cause, dream.State(state), r.head.State) {
		past := storeText(before, dreamID, r.id)
		d.exec(`INSERT INTO revisions (agent, id, number, kind, cause, at, body, packed)
			SELECT agent, id, revision, kind, cause, changed, ?, ? FROM items WHERE key = ?`, past.text, past.packed, key)
	}
	d.exec(reviseItem, append(r.revised(w.CauseOf(), now, vectorRevision), key)...)
	if text != r.text {
		// the item's collected vectors are of its old text
		d.exec("DELETE FROM vectors WHERE agent = ? AND id = ? AND space IN (SELECT space FROM moves WHERE agent = ?)",
			r.head.Agent, r.id, r.head.Agent)
	}
	if state != string(r.head.State) {
		d.exec("UPDATE vectors SET live = ? WHERE agent = ? AND id = ?", r.head.State == dream.Live, r.head.Agent, r.id)
	}
	return changed
}

// nanos is a time as an integer that SQLite can sort by, saturated at the limits of int64 (years 1678 and 2262).
func nanos(t time.Time) int64 {
	switch {
	case t.Year() < 1678:
		return math.MinInt64
	case t.Year() > 2261:
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

// date is the form of a time in columns that are never sorted by; empty for the zero time.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseDate(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, s)
}

package sqlitestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
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

// rows encodes items of one agent.
func rows(agent string, items []dream.Item) ([]row, error) {
	out := make([]row, 0, len(items))
	for i, item := range items {
		r, err := encode(agent, item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// kindTypes maps each kind to the Go type of its items.
var kindTypes = func() map[dream.Kind]reflect.Type {
	types := map[dream.Kind]reflect.Type{}
	for _, kind := range dream.Kinds {
		if item, err := dream.Decode(kind, []byte("{}")); err == nil {
			types[kind] = reflect.TypeOf(item)
		}
	}
	return types
}()

func encode(agent string, item dream.Item) (row, error) {
	if item == nil || reflect.ValueOf(item).IsNil() {
		return row{}, errors.New("it is nil")
	}
	h := *item.Header()
	if h.ID == "" {
		return row{}, errors.New("its id is empty")
	}
	if h.Agent != agent {
		return row{}, fmt.Errorf("%s is of agent %q; this memory is of %q", h.ID, h.Agent, agent)
	}
	if want := kindTypes[h.Kind]; want != reflect.TypeOf(item) {
		return row{}, fmt.Errorf("%s is a %T and names its kind %q; a kind has one type", h.ID, item, h.Kind)
	}
	switch h.State {
	case dream.Live, dream.Superseded, dream.Archived, dream.Proposed:
	default:
		return row{}, fmt.Errorf("%s has state %q; states are live, superseded, archived and proposed", h.ID, h.State)
	}
	body, err := json.Marshal(item)
	if err != nil {
		return row{}, fmt.Errorf("%s: %w", h.ID, err)
	}
	text := item.Text()
	return row{
		head:  h,
		marks: item.Marks(),
		id:    h.ID,
		text:  text,
		body:  string(body),
		kept:  storeText(string(body), h.Dream, text, h.ID),
		read:  h.Revision,
	}, nil
}

// decode reads an item from its row.
func decode(kind string, body []byte, revision int) (dream.Item, error) {
	item, err := dream.Decode(dream.Kind(kind), body)
	if err != nil {
		return nil, err
	}
	item.Header().Revision = revision
	return item, nil
}

func (r row) due() any {
	if r.marks.Due.IsZero() {
		return nil
	}
	return nanos(r.marks.Due)
}

// insert adds a new item; false when the id exists.
func (d tx) insert(r row, cause string, now, vectorRevision int64) (bool, error) {
	n, err := d.exec(
		`INSERT INTO items (agent, id, kind, state, at, salience, surprise, score, due, status, session, dream, bare,
		revision, cause, changed, text, body, owner, dreamt, tide, packed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent, id) DO NOTHING`,
		r.head.Agent, r.id, string(r.head.Kind), string(r.head.State), nanos(r.head.At), r.marks.Salience,
		r.marks.Surprise, r.marks.Score,
		r.due(), r.marks.Status, r.marks.Session, r.head.Dream, cause, now, r.text, r.kept.text, r.marks.Owner,
		r.head.Dreamt(), vectorRevision,
		r.kept.packed)
	return n == 1, err
}

// revise makes r the newest revision. changed is false when it equals the newest one.
func (d tx) revise(r row, w memory.Write, now, vectorRevision int64) (changed bool, err error) {
	var key int64
	var kind, state, cause, text, dreamID string
	var body storedText
	var newest int
	found, err := d.one(
		"SELECT key, kind, state, cause, dream, text, body, packed, revision FROM items WHERE agent = ? AND id = ?",
		[]any{r.head.Agent, r.id}, &key, &kind, &state, &cause, &dreamID, &text, &body.text, &body.packed, &newest)
	if err != nil {
		return false, err
	}
	if !found {
		return false, memory.ErrNotFound
	}
	if kind != string(r.head.Kind) {
		return false, fmt.Errorf("it is a %s and cannot become a %s", kind, r.head.Kind)
	}
	if r.read != 0 && r.read != newest {
		return false, fmt.Errorf("it was read at revision %d and the newest is %d: %w", r.read, newest, memory.ErrStale)
	}
	before, err := body.read(text, r.id)
	if err != nil || string(before) == r.body && !r.same {
		return false, err
	}
	if !w.Replaces(cause, dream.State(state), r.head.State) {
		past := storeText(string(before), dreamID, r.id)
		if _, err := d.exec(`INSERT INTO revisions (agent, id, number, kind, cause, at, body, packed)
			SELECT agent, id, revision, kind, cause, changed, ?, ? FROM items WHERE key = ?`, past.text, past.packed,
			key); err != nil {
			return false, err
		}
	}
	if _, err := d.exec(
		`UPDATE items SET state = ?, at = ?, salience = ?, surprise = ?, score = ?, due = ?, status = ?, session = ?,
		dream = ?, revision = revision + 1, cause = ?, changed = ?, text = ?, body = ?, owner = ?, dreamt = ?, tide = ?, packed = ?
		WHERE key = ?`,
		string(r.head.State), nanos(r.head.At), r.marks.Salience, r.marks.Surprise, r.marks.Score, r.due(),
		r.marks.Status,
		r.marks.Session, r.head.Dream, w.CauseOf(), now, r.text, r.kept.text,
		r.marks.Owner, r.head.Dreamt(), vectorRevision, r.kept.packed, key); err != nil {
		return false, err
	}
	if text != r.text {
		if err := d.dropCollected(r.head.Agent, r.id); err != nil {
			return false, err
		}
	}
	if state == string(r.head.State) {
		return true, nil
	}
	_, err = d.exec("UPDATE vectors SET live = ? WHERE agent = ? AND id = ?", r.head.State == dream.Live,
		r.head.Agent, r.id)
	return true, err
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

func (s *Store) stamp() int64 { return s.set.now().UnixNano() }

package rooms

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/store"
)

// tx is one step of rooms. Its methods lie in three types, each of which stands on the one before: records, members
// and states, posts and inboxes.
type tx struct{ *memberTx }

// memberTx reads and writes rooms, their members and how dormant agents are.
type memberTx struct{ *recordTx }

// recordTx reads and writes records. It keeps its first error and writes nothing after it. A get sees what the step has
// written, a scan does not.
type recordTx struct {
	view    View
	kept    map[string][]byte // what was read; nil for what does not exist
	written map[string][]byte // nil for what is deleted
	agents  map[string]bool
	rooms   map[string]bool
	err     error
}

func newTx(v View) *tx {
	return &tx{&memberTx{&recordTx{
		view:    v,
		kept:    map[string][]byte{},
		written: map[string][]byte{},
		agents:  map[string]bool{},
		rooms:   map[string]bool{},
	}}}
}

// update runs do as one step.
func update[T any](ctx context.Context, s *Store, what string, do func(*tx) T) (T, error) {
	var value T
	err := s.backend.Update(ctx, func(v View) (Changes, error) {
		t := newTx(v)
		value = do(t)
		return t.changes(), t.err
	})
	return store.Result(value, err, what)
}

// read runs do, which writes nothing.
func read[T any](ctx context.Context, s *Store, what string, do func(*tx) T) (T, error) {
	var value T
	err := s.backend.View(ctx, func(v View) error {
		t := newTx(v)
		value = do(t)
		return t.err
	})
	return store.Result(value, err, what)
}

func (t *recordTx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *recordTx) changes() Changes {
	c := Changes{Agents: slices.Sorted(maps.Keys(t.agents)), Rooms: slices.Sorted(maps.Keys(t.rooms))}
	for _, name := range slices.Sorted(maps.Keys(t.written)) {
		if body := t.written[name]; body != nil {
			c.Put = append(c.Put, Record{name, body})
		} else {
			c.Delete = append(c.Delete, name)
		}
	}
	return c
}

// fetch reads several records at once.
func (t *recordTx) fetch(names ...string) {
	var missing []string
	for _, name := range names {
		if _, ok := t.kept[name]; !ok {
			missing = append(missing, name)
		}
	}
	if t.err != nil || len(missing) == 0 {
		return
	}
	bodies, err := t.view.Get(missing...)
	t.fail(err)
	for i, body := range bodies {
		t.kept[missing[i]] = body
	}
}

// body returns a record; nil when there is none.
func (t *recordTx) body(name string) []byte {
	if body, ok := t.written[name]; ok {
		return body
	}
	t.fetch(name)
	return t.kept[name]
}

// get decodes a record; false when there is none.
func get[T any](t *recordTx, name string) (value T, ok bool) {
	body := t.body(name)
	if body == nil || t.err != nil {
		return value, false
	}
	t.decode(name, body, &value)
	return value, t.err == nil
}

func (t *recordTx) decode(name string, body []byte, into any) {
	t.fail(store.Wrap(json.Unmarshal(body, into), "record ", name))
}

// set writes a record and its indexes.
func (t *recordTx) set(name string, value any) {
	body, err := json.Marshal(value)
	t.fail(err)
	t.put(name, body)
}

// add is set for a record that is known to be new.
func (t *recordTx) add(name string, value any) {
	if _, ok := t.kept[name]; !ok {
		t.kept[name] = nil
	}
	t.set(name, value)
}

// drop deletes a record and its indexes.
func (t *recordTx) drop(name string) { t.put(name, nil) }

func (t *recordTx) put(name string, body []byte) {
	before := t.body(name)
	if t.err != nil {
		return
	}
	old, err := derive(name, before)
	t.fail(err)
	now, err := derive(name, body)
	t.fail(err)
	for _, former := range old {
		if !slices.Contains(now, former) {
			t.written[former] = nil
		}
	}
	for _, entry := range now {
		if !slices.Contains(old, entry) {
			t.written[entry] = []byte{}
		}
	}
	t.written[name] = body
}

// scan returns the records of a range as they were before the step.
func (t *recordTx) scan(r Range) []Record {
	if t.err != nil {
		return nil
	}
	found, err := t.view.Scan(r)
	t.fail(err)
	return found
}

// all decodes the records of a range.
func all[T any](t *recordTx, r Range) []T {
	found := t.scan(r)
	values := make([]T, len(found))
	for i, record := range found {
		t.decode(record.Name, record.Body, &values[i])
	}
	return values
}

// last returns the number at the end of the only name of an index; 0 when there is none.
func (t *recordTx) last(prefix string) int64 {
	for _, found := range t.scan(Range{Prefix: prefix, Limit: 1}) {
		return t.numberOf(found.Name)
	}
	return 0
}

func (t *recordTx) numberOf(name string) int64 {
	n, err := strconv.ParseInt(name[strings.LastIndexByte(name, '/')+1:], 10, 64)
	t.fail(store.Wrap(err, "record ", name))
	return n
}

// numbers returns the numbers at the ends of the names of a range.
func (t *recordTx) numbers(r Range) []int64 {
	found := t.scan(r)
	out := make([]int64, len(found))
	for i, record := range found {
		out[i] = t.numberOf(record.Name)
	}
	return out
}

// named decodes the records of these names; all must exist.
func named[T any](t *recordTx, names []string) []T {
	t.fetch(names...)
	values := make([]T, len(names))
	for i, name := range names {
		value, ok := get[T](t, name)
		if !ok {
			t.fail(fmt.Errorf("record %s is missing, and an index leads to it", name))
		}
		values[i] = value
	}
	return values
}

// page cuts a limit down to what one call returns.
func page(limit, most int) int {
	if limit <= 0 || limit > most {
		return most
	}
	return limit
}

// utc is the stored form of a time.
func utc(at time.Time) time.Time { return at.UTC().Round(0) }

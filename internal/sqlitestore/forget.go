package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// errLogInUse is returned when the log could not be emptied.
var errLogInUse = errors.New(
	"the items are erased, but another reader uses an older state of the file, so its log still has their text; " +
		"forget again")

// Forget erases these items alone.
func (s *Store) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	done, err := s.Erase(ctx, agent, memory.Erasure{IDs: ids})
	return done.Items, err
}

// Erase applies an erasure in one transaction. Then it rewrites the file and empties the write-ahead log, so that the
// erased text is nowhere in the file: SQLite overwrites what is deleted, but not the places where a row was before its
// page was split.
func (s *Store) Erase(ctx context.Context, agent string, e memory.Erasure) (memory.EraseResult, error) {
	var done memory.EraseResult
	err := s.write(ctx, func(d tx) error {
		var err error
		done, err = d.erase(agent, e)
		return err
	})
	if err == nil && !e.More {
		err = s.emptyLog(context.WithoutCancel(ctx), true) // must complete even if the caller gives up
	}
	if err != nil {
		return done, fmt.Errorf("forget memories of %s: %w", agent, err)
	}
	return done, nil
}

func (d tx) erase(agent string, e memory.Erasure) (memory.EraseResult, error) {
	var done memory.EraseResult
	if err := d.eraseResponses(); err != nil {
		return done, err
	}
	if _, err := d.exec("DELETE FROM backgrounds WHERE agent = ?", agent); err != nil { // they may quote what is erased
		return done, err
	}
	if len(e.IDs) == 0 && len(e.Scrub) == 0 && e.Words == nil {
		return done, nil
	}
	before, err := d.changes()
	if err != nil {
		return done, err
	}
	removed := map[string]bool{}
	for _, id := range e.IDs {
		erased, err := d.eraseItem(agent, id)
		if err != nil {
			return done, err
		}
		if erased {
			done.Items++
		}
		removed[id] = true
	}
	var running string // the calls of the running dream may have shown any memory
	if _, err := d.one("SELECT dream FROM slots WHERE agent = ?", []any{agent}, &running); err != nil {
		return done, err
	}
	for _, dream := range append(slices.Clone(e.Dreams), running) {
		if dream == "" { // bought while awake
			continue
		}
		if err := d.dropAnswers("dream = ?", dream); err != nil {
			return done, err
		}
	}
	if e.Words != nil {
		done.Scrubbed, err = d.scrubWords(agent, e)
		if err != nil {
			return done, err
		}
	}
	if len(removed) > 0 {
		for _, table := range []string{"items", "revisions"} {
			if err := d.scrub(table, agent, removed); err != nil {
				return done, err
			}
		}
	}
	after, err := d.changes()
	if err != nil || after == before {
		return done, err
	}
	return done, d.afterErasure(agent)
}

// changes returns the number of rows that this connection has changed so far.
func (d tx) changes() (int64, error) {
	var n int64
	_, err := d.one("SELECT total_changes()", nil, &n)
	return n, err
}

// eraseItem erases an item, or the remains of one that no longer exists.
func (d tx) eraseItem(agent, id string) (bool, error) {
	if err := d.forgetAnswers(agent, id); err != nil {
		return false, err
	}
	n, err := d.exec("DELETE FROM items WHERE agent = ? AND id = ?", agent, id)
	if err != nil {
		return false, err
	}
	for _, table := range []string{"revisions", "vectors"} {
		if _, err := d.exec("DELETE FROM "+table+" WHERE agent = ? AND id = ?", agent, id); err != nil {
			return false, err
		}
	}
	return n > 0, nil
}

// afterErasure makes caches start over, and lets an agent without vectors choose another space.
func (d tx) afterErasure(agent string) error {
	l, err := d.counters(agent)
	if err != nil {
		return err
	}
	var some bool
	if _, err := d.one("SELECT EXISTS (SELECT 1 FROM vectors WHERE agent = ?)", []any{agent}, &some); err != nil {
		return err
	}
	if !some {
		l.space, l.dim = "", 0
		if _, err := d.exec("DELETE FROM moves WHERE agent = ?", agent); err != nil {
			return err
		}
	}
	l.scrubs++
	return d.setCounters(agent, l)
}

// scrubWords removes what is forgotten from items that stay and from the notes of dreams. It returns how many items
// changed.
func (d tx) scrubWords(agent string, e memory.Erasure) (int, error) {
	scrubbed := 0
	for _, id := range e.Scrub {
		changed, err := d.scrubItem(agent, id, e.Words)
		if err != nil {
			return scrubbed, fmt.Errorf("scrub %s: %w", id, err)
		}
		if changed {
			scrubbed++
		}
	}
	return scrubbed, d.scrubNotes(agent, e.Words)
}

func (d tx) scrubItem(agent, id string, words memory.Words) (bool, error) {
	if err := d.forgetAnswers(agent, id); err != nil {
		return false, err
	}
	type row struct {
		key      int64
		revision int64
		kind     string
		body     []byte
		short    bool
	}
	var rows []row
	err := d.each(`SELECT rowid, number, kind, body, packed, '' FROM revisions WHERE agent = ? AND id = ?
		UNION ALL SELECT key, 0, kind, body, packed, text FROM items WHERE agent = ? AND id = ?`,
		[]any{agent, id, agent, id},
		func(scan func(...any) error) error {
			var r row
			var text string
			var short []byte
			if err := scan(&r.key, &r.revision, &r.kind, &r.body, &short, &text); err != nil {
				return err
			}
			body, err := unpacked(r.body, short, text, id)
			r.body, r.short = bytes.Clone(body), short != nil
			rows = append(rows, r)
			return err
		})
	changed := false
	for i := 0; err == nil && i < len(rows); i++ {
		r := rows[i]
		body, found, scrubErr := words.Scrub(dream.Kind(r.kind), r.body)
		switch {
		case scrubErr != nil:
			return changed, scrubErr
		case !found:
			continue
		case r.revision > 0:
			err = d.updateBody("revisions", r.key, body, r.short, id)
		default:
			err = d.reword(agent, id, r.key, dream.Kind(r.kind), body)
		}
		changed = true
	}
	return changed, err
}

// reword replaces an item's body in the same revision. When its text changes, its vectors are deleted.
func (d tx) reword(agent, id string, key int64, kind dream.Kind, body []byte) error {
	item, err := dream.Decode(kind, body)
	if err != nil {
		return err
	}
	h, text := item.Header(), item.Text()
	kept := storeText(string(body), h.Dream, text, id)
	n, err := d.exec("UPDATE items SET body = ?, packed = ? WHERE key = ? AND text = ?", kept.text, kept.packed, key,
		text)
	if err != nil || n > 0 {
		return err
	}
	if _, err := d.exec("UPDATE items SET text = ?, body = ?, packed = ?, bare = 1 WHERE key = ?", text, kept.text,
		kept.packed, key); err != nil {
		return err
	}
	_, err = d.exec("DELETE FROM vectors WHERE agent = ? AND id = ?", agent, id)
	return err
}

// updateBody writes the body of a row, packed if it was packed before.
func (d tx) updateBody(table string, key int64, body []byte, short bool, near ...string) error {
	kept := storedText{text: string(body)}
	if short {
		kept = storedText{packed: packed.Pack(body, near...)}
	}
	_, err := d.exec("UPDATE "+table+" SET body = ?, packed = ? WHERE rowid = ?", kept.text, kept.packed, key)
	return err
}

func (d tx) scrubNotes(agent string, words memory.Words) error {
	type note struct {
		key   int64
		name  string
		value []byte
	}
	var notes []note
	err := d.each("SELECT rowid, name, value FROM notes WHERE agent = ?", []any{agent},
		func(scan func(...any) error) error {
			var n note
			if err := scan(&n.key, &n.name, &n.value); err != nil {
				return err
			}
			n.value = bytes.Clone(n.value)
			notes = append(notes, n)
			return nil
		})
	for i := 0; err == nil && i < len(notes); i++ {
		n := notes[i]
		if strings.HasPrefix(n.name, memory.LateNote) {
			if words.Holds(n.value) {
				_, err = d.exec("DELETE FROM notes WHERE rowid = ?", n.key)
			}
		} else if value, changed := words.Note(n.value); changed {
			_, err = d.exec("UPDATE notes SET value = ? WHERE rowid = ?", value, n.key)
		}
	}
	return err
}

// scrub removes the ids of erased items from the bodies of a table, items or revisions.
func (d tx) scrub(table, agent string, removed map[string]bool) error {
	type change struct {
		key   int64
		body  []byte
		short bool
		near  []string
	}
	var changes []change
	query := map[string]string{
		"items":     "SELECT rowid, id, kind, body, packed, text FROM items",
		"revisions": "SELECT rowid, id, kind, body, packed, NULL FROM revisions",
	}[table]
	query += " WHERE agent = ? AND (packed IS NOT NULL"
	for _, field := range past.References {
		query += ` OR instr(body, '"` + field + `":') > 0`
	}
	err := d.each(query+")", []any{agent}, func(scan func(...any) error) error {
		var c change
		var id, kind string
		var body, short []byte
		var text *string
		if err := scan(&c.key, &id, &kind, &body, &short, &text); err != nil {
			return err
		}
		if text != nil {
			c.near = append(c.near, *text)
		}
		c.near = append(c.near, id)
		body, err := unpacked(body, short, c.near...)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		scrubbed, changed, err := past.Scrub(dream.Kind(kind), body, removed)
		if changed {
			c.body, c.short = scrubbed, short != nil
			changes = append(changes, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := d.updateBody(table, c.key, c.body, c.short, c.near...); err != nil {
			return err
		}
	}
	return nil
}

// emptyTurn is how long one attempt to empty the log waits for readers of an older state. Others may write between the
// attempts, so no connecting client waits longer.
const emptyTurn = 50 * time.Millisecond

// emptyLog moves the log into the file and truncates it. anew: the file is rewritten first.
func (s *Store) emptyLog(ctx context.Context, anew bool) error {
	if s.private {
		return nil
	}
	for waited := time.Duration(0); ; waited += 2 * emptyTurn {
		err := s.onWriter(ctx, func(d tx) error {
			s.fold.busy.Lock()
			defer s.fold.busy.Unlock()
			turn := min(emptyTurn, s.set.busy)
			if anew {
				if err := d.rewriteFile(turn, s.set.busy); err != nil {
					return err
				}
				anew = false
			}
			return d.emptyLog(turn, s.set.busy)
		})
		if !errors.Is(err, errLogInUse) || waited+2*emptyTurn > s.set.busy {
			return err
		}
		pause := time.NewTimer(emptyTurn)
		select {
		case <-pause.C:
		case <-s.closed:
			pause.Stop()
			return err
		}
	}
}

// setBusyTimeout sets how long the connection waits for others.
func (d tx) setBusyTimeout(wait time.Duration) error {
	_, err := d.conn.ExecContext(d.ctx, fmt.Sprint("PRAGMA busy_timeout = ", wait.Milliseconds()))
	return err
}

// rewriteFile rewrites the file, so that it contains nothing but live rows.
func (d tx) rewriteFile(turn, after time.Duration) error {
	if err := d.setBusyTimeout(turn); err != nil {
		return err
	}
	_, err := d.conn.ExecContext(d.ctx, "VACUUM")
	if busy(err) {
		err = errLogInUse
	}
	return errors.Join(err, d.setBusyTimeout(after))
}

// emptyLog waits for readers for the time of one turn, and then restores the connection's timeout.
func (d tx) emptyLog(turn, after time.Duration) error {
	if err := d.setBusyTimeout(turn); err != nil {
		return err
	}
	var held, pages, moved int64
	_, err := d.one("PRAGMA wal_checkpoint(TRUNCATE)", nil, &held, &pages, &moved)
	if busy(err) || err == nil && held != 0 {
		err = errLogInUse
	}
	return errors.Join(err, d.setBusyTimeout(after))
}

// Forgettings counts how often something of the agent was forgotten.
func (s *Store) Forgettings(ctx context.Context, agent string) (int64, error) {
	var times int64
	err := s.readOnce(ctx, func(d tx) error {
		l, err := d.counters(agent)
		times = l.scrubs
		return err
	})
	return times, err
}

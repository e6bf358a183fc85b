package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

// errHeld says that the log could not be emptied.
var errHeld = errors.New("the items are erased, but somebody reads an older state of the file, whose log still holds their text; forget again")

// Forget erases items, their revisions and vectors, takes their ids out of what was made from them, drops the answers that
// dreams made or changed them from or showed them for, and empties the write-ahead log, so that their text is nowhere in the file.
func (s *Store) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	erased := 0
	err := s.write(ctx, func(d deal) error {
		if err := d.eraseSaid(); err != nil {
			return err
		}
		gone := map[string]bool{}
		for _, id := range ids {
			if err := d.forgetAnswers(agent, id); err != nil {
				return err
			}
			n, err := d.exec("DELETE FROM items WHERE agent = ? AND id = ?", agent, id)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			gone[id] = true
			for _, table := range []string{"revisions", "vectors"} {
				if _, err := d.exec("DELETE FROM "+table+" WHERE agent = ? AND id = ?", agent, id); err != nil {
					return err
				}
			}
		}
		erased = len(gone)
		if erased == 0 {
			return nil
		}
		return d.afterErasure(agent, gone)
	})
	if err == nil && len(ids) > 0 {
		err = s.emptyLog(context.WithoutCancel(ctx)) // what is erased must not outlive its caller's patience
	}
	if err != nil {
		return erased, fmt.Errorf("forget memories of %s: %w", agent, err)
	}
	return erased, nil
}

func (d deal) afterErasure(agent string, gone map[string]bool) error {
	if _, err := d.exec("DELETE FROM backgrounds WHERE agent = ?", agent); err != nil { // they may quote what is gone
		return err
	}
	for _, table := range []string{"items", "revisions"} {
		if err := d.scrub(table, agent, gone); err != nil {
			return err
		}
	}
	l, err := d.life(agent)
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
	return d.setLife(agent, l)
}

// scrub takes the ids of what is gone out of the bodies of a table.
func (d deal) scrub(table, agent string, gone map[string]bool) error {
	type change struct {
		key  int64
		body string
	}
	var changes []change
	query := "SELECT rowid, kind, body FROM " + table + " WHERE agent = ? AND (0"
	for _, field := range past.References {
		query += ` OR instr(body, '"` + field + `":') > 0`
	}
	err := d.each(query+")", []any{agent}, func(scan func(...any) error) error {
		var c change
		var kind string
		var body []byte
		if err := scan(&c.key, &kind, &body); err != nil {
			return err
		}
		scrubbed, changed, err := past.Scrub(dream.Kind(kind), body, gone)
		if changed {
			c.body = string(scrubbed)
			changes = append(changes, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		if _, err := d.exec("UPDATE "+table+" SET body = ? WHERE rowid = ?", c.body, c.key); err != nil {
			return err
		}
	}
	return nil
}

// A reader of an older state is waited for in short turns, between which others may write: nobody who knocks waits longer.
const emptyTurn = 50 * time.Millisecond

// emptyLog moves the log into the file and cuts it to nothing.
func (s *Store) emptyLog(ctx context.Context) error {
	if s.private {
		return nil
	}
	for waited := time.Duration(0); ; waited += 2 * emptyTurn {
		err := s.peek(ctx, func(d deal) error {
			s.fold.busy.Lock()
			defer s.fold.busy.Unlock()
			return d.emptyLog(min(emptyTurn, s.set.busy), s.set.busy)
		})
		if !errors.Is(err, errHeld) || waited+2*emptyTurn > s.set.busy {
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

// emptyLog waits as long as turn says for readers, and leaves the line as patient as it was.
func (d deal) emptyLog(turn, after time.Duration) error {
	patient := func(wait time.Duration) error {
		_, err := d.conn.ExecContext(d.ctx, fmt.Sprint("PRAGMA busy_timeout = ", wait.Milliseconds()))
		return err
	}
	if err := patient(turn); err != nil {
		return err
	}
	var held, pages, moved int64
	_, err := d.one("PRAGMA wal_checkpoint(TRUNCATE)", nil, &held, &pages, &moved)
	if busy(err) || err == nil && held != 0 {
		err = errHeld
	}
	return errors.Join(err, patient(after))
}

// Forgettings counts how often something of the agent was forgotten.
func (s *Store) Forgettings(ctx context.Context, agent string) (int64, error) {
	var times int64
	err := s.glance(ctx, func(d deal) error {
		l, err := d.life(agent)
		times = l.scrubs
		return err
	})
	return times, err
}

package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
	"github.com/seed-56a03226/oneiros/internal/store/rooms"
)

// errLogInUse is returned when the log could not be emptied.
var errLogInUse = errors.New(
	"the items are erased, but another reader uses an older state of the file, so its log still has their text; " +
		"forget again")

// eraser erases items for good.
type eraser struct{ *file }

// Forget erases these items alone.
func (s eraser) Forget(ctx context.Context, agent string, ids ...string) (int, error) {
	done, err := s.Erase(ctx, agent, memory.Erasure{IDs: ids})
	return done.Items, err
}

// Erase applies an erasure in one transaction. Then it rewrites the file and empties the write-ahead log, so that the
// erased text is nowhere in the file: SQLite overwrites what is deleted, but not the places where a row was before its
// page was split.
func (s eraser) Erase(ctx context.Context, agent string, e memory.Erasure) (memory.EraseResult, error) {
	what := "forget memories of " + agent
	done, err := in(ctx, s.write, what, func(d *tx) memory.EraseResult {
		return (&erasing{
			book{d},
			agent, s.set.now(),
			e,
		}).all()
	})
	if err == nil && !e.More {
		err = store.Wrap(s.emptyLog(context.WithoutCancel(ctx), true),
			what) // must complete even if the caller gives up
	}
	return done, err
}

// erasing is an erasure while it is applied.
type erasing struct {
	book
	agent string
	now   time.Time
	memory.Erasure
}

func (e *erasing) all() (done memory.EraseResult) {
	e.eraseResponses()
	e.exec("DELETE FROM backgrounds WHERE agent = ?", e.agent) // they may quote what is erased
	e.exec("DELETE FROM responses WHERE agent = ?", e.agent)   // and so may these
	if len(e.IDs) == 0 && len(e.Erasure.Scrub) == 0 && e.Words == nil {
		return done
	}
	before := e.changes()
	removed := map[string]bool{}
	for _, id := range e.IDs {
		done.Items += e.item(id)
		removed[id] = true
	}
	// the calls of the running dream may have shown any memory
	running := cell[string](e.tx, "SELECT dream FROM slots WHERE agent = ?", e.agent)
	for _, dream := range append(slices.Clone(e.Dreams), running) {
		if dream != "" { // bought while awake
			e.dropAnswers("dream = ?", dream)
		}
	}
	if e.Words != nil {
		for _, id := range e.Erasure.Scrub {
			e.forgetAnswers(e.agent, id)
			if e.scrub(e.Words.Scrub, "id = ?", id) {
				done.Scrubbed++
			}
		}
		e.notes()
		updateRooms(e.tx, func(v rooms.View) (rooms.Changes, error) {
			return rooms.Scrub(v, e.agent, e.Words, e.now)
		})
	}
	if len(removed) > 0 {
		naming := "packed IS NOT NULL"
		for _, field := range past.References {
			naming += ` OR instr(body, '"` + field + `":') > 0`
		}
		e.scrub(func(kind dream.Kind, body []byte) ([]byte, bool, error) {
			return past.Scrub(kind, body, removed)
		}, naming)
	}
	if e.changes() != before {
		e.after()
	}
	return done
}

// changes returns the number of rows that this connection has changed so far.
func (e *erasing) changes() int64 { return cell[int64](e.tx, "SELECT total_changes()") }

// item erases an item, or the remains of one that no longer exists. It returns how many existed.
func (e *erasing) item(id string) int {
	e.forgetAnswers(e.agent, id)
	n := e.exec("DELETE FROM items WHERE agent = ? AND id = ?", e.agent, id)
	e.exec("DELETE FROM revisions WHERE agent = ? AND id = ?", e.agent, id)
	e.exec("DELETE FROM vectors WHERE agent = ? AND id = ?", e.agent, id)
	return int(n)
}

// after makes caches start over, and lets an agent without vectors choose another space.
func (e *erasing) after() {
	l := e.counters(e.agent)
	if !cell[bool](e.tx, "SELECT EXISTS (SELECT 1 FROM vectors WHERE agent = ?)", e.agent) {
		l.space, l.dim = "", 0
		e.exec("DELETE FROM moves WHERE agent = ?", e.agent)
	}
	l.scrubs++
	e.setCounters(e.agent, l)
}

// storedBody is the body of an item, or of an older revision of it.
type storedBody struct {
	key    int64
	newest bool
	id     string
	kind   dream.Kind
	text   string // of the newest revision
	body   []byte
	packed []byte
}

// scrub replaces the bodies that change alters, of the items that match a condition and of their older revisions. It
// reports whether there were any.
func (e *erasing) scrub(change func(dream.Kind, []byte) ([]byte, bool, error), condition string, args ...any) bool {
	var altered []storedBody
	bodies := "SELECT rowid, 0, id, kind, '', body, packed FROM revisions WHERE agent = ? AND (" + condition + ")" +
		" UNION ALL SELECT rowid, 1, id, kind, text, body, packed FROM items WHERE agent = ? AND (" + condition + ")"
	args = append([]any{e.agent}, args...)
	e.each(bodies, append(args, args...), func(scan scanner) {
		var b storedBody
		scan(&b.key, &b.newest, &b.id, &b.kind, &b.text, &b.body, &b.packed)
		body := e.unpacked(b.id, b.body, b.packed, b.text, b.id)
		if e.err != nil {
			return
		}
		scrubbed, changed, err := change(b.kind, bytes.Clone(body))
		e.fail(store.Wrap(err, "scrub ", b.id))
		if changed {
			b.body = scrubbed
			altered = append(altered, b)
		}
	})
	for _, b := range altered {
		if b.newest {
			e.reword(b)
		} else {
			e.replace("revisions", b, b.id)
		}
	}
	return len(altered) > 0
}

// reword replaces an item's body in the same revision. When its text changes, its vectors are deleted.
func (e *erasing) reword(b storedBody) {
	item, err := dream.Decode(b.kind, b.body)
	e.fail(err)
	if e.err != nil {
		return
	}
	text := item.Text()
	e.replace("items", b, text, b.id)
	if text != b.text {
		e.exec("UPDATE items SET text = ?, bare = 1 WHERE key = ?", text, b.key)
		e.exec("DELETE FROM vectors WHERE agent = ? AND id = ?", e.agent, b.id)
	}
}

// replace writes the body of a row, packed if it was packed before.
func (e *erasing) replace(table string, b storedBody, near ...string) {
	kept := storedText{text: string(b.body)}
	if b.packed != nil {
		kept = storedText{packed: packed.Pack(b.body, near...)}
	}
	e.exec("UPDATE "+table+" SET body = ?, packed = ? WHERE rowid = ?", kept.text, kept.packed, b.key)
}

// notes removes what is forgotten from the notes of the agent's dreams.
func (e *erasing) notes() {
	type note struct {
		key   int64
		name  string
		value []byte
	}
	for _, n := range rows(e.tx, "SELECT rowid, name, value FROM notes WHERE agent = ?", []any{e.agent},
		func(scan scanner) (n note) {
			scan(&n.key, &n.name, &n.value)
			return n
		}) {
		switch left := store.ScrubNote(e.Words, n.name, n.value); {
		case left.Drop:
			e.exec("DELETE FROM notes WHERE rowid = ?", n.key)
		case left.Changed:
			e.exec("UPDATE notes SET value = ? WHERE rowid = ?", left.Value, n.key)
		}
	}
}

// emptyTurn is how long one attempt to empty the log waits for readers of an older state. Others may write between the
// attempts, so no connecting client waits longer.
const emptyTurn = 50 * time.Millisecond

// emptyLog moves the log into the file and truncates it. anew: the file is rewritten first.
func (s *file) emptyLog(ctx context.Context, anew bool) error {
	if s.private {
		return nil
	}
	for waited := time.Duration(0); ; waited += 2 * emptyTurn {
		err := s.lendWriter(ctx, false, func(l *dbConn) error {
			s.fold.busy.Lock()
			defer s.fold.busy.Unlock()
			if anew {
				if err := l.patiently(ctx, min(emptyTurn, s.set.busy), s.set.busy, l.rewriteFile); err != nil {
					return err
				}
				anew = false
			}
			return l.patiently(ctx, min(emptyTurn, s.set.busy), s.set.busy, l.truncateLog)
		})
		if !errors.Is(err, errLogInUse) || waited+2*emptyTurn > s.set.busy ||
			store.Pause(ctx, emptyTurn, s.closed) != nil {
			return err
		}
	}
}

// patiently lets do wait for other connections for the time of one turn, and then restores the connection's timeout.
func (l *dbConn) patiently(ctx context.Context, turn, usual time.Duration, do func(context.Context) error) error {
	if err := l.setBusyTimeout(ctx, turn); err != nil {
		return err
	}
	err := do(ctx)
	if busy(err) {
		err = errLogInUse
	}
	return errors.Join(err, l.setBusyTimeout(ctx, usual))
}

// setBusyTimeout sets how long the connection waits for others.
func (l *dbConn) setBusyTimeout(ctx context.Context, wait time.Duration) error {
	_, err := l.conn.ExecContext(ctx, fmt.Sprint("PRAGMA busy_timeout = ", wait.Milliseconds()))
	return err
}

// rewriteFile rewrites the file, so that it contains nothing but live rows.
func (l *dbConn) rewriteFile(ctx context.Context) error {
	_, err := l.conn.ExecContext(ctx, "VACUUM")
	return err
}

// truncateLog moves the log into the file and empties it. errLogInUse.
func (l *dbConn) truncateLog(ctx context.Context) error {
	var held, pages, moved int64
	d := &tx{dbConn: l, ctx: ctx}
	d.one("PRAGMA wal_checkpoint(TRUNCATE)", nil, &held, &pages, &moved)
	if d.err == nil && held != 0 {
		return errLogInUse
	}
	return d.err
}

package sqlitestore

import (
	"context"
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Undo reverts a dream: what it created is archived, what it changed returns to its state before, both as new
// revisions. What another cause changed after the dream stays, and is listed.
func (s items) Undo(ctx context.Context, agent, dreamID string) (memory.UndoResult, error) {
	return in(ctx, s.write, "undo dream "+dreamID+" of "+agent, func(d *tx) memory.UndoResult {
		d.fail(store.CheckNames("the dream's id", dreamID))
		return undo(d, agent, dreamID, s.stamp())
	})
}

func undo(d *tx, agent, dreamID string, now int64) (done memory.UndoResult) {
	l := d.writable(agent)
	wrote := false
	// what the dream created or changed
	for _, id := range column[string](d, `SELECT id FROM items WHERE agent = ? AND dream = ? AND dream <> ''
		UNION SELECT id FROM items WHERE agent = ? AND cause = ? AND cause <> dream
		UNION SELECT id FROM revisions WHERE agent = ? AND cause = ? ORDER BY 1`,
		agent, dreamID, agent, dreamID, agent, dreamID) {
		d.doing(id, func() {
			revisions := d.revisions(agent, id)
			if d.err != nil {
				return
			}
			d.fail(memory.CheckUndo(l.aged, revisions, dreamID))
			effect, item := memory.UndoItem(revisions, dreamID)
			if effect == past.None {
				return
			}
			wrote = true
			body, err := json.Marshal(item)
			d.fail(err)
			r := rowOf(item, string(body))
			r.read, r.same = 0, true // the newest revision was read in this transaction; an equal one is added, too
			done.Count(effect, id, d.revise(r, store.UndoWrite(agent, dreamID), now, l.vectorRevision+1))
		})
	}
	if wrote {
		l.vectorRevision++
		d.setCounters(agent, l)
	}
	if before := store.UndoAffect(d.affects(agent), dreamID); before != nil {
		d.putAffect(agent, past.UndoCause+dreamID, *before)
	}
	return done
}

package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/memory/past"
)

// Undo reverts a dream: what it created is archived, what it changed returns to its state before, both as new
// revisions. What another cause changed after the dream stays, and is listed.
func (s *Store) Undo(ctx context.Context, agent, dreamID string) (memory.UndoResult, error) {
	var undone memory.UndoResult
	err := s.write(ctx, func(d tx) error {
		if dreamID == "" {
			return errors.New("the dream's id is empty")
		}
		u := undoing{tx: d, agent: agent, dream: dreamID, now: s.stamp()}
		err := u.all()
		undone = u.done
		return err
	})
	if err != nil {
		return memory.UndoResult{}, fmt.Errorf("undo dream %s of %s: %w", dreamID, agent, err)
	}
	return undone, nil
}

type undoing struct {
	tx
	agent, dream string
	now          int64
	done         memory.UndoResult
	wrote        bool
}

func (u *undoing) all() error {
	l, err := u.writable(u.agent)
	if err != nil {
		return err
	}
	ids, err := u.touched()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := u.item(id, l.vectorRevision+1); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	if u.wrote {
		l.vectorRevision++
		if err := u.setCounters(u.agent, l); err != nil {
			return err
		}
	}
	return u.affect()
}

// touched lists what the dream created or changed, by id.
func (u *undoing) touched() ([]string, error) {
	var ids []string
	err := u.each(`SELECT id FROM items WHERE agent = ? AND dream = ? AND dream <> ''
		UNION SELECT id FROM items WHERE agent = ? AND cause = ? AND cause <> dream
		UNION SELECT id FROM revisions WHERE agent = ? AND cause = ? ORDER BY 1`,
		[]any{u.agent, u.dream, u.agent, u.dream, u.agent, u.dream}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

func (u *undoing) item(id string, vectorRevision int64) error {
	revisions, err := u.revisions(u.agent, id)
	if err != nil {
		return err
	}
	causes := make([]string, len(revisions))
	for i, r := range revisions {
		causes[i] = r.Cause
	}
	if made := revisions[0].Item.Header().Dream; made != "" {
		causes[0] = made
	}
	newest := revisions[len(revisions)-1].Item
	effect, at := past.Undoing(causes, u.dream)
	switch effect {
	case past.None:
		return nil
	case past.Archives:
		newest.Header().State = dream.Archived
		return u.put(newest, vectorRevision, &u.done.Archived)
	case past.Keeps:
		u.done.Kept = append(u.done.Kept, id)
		return u.put(revisions[at].Item, vectorRevision, new(int))
	case past.Restores:
	}
	return u.put(revisions[at].Item, vectorRevision, &u.done.Restored)
}

// put makes item the newest revision and counts it, unless it equals the newest one. A revision with the undo's cause
// is written in any case.
func (u *undoing) put(item dream.Item, vectorRevision int64, count *int) error {
	r, err := encode(u.agent, item)
	if err != nil {
		return err
	}
	r.read = 0 // the newest revision was read in this transaction
	w := memory.Write{Cause: undoCause + u.dream}
	changed, err := u.revise(r, w, u.now, vectorRevision)
	if err == nil && !changed {
		r.same = true
		_, err = u.revise(r, w, u.now, vectorRevision)
	} else if changed {
		*count++
	}
	u.wrote = true
	return err
}

// affect removes the dream's affects from the history and returns to the newest that still counts. It is written even
// when a later affect stands, so that undoing the later one does not return to this dream's.
func (u *undoing) affect() error {
	var causes, bodies []string
	err := u.each("SELECT cause, body FROM affects WHERE agent = ? ORDER BY number", []any{u.agent},
		func(scan func(...any) error) error {
			var cause, body string
			var a dream.Affect
			if err := scan(&cause, &body); err != nil {
				return err
			}
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				return err
			}
			if a.Cause == u.dream && !strings.HasPrefix(cause, undoCause) { // an undo repeats what it returns to
				cause = u.dream
			}
			causes, bodies = append(causes, cause), append(bodies, body)
			return nil
		})
	if err != nil {
		return err
	}
	counting := past.Counting(causes)
	if !slices.ContainsFunc(counting, func(i int) bool { return causes[i] == u.dream }) {
		return nil
	}
	before := dream.Affect{Cause: "new"}
	if left := past.Counting(append(causes, undoCause+u.dream)); len(left) > 0 {
		if err := json.Unmarshal([]byte(bodies[left[len(left)-1]]), &before); err != nil {
			return err
		}
	}
	return u.putAffect(u.agent, undoCause+u.dream, before)
}

package memory

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// UndoItem returns the effect of undoing a dream on an item with these revisions, oldest first, and the item to write
// as its newest revision under past.UndoCause plus the dream's id; nil for past.None. A store writes it even if it
// equals the newest revision, and counts it by UndoResult.Count.
func UndoItem(revisions []Revision, dreamID string) (past.Effect, dream.Item) {
	causes := make([]string, len(revisions))
	for i, r := range revisions {
		causes[i] = r.Cause
	}
	if made := revisions[0].Item.Header().Dream; made != "" {
		causes[0] = made
	}
	effect, at := past.Undoing(causes, dreamID)
	switch effect {
	case past.None:
		return effect, nil
	case past.Archives:
		newest := revisions[len(revisions)-1].Item
		newest.Header().State = dream.Archived
		return effect, newest
	case past.Restores, past.Keeps:
	}
	return effect, revisions[at].Item
}

// Count adds the effect of an undo on one item. changed says whether the item differs from its newest revision.
func (u *UndoResult) Count(effect past.Effect, id string, changed bool) {
	switch {
	case effect == past.Keeps:
		u.Kept = append(u.Kept, id)
	case effect == past.Archives && changed:
		u.Archived++
	case effect == past.Restores && changed:
		u.Restored++
	}
}

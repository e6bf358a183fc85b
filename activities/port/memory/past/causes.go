// Package past evaluates revision histories for a store: which revisions still count after some dreams were undone, and
// which other items an item names.
package past

import (
	"slices"
	"strings"
)

// UndoCause is the prefix of the cause that Store.Undo writes. Undo reads it back, so nothing else may write it.
const UndoCause = "undo:"

// Counting takes the causes of a history, oldest first, and returns the indexes of those that still count. An undo
// cancels every entry of its dream, wherever it stands. The newest entry that counts is the current state.
func Counting(causes []string) []int {
	var counting []int
	for i, cause := range causes {
		of, undone := strings.CutPrefix(cause, UndoCause)
		if !undone {
			counting = append(counting, i)
			continue
		}
		counting = slices.DeleteFunc(counting, func(at int) bool { return causes[at] == of })
	}
	return counting
}

// Effect is the effect of undoing a dream on one item.
type Effect int

// The effects.
const (
	None     Effect = iota // the dream wrote no revision that still counts
	Archives               // only the dream made it
	Restores               // the newest revision before the dream becomes the newest again
	Keeps                  // something later changed it, and it stays
)

// Undoing returns the effect of undoing a dream on an item, given the causes of its revisions, oldest first. at is the
// index of the revision that the item equals afterwards; -1 for none. An item that is kept is written again all the
// same, so that undoing the later change does not bring back what this dream wrote.
func Undoing(causes []string, dreamID string) (effect Effect, at int) {
	counting := Counting(causes)
	of := func(i int) bool { return causes[i] == dreamID }
	if !slices.ContainsFunc(counting, of) {
		return None, -1
	}
	onTop := of(counting[len(counting)-1])
	left := slices.DeleteFunc(counting, of)
	switch {
	case len(left) == 0:
		return Archives, -1
	case onTop:
		return Restores, left[len(left)-1]
	}
	return Keeps, left[len(left)-1]
}

// UndoingAffect returns the effect of undoing a dream on an agent's affects, oldest first: writes are the causes of the
// writes that set them, affects the causes that they name themselves. undoes is false when none of them that still
// counts is the dream's. at is the index of the affect that counts afterwards; -1 for the neutral one. The result is
// written even when a later affect stands, so that undoing the later one does not return to this dream's.
func UndoingAffect(writes, affects []string, dreamID string) (undoes bool, at int) {
	causes := slices.Clone(writes)
	for i, cause := range writes {
		// an undo repeats what it returns to
		if affects[i] == dreamID && !strings.HasPrefix(cause, UndoCause) {
			causes[i] = dreamID
		}
	}
	if !slices.ContainsFunc(Counting(causes), func(i int) bool { return causes[i] == dreamID }) {
		return false, -1
	}
	left := Counting(append(causes, UndoCause+dreamID))
	if len(left) == 0 {
		return true, -1
	}
	return true, left[len(left)-1]
}

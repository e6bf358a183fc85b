// Package past reads histories for a store: what still stands after some causes were undone, and where an item names
// others.
package past

import (
	"slices"
	"strings"
)

// UndoCause begins the cause of what Undo writes; Undo reads it back, so nobody else may write it.
const UndoCause = "undo:"

// Counting reads a history of causes, oldest first, and gives the places of those that still count: an undo takes back
// everything its dream wrote, wherever it lies, and says again what counts then. The newest entry that counts is what
// an item is, and what is felt.
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

// Effect is what undoing a dream does to an item.
type Effect int

// The effects.
const (
	None     Effect = iota // the dream wrote nothing of it that still counts
	Archives               // nothing else made it
	Restores               // what counted before the dream becomes the newest again
	Keeps                  // something later stands, and stays
)

// Undoing says what undoing a dream does to an item, by the causes of its revisions, oldest first, and at is the
// revision that the item is like afterwards; -1 for none. What is kept is written again all the same: when what stands
// is undone later, the item must not come back to this dream.
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

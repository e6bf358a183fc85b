// Package past reads histories for a store: what still stands after some causes were undone, and where an item names others.
package past

import (
	"slices"
	"strings"
)

// UndoCause begins the cause of what Undo writes; Undo reads it back, so nobody else may write it.
const UndoCause = "undo:"

// Unwind reads a history of causes, oldest first, and gives the places of those that still stand: what an undo took back
// is gone, and so is the undo itself, which only says again what stood below.
func Unwind(causes []string) []int {
	var standing []int
	for i, cause := range causes {
		if of, ok := strings.CutPrefix(cause, UndoCause); ok {
			standing = Peel(standing, causes, of)
		} else {
			standing = append(standing, i)
		}
	}
	return standing
}

// Peel takes a dream's changes off the top of what stands.
func Peel(standing []int, causes []string, dreamID string) []int {
	for len(standing) > 0 && causes[standing[len(standing)-1]] == dreamID {
		standing = standing[:len(standing)-1]
	}
	return standing
}

// Counting reads a history of causes, oldest first, and gives the places of those that still count when an undo takes back
// everything its dream wrote, wherever it lies: that of affects, where the newest entry that counts is the one that is felt.
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

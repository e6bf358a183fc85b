package store

import (
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// NewestMarks returns the newest marks of dreams, at most limit, newest first.
func NewestMarks(marks []memory.DreamMark, limit int) []memory.DreamMark {
	slices.SortStableFunc(marks, func(a, b memory.DreamMark) int { return b.At.Compare(a.At) })
	return marks[:min(limit, len(marks))]
}

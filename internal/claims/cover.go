package claims

import (
	"slices"
	"strings"
	"time"
)

// Usual is how far back an agent's usual number of episodes is counted: eight weeks.
const Usual = 56 * 24 * time.Hour

// Coverage says whether enough episodes came between two times for their silence to mean something: at least one, and
// half as many as usually come in as much time. lived are the episodes that may be evidence, oldest first.
func Coverage(lived []Episode) func(from, to time.Time) bool {
	return func(from, to time.Time) bool {
		seen := len(between(lived, from, to))
		before := between(lived, from.Add(-Usual), from)
		if len(before) == 0 {
			return seen > 0
		}
		history := from.Sub(before[0].At)
		if history < to.Sub(from) {
			return seen > 0
		}
		usual := float64(len(before)) * float64(to.Sub(from)) / float64(history)
		return seen > 0 && float64(seen) >= usual/2
	}
}

// WithoutCopies drops each episode that copies an earlier one: it has the same terms, and is of the same day or so long
// that nobody says the same again by chance. A copy shows nothing anew.
func WithoutCopies(lived []Episode) []Episode {
	var kept []Episode
	var found copyFinder
	for _, e := range lived {
		if !found.isCopy(kept, e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// longText is how many terms a text has that copies an earlier one of any day.
const longText = 8

// copyFinder finds copies among episodes that it is shown one after another. The zero value has been shown none.
type copyFinder struct {
	long map[string]bool // terms of the long texts
}

func (f *copyFinder) isCopy(kept []Episode, e Episode) bool {
	if len(e.Terms) >= longText {
		terms := strings.Join(e.Terms, " ")
		if f.long[terms] {
			return true
		}
		if f.long == nil {
			f.long = map[string]bool{}
		}
		f.long[terms] = true
	}
	return copies(kept, e)
}

// copies says whether an episode has the terms of one of the same day before it.
func copies(before []Episode, e Episode) bool {
	for i := len(before) - 1; i >= 0 && e.At.Sub(before[i].At) < day; i-- {
		if slices.Equal(before[i].Terms, e.Terms) {
			return true
		}
	}
	return false
}

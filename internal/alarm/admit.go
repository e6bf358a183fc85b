package alarm

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// Limits of a reading's time.
const (
	// a pushed reading may be so old, or as old as the longest window, whatever its rules are
	OldEnough = 24 * time.Hour
	Ahead     = time.Minute // by which the clock of whoever reads may be ahead of ours; such a reading is of now
)

// Untimely is why a reading's time cannot be right.
type Untimely string

// Error is the reason.
func (u Untimely) Error() string { return string(u) }

// Oldest is how old a pushed reading may be: a day, or the longest window of the rules.
func Oldest(rules []dream.Rule) time.Duration {
	oldest := OldEnough
	for _, r := range rules {
		oldest = max(oldest, r.Window)
	}
	return oldest
}

// Timely says what is wrong with a reading's time, an Untimely. A reading without one is of now. Oldest 0: it may be of
// any age, as what a feed that is asked says holds until it says something else.
func Timely(r dream.Reading, oldest time.Duration, now time.Time) error {
	if r.At.IsZero() {
		return nil
	}
	what, at := fmt.Sprintf("the reading of %q", brief(r.Metric)), r.At.UTC().Format(time.RFC3339)
	if r.Metric == "" {
		what = "the reading"
	}
	switch age := now.Sub(r.At); {
	case oldest > 0 && age > oldest:
		return Untimely(
			fmt.Sprintf(
				"%s has at %s, which is too long ago: at may be up to %s before now (%s), or left out for now", what,
				at, oldest, now.UTC().Format(time.RFC3339)))
	case age < -Ahead:
		return Untimely(
			fmt.Sprintf(
				"%s has at %s, which has not come yet: at may be up to %s after now (%s), or left out for now", what,
				at, Ahead, now.UTC().Format(time.RFC3339)))
	}
	return nil
}

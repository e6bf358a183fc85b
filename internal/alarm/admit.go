package alarm

import (
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Limits of a reading's time.
const (
	// the greatest age of a pushed reading, unless a rule has a longer window
	MaxAge        = 24 * time.Hour
	MaxClockAhead = time.Minute // how far the sender's clock may be ahead; such a reading counts as now
)

// UntimelyError is why the time of a reading is refused.
type UntimelyError string

// Error is the reason.
func (u UntimelyError) Error() string { return string(u) }

// Oldest is the greatest age of a pushed reading: a day, or the longest window of the rules.
func Oldest(rules []dream.Rule) time.Duration {
	oldest := MaxAge
	for _, r := range rules {
		oldest = max(oldest, r.Window)
	}
	return oldest
}

// Timely returns an Untimely when the time of a reading is wrong. A reading without a time counts as now. With oldest
// 0 any age is allowed: the value of a pulled feed applies until it changes.
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
		return UntimelyError(
			fmt.Sprintf(
				"%s has at %s, which is too long ago: at may be up to %s before now (%s), or left out for now", what,
				at, oldest, now.UTC().Format(time.RFC3339)))
	case age < -MaxClockAhead:
		return UntimelyError(
			fmt.Sprintf(
				"%s has at %s, which has not come yet: at may be up to %s after now (%s), or left out for now", what,
				at, MaxClockAhead, now.UTC().Format(time.RFC3339)))
	}
	return nil
}

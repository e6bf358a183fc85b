package forgetting

import "time"

// How use renews strength. Each use that is apart from the last one doubles the half-life (the Leitner box, which
// Settles and Meeder 2016 write as half-life regression); uses close together count once (the spacing effect, Cepeda
// and others 2006). A distance of one day and five doublings, a factor of 32 at most, are our choice.
const (
	apart     = 24 * time.Hour
	doublings = 5
)

// Use is how often knowledge was used, by recall or by a mention, and when it was used last.
type Use struct {
	Count int
	Last  time.Time
}

// With adds a use. One that is not later than the last changes nothing.
func (u Use) With(at time.Time) Use {
	switch {
	case u.Count == 0 || at.Sub(u.Last) >= apart:
		return Use{u.Count + 1, at}
	case at.After(u.Last):
		return Use{u.Count, at}
	}
	return u
}

// Renewed returns the time from which a strength fades that was set at a time, and its half-life: from the last use on,
// and the slower the more often it was used.
func Renewed(at time.Time, halfLife time.Duration, u Use) (time.Time, time.Duration) {
	if u.Last.After(at) {
		at = u.Last
	}
	for range min(max(u.Count, 0), doublings) {
		if halfLife > 1<<61 { // it would overflow
			break
		}
		halfLife *= 2
	}
	return at, halfLife
}

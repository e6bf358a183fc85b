package forgetting

import "time"

// How use renews. That each use apart from the last doubles the half-life is the Leitner box, which Settles and Meeder
// (2016) write as half-life regression; that uses close together count once is the spacing effect (Cepeda and others,
// 2006). A day apart and five doublings, 32 half-lives at most, are ours.
const (
	apart     = 24 * time.Hour
	doublings = 5
)

// Use is how often knowledge was used, by recall or by a mention, and when it was last.
type Use struct {
	Count int
	Last  time.Time
}

// With is the use after another one. One that is not later than the last says nothing new.
func (u Use) With(at time.Time) Use {
	switch {
	case u.Count == 0 || at.Sub(u.Last) >= apart:
		return Use{u.Count + 1, at}
	case at.After(u.Last):
		return Use{u.Count, at}
	}
	return u
}

// Renewed is from when a strength fades that was told at a time, and at which half-life: from the last use on, and the
// slower the more often it was used.
func Renewed(result time.Time, halfLife time.Duration, u Use) (time.Time, time.Duration) {
	if u.Last.After(result) {
		result = u.Last
	}
	for range min(max(u.Count, 0), doublings) {
		if halfLife > 1<<61 { // it would overflow
			break
		}
		halfLife *= 2
	}
	return result, halfLife
}

package circadian

import "time"

// Call is the moment at which a trigger called for a dream, and what the dream then waits for.
type Call struct {
	At     time.Time     // of the call; a schedule that was missed calls once, at the first time it missed
	Now    bool          // a person asked: neither quiet time nor gap nor jitter is waited for
	Quiet  time.Duration // after the last activity, so that a talk is not cut into
	Jitter time.Duration // as drawn by the function Jitter, so that a fleet that hears one call does not begin at once
}

// Called is when the dream that a trigger calls for may begin, hours left aside: the jitter after the call, at least
// Quiet after the last activity, and MinGap after the last dream and the last vain try. A call that comes in the midst
// of a talk or a dream is kept until then.
func (r Rhythm) Called(c Call, p Past) time.Time {
	if c.Now {
		if p.Try.After(c.At) { // the store was away
			return p.Try.Add(askAgain)
		}
		return c.At
	}
	due := later(c.At.Add(c.Jitter), p.Active.Add(c.Quiet))
	for _, last := range []time.Time{p.Dream, p.Try} {
		if !last.IsZero() {
			due = later(due, last.Add(r.MinGap))
		}
	}
	return due
}

// askAgain is how long after a vain try a person's call is tried again.
const askAgain = time.Minute

// Look is when an idle agent's urgency is asked for: as a new dream would be due if a shorter quiet time were enough.
// It is never later than that dream.
func (r Rhythm) Look(quiet time.Duration, p Past) time.Time {
	r.IdleTimeout = min(quiet, r.IdleTimeout)
	return r.fresh(p)
}

package circadian

import "time"

// TriggerCall is the call of a trigger for a dream, and what the dream then waits for.
type TriggerCall struct {
	At     time.Time     // of the call; a missed schedule calls once, with the first missed time
	Now    bool          // requested by a person: idle time, gap and jitter are ignored
	Quiet  time.Duration // idle time after the last activity, so that a talk is not interrupted
	Jitter time.Duration // from the function Jitter, so that agents with the same call do not all begin at once
}

// CallDue is when the dream that a trigger calls for may begin, regardless of hours: the jitter after the call, at
// least Quiet after the last activity, and MinGap after the last dream and the last failed attempt. A call during a
// talk or a dream is kept until then.
func (r Rhythm) CallDue(c TriggerCall, p LastTimes) time.Time {
	if c.Now {
		if p.Try.After(c.At) { // the store was unreachable
			return p.Try.Add(requestRetry)
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

// requestRetry is the delay after a failed attempt for a person's request.
const requestRetry = time.Minute

// CheckAt is when an idle agent's urgency is checked: when a new dream would be due with the shorter idle time, and
// never later than a dream without urgency.
func (r Rhythm) CheckAt(quiet time.Duration, p LastTimes) time.Time {
	r.IdleTimeout = min(quiet, r.IdleTimeout)
	return r.fresh(p)
}

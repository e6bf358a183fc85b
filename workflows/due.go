package workflows

import "time"

// next is the longest time to wait; false when there is nothing to wait for.
func (a *timetable) next(now time.Time) (time.Duration, bool) {
	switch a.state.State {
	case Dreaming:
		if a.state.Unraised != nil {
			return raiseRetry, true
		}
		return lookInterval, true
	case Waking:
		if a.signalledElsewhere() {
			return max(time.Millisecond, a.state.Since.Add(forwardDelay).Sub(now)), true
		}
		return max(time.Millisecond, a.state.Since.Add(wakeDeadline).Sub(now)), true
	case Awake:
		return max(time.Second, a.state.Until.Sub(now)), true
	}
	at, ok := a.dueAt(now)
	if a.state.Unraised != nil { // the store was away
		return raiseRetry, true
	}
	if heed, heeds := a.triggersDueAt(now); heeds && (!ok || heed.Before(at)) {
		at, ok = heed, true
	}
	return max(time.Second, at.Sub(now)), ok
}

// dueAt is when the next automatic dream begins or the interrupted one is resumed; false for never.
func (a *timetable) dueAt(now time.Time) (time.Time, bool) {
	next := a.rhythm().Due(now, a.past())
	if !next.Resume && (!a.state.Settings.Auto || !a.state.Settings.idles()) {
		next.At = time.Time{}
	}
	if called, ok := a.calledAt(); ok && !next.Resume && (next.At.IsZero() || called.Before(next.At)) {
		next.At = called
	}
	if next.At.IsZero() {
		return time.Time{}, false
	}
	if a.state.NotBefore.After(next.At) {
		next.At = a.state.NotBefore
	}
	return next.At, true
}

func (a *timetable) due(now time.Time) bool {
	at, ok := a.dueAt(now)
	return a.state.State == Sleeping && ok && !at.After(now)
}

package workflows

import (
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// next is how long to wait at most, if anything is to be waited for.
func (a *life) next(now time.Time) (time.Duration, bool) {
	switch a.state.State {
	case Dreaming:
		if a.state.Unraised != nil {
			return raiseAgain, true
		}
		return look, true
	case Waking:
		if a.untold() {
			return max(time.Millisecond, a.state.Since.Add(heardOf).Sub(now)), true
		}
		return max(time.Millisecond, a.state.Since.Add(hard).Sub(now)), true
	case Awake:
		return max(time.Second, a.state.Until.Sub(now)), true
	}
	at, ok := a.dueAt(now)
	if a.state.Unraised != nil { // the store was away
		return raiseAgain, true
	}
	return max(time.Second, at.Sub(now)), ok
}

// dueAt is when the next dream by itself begins, or goes on; false for never.
func (a *life) dueAt(now time.Time) (time.Time, bool) {
	s := a.state.Settings
	past := circadian.Past{Active: a.state.LastActive, Dream: a.state.LastDream, Try: a.state.LastTry}
	if a.state.Broken != nil {
		past.Expires = a.state.Broken.Until
	}
	next := circadian.Rhythm{
		IdleTimeout: s.IdleTimeout, MinGap: s.MinGap, ResumeAfter: s.ResumeAfter,
		Jitter: circadian.Jitter(a.request.Agent, a.state.Dreams, s.Jitter),
	}.Due(now, past)
	if next.At.IsZero() || !next.Resume && !s.Auto {
		return time.Time{}, false
	}
	if a.state.NotBefore.After(next.At) {
		next.At = a.state.NotBefore
	}
	return next.At, true
}

func (a *life) due(now time.Time) bool {
	at, ok := a.dueAt(now)
	return a.state.State == Sleeping && ok && !at.After(now)
}

package chatter

import (
	"slices"
	"time"
)

// Rate is how often something may happen: Most times in any stretch of Per. One attempt more closes it for CoolDown;
// attempts while it is closed do not make that longer.
type Rate struct {
	Most     int
	Per      time.Duration
	CoolDown time.Duration // 0: none
}

// Bound is the most that a rate lets happen in a stretch of time.
func (r Rate) Bound(stretch time.Duration) int { return r.Most * (int(stretch/r.Per) + 1) }

// Window is the record of a rate: when it happened last, at most Most times. The zero Window is empty.
type Window struct {
	Times  []time.Time `json:"times,omitempty"` // in order
	Closed time.Time   `json:"closed,omitzero"` // until then nothing may happen
}

// Take counts one more, or answers false. A clock that goes back closes nothing for longer than the rate says.
func (w Window) Take(r Rate, now time.Time) (Window, bool) {
	if w.Closed.After(now.Add(r.CoolDown)) {
		w.Closed = now.Add(r.CoolDown)
	}
	if now.Before(w.Closed) {
		return w, false
	}
	var recent []time.Time
	for _, at := range w.Times {
		if at.After(now) {
			at = now
		}
		if now.Sub(at) < r.Per {
			recent = append(recent, at)
		}
	}
	w = Window{Times: recent}
	if len(recent) >= r.Most {
		if r.CoolDown > 0 {
			w.Closed = now.Add(r.CoolDown)
		}
		return w, false
	}
	w.Times = append(slices.Clip(recent), now)
	return w, true
}

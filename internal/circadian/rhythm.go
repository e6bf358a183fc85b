package circadian

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"time"
)

// Rhythm is the timing of automatic dreams.
type Rhythm struct {
	IdleTimeout time.Duration // after the last activity
	MinGap      time.Duration // after the last dream, and after the last failed attempt
	ResumeAfter time.Duration // after the last activity, before an interrupted dream is resumed
	Jitter      time.Duration // added to each, from the function Jitter
}

// LastTimes is what an agent's next dream depends on. A zero time means never.
type LastTimes struct {
	Active  time.Time // the last activity
	Dream   time.Time // the end of the last dream
	Try     time.Time // the last failed attempt to plan an automatic dream
	Expires time.Time // until when the interrupted dream may be resumed; zero: there is none
}

// NextDream is the next automatic dream.
type NextDream struct {
	At     time.Time // the earliest time; zero: never
	Resume bool      // it is the interrupted dream that is resumed
}

// Due is the next automatic dream, regardless of hours.
//
// A new dream is due at the latest of Active+IdleTimeout, Dream+MinGap and Try+MinGap, plus the jitter. An
// interrupted dream is resumed ResumeAfter after the last activity or failed attempt, plus as much of the jitter as
// its time allows. If its time has run out by then, or by now, a new dream is due instead, but not before that time:
// two dreams are never open at once.
func (r Rhythm) Due(now time.Time, p LastTimes) NextDream {
	if p.Expires.IsZero() {
		return NextDream{At: r.fresh(p)}
	}
	quiet := later(p.Active, p.Try).Add(r.ResumeAfter)
	if !later(quiet, now).Before(p.Expires) {
		return NextDream{At: later(r.fresh(p), p.Expires)}
	}
	if at := quiet.Add(r.Jitter); at.Before(p.Expires) {
		quiet = at
	}
	return NextDream{At: quiet, Resume: true}
}

func (r Rhythm) fresh(p LastTimes) time.Time {
	due := p.Active.Add(r.IdleTimeout)
	for _, last := range []time.Time{p.Dream, p.Try} {
		if !last.IsZero() {
			due = later(due, last.Add(r.MinGap))
		}
	}
	return due.Add(r.Jitter)
}

// Begin is the next automatic dream that the hours allow: at or before now if it may begin now. A dream that was due
// while the hours were closed begins the jitter after they open, so that the agents of a zone do not all begin at
// once, or at the opening if they would be closed again by then. If an interrupted dream expires before they open, a
// new one is due.
func (r Rhythm) Begin(now time.Time, p LastTimes, zone *time.Location, windows, quiet Hours) NextDream {
	next := r.Due(now, p)
	at := r.admit(now, next.At, zone, windows, quiet)
	if next.Resume && !at.Before(p.Expires) {
		at = r.admit(now, later(r.fresh(p), p.Expires), zone, windows, quiet)
		return NextDream{At: at}
	}
	next.At = at
	return next
}

// admit moves a due time to when the hours allow it, as seen from now: a worker may have been down for a whole
// window.
func (r Rhythm) admit(now, due time.Time, zone *time.Location, windows, quiet Hours) time.Time {
	at := r.Opening(due, zone, windows, quiet)
	if at.IsZero() || at.After(now) {
		return at
	}
	if open, _ := Open(now, zone, windows, quiet); open {
		return at
	}
	return r.Opening(now, zone, windows, quiet)
}

// Opening is at if the hours allow it, otherwise the jitter after they open; at the opening if they would be closed
// again by then; zero when they never open.
func (r Rhythm) Opening(at time.Time, zone *time.Location, windows, quiet Hours) time.Time {
	open, next := Open(at, zone, windows, quiet)
	if open || next.IsZero() {
		return next
	}
	if jittered, _ := Open(next.Add(r.Jitter), zone, windows, quiet); jittered {
		return next.Add(r.Jitter)
	}
	return next
}

// Jitter is the delay of an agent's n-th dream: the same on every machine, uniform in [0, most). Without a positive
// most it is 0.
func Jitter(agent string, n int, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	sum := sha256.Sum256([]byte("jitter\x00" + agent + "\x00" + strconv.Itoa(n)))
	part, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:]), uint64(most))
	return time.Duration(part)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

package circadian

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"time"
)

// Rhythm is how long an agent waits before it dreams without being asked.
type Rhythm struct {
	IdleTimeout time.Duration // after the last activity
	MinGap      time.Duration // after the last dream, and after the last vain try
	ResumeAfter time.Duration // after the last activity, before an interrupted dream goes on
	Jitter      time.Duration // added to each, as drawn by the function Jitter
}

// Past is what an agent's next dream depends on. A zero time is something that never happened.
type Past struct {
	Active  time.Time // the last activity
	Dream   time.Time // the end of the last dream
	Try     time.Time // the last time a dream by itself was planned in vain
	Expires time.Time // until then the interrupted dream may go on; zero when there is none
}

// Next is a dream that begins by itself.
type Next struct {
	At     time.Time // not before; zero: never
	Resume bool      // it is the interrupted dream that goes on
}

// Due is the next dream by itself, hours left aside.
//
// A new dream is due at the latest of Active+IdleTimeout, Dream+MinGap and Try+MinGap, and the jitter later. An
// interrupted one goes on ResumeAfter after the last activity or vain try, and the jitter later as far as its time
// allows. When its time has run out by then, or by now, a new dream is due instead, and not before that time: two are
// never open at once.
func (r Rhythm) Due(now time.Time, p Past) Next {
	if p.Expires.IsZero() {
		return Next{At: r.fresh(p)}
	}
	quiet := later(p.Active, p.Try).Add(r.ResumeAfter)
	if !later(quiet, now).Before(p.Expires) {
		return Next{At: later(r.fresh(p), p.Expires)}
	}
	if at := quiet.Add(r.Jitter); at.Before(p.Expires) {
		quiet = at
	}
	return Next{At: quiet, Resume: true}
}

func (r Rhythm) fresh(p Past) time.Time {
	due := p.Active.Add(r.IdleTimeout)
	for _, last := range []time.Time{p.Dream, p.Try} {
		if !last.IsZero() {
			due = later(due, last.Add(r.MinGap))
		}
	}
	return due.Add(r.Jitter)
}

// Begin is the next dream by itself that the hours allow: at or before now when it may begin now. What was due while
// the hours were closed begins the jitter after they open, so that not every agent of a zone begins at once; or as they
// open, when they would be closed again by then. An interrupted dream whose time runs out before they open gives way to
// a new one.
func (r Rhythm) Begin(now time.Time, p Past, zone *time.Location, windows, quiet Hours) Next {
	next := r.Due(now, p)
	at := r.admit(now, next.At, zone, windows, quiet)
	if next.Resume && !at.Before(p.Expires) {
		at = r.admit(now, later(r.fresh(p), p.Expires), zone, windows, quiet)
		return Next{At: at}
	}
	next.At = at
	return next
}

// admit moves what is due to when the hours allow it, seen from now: a worker may have slept through a whole window.
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

// Opening is at, when the hours allow it, or else the jitter after they open; as they open, when they would be closed
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

// Jitter draws how much later an agent's n-th dream begins: the same for the same agent and n on every machine, uniform
// in [0, most). Without a positive most there is none.
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

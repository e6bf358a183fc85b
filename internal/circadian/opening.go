package circadian

import (
	"errors"
	"time"
)

// Open says whether dreams by themselves may begin now: inside the windows, or anywhere when there are none, and never
// in the quiet hours. next is now when they may, else the first moment when they may, and zero when they never may.
//
// What counts is what the clock on the wall shows in the zone; without a zone, UTC. Where the clock is put forward, the
// hours it leaps over do not happen; where it is put back, those it shows twice happen twice.
func Open(now time.Time, zone *time.Location, windows, quiet Hours) (open bool, next time.Time) {
	if zone == nil {
		zone = time.UTC
	}
	allowed := opened(windows, quiet)
	if len(allowed) == 0 {
		return false, time.Time{}
	}
	if wait(allowed, onWall(now, zone)) == 0 {
		return true, now
	}
	for at := now.Round(0); ; {
		next := at.Add(wait(allowed, onWall(at, zone)))
		_, change := at.In(zone).ZoneBounds()
		if change.IsZero() || next.Before(change) {
			return false, next.In(now.Location())
		}
		at = change // the clock is put forward or back first: look again from there
	}
}

// Opens is an error when the windows and the quiet hours leave no minute of the week in which a dream may begin.
func Opens(windows, quiet Hours) error {
	switch {
	case len(opened(windows, quiet)) > 0:
		return nil
	case windows.Empty():
		return errors.New(
			"the quiet hours fill the whole week, so no dream could ever begin by itself; leave a stretch free")
	}
	return errors.New(
		"the quiet hours cover every window, so no dream could ever begin by itself; leave a part of a window free")
}

// opened is the week's windows without the quiet hours.
func opened(windows, quiet Hours) []span {
	if windows.Empty() {
		windows = Hours{spans: []span{{0, minutesOfWeek}}}
	}
	var left []span
	for _, w := range windows.spans {
		for _, q := range quiet.spans {
			if q.to <= w.from || q.from >= w.to {
				continue
			}
			if q.from > w.from {
				left = append(left, span{w.from, q.from})
			}
			w.from = min(q.to, w.to)
		}
		if w.from < w.to {
			left = append(left, w)
		}
	}
	return left
}

// onWall is how far the week has come since Monday 00:00 by the clock of the zone.
func onWall(at time.Time, zone *time.Location) time.Duration {
	local := at.In(zone)
	day := (int(local.Weekday()) + 6) % 7
	hour, minute, second := local.Clock()
	return time.Duration(day*minutesOfDay+hour*60+minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(local.Nanosecond())
}

// wait is how long a clock that goes evenly takes from that point of the week to the first allowed one; 0 inside a
// span.
func wait(allowed []span, at time.Duration) time.Duration {
	for _, s := range allowed {
		if at < time.Duration(s.to)*time.Minute {
			return max(0, time.Duration(s.from)*time.Minute-at)
		}
	}
	return time.Duration(minutesOfWeek+allowed[0].from)*time.Minute - at
}

package circadian

import (
	"errors"
	"time"
)

// Open says whether automatic dreams may begin now: within the windows, or at any time without windows, and never
// within the quiet hours. next is now when they may, otherwise the first moment when they may, and zero when they
// never may.
//
// Local time in the zone counts; without a zone, UTC. Hours skipped when clocks go forward do not occur; hours
// repeated when clocks go back occur twice.
func Open(now time.Time, zone *time.Location, windows, quiet Hours) (open bool, next time.Time) {
	if zone == nil {
		zone = time.UTC
	}
	allowed := opened(windows, quiet)
	if len(allowed) == 0 {
		return false, time.Time{}
	}
	if wait(allowed, sinceMonday(now, zone)) == 0 {
		return true, now
	}
	for at := now.Round(0); ; {
		next := at.Add(wait(allowed, sinceMonday(at, zone)))
		_, change := at.In(zone).ZoneBounds()
		if change.IsZero() || next.Before(change) {
			return false, next.In(now.Location())
		}
		at = change // the offset changes before that: check again from there
	}
}

// Opens returns an error when windows and quiet hours leave no minute of the week for a dream.
func Opens(windows, quiet Hours) error {
	switch {
	case len(opened(windows, quiet)) > 0:
		return nil
	case windows.Empty():
		return errors.New(
			"the quiet hours fill the whole week, so no automatic dream could ever begin; leave some time free")
	}
	return errors.New(
		"the quiet hours cover every window, so no automatic dream could ever begin; leave a part of a window free")
}

// opened is the windows without the quiet hours.
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

// sinceMonday is the local time since Monday 00:00.
func sinceMonday(at time.Time, zone *time.Location) time.Duration {
	local := at.In(zone)
	day := (int(local.Weekday()) + 6) % 7
	hour, minute, second := local.Clock()
	return time.Duration(day*minutesOfDay+hour*60+minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(local.Nanosecond())
}

// wait is the time from that point of the week to the first allowed one, without a change of offset; 0 within a span.
func wait(allowed []span, at time.Duration) time.Duration {
	for _, s := range allowed {
		if at < time.Duration(s.to)*time.Minute {
			return max(0, time.Duration(s.from)*time.Minute-at)
		}
	}
	return time.Duration(minutesOfWeek+allowed[0].from)*time.Minute - at
}

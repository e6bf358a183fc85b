package week

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// A dream may begin so much before and after it is due: it is due by the workflow's time, and the rest is the delay
// of two busy cores.
const (
	early = 2 * time.Second
	late  = 3 * time.Minute
)

// The faults that an agent's week may have.
var (
	ErrEarly  = errors.New("too early")
	ErrLate   = errors.New("too late")
	ErrMissed = errors.New("missed")
	ErrRest   = errors.New("it did not fall asleep when no client held it any more")
)

// expected is when the next dream of an agent is due, calculated independently: after it has been idle, the gap has
// passed, and its random delay is over, when no client holds it awake and its hours are open; if it had to wait for
// them, the delay counts again from their opening.
func (s *Sleeper) expected(l *Observed, from time.Time, last time.Time, begun int) time.Time {
	// which delay is drawn is the agent's choice; that this is it is not checked
	draw := circadian.Jitter(s.Agent.ID, begun, s.Hours.Jitter)
	due := from
	if !last.IsZero() {
		due = latest(due, last.Add(s.Hours.Gap+draw))
	}
	quiet, held := l.quiet(), slices.Concat(l.Held, l.awake())
	for {
		was := due
		for _, a := range quiet {
			if idle := a.Add(s.Hours.Idle + draw); !a.After(due) && idle.After(due) {
				due = idle
			}
		}
		for _, h := range held {
			if !h.From.After(due) && h.To.After(due) {
				due = h.To
			}
		}
		if !s.Hours.open(due, s.Zone) {
			due = s.Hours.opens(due, s.Zone)
			if s.Hours.open(due.Add(draw), s.Zone) {
				due = due.Add(draw)
			}
		}
		if due.Equal(was) {
			return due
		}
	}
}

// CheckAsleep checks that the agent fell asleep once after each time that it was awake, when no client held it any
// more and not before: idleness counts from there. Another client may come first, before its workflow has looked
// again.
func (s *Sleeper) CheckAsleep(l *Observed) error {
	wakings := l.awakeSpells()
	for _, w := range wakings {
		risen := slices.ContainsFunc(wakings, func(o awakeSpell) bool { return o.from.After(w.end) && w.ended(o.from) })
		if !risen && !slices.ContainsFunc(l.Asleep, w.ended) && w.end.Before(l.End.Add(-late)) {
			return fmt.Errorf("no client held it from %s on, and it fell asleep at %s: %w", s.local(w.end),
				s.locals(l.Asleep), ErrRest)
		}
	}
	for _, at := range l.Asleep {
		held := func(h Held) bool { return h.From.Before(at.Add(-early)) && h.To.After(at.Add(early)) }
		if n := slices.IndexFunc(l.Held, held); n >= 0 {
			return fmt.Errorf("it fell asleep at %s, and %s held it until %s: %w", s.local(at), l.Held[n].Who,
				s.local(l.Held[n].To), ErrRest)
		}
		if !slices.ContainsFunc(wakings, func(w awakeSpell) bool { return w.ended(at) }) {
			return fmt.Errorf("it fell asleep at %s, and was not awake: %w", s.local(at), ErrRest)
		}
	}
	return nil
}

// ended says whether at is when an agent notices that no client holds it any more, or soon after.
func (w awakeSpell) ended(at time.Time) bool {
	return !at.Before(w.end.Add(-early)) && !at.After(w.end.Add(w.behind+late))
}

// CheckTimes checks that every dream began when it was due, inside the hours, and that no due dream is missing.
func (s *Sleeper) CheckTimes(l *Observed, nights []ObservedDream) error {
	if err := s.CheckAsleep(l); err != nil {
		return err
	}
	last := time.Time{}
	for i, n := range nights {
		due := s.expected(l, s.Start, last, i)
		begin, waits := n.Begin(), due
		if !s.Hours.open(due.Add(late), s.Zone) { // when the hours close before it has begun, it waits until they open
			waits = s.expected(l, due.Add(late), last, i)
		}
		if !within(begin, due) && !within(begin, waits) {
			wrong := ErrLate
			if begin.Before(due) {
				wrong = ErrEarly
			}
			return fmt.Errorf("%s began at %s, and was due at %s: %w", n.ID, s.local(begin), s.local(due), wrong)
		}
		for _, stretch := range n.Stretches {
			if !s.Hours.open(stretch.From, s.Zone) {
				return fmt.Errorf(
					"%s began a stretch at %s, outside its hours: %w",
					n.ID,
					s.local(stretch.From),
					ErrLate,
				)
			}
		}
		last = n.End()
	}
	if due := s.expected(l, s.Start, last, len(nights)); due.Before(l.End.Add(-late)) {
		return fmt.Errorf("a dream was due at %s and never began; the last of %d ended at %s: %w", s.local(due),
			len(nights), s.local(last), ErrMissed)
	}
	return nil
}

// Nights counts the open windows in which a dream began, and all windows of the whole time.
func (s *Sleeper) Nights(nights []ObservedDream) (dreamt, all int) {
	for at := s.Hours.opens(s.Start, s.Zone); at.Before(s.End); at = s.Hours.opens(at, s.Zone) {
		from := at
		for s.Hours.open(at, s.Zone) && at.Before(s.End) {
			at = at.Add(time.Minute)
		}
		all++
		if slices.ContainsFunc(
			nights,
			func(n ObservedDream) bool { return !n.Begin().Before(from) && n.Begin().Before(at) },
		) {
			dreamt++
		}
	}
	return dreamt, all
}

func within(at, due time.Time) bool { return !at.Before(due.Add(-early)) && !at.After(due.Add(late)) }

func (s *Sleeper) local(at time.Time) string {
	return at.In(s.Zone).Format("Mon 2006-01-02 15:04:05 MST")
}

func (s *Sleeper) locals(all []time.Time) []string {
	lines := make([]string, len(all))
	for i, at := range all {
		lines[i] = s.local(at)
	}
	return lines
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

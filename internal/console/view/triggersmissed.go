package view

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities/dreamrun"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// OverdueBy is how late a dream may begin before it is reported: an hour covers the jitter and the second try after a
// refused one.
const OverdueBy = time.Hour

// missedDream is a dream that was due, allowing for quiet hours and the gap between dreams, and did not begin. The
// zero value is none.
type missedDream struct {
	At time.Time
	By string // the trigger; empty: idleness, or an interrupted dream
}

// missed returns the first dream since the last one that was due more than OverdueBy ago. The hours of that time are
// taken to be open, whatever they are now.
func (o outlook) missed(auto bool) missedDream {
	var first missedDream
	take := func(at time.Time, by string) {
		if !at.IsZero() && o.now.Sub(at) >= OverdueBy && (first.At.IsZero() || at.Before(first.At)) {
			first = missedDream{at, by}
		}
	}
	past := o.past
	if o.agent.Created.After(past.Active) {
		past.Active = o.agent.Created
	}
	next := o.rhythm.Due(o.now, past)
	due := o.rhythm.Opening(next.At, cli.Location(o.agent.Zone), o.windows, o.quiet)
	if next.Resume {
		take(due, "")
		return first
	}
	if p := o.waiting(string(dream.OnRequest)); p != nil {
		take(o.called(p.At, p.Kind), p.Trigger)
	}
	if !auto {
		return first
	}
	if o.idles() {
		take(due, "")
	}
	for _, t := range o.agent.Triggered() {
		if at := o.calledFor(t, past); !at.IsZero() {
			take(o.called(at, t.Kind), t.Name)
		}
	}
	return first
}

// calledFor is when a trigger fired since the last dream, as far as known; zero when it did not.
func (o outlook) calledFor(t dream.Trigger, past circadian.LastTimes) time.Time {
	if p := o.waiting(t.Name); p != nil {
		return p.At
	}
	switch {
	case t.Kind == dream.OnEpisodes && o.fresh >= t.Episodes:
		return past.Active // the newest event, or a use since
	case t.Kind != dream.OnSchedule:
	case o.answered:
		for _, made := range o.triggering.Appointments {
			if made.Trigger == t.Name {
				return made.At
			}
		}
	default:
		since := o.agent.Created
		if past.Dream.After(since) {
			since = past.Dream
		}
		return dreamrun.Appointments([]dream.Trigger{t}, o.agent.Zone, since)[0].At
	}
	return time.Time{}
}

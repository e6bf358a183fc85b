package console

import (
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// overdueBy is how long after it was due a night may begin before somebody should look: an hour covers the jitter and
// the try after a refused one.
const overdueBy = time.Hour

// missedDream is a dream that was due, its hours and the gap considered, and did not begin. Its zero value is none.
type missedDream struct {
	at time.Time
	by string // the trigger; empty: idleness, or an interrupted dream that was to go on
}

// missed is the first night since the last that was due more than overdueBy ago. Whatever the hours are now, they were
// open then.
func (o outlook) missed(auto bool) missedDream {
	var first missedDream
	take := func(at time.Time, by string) {
		if !at.IsZero() && o.now.Sub(at) >= overdueBy && (first.at.IsZero() || at.Before(first.at)) {
			first = missedDream{at, by}
		}
	}
	past := o.past
	if o.agent.Created.After(past.Active) {
		past.Active = o.agent.Created
	}
	next := o.rhythm.Due(o.now, past)
	due := o.rhythm.Opening(next.At, location(o.agent.Zone), o.windows, o.quiet)
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

// calledFor is when a trigger called since the last dream, as far as that is known; zero when it did not.
func (o outlook) calledFor(t dream.Trigger, past circadian.Past) time.Time {
	if p := o.waiting(t.Name); p != nil {
		return p.At
	}
	switch {
	case t.Kind == dream.OnEpisodes && o.fresh >= t.Episodes:
		return past.Active // the newest of them, or a use since
	case t.Kind != dream.OnSchedule:
	case o.asked:
		for _, made := range o.known.Appointments {
			if made.Trigger == t.Name {
				return made.At
			}
		}
	default:
		since := o.agent.Created
		if past.Dream.After(since) {
			since = past.Dream
		}
		return activities.Appointments([]dream.Trigger{t}, o.agent.Zone, since)[0].At
	}
	return time.Time{}
}

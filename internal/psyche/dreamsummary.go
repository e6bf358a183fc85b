package psyche

import (
	"context"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// summary is the beginning of a dream's report. A running dream has no results worth reading the store for, and its
// summary says so.
func (d *Dreams) summary(ctx context.Context, a dream.Agent, n *dream.Record) (*screen.Summary, error) {
	r := screen.DreamReport{Agent: a.Handle, Record: *n, MayGoOn: n.MayGoOn(d.Now())}
	if n.Outcome != dream.Dreaming {
		items, err := d.Memory.Find(ctx, memory.Query{
			Agent: a.ID, Dream: n.ID, Sort: memory.Oldest, States: dream.States,
		})
		if err != nil {
			return nil, err
		}
		r.AddItems(items)
		events, err := d.eventsOf(ctx, n)
		if err != nil {
			return nil, err
		}
		r.Learned, r.Stopped, err = review.News(ctx, d.Memory, a.ID, n)
		if err != nil {
			return nil, err
		}
		err = r.AddEvents(events, func(ids ...string) ([]dream.Item, error) {
			return d.Memory.Get(ctx, a.ID, ids...)
		})
		if err != nil {
			return nil, err
		}
	}
	s := screen.Summarize(r)
	return &s, nil
}

// eventsOf reads the events of a dream, in order, from the newest back to when the dream began.
func (d *Dreams) eventsOf(ctx context.Context, n *dream.Record) ([]event.Event, error) {
	heads, err := d.Events.Heads(ctx, n.Agent)
	if err != nil {
		return nil, err
	}
	began := n.At.Add(-time.Minute) // the clocks of several processes differ a little
	var found []event.Event
	for end, more := heads[n.Agent], true; more && end > 0; end -= readAtOnce {
		after := max(0, end-readAtOnce)
		events, err := d.Events.Events(ctx, n.Agent, after, int(end-after))
		if err != nil {
			return nil, err
		}
		if len(events) == 0 || events[0].Seq > end {
			break // older ones were removed (docs/retention.md)
		}
		for _, e := range slices.Backward(events) {
			if e.Dream == n.ID && e.Seq <= end {
				found = append(found, e)
			}
			more = more && !e.At.Before(began)
		}
	}
	slices.Reverse(found)
	return found, nil
}

package week

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// ObservedDream is one dream by its events and record.
type ObservedDream struct {
	*dream.Record
	Stretches []Stretch
	Refused   bool // it never began
}

// Stretch is one stretch of a dream.
type Stretch struct {
	From, To time.Time
	Woken    bool
}

// End is when the agent's workflow saw its last stretch end.
func (n ObservedDream) End() time.Time {
	if n.Refused {
		return n.Ended
	}
	return n.Stretches[len(n.Stretches)-1].To
}

// Begin is when it was started.
func (n ObservedDream) Begin() time.Time {
	if n.Refused {
		return n.AsOf
	}
	return n.Stretches[0].From
}

// ObservedDreams reads an agent's dreams in the order in which they were dreamt.
func (h *Deployment) ObservedDreams(ctx context.Context, agent string) ([]ObservedDream, error) {
	items, err := h.Base.Store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Oldest})
	if err != nil {
		return nil, err
	}
	events, err := h.Base.Store.Events(ctx, agent, 0, 0)
	if err != nil {
		return nil, err
	}
	return Reconstruct(memory.As[*dream.Record](items), events)
}

// Reconstruct makes dreams of records and events. It returns an error where they contradict each other: two stretches
// at once, an end without a beginning, a dream without an end.
func Reconstruct(records []*dream.Record, events []event.Event) ([]ObservedDream, error) {
	nights, of := make([]ObservedDream, 0, len(records)), map[string]int{}
	for _, n := range records {
		of[n.ID] = len(nights)
		nights = append(nights, ObservedDream{Record: n, Refused: n.Run == ""})
	}
	under := "" // the running dream
	last := time.Time{}
	for _, e := range events {
		i, ok := of[e.Dream]
		if !ok {
			continue
		}
		n := &nights[i]
		switch e.Type {
		case event.DreamStarted{}.EventType(), event.DreamResumed{}.EventType():
			if under != "" {
				return nil, fmt.Errorf("%s of %s while %s is running", e.Type, e.Dream, under)
			}
			if e.At.Before(last) {
				return nil,
					fmt.Errorf("%s of %s at %s, and the stretch before ended at %s", e.Type, e.Dream, e.At, last)
			}
			under = e.Dream
			n.Stretches = append(n.Stretches, Stretch{From: e.At})
		case event.DreamInterrupted{}.EventType():
			if under != e.Dream {
				return nil, fmt.Errorf("%s was interrupted while %q is running", e.Dream, under)
			}
			under, last = "", e.At
			n.Stretches[len(n.Stretches)-1].To, n.Stretches[len(n.Stretches)-1].Woken = e.At, true
		case event.DreamEnded{}.EventType():
			if n.Refused || under != e.Dream { // it ended while it waited, or never began
				continue
			}
			under, last = "", e.At
			n.Stretches[len(n.Stretches)-1].To = e.At
		}
	}
	if under != "" {
		return nil, fmt.Errorf("%s never ended", under)
	}
	return nights, checkComplete(nights, events)
}

// checkComplete checks that every dream has one end, that its record says the same, and that the log has no gap.
func checkComplete(nights []ObservedDream, events []event.Event) error {
	ends := map[string]dream.Outcome{}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			return fmt.Errorf("event %d of the log has the number %d", i+1, e.Seq)
		}
		if e.Type != (event.DreamEnded{}).EventType() {
			continue
		}
		if _, twice := ends[e.Dream]; twice {
			return fmt.Errorf("%s ended twice", e.Dream)
		}
		var end event.DreamEnded
		if err := json.Unmarshal(e.Data, &end); err != nil {
			return err
		}
		ends[e.Dream] = end.Outcome
	}
	for _, n := range nights {
		switch {
		case ends[n.ID] == "":
			return fmt.Errorf("the log has no end of %s", n.ID)
		case ends[n.ID] != n.Outcome || n.Resumable():
			return fmt.Errorf("the log has %s end as %s, its record says %s until %s", n.ID, ends[n.ID], n.Outcome,
				n.Until)
		case !n.Refused && len(n.Stretches) == 0:
			return fmt.Errorf("%s has a run and was never started", n.ID)
		}
	}
	return nil
}

package week

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// Night is one dream as events and record tell it.
type Night struct {
	*dream.Record
	Stretches []Stretch
	Refused   bool // it never lay down
}

// Stretch is one stretch of dreaming.
type Stretch struct {
	From, To time.Time
	Woken    bool
}

// End is when the agent's life saw its last sitting end.
func (n Night) End() time.Time {
	if n.Refused {
		return n.Ended
	}
	return n.Stretches[len(n.Stretches)-1].To
}

// Begin is when it was begun.
func (n Night) Begin() time.Time {
	if n.Refused {
		return n.AsOf
	}
	return n.Stretches[0].From
}

// Diary reads an agent's nights in the order in which they were dreamt.
func (h *Deployment) Diary(ctx context.Context, agent string) ([]Night, error) {
	items, err := h.Company.Store.Find(ctx,
		memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Oldest})
	if err != nil {
		return nil, err
	}
	events, err := h.Company.Store.Events(ctx, agent, 0, 0)
	if err != nil {
		return nil, err
	}
	return Story(memory.As[*dream.Record](items), events)
}

// Story makes nights of records and events. An error says what of them is no story: two sittings at once, an end
// without a beginning, a dream without an end.
func Story(records []*dream.Record, events []event.Event) ([]Night, error) {
	nights, of := make([]Night, 0, len(records)), map[string]int{}
	for _, n := range records {
		of[n.ID] = len(nights)
		nights = append(nights, Night{Record: n, Refused: n.Run == ""})
	}
	under := "" // the dream under way
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
				return nil, fmt.Errorf("%s of %s while %s is under way", e.Type, e.Dream, under)
			}
			if e.At.Before(last) {
				return nil,
					fmt.Errorf("%s of %s at %s, and the sitting before ended at %s", e.Type, e.Dream, e.At, last)
			}
			under = e.Dream
			n.Stretches = append(n.Stretches, Stretch{From: e.At})
		case event.DreamInterrupted{}.EventType():
			if under != e.Dream {
				return nil, fmt.Errorf("%s was interrupted while %q is under way", e.Dream, under)
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
	return nights, whole(nights, events)
}

// whole checks that every dream has one end, that its record says the same, and that the log has no gap.
func whole(nights []Night, events []event.Event) error {
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
			return fmt.Errorf("the log does not tell how %s ended", n.ID)
		case ends[n.ID] != n.Outcome || n.Resumable():
			return fmt.Errorf("the log has %s end as %s, its record says %s until %s", n.ID, ends[n.ID], n.Outcome,
				n.Until)
		case !n.Refused && len(n.Stretches) == 0:
			return fmt.Errorf("%s has a run and was never begun", n.ID)
		}
	}
	return nil
}

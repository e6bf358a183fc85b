package screen

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// Break is a place where a dream was interrupted: between two of its stretches, or after its last.
type Break struct {
	Phase dream.Phase `json:"phase"`
	Calls int         `json:"calls"` // that the phase had made by then
	Open  bool        `json:"open"`  // the dream has not gone on
}

// Breaks finds in the events of one dream, in order, where it was interrupted. Unreadable events are skipped.
func Breaks(events []event.Event) []Break {
	var breaks []Break
	calls := map[dream.Phase]int{}
	for _, e := range events {
		switch e.Type {
		case event.Spent{}.EventType():
			var p event.Spent
			if json.Unmarshal(e.Data, &p) == nil {
				calls[p.Tally.Phase] = p.Tally.Calls
			}
		case event.DreamInterrupted{}.EventType():
			var p event.DreamInterrupted
			if json.Unmarshal(e.Data, &p) == nil {
				breaks = append(breaks, Break{Phase: p.Phase, Calls: calls[p.Phase], Open: true})
			}
		case event.DreamResumed{}.EventType():
			for i := range breaks {
				breaks[i].Open = false
			}
		}
	}
	return breaks
}

// waiting is a phase in which a dream is interrupted: it has stopped, and not ended.
func waiting(t dream.Tally, breaks []Break) dream.Tally {
	for _, b := range breaksOf(t.Phase, breaks) {
		if b.Open && t.State == stopped {
			t.State = running
		}
	}
	return t
}

// breaksOf returns the breaks of one phase.
func breaksOf(phase dream.Phase, breaks []Break) []Break {
	var own []Break
	for _, b := range breaks {
		if b.Phase == phase {
			own = append(own, b)
		}
	}
	return own
}

// paused puts a mark for each break among the cells of a phase: at the share of its calls that were made by then, and
// at the head of what is to be resumed. Breaks that fall on one cell share it.
func paused(cells string, t dream.Tally, breaks []Break) string {
	if len(breaks) == 0 || cells == "" {
		return cells
	}
	glyphs := []rune(cells)
	filled := 0
	for _, g := range glyphs {
		if string(g) == done {
			filled++
		}
	}
	for _, b := range breaks {
		at := 0
		switch {
		case b.Open && t.State == running:
			at = filled
		case filled > 0 && t.Calls > 0:
			at = min(filled*b.Calls/t.Calls, filled-1)
		}
		glyphs[at] = []rune(pause)[0]
	}
	return string(glyphs)
}

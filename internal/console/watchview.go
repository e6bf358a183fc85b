package console

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// view is the live drawing: in place on a terminal, a line per event elsewhere, JSON lines when asked for.
type view struct {
	app    *App
	style  screen.Style
	phases map[dream.Phase]dream.Tally
	told   []event.Event // of the dream, for the marks of its sittings
	begun  bool
	last   string
	life   string // the latest of the agent's life, beneath, while the dream waits
	lines  int    // drawn and still on the screen
}

// concerns says whether an event is the dream's own, or one of its agent's life while the dream is open.
func (v *view) concerns(e event.Event, id string) bool {
	if e.Dream == id {
		v.begun = true
		return true
	}
	switch e.Type {
	case event.AgentAwake{}.EventType(), event.AgentAsleep{}.EventType(), event.AlarmRaised{}.EventType():
		return v.begun && e.Dream == ""
	}
	return false
}

func (v *view) tell(e event.Event) error {
	if v.app.json {
		return v.app.line(e)
	}
	switch e.Type {
	case event.Spent{}.EventType(), event.DreamInterrupted{}.EventType(), event.DreamResumed{}.EventType():
		v.told = append(v.told, e)
	}
	if e.Type == (event.Spent{}).EventType() {
		var s event.Spent
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		v.phases[s.Tally.Phase] = s.Tally
		return nil
	}
	line := screen.Line(e, v.style)
	if line == "" {
		return nil
	}
	if !v.app.Terminal {
		fmt.Fprintln(v.app.Out, strings.TrimRight(line, "\n"))
	}
	line = strings.TrimRight(line, "\n")
	switch e.Type {
	case event.AgentAwake{}.EventType(), event.AgentAsleep{}.EventType(), event.AlarmRaised{}.EventType():
		v.life = line
	case event.DreamResumed{}.EventType():
		v.last, v.life = line, ""
	default:
		v.last = line
	}
	return nil
}

// draw redraws the timeline and the latest event in place.
func (v *view) draw() {
	if !v.app.Terminal || v.app.json || v.last == "" {
		return
	}
	var tallies []dream.Tally
	for _, phase := range dream.Phases {
		if t, ok := v.phases[phase]; ok {
			tallies = append(tallies, t)
		}
	}
	text := strings.TrimRight(screen.Timeline(tallies, v.style, screen.Breaks(v.told)...), "\n") + "\n" + v.last + "\n"
	if v.life != "" {
		text += v.life + "\n"
	}
	fmt.Fprint(v.app.Out, v.erase()+text)
	v.lines = strings.Count(text, "\n")
}

// clear takes the drawing off the screen.
func (v *view) clear() {
	if v.lines > 0 {
		fmt.Fprint(v.app.Out, v.erase())
		v.lines = 0
	}
}

func (v *view) erase() string {
	if v.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", v.lines)
}

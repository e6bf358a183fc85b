package dreamcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// screenView draws a running dream: in place on a terminal, one line per event elsewhere, JSON lines on request.
type screenView struct {
	app        *cli.App
	style      screen.Style
	phases     map[dream.Phase]dream.Tally
	text       []event.Event // events of the dream, with the marks of its stretches
	begun      bool
	last       string
	agentState string // the agent's latest state, shown beneath while the dream waits
	lines      int    // drawn and still on the screen

	stage  dream.Stage   // of the onset under way; empty when there is none
	waits  bool          // the dream was woken and may be resumed
	beat   int           // phase of the gauge's pulse
	recent []event.Event // the newest events, at most as many as the gauge has rows
}

// concerns reports whether an event is the dream's own, or one of its agent's workflow while the dream is open.
func (v *screenView) concerns(e event.Event, id string) bool {
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

func (v *screenView) print(e event.Event) error {
	if v.app.Json {
		return v.app.Line(e)
	}
	v.stage = screen.DepthAfter(e, v.stage)
	switch e.Type {
	case event.Spent{}.EventType(), event.DreamInterrupted{}.EventType(), event.DreamResumed{}.EventType():
		v.text = append(v.text, e)
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
		whole := v.style
		whole.Width = cmp.Or(v.app.Width, cli.Uncut)
		fmt.Fprintln(v.app.Out, strings.TrimRight(screen.Line(e, whole), "\n"))
	}
	line = strings.TrimRight(line, "\n")
	switch e.Type {
	case event.AgentAwake{}.EventType(), event.AgentAsleep{}.EventType(), event.AlarmRaised{}.EventType():
		v.agentState = line
		return nil
	case event.DreamResumed{}.EventType():
		v.agentState = ""
	}
	v.last, v.waits = line, e.Type == event.DreamInterrupted{}.EventType()
	v.recent = append(v.recent, e)
	v.recent = v.recent[max(0, len(v.recent)-gaugeRows):]
	return nil
}

// draw redraws the timeline and the latest event in place.
func (v *screenView) draw() {
	if !v.app.Terminal || v.app.Json || v.last == "" {
		return
	}
	var tallies []dream.Tally
	for _, phase := range dream.Phases {
		if t, ok := v.phases[phase]; ok {
			tallies = append(tallies, t)
		}
	}
	text := strings.TrimRight(
		screen.Timeline(tallies, v.style, screen.Breaks(v.text)...),
		"\n",
	) + "\n" + v.footer() +
		"\n"
	if v.agentState != "" {
		text += v.agentState + "\n"
	}
	fmt.Fprint(v.app.Out, v.redraw(text))
	v.lines = strings.Count(text, "\n")
}

// redraw writes a drawing over the last one, line by line. A terminal that is made to clear all may keep a copy of each
// drawing in its scrollback.
func (v *screenView) redraw(text string) string {
	if v.lines == 0 {
		return text
	}
	text = strings.ReplaceAll(text, "\n", "\x1b[K\n")
	return fmt.Sprintf("\x1b[%dA%s\x1b[J", v.lines, text)
}

// gaugeRows is the number of rows of the depth gauge; narrowLine is the least width of a line of news beside it.
const (
	gaugeRows  = 8
	narrowLine = 40
)

// footer is the part under the timeline: the latest news, and during an onset the depth gauge, with the news beside it
// where there is room.
func (v *screenView) footer() string {
	if v.stage == "" || v.waits {
		return v.last
	}
	rows := screen.Gauge(v.stage, v.beat, v.style)
	beside := v.style
	beside.Width -= screen.GaugeWidth + 2
	if beside.Width < narrowLine {
		return trimmed(rows) + "\n" + v.last
	}
	first := gaugeRows - len(v.recent)
	for i, e := range v.recent {
		rows[first+i] += "  " + screen.Line(e, beside)
	}
	return trimmed(rows)
}

func trimmed(rows []string) string {
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return strings.Join(rows, "\n")
}

// pulses ticks while the drawing changes without events, which is at the peak of an onset. The caller must call
// still.
func (v *screenView) pulses() (beat <-chan time.Time, still func()) {
	if !v.app.Terminal || v.app.Json || v.waits || !screen.Pulses(v.stage) {
		return nil, func() {}
	}
	ticker := time.NewTicker(refreshEvery)
	return ticker.C, ticker.Stop
}

// refreshEvery is the length of one pulse of the gauge: slow and gentle.
const refreshEvery = 800 * time.Millisecond

// clear takes the drawing off the screen.
func (v *screenView) clear() {
	if v.lines > 0 {
		fmt.Fprint(v.app.Out, v.erase())
		v.lines = 0
	}
}

func (v *screenView) erase() string {
	if v.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", v.lines)
}

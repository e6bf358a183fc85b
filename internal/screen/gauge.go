package screen

import (
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
)

// The glyphs of the depth gauge, all in the Basic Multilingual Plane.
const (
	reached = "■"
	hollow  = "□" // reached, between two beats
	below   = "·"
	here    = "◂"
)

// GaugeWidth is the number of columns of the gauge.
const GaugeWidth = 22

// levels are the eight stages of the Hori classification, two for each stage of a dream.
var levels = []struct {
	name  string
	stage dream.Stage
	bars  int
	label string
}{
	{"H1", dream.Shallow, 1, "shallow"},
	{"H2", dream.Shallow, 1, ""},
	{"H3", dream.Transitional, 2, "transitional"},
	{"H4", dream.Transitional, 2, ""},
	{"H5", dream.Peak, 3, "peak"},
	{"H6", dream.Peak, 3, "Dali zone"},
	{"H7", dream.TooDeep, 4, "too deep"},
	{"H8", dream.TooDeep, 4, ""},
}

// Gauge draws how deep an onset is, a row for each stage H1 to H8 of Hori: what was reached is filled, what lies
// below is dotted, and a mark shows the present depth. At the peak it pulses: the mark alternates between stage H5
// and stage H6, and the one that it has left is hollow. All rows are GaugeWidth wide.
func Gauge(stage dream.Stage, beat int, st Style) []string {
	first, at := -1, -1
	for i, l := range levels {
		if l.stage == stage {
			if first < 0 {
				first = i
			}
			at = i
		}
	}
	mark := first
	pulses := stage == dream.Peak
	if pulses && beat%2 != 0 {
		mark++
	}
	rows := make([]string, len(levels))
	for i, l := range levels {
		colour, glyph := faint, below
		switch {
		case i >= first && i <= at && pulses && i != mark:
			colour, glyph = amber, hollow
		case i >= first && i <= at && first >= 0:
			colour, glyph = bright, reached
		case i <= at:
			colour, glyph = amber, reached
		}
		label := l.label
		if i == mark && mark >= 0 {
			label = strings.TrimSpace(label + " " + here)
		}
		bars := pad(strings.Repeat(glyph, l.bars), 4)
		rows[i] = st.paint(faint, l.name) + " " + st.paint(colour, bars) + " " +
			st.paint(colour, pad(label, GaugeWidth-len(l.name)-6))
	}
	return rows
}

// Pulses reports whether the gauge of a stage changes from beat to beat.
func Pulses(stage dream.Stage) bool { return stage == dream.Peak }

// DepthAfter is how deep an onset is after an event; empty while no onset runs. Other events leave it unchanged.
func DepthAfter(e event.Event, before dream.Stage) dream.Stage {
	switch e.Type {
	case "OnsetStarted":
		var p event.OnsetStarted
		if json.Unmarshal(e.Data, &p) == nil {
			return p.Depth
		}
	case "DepthChanged":
		var p event.DepthChanged
		if json.Unmarshal(e.Data, &p) == nil {
			return p.To
		}
	case "OnsetSkipped", "OnsetCompleted", "AlarmAbort", "DreamEnded":
		return ""
	}
	return before
}

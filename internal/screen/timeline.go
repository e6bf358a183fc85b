package screen

import (
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// States of a tally, as dream.Tally documents them.
const (
	running   = "running"
	skipped   = "skipped"
	exhausted = "exhausted"
	stopped   = "stopped"
	failed    = "failed"
)

// short reports that a phase did not get to its end.
func short(t dream.Tally) bool {
	return t.State == exhausted || t.State == stopped || t.State == failed
}

// The glyphs of the timeline, all of the Basic Multilingual Plane.
const (
	done    = "="
	ahead   = "-"
	head    = ">"
	unused  = "·"
	drained = "!"
	drop    = "✶" // a Dali interrupt: the bottle falls
	caught  = "•" // a fragment
	pause   = "‖" // somebody woke the dream here
)

// segment is how a phase is drawn: its labels, the longest first; what it keeps; its least columns; and its share of
// the dream when no cap says otherwise.
type segment struct {
	phase        dream.Phase
	labels       []string
	keeps        string
	least, share int
}

var segments = []segment{
	{dream.Onset, []string{"ONSET"}, "frag", 14, budget.DefaultShares.Onset},
	{dream.NREM, []string{"NREM (replay)", "NREM"}, "pattern", 15, budget.DefaultShares.NREM},
	{dream.REM, []string{"REM (imagination)", "REM (imagine)", "REM"}, "scenario", 15, budget.DefaultShares.REM},
	{dream.Integration, []string{"Integration", "INTEGR"}, "hypothesis", 15, budget.DefaultShares.Integration},
	{dream.Return, []string{"RETURN"}, "insight", 11, budget.DefaultShares.Return},
}

// Timeline draws a dream on one line, a segment per phase, with two lines of figures under it. A segment is about as
// wide as its phase's share of the money. Done is "=", what is ahead "-", what was skipped "·"; a running segment has
// its head ">" where its spending stands, and one that did not get to its end ends in "!". In the onset each Dali
// interrupt is a "✶" and each capture a "•", as far as there is room. Each interruption between two stretches is a
// "‖" where the dream stood. On narrow terminals there is a line per phase. There is no line break at the end.
func Timeline(tallies []dream.Tally, st Style, breaks ...Break) string {
	rows := make(map[dream.Phase]dream.Tally, len(tallies))
	for _, t := range tallies {
		rows[t.Phase] = waiting(t, breaks)
	}
	widths, fits := layout(rows, st.columns())
	if !fits {
		return ladder(rows, breaks, st)
	}
	bar, figures, spend := st.paint(faint, "|"), "", ""
	for i, s := range segments {
		t, begun := rows[s.phase]
		bar += st.segmentBar(s, t, begun, breaks, widths[i]) + st.paint(faint, "|")
		figures += " " + pad(firstFitting(figuresOf(s, t, begun), widths[i]), widths[i])
		spend += " " + pad(firstFitting(spendOf(t, begun), widths[i]), widths[i])
	}
	lines := []string{bar, st.paint(faint, strings.TrimRight(figures, " ")), strings.TrimRight(spend, " ")}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// layout gives each segment its least width, and the remaining columns, one by one, to the segment farthest below its
// share.
func layout(rows map[dream.Phase]dream.Tally, columns int) ([]int, bool) {
	inner := columns - len(segments) - 1
	widths, shares := make([]int, len(segments)), make([]float64, len(segments))
	free, whole := inner, 0.0
	capped := true
	for _, s := range segments {
		t := rows[s.phase]
		capped = capped && t.Cap > 0 && t.Cap < budget.Unlimited/8
	}
	for i, s := range segments {
		shares[i] = float64(s.share)
		if capped {
			shares[i] = float64(rows[s.phase].Cap)
		}
		whole += shares[i]
		widths[i] = s.least
		free -= s.least
	}
	for ; free > 0; free-- {
		neediest, need := 0, -1e18
		for i := range widths {
			if lack := shares[i]/whole*float64(inner) - float64(widths[i]); lack > need {
				neediest, need = i, lack
			}
		}
		widths[neediest]++
	}
	return widths, free == 0
}

// segmentBar draws one segment in its colour, exactly columns wide: half of its cells, the label, the other half. A
// segment with marks in its cells takes its shortest label, to have more of them.
func (st Style) segmentBar(s segment, t dream.Tally, begun bool, breaks []Break, columns int) string {
	breaks = breaksOf(s.phase, breaks)
	label := " " + firstFitting(s.labels, columns-4) + " "
	if (begun && (t.State == running || short(t)) || len(breaks) > 0) && columns-width(label) < 7 {
		label = " " + s.labels[len(s.labels)-1] + " "
	}
	cells := paused(bar(t, begun, columns-width(label)), t, breaks)
	colour, sparks := inkOf(s.phase), ""
	switch {
	case !begun || t.State == skipped:
		colour = faint
	case s.phase == dream.Onset:
		sparks = sparksOf(t, strings.Count(cells, done))
	}
	var drawn strokes
	for i, cell := range []rune(cells) {
		if i == len([]rune(cells))/2 {
			drawn.add(colour, label)
		}
		switch glyph := string(cell); {
		case glyph == done && sparks != "":
			spark, rest := split(sparks, 1)
			drawn.add(bright, spark)
			sparks = rest
		case glyph == drained:
			drawn.add(red, glyph)
		case glyph == pause:
			drawn.add(bold, glyph)
		default:
			drawn.add(colour, glyph)
		}
	}
	return drawn.paint(st)
}

// strokes are runs of text of one colour.
type strokes []struct {
	colour ink
	text   string
}

func (s *strokes) add(colour ink, text string) {
	if n := len(*s); n > 0 && (*s)[n-1].colour == colour {
		(*s)[n-1].text += text
		return
	}
	*s = append(*s, struct {
		colour ink
		text   string
	}{colour, text})
}

func (s strokes) paint(st Style) string {
	out := ""
	for _, stroke := range s {
		out += st.paint(stroke.colour, stroke.text)
	}
	return out
}

// bar is what surrounds the label. A running bar shows the part of its cap that is spent, and always something ahead.
func bar(t dream.Tally, begun bool, cells int) string {
	switch {
	case !begun:
		return strings.Repeat(ahead, cells)
	case t.State == skipped:
		return strings.Repeat(unused, cells)
	case short(t):
		return strings.Repeat(done, cells-2) + drained + drained
	case t.State != running:
		return strings.Repeat(done, cells)
	}
	at := cells / 3
	if t.Cap > 0 && t.Cap < budget.Unlimited {
		at = int(float64(cells) * float64(t.Spent) / float64(t.Cap))
	}
	at = max(1, min(at, cells-2))
	return strings.Repeat(done, at) + head + strings.Repeat(ahead, cells-at-1)
}

// sparksOf is one drop for each cycle, followed by its captures; the tally does not say which cycle caught which, so
// they are spread evenly. Without room for all, drops are left out before captures.
func sparksOf(t dream.Tally, room int) string {
	drops := min(t.Cycles, room)
	kept := min(t.Kept, room-drops)
	if drops == 0 {
		return strings.Repeat(caught, max(kept, 0))
	}
	out := ""
	for c := range drops {
		out += drop + strings.Repeat(caught, kept*(c+1)/drops-kept*c/drops)
	}
	return out
}

// ladder is the timeline of a narrow terminal: a line per phase.
func ladder(rows map[dream.Phase]dream.Tally, breaks []Break, st Style) string {
	var lines []string
	const bars = 12
	for _, s := range segments {
		short := s
		short.labels = s.labels[len(s.labels)-1:]
		t, begun := rows[s.phase]
		line := st.paint(faint, "|") + st.segmentBar(short, t, begun, breaks, bars) + st.paint(faint, "|")
		room := st.columns() - bars - 3
		spend := firstFitting(spendOf(t, begun), room/2)
		figures := firstFitting(figuresOf(s, t, begun), room-width(spend)-1)
		lines = append(lines, strings.TrimRight(line+" "+strings.TrimSpace(figures+" "+spend), " "))
	}
	return strings.Join(lines, "\n")
}

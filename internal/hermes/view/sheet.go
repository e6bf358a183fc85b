// Package view draws what an Oneiros server answers, for a terminal of a given width. Drawings are lines without a line
// break at their end. Texts of the server are cleaned: none holds a control character or an escape sequence. Colours
// only repeat what the words say.
package view

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Sheet is the terminal that is drawn on.
type Sheet struct {
	Width  int // columns; 80 when it is not positive, and at least 40
	Colour bool
	Zone   *time.Location // in which times are shown; UTC when nil
	Now    time.Time      // the zero time: nothing is called "now" or "today"
	Beat   int            // counts the beats of what pulses
}

func (s Sheet) style() screen.Style {
	return screen.Style{Colour: s.Colour, Width: s.Width, Zone: s.Zone}
}

// readable is the greatest width of a paragraph, however wide the terminal is.
const readable = 110

// drawing collects lines.
type drawing struct {
	sheet Sheet
	st    screen.Style
	lines []string
}

func draw(s Sheet) *drawing { return &drawing{sheet: s, st: s.style()} }

func (d *drawing) columns() int { return min(d.st.Columns(), readable) }

// trailing is what is not seen at the end of a line.
var trailing = regexp.MustCompile("(?: |\x1b\\[[0-9;]+m)+$")

// raw adds a line that is already drawn, without spaces at its end.
func (d *drawing) raw(line string) {
	unseen := trailing.FindString(line)
	line = strings.TrimSuffix(line, unseen)
	if strings.Contains(unseen, "\x1b") {
		line += "\x1b[0m"
	}
	d.lines = append(d.lines, line)
}

// blank separates two parts; it never begins a drawing, and there are never two in a row.
func (d *drawing) blank() {
	if n := len(d.lines); n > 0 && d.lines[n-1] != "" {
		d.lines = append(d.lines, "")
	}
}

func (d *drawing) heading(text string) {
	d.blank()
	d.text("", text, screen.Bold)
}

// text writes a paragraph whose lines are indented alike.
func (d *drawing) text(indent, text string, ink screen.Ink) {
	for _, line := range screen.Wrap(screen.Clean(text), d.columns()-screen.Width(indent)) {
		d.raw(indent + d.st.Paint(ink, line))
	}
}

// body writes a text of several paragraphs.
func (d *drawing) body(indent, text string) {
	empty := false
	for _, paragraph := range screen.Paragraphs(text) {
		if paragraph == "" {
			empty = true
			continue
		}
		if empty {
			d.blank()
		}
		empty = false
		d.text(indent, paragraph, screen.Unpainted)
	}
}

// item writes a text behind a mark; its further lines hang under the first.
func (d *drawing) item(mark string, ink screen.Ink, text string) {
	mark = "  " + mark + " "
	indent := strings.Repeat(" ", screen.Width(mark))
	text = cmp.Or(screen.Clean(text), "(no words)")
	for i, line := range screen.Wrap(text, d.columns()-screen.Width(mark)) {
		if i > 0 {
			mark = indent
		}
		d.raw(d.st.Paint(ink, mark) + line)
	}
}

// note writes a remark under an item.
func (d *drawing) note(text string) { d.text("      ", text, screen.Faint) }

// field writes a value behind its name; its further lines hang under the first.
func (d *drawing) field(name, value string) {
	const columns = 11
	label := screen.Pad(name, columns)
	for i, line := range screen.Wrap(screen.Clean(value), d.columns()-columns) {
		if i > 0 {
			label = strings.Repeat(" ", columns)
		}
		d.raw(d.st.Paint(screen.Faint, label) + line)
	}
}

// when is a time as it is shown: today without its day, and without its year in the year that is shown now.
func (d *drawing) when(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	format := "2 Jan 2006, 15:04"
	if now := d.sheet.Now; !now.IsZero() {
		day, today := d.st.Time(at, time.DateOnly), d.st.Time(now, time.DateOnly)
		switch {
		case day == today:
			format = "15:04"
		case day[:4] == today[:4]:
			format = "2 Jan, 15:04"
		}
	}
	return d.st.Time(at, format)
}

// column of a table.
type column struct {
	head  string
	right bool
	flex  bool // takes the columns that the others leave, and is cut
	drop  int  // when the table is too wide, the column with the greatest is left out first; 0: never
}

// leastFlex is the least width of a flexible column.
const leastFlex = 16

// table writes rows, an ink for each. A row is one line.
func (d *drawing) table(columns []column, rows [][]string, inks []screen.Ink) {
	rows = cleaned(rows)
	kept := make([]int, len(columns))
	for i := range columns {
		kept[i] = i
	}
	widths := widthsOf(columns, rows)
	for total(columns, widths, kept) > d.st.Columns() {
		worst := -1
		for at, i := range kept {
			if columns[i].drop > 0 && (worst < 0 || columns[i].drop > columns[kept[worst]].drop) {
				worst = at
			}
		}
		if worst < 0 {
			break
		}
		kept = append(kept[:worst:worst], kept[worst+1:]...)
	}
	room := d.st.Columns() - total(columns, widths, kept)
	for _, i := range kept {
		if columns[i].flex {
			widths[i] = min(widths[i], leastFlex+max(0, room))
		}
	}
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	d.row(columns, heads, widths, kept, screen.Faint)
	for n, row := range rows {
		ink := screen.Unpainted
		if n < len(inks) {
			ink = inks[n]
		}
		d.row(columns, row, widths, kept, ink)
	}
}

func cleaned(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			out[i] = append(out[i], cmp.Or(screen.Clean(cell), "-"))
		}
	}
	return out
}

func widthsOf(columns []column, rows [][]string) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = screen.Width(c.head)
		for _, row := range rows {
			widths[i] = max(widths[i], screen.Width(row[i]))
		}
	}
	return widths
}

// total is the least width of a table, with its indent and gaps.
func total(columns []column, widths, kept []int) int {
	sum := 2 * len(kept)
	for _, i := range kept {
		if columns[i].flex {
			sum += min(widths[i], leastFlex)
		} else {
			sum += widths[i]
		}
	}
	return sum
}

func (d *drawing) row(columns []column, cells []string, widths, kept []int, ink screen.Ink) {
	line := ""
	for _, i := range kept {
		cell := screen.Cut(cells[i], widths[i])
		line += "  "
		if columns[i].right {
			line += strings.Repeat(" ", max(0, widths[i]-screen.Width(cell))) + cell
		} else {
			line += screen.Pad(cell, widths[i])
		}
	}
	line = screen.Cut(strings.TrimRight(line, " "), d.st.Columns())
	d.raw(d.st.Paint(ink, line))
}

// nothing says that there is nothing, and what to do next.
func (d *drawing) nothing(format string, values ...any) []string {
	d.text("", fmt.Sprintf(format, values...), screen.Unpainted)
	return d.lines
}

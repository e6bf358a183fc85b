package screen

import (
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Ink is a colour of a drawing.
type Ink = ink

// The colours for drawings of other packages.
const (
	Unpainted = plain
	Faint     = faint
	Bold      = bold
	Amber     = amber
	Blue      = blue
	Violet    = violet
	Teal      = teal
	Gold      = gold
	Bright    = bright
	Red       = red
	Green     = green
	Dark      = ink("38;5;240")
)

// Paint colours a text, where the terminal has colours.
func (st Style) Paint(i Ink, text string) string { return st.paint(i, text) }

// Columns is the number of columns that are drawn on.
func (st Style) Columns() int { return st.columns() }

// Time formats a time in the style's zone.
func (st Style) Time(at time.Time, format string) string { return st.clock(at, format) }

// Width is the number of columns that a text without escape sequences takes.
func Width(text string) int { return width(text) }

// Pad appends spaces up to a width.
func Pad(text string, columns int) string { return pad(text, columns) }

// Cut shortens a clean text to the columns, with "…" when something was left out.
func Cut(text string, columns int) string { return cut(text, columns) }

// Wrap breaks a clean line at spaces so that no line is wider than the columns.
func Wrap(text string, columns int) []string { return wrap(text, columns) }

// Paragraphs cleans a text of several lines, and keeps its line breaks.
func Paragraphs(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		lines = append(lines, Clean(line))
	}
	return lines
}

// Money is an amount, rounded up to a tenth of a cent.
func Money(m budget.Micros) string { return money(m) }

// Score is a share in two decimals without the leading zero.
func Score(share float64) string { return score(share) }

// Count says "1 call", "3 calls".
func Count(n int, thing string) string { return count(n, thing) }

// Span formats a duration, such as "2 min 14 s".
func Span(d time.Duration) string { return span(d) }

// InkOf is the colour of a phase.
func InkOf(p dream.Phase) Ink { return inkOf(p) }

// Package screen draws what a terminal shows of a dream: the timeline, a line per event, the report at the end.
package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Style is what the terminal can show. Without colour the drawing is otherwise identical.
type Style struct {
	Colour bool
	Width  int            // columns; 80 when it is not positive
	Zone   *time.Location // in which times are shown; UTC when nil
}

// A terminal narrower than this is drawn as if it had this many columns.
const (
	narrowest = 40
	customary = 80
)

func (st Style) columns() int {
	if st.Width <= 0 {
		return customary
	}
	return max(st.Width, narrowest)
}

func (st Style) clock(at time.Time, layout string) string {
	zone := st.Zone
	if zone == nil {
		zone = time.UTC
	}
	return at.In(zone).Format(layout)
}

// ink is the parameter of a colour sequence (SGR).
type ink string

// The colours. Onset is amber and return gold; the others are ours.
const (
	plain  ink = ""
	faint  ink = "2"
	bold   ink = "1"
	amber  ink = "38;5;214"
	blue   ink = "38;5;68"
	violet ink = "38;5;139"
	teal   ink = "38;5;72"
	gold   ink = "38;5;220"
	bright ink = "1;38;5;229"
	red    ink = "38;5;203"
	green  ink = "38;5;114"
)

// inkOf is the colour of a phase.
func inkOf(p dream.Phase) ink {
	switch p {
	case dream.Onset:
		return amber
	case dream.NREM:
		return blue
	case dream.REM:
		return violet
	case dream.Integration:
		return teal
	case dream.Return:
		return gold
	}
	return plain
}

func (st Style) paint(i ink, text string) string {
	if !st.Colour || i == plain || text == "" {
		return text
	}
	return "\x1b[" + string(i) + "m" + text + "\x1b[0m"
}

// money is an amount with at most three decimals, rounded up so that it never looks smaller than it is; amounts of a
// hundred dollars and more are whole. The report's table is exact.
func money(m budget.Micros) string {
	switch {
	case m == budget.Unlimited || m < 0:
		return m.String()
	case m >= 100*budget.Dollar:
		return fmt.Sprintf("$%d", (m+budget.Dollar-1)/budget.Dollar)
	}
	const mill = budget.Dollar / 1000
	mills := (m + mill - 1) / mill
	text := fmt.Sprintf("$%d.%03d", mills/1000, mills%1000)
	return strings.TrimSuffix(text, "0")
}

// score is a share in two decimals without the leading zero: .62, 1.00.
func score(v float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", v), "0") }

// count says "1 call", "3 calls".
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "sis"):
		return fmt.Sprintf("%d %ses", n, strings.TrimSuffix(thing, "is"))
	case strings.HasSuffix(thing, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	default:
		return fmt.Sprintf("%d %ss", n, thing)
	}
}

// span formats a duration: 850 ms, 42 s, 2 min 14 s, 1 h 5 min.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// column of a table. A flexible one is shortened first; the others are dropped, highest drop first, when the screen
// is narrower still. Drop 0 always stays.
type column struct {
	title string
	right bool
	flex  bool
	under bool // where there is no room for the column, its cells are written beneath their rows
	least int  // least width of a flexible column; usualLeast when 0
	drop  int
}

func (c column) narrowest() int {
	if c.least > 0 {
		return c.least
	}
	return usualLeast
}

// table is rows under titles, fitted to a screen.
type table struct {
	columns []column
	rows    [][]string
	total   []string // a last row, set apart
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

const (
	gap        = 2  // spaces between columns
	usualLeast = 24 // a narrower column of text is not readable
)

// draw writes the table in at most width columns; 0 for no limit.
func (t *table) draw(w io.Writer, width int, bold func(string) string) {
	shown, widths := t.fit(width)
	line := func(cells []string, paint func(string) string) {
		var b strings.Builder
		for i, c := range shown {
			text := cut(flat(cells[c]), widths[i])
			pad := strings.Repeat(" ", max(0, widths[i]-uniseg.StringWidth(text)))
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			if t.columns[c].right {
				b.WriteString(pad + text)
			} else {
				b.WriteString(text + pad)
			}
		}
		fmt.Fprintln(w, paint(strings.TrimRight(b.String(), " ")))
	}
	plain := func(s string) string { return s }
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	line(titles, bold)
	for _, row := range t.rows {
		line(row, plain)
		for c, column := range t.columns {
			if column.under && !slices.Contains(shown, c) && row[c] != "-" && row[c] != "" {
				fmt.Fprintln(w, wrap(flat(row[c]), width, "  "))
			}
		}
	}
	if t.total != nil {
		line(t.total, bold)
	}
}

// fit chooses the columns and their widths.
func (t *table) fit(width int) (shown, widths []int) {
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		natural[i] = uniseg.StringWidth(c.title)
		rows := t.rows
		if t.total != nil {
			rows = append(rows[:len(rows):len(rows)], t.total)
		}
		for _, row := range rows {
			natural[i] = max(natural[i], uniseg.StringWidth(flat(row[i])))
		}
	}
	for limit := t.dropMost(); ; limit-- {
		shown = shown[:0]
		least := -gap
		for i, c := range t.columns {
			if c.drop > limit {
				continue
			}
			shown = append(shown, i)
			w := natural[i]
			if c.flex {
				w = min(w, c.narrowest())
			}
			least += w + gap
		}
		if width == 0 || least <= width || limit == 0 {
			break
		}
	}
	return shown, t.share(shown, natural, width)
}

// share divides the remaining width among the flexible columns; the first one gets the remainder.
func (t *table) share(shown, natural []int, width int) []int {
	widths := make([]int, len(shown))
	sum, flexible := -gap, 0
	for i, c := range shown {
		widths[i] = natural[c]
		sum += widths[i] + gap
		if t.columns[c].flex {
			flexible++
		}
	}
	for sum > width && width > 0 && flexible > 0 {
		widest := -1
		for i, c := range shown {
			if t.columns[c].flex && widths[i] > t.columns[c].narrowest() && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		sum--
	}
	return widths
}

func (t *table) dropMost() int {
	most := 0
	for _, c := range t.columns {
		most = max(most, c.drop)
	}
	return most
}

// flat makes a foreign text one line without control characters.
func flat(s string) string { return strings.Join(strings.Fields(screen.Clean(s)), " ") }

// cut shortens a text to a width, with a mark that it was longer.
func cut(s string, width int) string {
	if width <= 0 || uniseg.StringWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	g := uniseg.NewGraphemes(s)
	for g.Next() {
		if used+g.Width() > width-1 {
			break
		}
		used += g.Width()
		b.WriteString(g.Str())
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// idColumn holds ids, which can be copied as they are. An id that is too long for the screen keeps its beginning,
// which show commands understand.
func idColumn() column { return column{title: "ID", flex: true, least: 30} }

// wrap breaks a text into lines of at most width, each with the indent.
func wrap(s string, width int, indent string) string {
	if width <= 0 {
		width = 100
	}
	width = max(20, width-len(indent))
	var lines []string
	for _, paragraph := range strings.Split(strings.TrimSpace(s), "\n") {
		line := ""
		for _, word := range strings.Fields(screen.Clean(paragraph)) {
			if line != "" && uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
				lines, line = append(lines, line), ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return indent + strings.Join(lines, "\n"+indent)
}

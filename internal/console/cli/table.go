package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Column of a table. A flexible one is shortened first; the others are dropped, highest drop first, when the screen
// is narrower still. Drop 0 always stays.
type Column struct {
	Title string
	Right bool
	Flex  bool
	Under bool // where there is no room for the column, its cells are written beneath their rows
	Least int  // least width of a flexible column; usualLeast when 0
	Drop  int
}

func (c Column) narrowest() int {
	if c.Least > 0 {
		return c.Least
	}
	return usualLeast
}

// Columns reads columns as struct tags are written: a title, then right, flex, under, least=N and drop=N, after commas.
// Ids are flexible down to 30: one that is too long keeps its beginning, which show commands understand.
func Columns(specs ...string) []Column {
	columns := make([]Column, len(specs))
	for i, spec := range specs {
		marks := strings.Split(spec, ",")
		c := &columns[i]
		c.Title = marks[0]
		for _, mark := range marks[1:] {
			name, number, _ := strings.Cut(mark, "=")
			n, err := strconv.Atoi(number)
			switch {
			case mark == "right":
				c.Right = true
			case mark == "flex":
				c.Flex = true
			case mark == "under":
				c.Under = true
			case name == "least" && err == nil:
				c.Least = n
			case name == "drop" && err == nil:
				c.Drop = n
			default:
				panic(fmt.Sprintf("column %q: %q is no mark", spec, mark)) // a mistake of this program
			}
		}
	}
	return columns
}

// NewTable is an empty table with these columns.
func NewTable(specs ...string) *Table { return &Table{Columns: Columns(specs...)} }

// Table is rows under titles, fitted to a screen.
type Table struct {
	Columns []Column
	rows    [][]string
	Total   []string // a last row, set apart
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

const (
	gap        = 2  // spaces between columns
	usualLeast = 24 // a narrower column of text is not readable
)

// Draw writes the table in at most width columns; 0 for no limit.
func (t *Table) Draw(out io.Writer, width int, bold func(string) string) {
	w := bufio.NewWriter(out)
	defer func() { _ = w.Flush() }()
	shown, widths := t.fit(width)
	var b []byte
	line := func(cells []string, paint func(string) string) {
		b = b[:0]
		spaces := 0
		for i, c := range shown {
			text := Cut(Flat(cells[c]), widths[i])
			pad := max(0, widths[i]-screenWidth(text))
			if t.Columns[c].Right {
				spaces, pad = spaces+pad, 0
			}
			if text != "" { // a line has no spaces at its end
				for range spaces {
					b = append(b, ' ')
				}
				b = append(b, text...)
				spaces = 0
			}
			spaces += pad + gap
		}
		if paint == nil {
			_, _ = w.Write(b)
		} else {
			_, _ = w.WriteString(paint(string(b)))
		}
		_ = w.WriteByte('\n')
	}
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = c.Title
	}
	line(titles, bold)
	for _, row := range t.rows {
		line(row, nil)
		for c, column := range t.Columns {
			if column.Under && !slices.Contains(shown, c) && row[c] != "-" && row[c] != "" {
				fmt.Fprintln(w, Wrap(Flat(row[c]), width, "  "))
			}
		}
	}
	if t.Total != nil {
		line(t.Total, bold)
	}
}

// fit chooses the columns and their widths.
func (t *Table) fit(width int) (shown, widths []int) {
	natural := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		natural[i] = screenWidth(c.Title)
		for _, row := range t.rows {
			natural[i] = max(natural[i], screenWidth(Flat(row[i])))
		}
		if t.Total != nil {
			natural[i] = max(natural[i], screenWidth(Flat(t.Total[i])))
		}
	}
	for limit := t.dropMost(); ; limit-- {
		shown = shown[:0]
		least := -gap
		for i, c := range t.Columns {
			if c.Drop > limit {
				continue
			}
			shown = append(shown, i)
			w := natural[i]
			if c.Flex {
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
func (t *Table) share(shown, natural []int, width int) []int {
	widths := make([]int, len(shown))
	sum, flexible := -gap, 0
	for i, c := range shown {
		widths[i] = natural[c]
		sum += widths[i] + gap
		if t.Columns[c].Flex {
			flexible++
		}
	}
	for sum > width && width > 0 && flexible > 0 {
		widest := -1
		for i, c := range shown {
			if t.Columns[c].Flex && widths[i] > t.Columns[c].narrowest() &&
				(widest < 0 || widths[i] > widths[widest]) {
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

func (t *Table) dropMost() int {
	most := 0
	for _, c := range t.Columns {
		most = max(most, c.Drop)
	}
	return most
}

// Flat makes a foreign text one line without control characters.
func Flat(s string) string {
	if isFlat(s) {
		return s
	}
	return strings.Join(strings.Fields(screen.Clean(s)), " ")
}

// isFlat reports whether a text is plain ASCII with single spaces between its words, as most cells of long tables are.
func isFlat(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return before != ' ' || s == ""
}

// screenWidth is how many columns a text takes. Plain ASCII, as most cells of long tables are, takes one a byte.
func screenWidth(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens a text to a width, with a mark that it was longer.
func Cut(s string, width int) string {
	if width <= 0 || screenWidth(s) <= width {
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

// Wrap breaks a text into lines of at most width, each with the indent.
func Wrap(s string, width int, indent string) string {
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

// Program is how the program was called, for commands that a reader copies: the path that was typed, or its name.
func Program() string {
	const name = "oneiros"
	if filepath.Base(os.Args[0]) != name {
		return name
	}
	return os.Args[0]
}

// Uncut is the line width when the output is no terminal.
const Uncut = 400

package screen

import "strings"

// page collects lines that are wrapped to the style's width.
type page struct {
	st Style
	b  strings.Builder
}

// readable is the greatest width of a paragraph, however wide the terminal is.
const readable = 110

func (p *page) columns() int { return min(p.st.columns(), readable) }

func (p *page) String() string { return p.b.String() }

func (p *page) blank() { p.b.WriteByte('\n') }

// raw writes a line that is already drawn.
func (p *page) raw(text string) { p.b.WriteString(text + "\n") }

func (p *page) heading(title string) {
	p.blank()
	p.raw(p.st.paint(bold, title))
}

// text writes a paragraph, every line indented alike.
func (p *page) text(indent, text string, colour ink) {
	for _, line := range wrap(Clean(text), p.columns()-width(indent)) {
		p.raw(indent + p.st.paint(colour, line))
	}
}

// item writes a text after a coloured mark; its further lines are indented.
func (p *page) item(mark string, colour ink, words string) {
	const indent = "  "
	hang := strings.Repeat(" ", width(mark))
	for i, line := range wrap(orElse(Clean(words), "(nothing)"), p.columns()-width(indent+mark)) {
		if i == 0 {
			p.raw(indent + p.st.paint(colour, mark) + line)
			continue
		}
		p.raw(indent + hang + line)
	}
}

// lead writes a sentence behind its name; the lines that follow hang under the first. A command at its end that would
// be broken gets a line of its own, so that it can be copied.
func (p *page) lead(name, text, command string) {
	hang := strings.Repeat(" ", width(name))
	columns := p.columns() - width(name)
	lines := wrap(Clean(text), columns)
	if len(lines) > 1 && command != "" {
		lines = wrap(Clean(strings.TrimSuffix(text, command)), columns)
		lines = append(lines, wrap(Clean(command), columns)...)
	}
	for i, line := range lines {
		if i == 0 {
			p.raw(p.st.paint(bold, name) + line)
			continue
		}
		p.raw(hang + line)
	}
}

// note writes a remark on the item above it.
func (p *page) note(text string) { p.text("      ", text, faint) }

// table writes rows of cells; the first column is aligned left, figures right. When it is too wide, columns are left
// out from the third on, but never the last two.
func (p *page) table(rows [][]string) {
	const gap, indent = 2, 2
	for {
		columns := make([]int, len(rows[0]))
		total := indent
		for _, row := range rows {
			for i, cell := range row {
				columns[i] = max(columns[i], width(cell))
			}
		}
		for i, c := range columns {
			total += c
			if i > 0 {
				total += gap
			}
		}
		if total <= p.st.columns() || len(columns) <= 4 {
			p.rows(rows, columns, gap, indent)
			return
		}
		for i, row := range rows {
			rows[i] = append(append([]string{}, row[:2]...), row[3:]...)
		}
	}
}

func (p *page) rows(rows [][]string, columns []int, gap, indent int) {
	for n, row := range rows {
		line := strings.Repeat(" ", indent) + pad(row[0], columns[0])
		for i, cell := range row[1:] {
			line += strings.Repeat(" ", gap+columns[i+1]-width(cell)) + cell
		}
		colour := plain
		switch n {
		case 0:
			colour = faint
		case len(rows) - 1:
			colour = bold
		}
		p.raw(p.st.paint(colour, strings.TrimRight(line, " ")))
	}
}

package democmd

import (
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
)

// say prints a line, which --json leaves out.
func (p *player) say(format string, args ...any) {
	if p.app.Json {
		return
	}
	text := fmt.Sprintf(format, args...)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if text == "" {
		fmt.Fprintln(p.app.Out)
		return
	}
	fmt.Fprintln(p.app.Out, cli.Wrap(text, p.app.Width, indent))
}

// title prints a line in bold, which --json leaves out.
func (p *player) title(text string) {
	if !p.app.Json {
		fmt.Fprintln(p.app.Out, p.app.Bold(cli.Wrap(text, p.app.Width, "")))
	}
}

// hang prints a remark below a line.
func (p *player) hang(text string) {
	if !p.app.Json {
		fmt.Fprintln(p.app.Out, p.app.Dim(cli.Wrap(text, p.app.Width, "      ")))
	}
}

// rowFormat has the widths of the columns before the last one.
const rowFormat = "%5s  %-6s  %5s  %9s  %9s  %7s  %s"

func (p *player) head() {
	if p.app.Json {
		return
	}
	fmt.Fprintln(p.app.Out)
	fmt.Fprintln(p.app.Out,
		p.app.Bold(fmt.Sprintf(rowFormat, "NIGHT", "DAY", "LIVED", "CAME TRUE", "DECOYS", "RECALL", "FORETOLD ANEW")))
}

// row prints a day and its night, and below it what passed and what was retired.
func (p *player) row(i int, d day) {
	if p.app.Json {
		return
	}
	night := "-"
	if d.Dream != "" {
		night = fmt.Sprint(i + 1)
	}
	at := p.chronicle.Days[i].Format("2 Jan")
	foretold := strings.Join(d.Foretold, ", ")
	switch d.Outcome {
	case string(dream.Undone):
		foretold = "undone, recall was worse"
	case "", string(dream.Completed):
	default:
		foretold = strings.TrimSuffix(d.Outcome+"; "+foretold, "; ")
	}
	line := fmt.Sprintf(rowFormat, night, at, fmt.Sprint(d.Entries), d.CameTrue, d.Decoys, recallOf(d.Recall), foretold)
	width := p.app.Width
	if width <= 0 {
		width = narrow
	}
	fmt.Fprintln(p.app.Out, strings.TrimRight(cli.Cut(line, width), " "))
	if r := d.Recall; r != nil && r.Before != r.After {
		p.event(fmt.Sprintf("recall: %d of %d before the night, %d after it", r.Before, r.Requested, r.After), "33")
	}
	for _, text := range d.Passed {
		p.event("+ passed: "+text, "32")
	}
	for _, text := range d.Retired {
		p.event("- retired: "+text, "33")
	}
}

// narrow is the width of rows where the output is no terminal.
const narrow = 100

func (p *player) event(text, colour string) {
	fmt.Fprintln(p.app.Out, p.app.Paint(colour, cli.Wrap(text, p.app.Width, "       ")))
}

// recallOf is how many of the probe's questions found their memory after a dream.
func recallOf(r *dream.Recall) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.After, r.Requested)
}

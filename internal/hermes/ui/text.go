package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// wrapped breaks each line of a text so that none is wider than the columns; spaces at a line's beginning stay.
func wrapped(text string, columns int) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		all = append(all, strings.Split(ansi.Wrap(line, max(columns, 2), ""), "\n")...)
	}
	return all
}

// fit cuts a drawn line that is too wide and takes off the spaces at its end.
func fit(line string, columns int) string {
	if ansi.StringWidth(line) > columns {
		line = ansi.Truncate(line, columns, "…")
	}
	return strings.TrimRight(line, " ")
}

// padded fills a drawn line with spaces up to the columns.
func padded(line string, columns int) string {
	line = fit(line, columns)
	return line + strings.Repeat(" ", max(0, columns-ansi.StringWidth(line)))
}

// sides puts one text at the left and one at the right of a line. Where both do not fit, the right one goes first.
func sides(left, right string, columns int) string {
	room := columns - ansi.StringWidth(left) - ansi.StringWidth(right)
	if room < 1 {
		return fit(left, columns)
	}
	return left + strings.Repeat(" ", room) + right
}

// callTitle says in one line what a call does: the tool and its most telling argument.
func callTitle(c message.Call) string {
	var arguments map[string]any
	if json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
		return c.Name + "  " + screen.Clean(c.Arguments)
	}
	var parts []string
	for _, name := range []string{"command", "path", "pattern", "glob", "query"} {
		if v, ok := arguments[name]; ok {
			parts = append(parts, screen.Clean(fmt.Sprint(v)))
			delete(arguments, name)
		}
	}
	if len(parts) == 0 {
		rest := make([]string, 0, len(arguments))
		for name, v := range arguments {
			rest = append(rest, name+"="+screen.Clean(fmt.Sprint(v)))
		}
		slices.Sort(rest)
		parts = rest
	}
	return strings.TrimSpace(c.Name + "  " + strings.Join(parts, "  "))
}

// count says "1 line", "3 lines".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// thousands says 950, 12.3k, 1.2M.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

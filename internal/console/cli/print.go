package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// Say prints a sentence, wrapped to the screen.
func (app *App) Say(format string, args ...any) {
	fmt.Fprintln(app.Out, app.wrapped(fmt.Sprintf(format, args...)))
}

// Note prints a remark, which --json leaves out.
func (app *App) Note(format string, args ...any) {
	if !app.Json {
		fmt.Fprintln(app.Err, app.wrapped(fmt.Sprintf(format, args...)))
	}
}

// wrapped wraps a plain sentence; coloured or multi-line text is left as it is.
func (app *App) wrapped(s string) string {
	if app.Width <= 0 || strings.ContainsAny(s, "\x1b\n") || strings.HasPrefix(s, " ") {
		return s
	}
	return Wrap(s, app.Width, "")
}

// Answer prints one JSON document without times that never were.
func (app *App) Answer(v any) error {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := app.Out.Write(withoutNever(body.Bytes()))
	return err
}

// never is how a zero time ends a line of a JSON document. No text can end so, since its quotes would be escaped.
var never = []byte(`": "0001-01-01T00:00:00Z"`)

// withoutNever removes the fields with a zero time from an indented document.
func withoutNever(document []byte) []byte {
	if !bytes.Contains(document, never) {
		return document
	}
	kept := make([]byte, 0, len(document))
	for line := range bytes.Lines(document) {
		field := bytes.TrimRight(line, ",\n")
		if !bytes.HasSuffix(field, never) {
			kept = append(kept, line...)
		} else if len(line) == len(field)+1 { // the last field of its object: the one before it becomes the last
			if rest, ok := bytes.CutSuffix(kept, []byte(",\n")); ok {
				kept = append(rest, '\n')
			}
		}
	}
	return kept
}

// Line prints one JSON value on one line, for streams.
func (app *App) Line(v any) error {
	e := json.NewEncoder(app.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Rows prints a list: as JSON on request, else as a table, or a sentence when it is empty.
func (app *App) Rows(list any, t *Table, nothing string, args ...any) error {
	if app.Json {
		return app.Answer(list)
	}
	if len(t.rows) == 0 {
		app.Note(nothing, args...)
		return nil
	}
	app.Draw(t)
	return nil
}

// Draw prints a table.
func (app *App) Draw(t *Table) { t.Draw(app.Out, app.Width, app.Bold) }

// Bold prints text in bold on a terminal.
func (app *App) Bold(s string) string { return app.Paint("1", s) }

// Dim prints text dimly on a terminal.
func (app *App) Dim(s string) string { return app.Paint("2", s) }

// Paint prints text with an escape code on a terminal with colours.
func (app *App) Paint(code, s string) string {
	if !app.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Fields prints names and values under one another; empty values are left out.
func (app *App) Fields(w io.Writer, pairs ...string) {
	widest := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			widest = max(widest, len(pairs[i]))
		}
	}
	app.FieldsWide(w, widest, pairs...)
}

// FieldsWide prints fields with names of a given width, for answers in several parts.
func (app *App) FieldsWide(w io.Writer, widest int, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		indent := strings.Repeat(" ", widest+gap)
		text := strings.TrimPrefix(Wrap(pairs[i+1], app.Width, indent), indent)
		fmt.Fprintf(w, "%s%s%s\n", app.Dim(pairs[i]), strings.Repeat(" ", widest+gap-len(pairs[i])), text)
	}
}

// Confirm asks a question that must be answered with yes. Without a terminal only --yes does.
func (app *App) Confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !app.Terminal || app.Json {
		return exit.Refusedf("%s; add --yes to agree, since nobody is there to ask", question)
	}
	fmt.Fprint(app.Err, app.wrapped(question+". Go on? [y/N]"), " ")
	line, err := bufio.NewReader(app.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	if err != nil {
		fmt.Fprintln(app.Err)
	}
	return exit.Refusedf("nothing was done: the question was not answered with yes")
}

// Signed formats a number with its sign and two decimals; zero is +0.00.
func Signed(v float64) string {
	if text := fmt.Sprintf("%+.2f", v); text != "-0.00" {
		return text
	}
	return "+0.00"
}

// When formats a time in the agent's time zone, to the minute.
func When(t time.Time, zone string) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(Location(zone)).Format("2006-01-02 15:04")
}

// Day formats a day in a zone; a dash for the zero time.
func Day(t time.Time, zone string) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(Location(zone)).Format("2006-01-02")
}

// Location returns a time zone; UTC when its name is unknown.
func Location(zone string) *time.Location {
	if l, read := locations.Load(zone); read {
		return l.(*time.Location)
	}
	l, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	locations.Store(zone, l)
	return l
}

// locations are the time zones that were read, by their names: reading one opens a file.
var locations sync.Map

// Score formats a number in [0, 1] with two decimals.
func Score(f float64) string { return fmt.Sprintf("%.2f", f) }

// Lasted formats how long something took.
func Lasted(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Caps describes the caps of an agent.
func Caps(c dream.Caps) string {
	return strings.Join([]string{c.Dream.String(), c.Day.String(), c.Month.String()}, " / ")
}

// Money is empty when nothing was spent.
func Money(m budget.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.String()
}

// OrDash returns a dash for an empty text.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Count writes a number with its noun, whose plural ends in s.
func Count(n int, noun string) string { return Plural(n, noun, noun+"s") }

// Plural writes a number with its noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

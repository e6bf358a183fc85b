package console

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// say prints a sentence, wrapped to the screen.
func (app *App) say(format string, args ...any) {
	fmt.Fprintln(app.Out, app.wrapped(fmt.Sprintf(format, args...)))
}

// note prints a remark, which --json leaves out.
func (app *App) note(format string, args ...any) {
	if !app.json {
		fmt.Fprintln(app.Err, app.wrapped(fmt.Sprintf(format, args...)))
	}
}

// wrapped wraps a plain sentence; coloured or multi-line text is left as it is.
func (app *App) wrapped(s string) string {
	if app.Width <= 0 || strings.ContainsAny(s, "\x1b\n") || strings.HasPrefix(s, " ") {
		return s
	}
	return wrap(s, app.Width, "")
}

// answer prints one JSON document without times that never were.
func (app *App) answer(v any) error {
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

// line prints one JSON value on one line, for streams.
func (app *App) line(v any) error {
	e := json.NewEncoder(app.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// rows prints a list: as JSON on request, else as a table, or a sentence when it is empty.
func (app *App) rows(list any, t *table, nothing string, args ...any) error {
	if app.json {
		return app.answer(list)
	}
	if len(t.rows) == 0 {
		app.note(nothing, args...)
		return nil
	}
	t.draw(app.Out, app.Width, app.bold)
	return nil
}

func (app *App) bold(s string) string { return app.paint("1", s) }
func (app *App) dim(s string) string  { return app.paint("2", s) }

func (app *App) paint(code, s string) string {
	if !app.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// fields prints names and values under one another; empty values are left out.
func (app *App) fields(w io.Writer, pairs ...string) {
	widest := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			widest = max(widest, len(pairs[i]))
		}
	}
	app.fieldsWide(w, widest, pairs...)
}

// fieldsWide prints fields with names of a given width, for answers in several parts.
func (app *App) fieldsWide(w io.Writer, widest int, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		indent := strings.Repeat(" ", widest+gap)
		text := strings.TrimPrefix(wrap(pairs[i+1], app.Width, indent), indent)
		fmt.Fprintf(w, "%s%s%s\n", app.dim(pairs[i]), strings.Repeat(" ", widest+gap-len(pairs[i])), text)
	}
}

// confirm asks a question that must be answered with yes. Without a terminal only --yes does.
func (app *App) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !app.Terminal || app.json {
		return exit(Refused, "%s; add --yes to agree, since nobody is there to ask", question)
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
	return exit(Refused, "nothing was done: the question was not answered with yes")
}

// signed formats a number with its sign and two decimals; zero is +0.00.
func signed(v float64) string {
	if text := fmt.Sprintf("%+.2f", v); text != "-0.00" {
		return text
	}
	return "+0.00"
}

// when formats a time in the agent's time zone, to the minute.
func when(t time.Time, zone string) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(location(zone)).Format("2006-01-02 15:04")
}

func day(t time.Time, zone string) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(location(zone)).Format("2006-01-02")
}

func location(zone string) *time.Location {
	if l, err := time.LoadLocation(zone); err == nil && zone != "" {
		return l
	}
	return time.UTC
}

// score formats a number in [0, 1] with two decimals.
func score(f float64) string { return fmt.Sprintf("%.2f", f) }

// lasted formats how long something took.
func lasted(d time.Duration) string {
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

func caps(c dream.Caps) string {
	return strings.Join([]string{c.Dream.String(), c.Day.String(), c.Month.String()}, " / ")
}

// money is empty when nothing was spent.
func money(m budget.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

package morning

import (
	"fmt"
	"strings"
	"time"
)

// Line is one line of a report as a person reads it: a text, how far it is indented, and whether it is a heading.
type Line struct {
	Indent  int
	Text    string
	Heading bool
}

// Lines are the report in words. Times are in zone. What is empty is left out.
func (r Report) Lines(zone *time.Location) []Line {
	day := func(t time.Time) string { return t.In(zone).Format(time.DateOnly) }
	minute := func(t time.Time) string { return t.In(zone).Format("2006-01-02 15:04") }
	var lines []Line
	if r.IsQuiet() {
		lines = append(lines, Line{Text: r.quiet(minute)})
	} else {
		lines = append(lines,
			Line{Text: fmt.Sprintf("%s since %s, after %s.", r.Agent, minute(r.Since), count(r.Dreams, "dream"))})
	}
	section := func(title string, of []Finding, at func(Finding) string) {
		if len(of) == 0 {
			return
		}
		lines = append(lines, Line{}, Line{Text: title, Heading: true})
		for _, f := range of {
			lines = append(lines, Line{Indent: 2, Text: f.Says}, Line{Indent: 4, Text: at(f)})
			for _, s := range f.Sighted {
				lines = append(lines, Line{Indent: 4, Text: sighted(s, day)})
			}
		}
	}
	section("Knows now", r.Learned, func(f Finding) string {
		return fmt.Sprintf("since %s: %s (%s)", minute(f.At), f.Because, f.ID)
	})
	section("No longer believes", r.Stopped, func(f Finding) string {
		return fmt.Sprintf("%s %s: %s (%s)", f.Status, minute(f.At), f.Because, f.ID)
	})
	section("Waits to see", r.Waiting, func(f Finding) string {
		return fmt.Sprintf("by %s: %s (%s)", minute(f.At), strings.TrimSuffix(f.Because, "."), f.ID)
	})
	if rest := r.rest(); rest != "" {
		lines = append(lines, Line{}, Line{Text: rest})
	}
	return lines
}

// sighted is a line of the day on which something was said.
func sighted(s Sighting, day func(time.Time) string) string {
	ids := strings.Join(s.Episodes, ", ")
	if s.Says == "" {
		return fmt.Sprintf("%s  forgotten since (%s)", day(s.At), ids)
	}
	return fmt.Sprintf("%s  “%s” (%s)", day(s.At), s.Says, ids)
}

// quiet says that nothing is new, and why.
func (r Report) quiet(minute func(time.Time) string) string {
	since := minute(r.Since)
	switch {
	case r.Ever == 0 && r.Tried == 0:
		return fmt.Sprintf("Nothing new: %s has not dreamt yet, and nothing that can be looked up was foretold.",
			r.Agent)
	case r.Tried == 0:
		return fmt.Sprintf("Nothing new since %s: %s foretells nothing yet that a program can look up.", since, r.Agent)
	case r.Nearest == nil:
		return fmt.Sprintf("Nothing new since %s: %s tried, and none has come true yet.", since, are(r.Tried, "claim"))
	}
	return fmt.Sprintf("Nothing new since %s: %s tried. The nearest to passing: %s (%s)", since, are(r.Tried, "claim"),
		r.Nearest.Says, r.Nearest.Because)
}

// rest counts what is not listed.
func (r Report) rest() string {
	var parts []string
	if r.Dropped > 0 {
		parts = append(parts, count(r.Dropped, "guess")+" given up")
	}
	if r.Tried > 0 && !r.IsQuiet() {
		parts = append(parts, are(r.Tried, "claim")+" still tried")
	}
	if r.Due > len(r.Waiting) {
		parts = append(parts, are(r.Due-len(r.Waiting), "more prediction")+" due within a week")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return count(n, thing) + " are"
}

// Text is the report as plain lines, each ending with a line break.
func (r Report) Text(zone *time.Location) string {
	var b strings.Builder
	for _, l := range r.Lines(zone) {
		b.WriteString(strings.Repeat(" ", l.Indent) + l.Text + "\n")
	}
	return b.String()
}

package formats

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// dated is what a heading of a diary says about its time.
type dated struct {
	year  int // 0 when the heading does not name one
	month time.Month
	day   int
	clock time.Duration // since midnight; -1 when it has only the day
	rest  string        // what follows it
	full  bool          // it has the year
}

const (
	months  = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	weekday = `(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?(?:the\s+)?`
)

// The forms of a date, tried in this order. All may follow a weekday.
var dateForms = []struct {
	shape  *regexp.Regexp
	groups string // what the groups of the pattern are
}{
	{regexp.MustCompile(`(?i)^` + weekday + `(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T|\b)`), "ymd"},
	{
		regexp.MustCompile(`(?i)^` + weekday + `(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?` + months + `,?\s+(\d{4})\b`),
		"dmy",
	},
	{regexp.MustCompile(`(?i)^` + weekday + months + `\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\b`), "mdy"},
	{regexp.MustCompile(`(?i)^` + weekday + `(\d{1,2})\.(\d{1,2})\.(\d{4})\b`), "dmy"},
	{regexp.MustCompile(`(?i)^` + weekday + `(\d{1,2})[/-](\d{1,2})[/-](\d{4})\b`), "either"},
	{
		regexp.MustCompile(`(?i)^` + weekday + `(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?` + months + `(?:[\s,:]|$)`),
		"dm",
	},
	{regexp.MustCompile(`(?i)^` + weekday + months + `\s+(\d{1,2})(?:st|nd|rd|th)?(?:[\s,:]|$)`), "md"},
}

var (
	trailingDay = regexp.MustCompile(`(?i)^[,\s]*\(?(?:mon|tues|wednes|thurs|fri|satur|sun)day\)?`)
	clockTime   = regexp.MustCompile(
		`(?i)^[T,\s]*(?:at\s+|@\s*)?(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?(?:\.\d+)?\s*([ap]\.?m\.?)?(?:\s*(?:UTC|GMT|[A-Z]{2,4}T|Z)?(?:[+-]\d{1,2}:?\d{0,2})?)?(?:\s|$|[,:|–—-]|\))`)
	divider   = regexp.MustCompile(`^\s*(?:[:|–—]|-\s|\s-)\s*`)
	yearAlone = regexp.MustCompile(`^(\d{4})$`)
	ruled     = regexp.MustCompile(`^(?:=+|-{3,}|\*{3,}|_{3,})$`)
	timeAlone = regexp.MustCompile(
		`(?i)^(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]\.?m\.?)?(?:$|\s*[:|–—-]\s+|\s+[–—-]\s*)`)
)

// dateLine parses a line that begins with a date. A line that is no heading must have nothing else, or continue after
// a colon, a dash or a bar; so prose that happens to begin with a date stays prose.
func dateLine(line string, heading, dayFirst bool) (dated, bool) {
	for _, form := range dateForms {
		m := form.shape.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		out, ok := assemble(form.groups, m[1:], dayFirst)
		if !ok {
			continue
		}
		out.rest = strings.TrimPrefix(line[len(m[0]):], ")")
		out.takeClock()
		if at := divider.FindString(out.rest); at != "" {
			out.rest = strings.TrimSpace(out.rest[len(at):])
			return out, true
		}
		out.rest = strings.TrimSpace(out.rest)
		return out, heading || out.rest == "" || out.rest == "."
	}
	return dated{}, false
}

func assemble(groups string, g []string, dayFirst bool) (dated, bool) {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	out := dated{clock: -1, full: true}
	switch groups {
	case "ymd":
		out.year, out.month, out.day = number(g[0]), time.Month(number(g[1])), number(g[2])
	case "dmy":
		out.day, out.month, out.year = number(g[0]), monthOf(g[1]), number(g[2])
	case "mdy":
		out.month, out.day, out.year = monthOf(g[0]), number(g[1]), number(g[2])
	case "dm":
		out.day, out.month, out.full = number(g[0]), monthOf(g[1]), false
	case "md":
		out.month, out.day, out.full = monthOf(g[0]), number(g[1]), false
	case "either":
		a, b := number(g[0]), number(g[1])
		out.year = number(g[2])
		if a > 12 || dayFirst && b <= 12 {
			a, b = b, a
		}
		out.month, out.day = time.Month(a), b
	}
	return out, out.valid()
}

func (d dated) valid() bool {
	year := d.year
	if !d.full {
		year = 2024 // a leap year: 29 February may come without its year
	}
	at := time.Date(year, d.month, d.day, 0, 0, 0, 0, time.UTC)
	return d.month >= 1 && d.month <= 12 && at.Month() == d.month && at.Day() == d.day
}

func monthOf(s string) time.Month {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Month(n)
	}
	return time.Month(strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(s[:3]))/3 + 1)
}

// takeClock reads a weekday and a time of day that follow the date.
func (d *dated) takeClock() {
	d.rest = d.rest[len(trailingDay.FindString(d.rest)):]
	m := clockTime.FindStringSubmatch(d.rest)
	if m == nil || (m[2] == "" && m[4] == "") {
		return
	}
	clock, ok := clockOf(m[1], m[2], m[4])
	if !ok {
		return
	}
	d.clock = clock
	cut := len(m[0])
	for cut > 0 && strings.ContainsRune(":|-", rune(m[0][cut-1])) {
		cut--
	}
	cut = len(strings.TrimRight(m[0][:cut], "–—"))
	d.rest = d.rest[cut:]
}

func clockOf(hours, minutes, half string) (time.Duration, bool) {
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi(minutes)
	switch half = strings.ToLower(strings.ReplaceAll(half, ".", "")); {
	case half != "" && (h < 1 || h > 12):
		return 0, false
	case half == "pm" && h < 12:
		h += 12
	case half == "am" && h == 12:
		h = 0
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute, h < 24 && m < 60
}

// timeLine parses a line that begins with a time of day.
func timeLine(line string, heading bool) (clock time.Duration, rest string, ok bool) {
	m := timeAlone.FindStringSubmatch(line)
	if m == nil {
		if !heading || !strings.Contains(line, ":") {
			return 0, "", false
		}
		m = headedTime.FindStringSubmatch(line)
		if m == nil {
			return 0, "", false
		}
	}
	clock, ok = clockOf(m[1], m[2], m[3])
	return clock, strings.TrimSpace(line[len(m[0]):]), ok
}

var headedTime = regexp.MustCompile(`(?i)^(\d{1,2}):(\d{2})\s*([ap]\.?m\.?)?\s`)

package circadian

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay

	mostHours = 50 // entries of one list; more than any week needs
)

// Hours are parts of a week by local time in an agent's zone. The zero Hours are empty.
type Hours struct {
	spans []span // sorted and disjoint
}

// span is a part of the week in minutes since Monday 00:00, excluding its end.
type span struct{ from, to int }

// Empty says whether there are no hours.
func (h Hours) Empty() bool { return len(h.spans) == 0 }

var days = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// ParseHours reads entries such as "22:00-07:00", "mon-fri 22:00-07:00" and "sat,sun 00:00-24:00". An entry that
// crosses midnight ends on the day after the named one; its last minute is excluded. The error lists every invalid
// entry and what would be right.
func ParseHours(entries []string) (Hours, error) {
	if len(entries) > mostHours {
		return Hours{},
			fmt.Errorf("%d entries of hours are too many; %d are enough for any week", len(entries), mostHours)
	}
	var spans []span
	var faults []error
	for _, entry := range entries {
		found, err := parseEntry(entry)
		spans, faults = append(spans, found...), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return Hours{}, err
	}
	return Hours{spans: merge(spans)}, nil
}

// SplitHours splits a line at the commas between entries, but not at those between the days of one entry: "sat,sun
// 00:00-10:00, 22:00-07:00" is two entries.
func SplitHours(line string) []string {
	var entries []string
	held := ""
	for _, part := range strings.Split(line, ",") {
		part = strings.TrimSpace(part)
		if part == "" && held == "" {
			continue
		}
		if held != "" {
			part = held + "," + part
		}
		held = part
		if strings.Contains(part, ":") {
			entries, held = append(entries, part), ""
		}
	}
	if held != "" {
		entries = append(entries, held)
	}
	return entries
}

func parseEntry(entry string) ([]span, error) {
	wrong := func(what string) error {
		if r := []rune(entry); len(r) > 60 {
			entry = string(r[:57]) + "..."
		}
		return fmt.Errorf(
			"hours %q: %s; write them like \"22:00-07:00\", \"mon-fri 22:00-07:00\" or \"sat,sun 00:00-24:00\"",
			entry, what)
	}
	fields := strings.Fields(strings.ToLower(entry))
	if len(fields) == 0 || len(fields) > 2 {
		return nil, wrong("they are days, if any, a space, and a stretch of time")
	}
	on := [7]bool{true, true, true, true, true, true, true}
	if len(fields) == 2 {
		var fault string
		on, fault = parseDays(fields[0])
		if fault != "" {
			return nil, wrong(fault)
		}
	}
	from, to, fault := parseSpan(fields[len(fields)-1])
	if fault != "" {
		return nil, wrong(fault)
	}
	var spans []span
	for d := range on {
		if on[d] {
			spans = append(spans, inWeek(d*minutesOfDay+from, d*minutesOfDay+to)...)
		}
	}
	return spans, nil
}

// inWeek wraps what runs beyond Sunday to Monday.
func inWeek(from, to int) []span {
	if to <= minutesOfWeek {
		return []span{{from, to}}
	}
	return []span{{from, minutesOfWeek}, {0, to - minutesOfWeek}}
}

func parseDays(text string) (on [7]bool, fault string) {
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, b := slices.Index(days, first), slices.Index(days, last)
		if a < 0 || b < 0 {
			return on, fmt.Sprintf("%q is not a day or a range of days; days are %s", part, strings.Join(days, ", "))
		}
		for d := a; ; d = (d + 1) % len(days) {
			on[d] = true
			if d == b {
				break
			}
		}
	}
	return on, ""
}

// parseSpan returns minutes of a day; the end is beyond midnight when it is not after the beginning.
func parseSpan(text string) (from, to int, fault string) {
	first, last, ok := strings.Cut(text, "-")
	from, firstOK := parseClock(first)
	to, lastOK := parseClock(last)
	switch {
	case !ok || !firstOK || !lastOK:
		return 0, 0, fmt.Sprintf("%q is not a time span within 00:00 to 24:00", text)
	case from == minutesOfDay:
		return 0, 0, "a span cannot begin at 24:00; write 00:00 of the next day"
	case from == to:
		return 0, 0, "it ends as it begins; a whole day is 00:00-24:00"
	case to < from:
		to += minutesOfDay
	}
	return from, to, ""
}

func parseClock(text string) (minute int, ok bool) {
	hours, minutes, ok := strings.Cut(text, ":")
	h, hoursOK := twoDigits(hours)
	m, minutesOK := twoDigits(minutes)
	minute = h*60 + m
	return minute, ok && hoursOK && minutesOK && len(minutes) == 2 && m < 60 && minute <= minutesOfDay
}

func twoDigits(text string) (int, bool) {
	if len(text) < 1 || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// merge sorts spans and joins those that touch.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var apart []span
	for _, s := range spans {
		if n := len(apart); n > 0 && s.from <= apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

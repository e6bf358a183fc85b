package main

import (
	"regexp"
	"strings"
)

// firstDays is how many days at the beginning of a life, and of the days that only judge, are kept whatever they
// brought.
const firstDays = 4

// row is a day of a life, with its night or a dash.
var row = regexp.MustCompile(`^ +(\d+|-)  `)

// cropLife keeps what fits of a life that was played: the days on which something was learned, the first lessons, and
// all that stands below them. It marks where something was left out.
func cropLife(lines []line, lessons int) []line {
	var kept []line
	for _, part := range paragraphs(lines) {
		switch head := part[0].text(); {
		case strings.HasPrefix(head, "NIGHT"):
			part = cropDays(part)
		case strings.HasPrefix(head, "What "):
			part = cropBelow(part, lesson, lessons)
		case strings.HasPrefix(head, "Question: "):
			part = cropBelow(part, reminder, lessons)
		}
		if len(kept) > 0 {
			kept = append(kept, nil)
		}
		kept = append(kept, part...)
	}
	return kept
}

// paragraphs are the parts between empty lines, from the line on that introduces the diary.
func paragraphs(lines []line) [][]line {
	var all [][]line
	begun, after := false, true
	for _, l := range lines {
		begun = begun || strings.Contains(l.text(), " of a diary, one line each")
		empty := strings.TrimSpace(l.text()) == ""
		switch {
		case !begun || empty:
		case after || len(all) == 0:
			all = append(all, []line{l})
		default:
			all[len(all)-1] = append(all[len(all)-1], l)
		}
		after = empty
	}
	return all
}

// cropDays keeps of a table of days the first ones and those below which something stands.
func cropDays(table []line) []line {
	var kept []line
	left, days := false, 0
	for i, l := range table {
		isDay := row.MatchString(l.text())
		learned := i+1 < len(table) && strings.HasPrefix(table[i+1].text(), "       ")
		if isDay {
			days++
		} else if !strings.HasPrefix(l.text(), " ") {
			days = 0 // the judging days begin
		}
		if isDay && days > firstDays && !learned {
			left = true
			continue
		}
		if left {
			kept, left = append(kept, omitted), false
		}
		kept = append(kept, l)
	}
	if left {
		kept = append(kept, omitted)
	}
	return kept
}

// What a list of a life is made of: lessons, and memories that the agent was reminded of.
var (
	lesson   = regexp.MustCompile(`^  \S`)
	reminder = regexp.MustCompile(`^      \|`)
)

// cropBelow keeps the first items of each list, with what is wrapped below them. A line that stands further left ends
// a list.
func cropBelow(part []line, item *regexp.Regexp, most int) []line {
	var kept []line
	found, column := 0, 0
	for _, l := range part {
		text := l.text()
		at := len(text) - len(strings.TrimLeft(text, " "))
		switch {
		case item.MatchString(text):
			found, column = found+1, at
			if found == most+1 {
				kept = append(kept, line{{s: strings.Repeat(" ", at) + "…", dim: true}})
			}
		case at < column:
			found = 0
		}
		if found <= most {
			kept = append(kept, l)
		}
	}
	return kept
}

var omitted = line{{s: "  …", dim: true}}

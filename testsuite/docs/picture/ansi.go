package main

import (
	"fmt"
	"strconv"
	"strings"
)

// run is a piece of text in one style.
type run struct {
	s         string
	bold, dim bool
	colour    string // empty: the terminal's own
}

type line []run

func (l line) text() string {
	var b strings.Builder
	for _, r := range l {
		b.WriteString(r.s)
	}
	return b.String()
}

// read splits a capture into lines of runs. A style lasts until it is changed, across line ends too.
func read(capture string) []line {
	var lines []line
	style := run{}
	for _, row := range strings.Split(strings.TrimRight(capture, "\n"), "\n") {
		var l line
		for row != "" {
			at := strings.Index(row, "\x1b[")
			if at < 0 {
				at = len(row)
			}
			if at > 0 {
				r := style
				r.s = row[:at]
				l = append(l, r)
			}
			row = row[at:]
			if row == "" {
				break
			}
			code, rest, ok := strings.Cut(row[2:], "m")
			if !ok {
				break
			}
			style.turn(code)
			row = rest
		}
		lines = append(lines, l)
	}
	return lines
}

// The terminal's own green and yellow, as they are legible on the picture's background.
const (
	green = "#7fae7f"
	amber = "#c9a35b"
)

// turn changes the style as a terminal would.
func (r *run) turn(code string) {
	numbers := strings.Split(code, ";")
	for i := 0; i < len(numbers); i++ {
		switch numbers[i] {
		case "", "0":
			*r = run{}
		case "1":
			r.bold = true
		case "2":
			r.dim = true
		case "32":
			r.colour = green
		case "33":
			r.colour = amber
		case "39":
			r.colour = ""
		case "38":
			if i+2 < len(numbers) && numbers[i+1] == "5" {
				r.colour = cube(numbers[i+2])
				i += 2
			}
		}
	}
}

// cube is a colour of the 256: six steps of red, green and blue above 15, greys above 231.
func cube(number string) string {
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 16 || n > 255:
		return ""
	case n > 231:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	step := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", step(n/36), step(n/6%6), step(n%6))
}

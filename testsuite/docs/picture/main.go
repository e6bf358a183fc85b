// Command picture draws what a terminal showed as an SVG. It made docs/night.svg:
//
//	tmux capture-pane -e -p -S -400 | go run ./testsuite/docs/picture -title 'bin/oneiros dream --demo' >docs/night.svg
//
// Of a report it keeps the three lines it begins with, the headline, the timeline, the first fragments, what was brought back and the cost.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	title := flag.String("title", "", "the command that is shown above the capture")
	fragments := flag.Int("fragments", 3, "how many fragments are kept")
	flag.Parse()
	body, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = io.WriteString(os.Stdout, draw(*title, crop(read(string(body)), *fragments)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// crop keeps the parts of a report that fit into the picture, and marks where something was left out.
func crop(lines []line, fragments int) []line {
	var kept []line
	part, keep, after := "", false, true // after an empty line
	for _, l := range lines {
		text := strings.TrimRight(l.text(), " ")
		if part == "" && !strings.HasPrefix(text, "Changed ") {
			continue // output before the report
		}
		if after && len(l) > 0 && l[0].bold && !strings.HasPrefix(text, " ") || part == "" {
			part = text
		}
		after = text == ""
		was := keep
		keep = wanted(part, text, fragments, keep)
		if was && !keep {
			for len(kept) > 0 && strings.TrimSpace(kept[len(kept)-1].text()) == "" {
				kept = kept[:len(kept)-1]
			}
			kept = append(kept, line{{s: "  …", dim: true}}, nil)
		}
		if keep {
			kept = append(kept, l)
		}
	}
	for len(kept) > 0 && strings.Trim(kept[len(kept)-1].text(), " …") == "" {
		kept = kept[:len(kept)-1] // nothing of the report is left out at its end
	}
	return kept
}

// wanted says whether a line of a part of the report is kept.
func wanted(part, text string, fragments int, before bool) bool {
	switch {
	case strings.HasPrefix(part, "Noticed"):
		return (text == part || before) && !strings.Contains(text, fmt.Sprintf("• %d. ", fragments+1))
	case strings.HasPrefix(part, "Changed "), strings.Contains(part, " dreamt "), strings.HasPrefix(part, "Brought back"):
		return true
	case strings.HasPrefix(part, "Cost"):
		return text == part || before && strings.HasPrefix(text, " ")
	}
	return false
}

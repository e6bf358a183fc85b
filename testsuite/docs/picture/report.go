package main

import (
	"fmt"
	"strings"
)

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

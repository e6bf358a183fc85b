package journal

import (
	"strings"
)

// ReadableText returns the readable part of a truncated text. From broken JSON it takes the longer strings, each as a
// sentence; any other text is returned unchanged.
func ReadableText(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return text
	}
	const telling = 12 // shorter strings are keys and references
	var texts []string
	var b strings.Builder
	inside, escaped := false, false
	keep := func() {
		if s := strings.TrimSpace(b.String()); len([]rune(s)) >= telling {
			texts = append(texts, s)
		}
		b.Reset()
	}
	for _, r := range text {
		switch {
		case !inside:
			inside = r == '"'
		case escaped:
			escaped = false
			if r == 'n' || r == 't' || r == 'r' {
				r = ' '
			}
			b.WriteRune(r)
		case r == '\\':
			escaped = true
		case r == '"':
			inside = false
			keep()
		default:
			b.WriteRune(r)
		}
	}
	keep()
	return strings.Join(texts, "\n")
}

// CountDrawnLines counts the distinct lines with which a text shares at least two words of five letters or more. It
// estimates the number of memories that a text draws on when the model was not asked for sources.
func CountDrawnLines(text string, lines []string) int {
	words := map[string]bool{}
	for _, w := range Topics(text, 1000) {
		words[w] = true
	}
	seen := map[string]bool{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if seen[line] {
			continue
		}
		shared := 0
		for _, w := range Topics(line, 1000) {
			if words[w] {
				shared++
			}
		}
		if shared >= 2 {
			seen[line] = true
		}
	}
	return len(seen)
}

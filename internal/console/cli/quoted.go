package cli

import (
	"strings"
)

// Quoted wraps a message for the screen and marks every line of it as a quotation.
func Quoted(message string, width int) string {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	for i, line := range lines {
		mark, rest := "", line
		if strings.HasPrefix(line, "> ") {
			mark, rest = "> ", line[2:]
		}
		lines[i] = Wrap(Flat(rest), width, mark)
	}
	return strings.Join(lines, "\n")
}

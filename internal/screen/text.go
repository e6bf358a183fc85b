package screen

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// escapes are the escape sequences of ECMA-48: CSI to its final byte, a string such as a title or a link to its
// terminator, otherwise ESC with what it selects. Sequences opened by C1 characters count too.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[ -?]*[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\a\x1b\n\x{9c}]*(?:\a|\x1b\\|\x{9c})?` +
	`|\x1b(?:[ -/][0-~]|[ -~])?|[\x{80}-\x{9f}]`)

// Clean makes a foreign text one line without control characters: escape sequences and marks of text direction are
// removed, line breaks and tabs are spaces; invalid UTF-8 is U+FFFD.
func Clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return -1
		}
		return r
	}, escapes.ReplaceAllString(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

// width is the number of columns a text without escape sequences takes.
func width(text string) int { return uniseg.StringWidth(text) }

// pad appends spaces up to a width.
func pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-width(text)))
}

// cut shortens a text to the columns, with "…" when something was left out.
func cut(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	head, _ := split(text, columns-1)
	return strings.TrimRight(head, " ") + "…"
}

// split takes off as much as fits, whole characters with their marks. It takes at least one character.
func split(text string, columns int) (head, rest string) {
	rest = text
	for state, n := -1, 0; rest != ""; {
		_, next, w, after := uniseg.FirstGraphemeClusterInString(rest, state)
		if n+w > columns && len(rest) < len(text) {
			break
		}
		rest, state, n = next, after, n+w
	}
	return text[:len(text)-len(rest)], rest
}

// wrap breaks a clean line at spaces so that no line is wider than the columns; a longer word is broken where it must
// be.
func wrap(text string, columns int) []string {
	columns = max(columns, 2)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width(line)+1+width(word) <= columns {
			line += " " + word
			continue
		}
		if line != "" && (width(word) <= columns || columns-width(line) < 8) {
			lines, line = append(lines, line), ""
		}
		if line != "" { // a word too long for any line begins on this one
			head, rest := split(word, columns-width(line)-1)
			lines, line, word = append(lines, line+" "+head), "", rest
		}
		for width(word) > columns {
			head, rest := split(word, columns)
			lines, word = append(lines, head), rest
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Printable makes a foreign text safe to print and keeps its lines and its spaces: escape sequences, control characters
// and marks of text direction are removed, a tab becomes four spaces, and invalid UTF-8 U+FFFD.
func Printable(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(escapes.ReplaceAllString(text, ""))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return -1
		case r == '\u2028', r == '\u2029':
			return '\n'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a foreign text one line without control characters: escape sequences and marks of text direction are
// removed, line breaks and tabs are spaces; invalid UTF-8 is U+FFFD.
func Clean(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := escape(text[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsControl(r), isTurn(r):
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// escape is the length in bytes of the escape sequence at the beginning of the text (ECMA-48): CSI to its final byte,
// a string such as a title or a link to its terminator, otherwise ESC with what it selects. Sequences opened by C1
// characters count too.
func escape(text string) int {
	const esc = 0x1b
	rest, opener := "", byte(0)
	switch {
	case len(text) > 1 && text[0] == esc:
		opener, rest = text[1], text[2:]
	case len(text) > 1 && text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f: // C1 as UTF-8
		opener, rest = text[1]-0x40, text[2:]
	case text != "" && text[0] == esc:
		return 1
	default:
		return 0
	}
	head := len(text) - len(rest)
	switch opener {
	case '[':
		for i := 0; i < len(rest); i++ {
			if rest[i] >= 0x40 && rest[i] <= 0x7e {
				return head + i + 1
			}
			if rest[i] < 0x20 || rest[i] > 0x7e {
				return head + i
			}
		}
		return len(text)
	case ']', 'P', 'X', '^', '_':
		for i := 0; i < len(rest); i++ {
			switch {
			case rest[i] == '\a':
				return head + i + 1
			case strings.HasPrefix(rest[i:], "\x1b\\"), strings.HasPrefix(rest[i:], "\u009c"):
				return head + i + 2
			case rest[i] == esc || rest[i] == '\n':
				return head + i
			}
		}
		return len(text)
	}
	if opener >= 0x20 && opener <= 0x2f && rest != "" && rest[0] >= 0x30 && rest[0] <= 0x7e { // such as ESC ( B
		return head + 1
	}
	if text[0] == esc && (opener < 0x20 || opener > 0x7e) {
		return 1
	}
	return head
}

// isTurn reports marks of bidirectional text and the byte order mark.
func isTurn(r rune) bool {
	return r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0xfeff
}

// wide are the ranges that take two columns (Unicode East Asian Width W and F).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1},
		{Lo: 0x231a, Hi: 0x231b, Stride: 1},
		{Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x25fd, Hi: 0x25fe, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1},
		{Lo: 0x2648, Hi: 0x2653, Stride: 1},
		{Lo: 0x267f, Hi: 0x2693, Stride: 20},
		{Lo: 0x26a1, Hi: 0x26aa, Stride: 9},
		{Lo: 0x26ab, Hi: 0x26bd, Stride: 18},
		{Lo: 0x26be, Hi: 0x26c4, Stride: 6},
		{Lo: 0x26c5, Hi: 0x26ce, Stride: 9},
		{Lo: 0x26d4, Hi: 0x26ea, Stride: 22},
		{Lo: 0x26f2, Hi: 0x26f3, Stride: 1},
		{Lo: 0x26f5, Hi: 0x26fa, Stride: 5},
		{Lo: 0x26fd, Hi: 0x2705, Stride: 8},
		{Lo: 0x270a, Hi: 0x270b, Stride: 1},
		{Lo: 0x2728, Hi: 0x274c, Stride: 36},
		{Lo: 0x274e, Hi: 0x2753, Stride: 5},
		{Lo: 0x2754, Hi: 0x2755, Stride: 1},
		{Lo: 0x2757, Hi: 0x2757, Stride: 1},
		{Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x27b0, Hi: 0x27bf, Stride: 15},
		{Lo: 0x2b1b, Hi: 0x2b1c, Stride: 1},
		{Lo: 0x2b50, Hi: 0x2b55, Stride: 5},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0x33ff, Stride: 1},
		{Lo: 0x3400, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xa960, Hi: 0xa97c, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18aff, Stride: 1},
		{Lo: 0x1b000, Hi: 0x1b2ff, Stride: 1},
		{Lo: 0x1f1e6, Hi: 0x1f1ff, Stride: 1},
		{Lo: 0x1f300, Hi: 0x1faff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// runeWidth is the number of columns a printable character takes: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1160 && r <= 0x11ff:
		return 0
	case unicode.Is(wide, r):
		return 2
	default:
		return 1
	}
}

// width is the number of columns a text without escape sequences takes.
func width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

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

// split takes off as much as fits, and combining marks stay with their letter. It takes at least one character.
func split(text string, columns int) (head, rest string) {
	n := 0
	for i, r := range text {
		if w := runeWidth(r); n+w > columns && i > 0 {
			return text[:i], text[i:]
		} else {
			n += w
		}
	}
	return text, ""
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

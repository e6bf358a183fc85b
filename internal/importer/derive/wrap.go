package derive

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A hard wrap makes lines of a width between these, in runes: shorter ones are lines of their own, longer ones are
// paragraphs that nothing wrapped. Before a capital the line must be longer, for a list begins its lines with capitals.
const (
	leastWrap = 32
	proseWrap = 45
	mostWrap  = 120
)

var ownRow = regexp.MustCompile("^(?:[-*+•–—]\\s|\\d{1,3}[.)]\\s|#{1,6}\\s|[|>]|```)")

// unwrapped joins lines that were broken only for their width: those which had no room for the first word of the
// next, and longer ones that clearly continue. Lists, tables, headings and lines of verse keep their breaks.
func unwrapped(s string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	rows := strings.Split(s, "\n")
	width := 0
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(strings.TrimSpace(row)))
	}
	if width < leastWrap || width > mostWrap {
		return s
	}
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			if wraps(strings.TrimSpace(rows[i-1]), strings.TrimSpace(row), width) {
				b.WriteByte(' ')
			} else {
				b.WriteByte('\n')
			}
		}
		b.WriteString(row)
	}
	return b.String()
}

func wraps(row, next string, width int) bool {
	if row == "" || next == "" || ownRow.MatchString(next) {
		return false
	}
	word, _, _ := strings.Cut(next, " ")
	first, _ := utf8.DecodeRuneInString(next)
	size := utf8.RuneCountInString(row)
	switch {
	case size+1+utf8.RuneCountInString(word) > width:
		return unicode.IsLower(first) || width >= proseWrap && !strings.HasSuffix(row, ":")
	default:
		return size >= leastWrap && unicode.IsLower(first) && leadsOn(row)
	}
}

// leadsOn says whether a line cannot be the end of a sentence: it ends in a comma, a semicolon or a function word.
func leadsOn(row string) bool {
	if strings.HasSuffix(row, ",") || strings.HasSuffix(row, ";") {
		return true
	}
	last, _ := fold(row[strings.LastIndexByte(row, ' ')+1:])
	return plainWords[last]
}

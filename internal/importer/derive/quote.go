package derive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quoted sets words in quotation marks; marks around all of them are not doubled, those inside become single.
func Quoted(s string) string {
	s = closeQuotes(strings.TrimSpace(s))
	for _, pair := range [][2]string{{`"`, `"`}, {"“", "”"}} {
		inner, opens := strings.CutPrefix(s, pair[0])
		inner, closes := strings.CutSuffix(inner, pair[1])
		if opens && closes && !strings.Contains(inner, pair[0]) && !strings.Contains(inner, pair[1]) {
			s = strings.TrimSpace(inner)
		}
	}
	return "“" + innerMarks.Replace(s) + "”"
}

var innerMarks = strings.NewReplacer(`"`, "'", "“", "‘", "”", "’")

// closeQuotes repairs the quotation marks of a piece of text: one that opens before the cut is closed, one that
// closes what opened before the piece is removed. Texts that write „so“ are left alone.
func closeQuotes(s string) string {
	if !strings.ContainsAny(s, `"“”`) || strings.Contains(s, "„") {
		return s
	}
	s = closedCurly(s)
	if strings.Count(s, `"`)%2 == 0 {
		return s
	}
	last := strings.LastIndexByte(s, '"')
	after, _ := utf8.DecodeRuneInString(s[last+1:])
	if IsWordRune(after) {
		return s + `"`
	}
	return s[:last] + s[last+1:]
}

func closedCurly(s string) string {
	var b strings.Builder
	open := 0
	for _, r := range s {
		switch r {
		case '“':
			open++
		case '”':
			if open == 0 {
				continue
			}
			open--
		}
		b.WriteRune(r)
	}
	return b.String() + strings.Repeat("”", open)
}

// standalone makes a piece of text complete in itself: its marks are closed and it begins with a capital, except
// words such as iPhone.
func standalone(s string) string {
	s = closeQuotes(s)
	first, size := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[size:])
	if !unicode.IsLower(first) || unicode.IsUpper(second) {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

package mention

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// begins says whether a mention may follow this text. It may not inside a word, an e-mail address, a path or an
// assignment, and not after a backslash. One mention may follow another, which ended at end, after a slash.
func begins(before string, end int) bool {
	before = strings.TrimRightFunc(before, invisible)
	switch last, _ := utf8.DecodeLastRuneInString(before); {
	case before == "":
		return true
	case last == '/':
		return len(before)-1 == end
	case strings.ContainsRune(`\=&%@`, last):
		return false
	case strings.ContainsRune("-+_", last):
		// The end of a local part, unless nothing stands before it: "joe-@helper", but "- @helper".
		previous, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, "-+_"))
		return !inWord(previous) || spaceless(previous)
	default:
		return !inWord(last) || spaceless(last)
	}
}

// ends says whether a mention may stand before this text. It may not where a word goes on, be it in another script or
// after an invisible character, and not before what makes it an address elsewhere: "@helper@example.org",
// "@helper:example.org", "@helper.example", "@helper/package".
func ends(after string) bool {
	visible := strings.TrimLeftFunc(after, invisible)
	next, size := utf8.DecodeRuneInString(visible)
	if size == 0 {
		return true
	}
	beyond, _ := utf8.DecodeRuneInString(visible[size:])
	switch next {
	case '@':
		return false
	case '.':
		return !unicode.IsLower(beyond) && !unicode.IsDigit(beyond)
	case '/':
		return !inWord(beyond)
	case ':':
		return !isHost(visible[size:])
	}
	return !inWord(next) || spaceless(next)
}

// inWord says whether a character belongs to a word: letters, digits, and marks, which change what stands before them.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_')
}

// spaceless says whether a script is written without spaces between words and particles, so that its letters bound a
// name of Latin ones. None of them looks like Latin.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// invisible are characters that take no place: joiners, marks of direction, soft hyphens.
func invisible(r rune) bool { return unicode.Is(unicode.Cf, r) }

// isHost says whether a text begins with a name of a host, with a dot in it: "example.org".
func isHost(text string) bool {
	name := text
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r != '.' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}); i >= 0 {
		name = text[:i]
	}
	return strings.Contains(strings.TrimRight(name, "."), ".")
}

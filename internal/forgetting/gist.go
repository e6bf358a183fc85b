package forgetting

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// leastWords is how many words a clause needs to be meaningful on its own.
const leastWords = 4

// Gist removes specifics from a text: the clause that contains them, when the rest of its sentence is still meaningful,
// otherwise the sentence. It returns false when nothing is left. The result has no specifics, and Gist does not change
// it again.
func Gist(text string) (string, bool) {
	var kept []string
	for _, s := range sentences(strings.ToValidUTF8(text, "")) {
		if len(Specifics(s)) > 0 {
			s = withoutSpecificClauses(s)
		}
		for _, part := range sentences(s) { // without its bracket, a clause may be a sentence
			if wordCount(part) > 0 {
				kept = append(kept, part)
			}
		}
	}
	gist := strings.Join(kept, " ")
	if gist == "" || len(Specifics(gist)) > 0 { // joined sentences could form a date
		return "", false
	}
	return gist, true
}

// withoutSpecificClauses returns "" when fewer than leastWords are left.
func withoutSpecificClauses(sentence string) string {
	end := ""
	if r, size := utf8.DecodeLastRuneInString(sentence); strings.ContainsRune(".!?…。！？", r) {
		sentence, end = sentence[:len(sentence)-size], string(r)
	}
	var kept []string
	for _, clause := range clauses(sentence) {
		if len(Specifics(clause)) == 0 {
			kept = append(kept, clause)
		}
	}
	rest := strings.TrimSpace(strings.Join(kept, " "))
	rest = withoutLeadingLink(strings.TrimRight(rest, ",;:–—- "))
	if wordCount(rest) < leastWords || len(Specifics(rest)) > 0 {
		return ""
	}
	if r, size := utf8.DecodeRuneInString(rest); unicode.IsLower(r) {
		rest = string(unicode.ToUpper(r)) + rest[size:]
	}
	if end == "" {
		end = "."
	}
	rest = closed(rest + end)
	if len(Specifics(rest)) > 0 {
		return ""
	}
	return rest
}

// closed closes a quotation whose end was removed with a clause, and removes the end of one whose beginning was.
func closed(text string) string {
	switch strings.Count(text, "“") - strings.Count(text, "”") {
	case 1:
		return text + "”"
	case -1:
		at := strings.LastIndex(text, "”")
		return text[:at] + text[at+len("”"):]
	}
	return text
}

// withoutLeadingLink removes the word that linked a clause to one that was removed.
func withoutLeadingLink(rest string) string {
	first, after, _ := strings.Cut(rest, " ")
	switch strings.ToLower(first) {
	case "and", "but", "or", "nor", "so", "yet", "then", "which", "because":
		return strings.TrimSpace(after)
	}
	return rest
}

// clauses splits after a comma, semicolon or colon before a space, at dashes between spaces and around brackets.
func clauses(sentence string) []string {
	var out []string
	start := 0
	cut := func(at, next int) {
		if c := strings.TrimSpace(sentence[start:at]); c != "" {
			out = append(out, c)
		}
		start = next
	}
	for i, r := range sentence {
		size := utf8.RuneLen(r)
		switch {
		case strings.ContainsRune(",;:", r) &&
			strings.HasPrefix(sentence[i+size:], " "), strings.ContainsRune("，、；：", r):
			cut(i+size, i+size)
		case strings.ContainsRune("–—-", r) && i > 0 && sentence[i-1] == ' ' &&
			strings.HasPrefix(sentence[i+size:], " "):
			cut(i, i+size)
		case strings.ContainsRune("()[]", r):
			cut(i, i+size)
		}
	}
	cut(len(sentence), len(sentence))
	return out
}

// sentences splits a text as if it stood on one line.
func sentences(text string) []string { return sentence.Split(strings.Join(strings.Fields(text), " ")) }

func wordCount(text string) int {
	n, in := 0, false
	for _, r := range text {
		switch letter := unicode.IsLetter(r); {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			n, in = n+1, false
		case letter && !in:
			n, in = n+1, true
		case !letter && r != '\'' && r != '’':
			in = false
		}
	}
	return n
}

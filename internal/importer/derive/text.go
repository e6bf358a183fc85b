package derive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// Clean makes text safe to store: valid UTF-8, no NUL or other control characters but line break and tab, line breaks
// as \n, no blanks around it. Words are never changed.
func Clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\ufeff', unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n")))
}

// Cleaner is clean, except for exports, which must come back as they were: there only NUL is removed.
func Cleaner(exact bool) func(string) string {
	if exact {
		return func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
	}
	return Clean
}

// Flat is text on one line.
func Flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// Sentences returns the sentences of a text that have a word in them, each on one line. Hard wraps end none.
func Sentences(s string) []string {
	var out []string
	for _, piece := range sentence.Split(unwrapped(s)) {
		if strings.ContainsFunc(piece, IsWordRune) {
			out = append(out, Flat(piece))
		}
	}
	return out
}

// IsWordRune says whether a letter or a digit is part of a word.
func IsWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Clip keeps at most n runes, cut after a whole word and marked as cut.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	end, count := 0, 0
	for i := range s {
		if count == n-1 {
			end = i
			break
		}
		count++
	}
	if i := strings.LastIndexByte(s[:end], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(s[:end], " ,;:-–—.") + "…"
}

// substance drops the opening courtesies of a text ("Wow, Ana!", "Thanks!") when more follows.
func substance(texts []string) []string {
	for len(texts) > 1 && contentWords(texts[0]) < 2 {
		texts = texts[1:]
	}
	return texts
}

// passage is the text in at most n runes: whole sentences from the first of substance on.
func passage(s string, n int) string {
	texts := substance(Sentences(s))
	if len(texts) == 0 {
		return Clip(Flat(s), n)
	}
	out := Clip(texts[0], n)
	for _, sentence := range texts[1:] {
		if utf8.RuneCountInString(out)+1+utf8.RuneCountInString(sentence) > n {
			break
		}
		out += " " + sentence
	}
	return standalone(out)
}

// gist is the one sentence of a text with the most content words, in at most n runes; of equals the earlier.
func gist(s string, n int) string {
	best, most := "", -1
	for _, sentence := range Sentences(s) {
		weight := min(contentWords(sentence), 12) * 2
		if strings.HasSuffix(sentence, "?") {
			weight--
		}
		if weight > most {
			best, most = sentence, weight
		}
	}
	if best == "" {
		best = Flat(s)
	}
	return standalone(Clip(best, n))
}

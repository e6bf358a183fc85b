package importer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text safe to store: valid UTF-8, no NUL or other control characters but line break and tab, line breaks
// as \n, no blanks around it. Words are never changed.
func clean(s string) string {
	if !needsCleaning(s) {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for _, r := range s { // ranging over invalid bytes yields U+FFFD
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || r == '\ufeff':
		default:
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// cleaner is clean, except for exports, which must come back as they were: there only NUL is removed.
func cleaner(exact bool) func(string) string {
	if exact {
		return func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
	}
	return clean
}

func needsCleaning(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' && s[i] != '\n' && s[i] != '\t' || s[i] >= 0x7f {
			return true
		}
	}
	return false
}

// flat is text on one line.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// sentences splits text after . ! ? … and at line breaks, but not at hard wraps. Abbreviations and initials do not end
// a sentence.
func sentences(s string) []string {
	s = unwrapped(s)
	var out []string
	begin := 0
	cut := func(end int) {
		if piece := flat(s[begin:end]); strings.ContainsFunc(piece, isWordRune) {
			out = append(out, piece)
		}
		begin = end
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch r {
		case '\n':
			cut(i)
		case '.', '!', '?', '…', '。', '！', '？':
			for i < len(s) && strings.IndexByte(`.!?"')]`, s[i]) >= 0 {
				i++
			}
			if strings.HasPrefix(s[i:], "”") || strings.HasPrefix(s[i:], "’") {
				i += len("”")
			}
			if i == len(s) || r > 0x7f || (isBlank(s[i]) && !(r == '.' && abbreviated(s[begin:i]))) {
				cut(i)
			}
		}
	}
	cut(len(s))
	return out
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

var abbreviations = map[string]bool{
	"mr.": true, "mrs.": true, "ms.": true, "dr.": true, "st.": true, "vs.": true, "e.g.": true, "i.e.": true,
	"prof.": true, "no.": true, "approx.": true,
}

func abbreviated(s string) bool {
	if i := strings.LastIndexAny(s, " \n\t("); i >= 0 {
		s = s[i+1:]
	}
	return len(s) == 2 && s[0] >= 'A' && s[0] <= 'Z' && s != "I." || abbreviations[strings.ToLower(s)]
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// clip keeps at most n runes, cut after a whole word and marked as cut.
func clip(s string, n int) string {
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
	texts := substance(sentences(s))
	if len(texts) == 0 {
		return clip(flat(s), n)
	}
	out := clip(texts[0], n)
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
	for _, sentence := range sentences(s) {
		weight := min(contentWords(sentence), 12) * 2
		if strings.HasSuffix(sentence, "?") {
			weight--
		}
		if weight > most {
			best, most = sentence, weight
		}
	}
	if best == "" {
		best = flat(s)
	}
	return standalone(clip(best, n))
}

package policy

import (
	"strings"
	"unicode"
)

// leet are the signs that stand for a letter; 1 stands for two.
var leet = map[rune]string{
	'0': "o", '1': "il", '3': "e", '4': "a", '5': "s", '6': "g", '7': "t", '8': "b", '9': "g",
	'@': "a", '$': "s", '!': "i", '|': "l",
}

// unleet is the watched word that a run of letters and digits stands for; empty for none.
func unleet(text string) string {
	if len(text) > 24 {
		return ""
	}
	guesses := []string{""}
	for _, r := range text {
		choices, ok := leet[r]
		if !ok {
			choices = string(r)
		}
		var next []string
		for _, guess := range guesses {
			for _, c := range choices {
				next = append(next, guess+string(c))
			}
		}
		guesses = next
		if len(guesses) > 16 {
			return ""
		}
	}
	for _, guess := range guesses {
		if text := watchedWord(guess); text != "" {
			return text
		}
	}
	return ""
}

// watchedWord is the watched word that a spelling stands for: itself, or one a slip away from it; empty for none.
func watchedWord(text string) string {
	if watched[text] {
		return text
	}
	if len(text) < 7 || strings.ContainsAny(text, "0123456789") {
		return ""
	}
	if squeezed := squeeze(text); squeezed != text && watched[squeezed] {
		return squeezed
	}
	for _, key := range misspelt {
		if text[0] == key[0] && slip(text, key) {
			return key
		}
	}
	return ""
}

// squeeze drops the third and later of equal letters, and tries with one.
func squeeze(text string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range text {
		if r != last {
			b.WriteRune(r)
		}
		last = r
	}
	if watched[b.String()] {
		return b.String()
	}
	return text
}

// slip says whether two words differ by one letter that was added, left out, changed or swapped with its neighbour.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case i == len(a):
		return true
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// separate finds letters that were set apart (P E P E, l.e.v.e.r.a.g.e) and puts the words together that they spell.
func separate(in []token) []token {
	var out []token
	for i := 0; i < len(in); {
		end, chars := spaced(in, i)
		if chars < 3 {
			out = append(out, in[i])
			i++
			continue
		}
		joined, found := spell(in[i:end])
		if !found {
			joined = in[i:end]
		}
		out = append(out, joined...)
		i = end
	}
	return out
}

// spaced finds the run of single characters that begins at a token, with single signs between them.
func spaced(in []token, from int) (end, chars int) {
	single := func(t token) bool { return t.sort != mark && len([]rune(t.text)) == 1 }
	if !single(in[from]) {
		return from, 0
	}
	end, chars = from+1, 1
	for end < len(in) {
		switch {
		case single(in[end]):
			end, chars = end+1, chars+1
		case in[end].sort == mark && strings.Contains(".-_*/~·,+", in[end].text) && end+1 < len(in) &&
			single(in[end+1]):
			end, chars = end+2, chars+1
		default:
			return end, chars
		}
	}
	return end, chars
}

// spell reads single characters as words: all of them as one, or the watched words among them.
func spell(run []token) ([]token, bool) {
	var chars []token
	for _, t := range run {
		if t.sort != mark {
			chars = append(chars, t)
		}
	}
	join := func(from, to int, text string) token {
		t := token{
			text:  text,
			plain: text,
			sort:  word,
			from:  chars[from].from,
			to:    chars[to-1].to,
			caps:  true,
			odd:   false,
			title: chars[from].title,
		}
		for _, c := range chars[from:to] {
			t.caps = t.caps && (c.title || c.sort == number)
			t.odd = t.odd || c.odd
		}
		return t
	}
	texts := func(from, to int) string {
		var b strings.Builder
		for _, c := range chars[from:to] {
			b.WriteString(c.text)
		}
		return b.String()
	}
	var out []token
	found := false
	for at := 0; at < len(chars); {
		took := 0
		for to := min(len(chars), at+16); to >= at+3; to-- {
			if text := watchedWord(texts(at, to)); text != "" {
				out, took, found = append(out, join(at, to, text)), to-at, true
				break
			}
		}
		if took == 0 && chars[at].sort == number {
			to := at
			for to < len(chars) && chars[to].sort == number {
				to++
			}
			t := join(at, to, texts(at, to))
			t.sort, out, took = number, append(out, t), to-at
			out[len(out)-1] = t
		}
		if took == 0 {
			out, took = append(out, chars[at]), 1
		}
		at += took
	}
	return out, found
}

// mend drops the signs that only join words, and puts together words whose parts were joined by signs or set apart by a
// space.
func mend(in []token) []token {
	in = unjoin(in)
	for i := range in { // the month is no verb
		if i > 0 && in[i].text == "may" && in[i].title &&
			oneOf(in[i-1], "in of since last by until this next late early") {
			in[i].text, in[i].plain = "maytime", "maytime"
		}
	}
	var out []token
	for i := 0; i < len(in); {
		took, text := 1, ""
		if in[i].sort == word {
			took, text = mended(in, i)
		}
		t := in[i]
		if text != "" {
			t.odd = t.odd || took == 1 && text != t.text
			t.text, t.to = text, in[i+took-1].to
			for _, other := range in[i+1 : i+took] {
				t.odd = t.odd || other.odd
			}
		}
		out = append(out, t)
		i += took
	}
	return out
}

// mended finds the longest watched word that begins at a token, and how many tokens it takes.
func mended(in []token, i int) (int, string) {
	text, best, match := in[i].text, 1, ""
	if w := watchedWord(text); w != text {
		match = w
	}
	for n := 1; n < 8 && i+n < len(in) && in[i+n].sort == word; n++ {
		text += in[i+n].text
		close := n == 1 && len(text) >= 7 && !common[in[i].text] && !common[in[i+1].text]
		if !in[i+n].glued && !close {
			break
		}
		if w := watchedWord(text); w != "" && (in[i+n].glued || w == text) {
			best, match = n+1, w
		}
		if !in[i+n].glued {
			break
		}
	}
	return best, match
}

// unjoin drops hyphens, and dots and stars between letters, that join what stands on both sides of them.
func unjoin(in []token) []token {
	var out []token
	for i := 0; i < len(in); i++ {
		t := in[i]
		if t.sort != mark || i == 0 || i+1 == len(in) || !t.glued || !in[i+1].glued || !joins(in[i-1], t, in[i+1]) {
			out = append(out, t)
		}
	}
	return out
}

func joins(before, sign, after token) bool {
	switch sign.text {
	case "-", "_":
		return before.sort == word || after.sort == word
	case ".", "*", "·", "~", "+":
		if before.sort != word || after.sort != word {
			return false
		}
		return sign.text != "." || !after.title || before.caps || unicode.IsUpper([]rune(before.plain)[0])
	}
	return false
}

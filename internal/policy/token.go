package policy

import (
	"strings"
	"unicode"
)

// sort is what a token is.
type sort int

const (
	word    sort = iota
	number       // digits, with what groups them
	address      // of a contract: 0x and hexadecimal digits
	mark         // one sign
)

// token is a word, a number or a sign of a text.
type token struct {
	text     string // lower case, look-alikes read as the Latin letters they look like, disguises undone
	plain    string // lower case, look-alikes left as they are: a word of another script
	sort     sort
	from, to int  // bytes of the text
	caps     bool // a word of capitals, at least two letters
	title    bool // it begins with a capital
	odd      bool // it is written with letters of another script, or with digits for letters
	glued    bool // nothing but a sign stands between it and the token before
}

// tokens cuts a text and undoes what hides words: look-alikes, digits for letters, letters set apart, parts joined by
// signs.
func tokens(text string) []token {
	return mend(separate(cut(letters(text))))
}

func isLetter(r rune) bool { return unicode.IsLetter(r) }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// inWord says whether a sign stands for a letter where letters stand on both sides of it.
func inWord(all []letter, i int) bool {
	switch all[i].r {
	case '@', '$', '!', '|', '\'':
		return i > 0 && i+1 < len(all) && wordly(all[i-1].r) && wordly(all[i+1].r) &&
			(all[i].r == '\'' || isLetter(all[i-1].r) || isLetter(all[i+1].r)) && all[i].r != '!' ||
			all[i].r == '!' && i > 0 && i+1 < len(all) && isLetter(all[i-1].r) && unicode.IsLower(all[i-1].r) &&
				unicode.IsLower(all[i+1].r)
	}
	return false
}

func wordly(r rune) bool { return isLetter(r) || isDigit(r) }

// cut finds the runs of letters and digits, and the signs between them.
func cut(all []letter) []token {
	var out []token
	end := 0 // where the last token ended
	push := func(t token, from, to int) {
		t.from, t.to = all[from].from, all[to-1].to
		t.glued = len(out) > 0 && from == end
		out = append(out, t)
		end = to
	}
	for i := 0; i < len(all); {
		r := all[i].r
		switch {
		case r == '\n' && i+1 < len(all) && all[i+1].r == '\n':
			push(token{text: ".", plain: ".", sort: mark}, i, i+1)
			i++
		case unicode.IsSpace(r):
			i++
		case wordly(r) || r == '.' && i+1 < len(all) && isDigit(all[i+1].r) && (i == 0 || !wordly(all[i-1].r)):
			to := i + 1
			for to < len(all) && (wordly(all[to].r) || inWord(all, to) || groups(all, to)) {
				to++
			}
			for _, part := range parts(all[i:to]) {
				push(part.token, i+part.from, i+part.to)
			}
			i = to
		default:
			text := string(r)
			push(token{text: text, plain: text, sort: mark}, i, i+1)
			i++
		}
	}
	return out
}

// groups says whether a sign stands between digits as in 120.000, 0,5, 120'000, 1_000 and 1/2 does not.
func groups(all []letter, i int) bool {
	if i == 0 || i+1 >= len(all) || !isDigit(all[i-1].r) || !isDigit(all[i+1].r) {
		return false
	}
	switch all[i].r {
	case '.', ',', '\'', '_':
		return true
	}
	return false
}

// part is a token within a run, by letters.
type part struct {
	token
	from, to int
}

// parts cuts a run of letters and digits: 75k is 75 and k, l3verage one word.
func parts(run []letter) []part {
	lower, digits, alpha := make([]rune, len(run)), 0, 0
	for i, l := range run {
		lower[i] = unicode.ToLower(l.latin)
		switch {
		case isDigit(l.r):
			digits++
		case isLetter(l.r):
			alpha++
		}
	}
	if digits == 0 || alpha == 0 {
		return []part{whole(run)}
	}
	if isAddress(lower) {
		p := whole(run)
		p.sort = address
		return []part{p}
	}
	if alpha >= digits {
		if text := unleet(string(lower)); text != "" {
			p := whole(run)
			p.text = text
			p.plain = text
			p.odd = true
			p.sort = word
			return []part{p}
		}
	}
	if p, ok := spelledDigits(run, lower); ok {
		return p
	}
	var out []part
	for from := 0; from < len(run); {
		to := from + 1
		numeric := isDigit(run[from].r) || run[from].r == '.'
		for to < len(run) && numeric == (isDigit(run[to].r) || run[to].r != '\'' && !isLetter(run[to].r) && numeric) {
			to++
		}
		p := whole(run[from:to])
		p.from, p.to = from, to
		out = append(out, p)
		from = to
	}
	return exponent(out)
}

// whole makes one token of a run.
func whole(run []letter) part {
	var text, plain strings.Builder
	var upper, lowerCase, other, ascii, digits, alpha int
	for _, l := range run {
		if l.r == '\'' && !isDigit(run[0].r) {
			continue
		}
		text.WriteRune(unicode.ToLower(l.latin))
		plain.WriteRune(unicode.ToLower(l.r))
		switch {
		case unicode.IsUpper(l.r):
			upper++
		case unicode.IsLower(l.r):
			lowerCase++
		}
		if l.latin != l.r {
			other++
		} else if isLetter(l.r) && l.r < 128 {
			ascii++
		}
		switch {
		case isDigit(l.r):
			digits++
		case isLetter(l.r):
			alpha++
		}
	}
	p := part{to: len(run)}
	p.text, p.plain = text.String(), plain.String()
	p.caps, p.title = upper >= 2 && lowerCase == 0, unicode.IsUpper(run[0].r)
	p.odd = other > 0 && ascii > 0
	if digits > 0 && alpha == 0 {
		p.sort = number
	}
	if p.sort == word && other > 0 && !p.odd {
		if onlyASCII(p.text) && watched[p.text] && !watched[p.plain] { // every letter of it looks like a Latin one
			p.odd = true
		} else {
			p.text = p.plain
		}
	}
	if possessive := len(run) > 2 && run[len(run)-2].r == '\'' && run[len(run)-1].r == 's'; possessive {
		p.text, p.plain = strings.TrimSuffix(p.text, "s"), strings.TrimSuffix(p.plain, "s")
	}
	return p
}

func onlyASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 128 {
			return false
		}
	}
	return true
}

// isAddress says whether a run is 0x and at least eight hexadecimal digits.
func isAddress(lower []rune) bool {
	if len(lower) < 10 || lower[0] != '0' || lower[1] != 'x' {
		return false
	}
	for _, r := range lower[2:] {
		if !isDigit(r) && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

// spelledDigits reads l0x and 1OO as the numbers they look like: letters that look like digits beside true ones.
func spelledDigits(run []letter, lower []rune) ([]part, bool) {
	n, seen, swapped := 0, false, false
	var digits strings.Builder
	for ; n < len(lower); n++ {
		switch r := lower[n]; {
		case isDigit(r):
			digits.WriteRune(r)
			seen = true
		case r == 'o':
			digits.WriteByte('0')
			swapped = true
		case r == 'l' || r == 'i' || r == '|':
			digits.WriteByte('1')
			swapped = true
		default:
			goto done
		}
	}
done:
	if !seen || !swapped || n < 2 || n < len(lower) && !units[string(lower[n:])] {
		return nil, false
	}
	value := part{from: 0, to: n}
	value.text, value.plain = digits.String(), digits.String()
	value.sort, value.odd = number, true
	if n == len(lower) {
		return []part{value}, true
	}
	unit := whole(run[n:])
	unit.from, unit.to = n, len(run)
	return []part{value, unit}, true
}

// exponent joins 9 e 5 into one number.
func exponent(in []part) []part {
	if len(in) < 3 || in[1].text != "e" || in[0].sort != number || in[2].sort != number || len(in[2].text) > 2 {
		return in
	}
	p := in[0]
	p.text += "e" + in[2].text
	p.plain, p.to = p.text, in[2].to
	return append([]part{p}, in[3:]...)
}

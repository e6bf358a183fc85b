package policy

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// letter is one character of a text as it is read, and where in the text it came from.
type letter struct {
	r        rune // compatibility forms, marks and invisible characters are gone; its case stays
	latin    rune // the Latin letter that it looks like; r itself when it looks like none
	from, to int  // bytes of the text
}

// MostRead is how many bytes of a text are read; a longer text is barred. A fragment has a few hundred.
const MostRead = 32 << 10

// letters folds a text: full-width, mathematical and circled forms become plain (NFKD), accents and invisible
// characters go.
func letters(text string) []letter {
	out := make([]letter, 0, len(text))
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		from, to := at, at+size
		add := func(r rune) { out = append(out, letter{r, lookalike(r), from, to}) }
		at = to
		if short, ok := spelled[r]; ok {
			for _, r := range short {
				add(r)
			}
			continue
		}
		if r < utf8.RuneSelf {
			if r < ' ' && r != '\n' {
				r = ' '
			}
			add(r)
			continue
		}
		if invisible(r) {
			continue
		}
		plain := norm.NFKD.PropertiesString(text[from:to]).Decomposition()
		if plain == nil {
			if !unicode.Is(unicode.M, r) {
				add(digit(r))
			}
			continue
		}
		decomposed := []rune(string(plain))
		if len(out) > 0 && unicode.IsDigit(out[len(out)-1].r) {
			switch {
			case slices.Contains(decomposed, '⁄'): // 2½ is two and a half, not 21 halves
				add(' ')
			case superscript(r):
				add('^')
			}
		}
		for _, r := range decomposed {
			switch {
			case r == '⁄':
				add('/')
			case unicode.IsSpace(r):
				add(' ')
			case !unicode.Is(unicode.M, r) && !invisible(r):
				add(digit(r))
			}
		}
	}
	return out
}

// spelled are signs that stand for a number or a word.
var spelled = map[rune]string{
	'🔟': "10", '💯': "100", '×': "x", '✕': "x", '✖': "x", '⨯': "x", '╳': "x", '∞': " infinite ", '–': "-", '—': " - ",
	'‐': "-", '‑': "-",
	'−': "-", '’': "'", '‘': "'", 'ʼ': "'", '`': "'", '´': "'", '“': "\"", '”': "\"", '„': "\"", '∶': ":", '：': ":",
	'٪': "%", '٫': ".", '٬': ",",
	'。': ".", '、': ",", '¢': " cents ", '倍': " x ", '万': "0000", '億': "00000000", '亿': "00000000", '⅒': " 1/10",
	'‰': " permille ", '‱': " bps ",
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'Æ': "AE", 'Œ': "OE",
}

func invisible(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0: // fillers that are letters to Unicode
		return true
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == utf8.RuneError
}

func superscript(r rune) bool {
	return r == '²' || r == '³' || r == '¹' || r >= '⁰' && r <= '⁹'
}

// digit makes the decimal digits of every script ours.
func digit(r rune) rune {
	if r < utf8.RuneSelf || !unicode.Is(unicode.Nd, r) {
		return r
	}
	value := rune(0) // the digits of a script stand in a row, from 0
	for unicode.Is(unicode.Nd, r-value-1) {
		value++
	}
	return '0' + value%10
}

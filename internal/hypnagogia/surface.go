package hypnagogia

import (
	"strings"
	"unicode"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Surface is in [0, 1] how much a text looks like natural speech, regardless of its meaning: the product of four
// shares, each rescaled so that clear noise is exactly 0: plausible words of one script, pairs of words that are not
// repeated, sentences of ordinary length, and function words in plausible positions. The limits are our choice and
// fit the table in the test.
func Surface(text string) float64 {
	return SurfaceOf(text, Language{}).Whole
}

// SurfaceOf is Surface with a fifth share, if the language of the memory is known: whether function words are as
// frequent as in speech. Without it, the garbled text of a model at temperature 1.6, whose pieces all look like
// words, passes for speech.
func SurfaceOf(text string, t Language) dream.Surface {
	tokens := tokenize(text)
	if len(tokens) == 0 {
		return dream.Surface{}
	}
	s := dream.Surface{
		Wordlike: stretch(wordlike(tokens), .55, .9), Fresh: stretch(fresh(tokens), .4, .8), Bearable: bearable(text),
		Joined: stretch(joined(tokens), .8, .95), Spoken: t.spoken(text),
	}
	s.Whole = s.Wordlike * s.Fresh * s.Bearable * s.Joined * s.Spoken
	return s
}

// stretch maps low and below to 0, high and above to 1.
func stretch(v, low, high float64) float64 { return unit((v - low) / (high - low)) }

// tokenize splits at spaces; in scripts without spaces every character is a word.
func tokenize(text string) []string {
	var tokens []string
	for _, field := range strings.Fields(text) {
		start := 0
		for i, r := range field {
			if r > unicode.MaxLatin1 && scriptOf(r) == "han" {
				if i > start {
					tokens = append(tokens, field[start:i])
				}
				tokens = append(tokens, string(r))
				start = i + len(string(r))
			}
		}
		if start < len(field) {
			tokens = append(tokens, field[start:])
		}
	}
	return tokens
}

// wordlike is the share of tokens that could be words or numbers of the text's main script.
func wordlike(tokens []string) float64 {
	scripts := map[string]int{}
	for _, t := range tokens {
		scripts[tokenScript(t)]++
	}
	main := "latin"
	for _, s := range []string{"latin", "han", "cyrillic", "greek", "arabic", "hebrew", "hangul", "other"} {
		if scripts[s] > scripts[main] {
			main = s
		}
	}
	good, all := 0, 0
	for _, t := range tokens {
		script := tokenScript(t)
		if script == "none" && isMark(t) { // a dash or a bullet between words is ignored
			continue
		}
		all++
		if script == "none" && isFigure(t) || script == main && isWord(t) {
			good++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(good) / float64(all)
}

func isMark(token string) bool {
	return strings.Trim(token, "-–—*•·&+/.,;:!?…'\"“”‘’()") == ""
}

func isFigure(token string) bool {
	digits := 0
	for _, r := range token {
		switch {
		case unicode.IsDigit(r):
			digits++
		case !strings.ContainsRune(".,:;!?/-–+%$€£°#()'\"“”=<>~≈−×", r):
			return false
		}
	}
	return digits > 0
}

// isWord checks properties of words of alphabets. Only Latin words must have vowels and no long runs of consonants;
// acronyms, their plurals, and names such as "v4" count as words.
func isWord(token string) bool {
	core := strings.TrimFunc(token, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
	letters := 0
	vowels := 0
	run := 0
	repeat := 0
	var last rune
	for _, r := range strings.ToLower(core) {
		repeat++
		if r != last {
			repeat = 1
		}
		last = r
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case unicode.IsDigit(r), strings.ContainsRune("-'’./_@", r):
			run = 0
			continue
		default:
			return false
		}
		run++
		if isVowel(r) {
			vowels++
			run = 0
		}
		if repeat > 3 || run > 6 {
			return false
		}
	}
	acronym := core == strings.ToUpper(core) && letters <= 5 || letters <= 2
	return letters > 0 && letters <= 24 && (acronym || vowels > 0 && letters <= 7*vowels)
}

// isVowel treats every letter outside ASCII as a possible vowel.
func isVowel(r rune) bool { return strings.ContainsRune("aeiouy", r) || r > unicode.MaxASCII }

func tokenScript(token string) string {
	for _, r := range token {
		if s := scriptOf(r); s != "none" {
			return s
		}
	}
	return "none"
}

func scriptOf(r rune) string {
	switch {
	case !unicode.IsLetter(r):
		return "none"
	case unicode.Is(unicode.Latin, r):
		return "latin"
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Khmer, unicode.Lao,
		unicode.Myanmar):
		return "han"
	case unicode.Is(unicode.Cyrillic, r):
		return "cyrillic"
	case unicode.Is(unicode.Greek, r):
		return "greek"
	case unicode.Is(unicode.Arabic, r):
		return "arabic"
	case unicode.Is(unicode.Hebrew, r):
		return "hebrew"
	case unicode.Is(unicode.Hangul, r):
		return "hangul"
	default:
		return "other"
	}
}

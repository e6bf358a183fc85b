// Package words makes the terms of texts that a lexical search compares: word by word, stemmed where the language is
// known.
package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// What is read of one text at most.
const (
	mostTerms   = 4000
	longestTerm = 64 // bytes
)

// Text is a text as an index keeps it.
type Text struct {
	Terms    []string // in order, with repetitions, without stop words
	Language Language
}

// Of reads a text.
func Of(text string) Text {
	r := NewReader(strings.Clone)
	terms, language := r.Of(text)
	return Text{Terms: terms, Language: language}
}

// Reader reads many texts, looking at each word once: it keeps every word that it has met. It is for one goroutine.
type Reader[T any] struct {
	number   func(term string) T
	readings map[bool]map[string]*reading[T] // by whether a word is plain
	raw      []word
	found    []*reading[T]
	stops    []languageSet
}

// reading is what a reader has found out about a word.
type reading[T any] struct {
	stops languageSet // in which it is a stop word
	terms []termIn[T]
}

// termIn is the term that a word makes in texts of a language.
type termIn[T any] struct {
	language Language
	term     T
}

// NewReader makes one that answers what number makes of each term. The term shares memory with the text that is read:
// number clones what it keeps.
func NewReader[T any](number func(term string) T) *Reader[T] {
	return &Reader[T]{number: number, readings: map[bool]map[string]*reading[T]{true: {}, false: {}}}
}

// Of reads a text: its terms in order, with repetitions, without stop words.
func (r *Reader[T]) Of(text string) ([]T, Language) {
	r.raw, r.found, r.stops = split(r.raw[:0], text), r.found[:0], r.stops[:0]
	for _, w := range r.raw {
		reading := r.reading(w)
		r.found, r.stops = append(r.found, reading), append(r.stops, reading.stops)
	}
	language := detect(text, r.stops)
	var terms []T
	for i, w := range r.raw {
		if w.plain && r.stops[i].has(language) {
			continue
		}
		if terms == nil {
			terms = make([]T, 0, len(r.raw)-i)
		}
		if len(terms) == mostTerms {
			break
		}
		terms = append(terms, r.term(r.found[i], w, language))
	}
	return terms, language
}

func (r *Reader[T]) reading(w word) *reading[T] {
	readings := r.readings[w.plain]
	found := readings[w.text]
	if found == nil {
		found = &reading[T]{stops: stopIn[w.text]}
		readings[strings.Clone(w.text)] = found
	}
	return found
}

func (r *Reader[T]) term(of *reading[T], w word, l Language) T {
	if !w.plain {
		l = Unknown // the same in all
	}
	for _, t := range of.terms {
		if t.language == l {
			return t.term
		}
	}
	term := r.number(stemmed(w, l))
	of.terms = append(of.terms, termIn[T]{language: l, term: term})
	return term
}

// Term is a word of a question in all the forms under which texts may hold it.
type Term struct{ Forms []string }

// Question reads what is sought, each word once. The texts' languages add the forms that their stemmers make.
func Question(text string, texts ...Language) []Term {
	raw := split(nil, text)
	stops := make([]languageSet, len(raw))
	for i, w := range raw {
		stops[i] = stopIn[w.text]
	}
	own := detect(text, stops)
	seen := map[string]bool{}
	var terms []Term
	for i, w := range raw {
		if w.plain && stops[i].has(own) {
			continue
		}
		first := stemmed(w, own)
		if seen[first] || len(terms) == mostTerms {
			continue
		}
		seen[first] = true
		term := Term{Forms: []string{first}}
		for _, l := range append([]Language{Unknown}, texts...) {
			if form := stemmed(w, l); !slices.Contains(term.Forms, form) {
				term.Forms = append(term.Forms, form)
			}
		}
		terms = append(terms, term)
	}
	return terms
}

// word is a piece of a text in lower case. A plain one is made of letters alone; others are never stemmed.
type word struct {
	text  string
	plain bool
}

// split appends the words of a text. What is written together with digits or signs, such as an address, a path or a
// version, is one word as a whole and its parts beside it.
func split(out []word, text string) []word {
	if !ascii(text) {
		text = norm.NFKC.String(text)
	}
	for chunk := range strings.FieldsSeq(text) {
		if len(out) >= mostTerms {
			break
		}
		out = chunkWords(out,
			strings.TrimFunc(chunk, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), chunk)
	}
	return out
}

func chunkWords(out []word, core, chunk string) []word {
	if core == "" {
		return out
	}
	if at := strings.Index(chunk, core) + len(core); strings.HasPrefix(chunk[at:], "++") ||
		strings.HasPrefix(chunk[at:], "#") {
		out = append(out, word{text: cut(strings.ToLower(core) + strings.TrimRight(chunk[at:], ".,;:!?)\"'"))})
	}
	before := len(out)
	out = pieces(out, core)
	if len(out)-before > 1 && whole(core) {
		out = append(out, word{text: cut(strings.ToLower(core))})
	}
	return out
}

// whole says whether a chunk is a name in itself: it holds a sign that joins, or changes its case in the middle.
func whole(core string) bool {
	if strings.ContainsAny(core, "@/\\:._=&%#0123456789") {
		return true
	}
	return camel(core)
}

func camel(s string) bool {
	lower := false
	for _, r := range s {
		if lower && unicode.IsUpper(r) {
			return true
		}
		lower = unicode.IsLower(r)
	}
	return false
}

// pieces are the words of a chunk by the boundaries of Unicode, those in CamelCase parted, and runs of scripts that
// write no spaces as pairs of characters.
func pieces(out []word, core string) []word {
	if ascii(core) {
		for from := 0; from < len(core); {
			end := from
			for end < len(core) && inWord(core, end) {
				end++
			}
			if end > from {
				out = parted(out, core[from:end])
			}
			from = end + 1
		}
		return out
	}
	state := -1
	var run []rune
	for core != "" {
		var piece string
		piece, core, state = uniseg.FirstWordInString(core, state)
		first, _ := utf8.DecodeRuneInString(piece)
		if unspaced(first) {
			run = append(run, []rune(piece)...)
			continue
		}
		out, run = pairs(out, run), run[:0]
		if unicode.IsLetter(first) || unicode.IsDigit(first) {
			out = parted(out, piece)
		}
	}
	return pairs(out, run)
}

// inWord says whether a byte of an ASCII text belongs to a word: a letter, a digit, or an apostrophe between letters.
func inWord(s string, i int) bool {
	if alphanumeric(s[i]) {
		return true
	}
	return s[i] == '\'' && i > 0 && i+1 < len(s) && alphanumeric(s[i-1]) && alphanumeric(s[i+1])
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// parted adds a word, and where it is in CamelCase its parts.
func parted(out []word, s string) []word {
	if camel(s) {
		from := 0
		lower := false
		for i, r := range s {
			if lower && unicode.IsUpper(r) {
				out = append(out, made(s[from:i]))
				from = i
			}
			lower = unicode.IsLower(r)
		}
		return append(out, made(s[from:]))
	}
	return append(out, made(s))
}

func made(s string) word {
	s = strings.ToLower(s)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	plain := true
	for _, r := range s {
		plain = plain && (unicode.IsLetter(r) || unicode.IsMark(r) || r == '\'' || r == '’')
	}
	return word{text: cut(s), plain: plain}
}

// pairs adds a run of a script without spaces as overlapping pairs; a single character stands alone.
func pairs(out []word, run []rune) []word {
	if len(run) == 1 {
		return append(out, word{text: string(run)})
	}
	for i := 0; i+1 < len(run); i++ {
		out = append(out, word{text: string(run[i : i+2])})
	}
	return out
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// cut shortens a term to its bound, at the boundary of a character.
func cut(s string) string {
	if len(s) <= longestTerm {
		return s
	}
	end := longestTerm
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

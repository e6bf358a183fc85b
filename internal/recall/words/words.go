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

// Bounds of what is read of one text.
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
func Of(text string) Text { return new(Reader).Of(text) }

// Reader reads many texts and stems each word once. It is for one goroutine, and keeps every word that it has met.
type Reader struct {
	stems [Languages]map[string]string
}

// NewReader makes one.
func NewReader() *Reader {
	r := &Reader{}
	for l := range r.stems {
		r.stems[l] = map[string]string{}
	}
	return r
}

func (r *Reader) stemmed(w word, l Language) string {
	existing := r.stems[l]
	if existing == nil || !w.plain {
		return stemmed(w, l)
	}
	stem, seen := existing[w.text]
	if !seen {
		stem = strings.Clone(stemmed(w, l))
		existing[strings.Clone(w.text)] = stem
	}
	return stem
}

// Of reads a text.
func (r *Reader) Of(text string) Text {
	raw := split(text)
	t := Text{Language: detect(text, raw)}
	stops := stopWords[t.Language]
	for _, w := range raw {
		if len(t.Terms) == mostTerms {
			break
		}
		if w.plain && stops[w.text] {
			continue
		}
		t.Terms = append(t.Terms, r.stemmed(w, t.Language))
	}
	return t
}

// Term is a word of a question in all the forms under which texts may hold it.
type Term struct{ Forms []string }

// Question reads what is sought, each word once. The texts' languages add the forms that their stemmers make.
func Question(text string, texts ...Language) []Term {
	raw := split(text)
	own := detect(text, raw)
	stops := stopWords[own]
	seen := map[string]bool{}
	var terms []Term
	for _, w := range raw {
		if w.plain && stops[w.text] {
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

// split reads the words of a text. What is written together with digits or signs, such as an address, a path or a
// version, is one word as a whole and its parts beside it.
func split(text string) []word {
	if !ascii(text) {
		text = norm.NFKC.String(text)
	}
	var out []word
	for chunk := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
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

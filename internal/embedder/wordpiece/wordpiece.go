// Package wordpiece cuts text into the word pieces of an uncased BERT vocabulary, as the tokenizer of all-MiniLM-L6-v2
// does.
package wordpiece

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The pieces that mark structure instead of text. Their numbers are looked up in the vocabulary.
const (
	unknownPiece = "[UNK]"
	firstPiece   = "[CLS]"
	lastPiece    = "[SEP]"
)

// mostLetters is the length from which a word is unknown without being cut (max_input_chars_per_word).
const mostLetters = 100

// Vocabulary is a list of word pieces; a piece's number is its place in the list.
type Vocabulary struct {
	start    map[string]int32 // pieces that begin a word
	inside   map[string]int32 // pieces that continue one, without their ##
	longest  int              // bytes
	size     int
	unknown  int32
	opening  int32
	closing  int32
	hasFrame bool
}

// New reads a vocabulary from its pieces in order. [UNK] must be among them.
func New(pieces []string) (*Vocabulary, error) {
	v := &Vocabulary{start: make(map[string]int32, len(pieces)), inside: map[string]int32{}, size: len(pieces)}
	for i, piece := range pieces {
		into, text := v.start, piece
		if tail, found := strings.CutPrefix(piece, "##"); found && tail != "" {
			into, text = v.inside, tail
		}
		if _, twice := into[text]; twice {
			return nil, fmt.Errorf("vocabulary: piece %q stands twice", piece)
		}
		into[text] = int32(i)
		v.longest = max(v.longest, len(text))
	}
	unknown, found := v.start[unknownPiece]
	if !found {
		return nil, errors.New("vocabulary: the piece [UNK] is missing")
	}
	v.unknown = unknown
	opening, opens := v.start[firstPiece]
	closing, closes := v.start[lastPiece]
	v.opening, v.closing, v.hasFrame = opening, closing, opens && closes
	return v, nil
}

// Size is the number of pieces.
func (v *Vocabulary) Size() int { return v.size }

// Unknown is the number of the piece for a word that cannot be cut.
func (v *Vocabulary) Unknown() int32 { return v.unknown }

// Frame returns the numbers of the pieces that open and close a text, and whether the vocabulary has both.
func (v *Vocabulary) Frame() (opening, closing int32, found bool) {
	return v.opening, v.closing, v.hasFrame
}

// Pieces cuts a text into the numbers of at most most pieces, without the frame; most <= 0 means all.
func (v *Vocabulary) Pieces(text string, most int) []int32 {
	out := make([]int32, 0, len(text)/4+1)
	words(text, func(word string) bool {
		out = v.cut(out, word)
		return most <= 0 || len(out) < most
	})
	if most > 0 && len(out) > most {
		out = out[:most]
	}
	return out
}

// cut appends the pieces of one word: at each place the longest that the vocabulary knows, [UNK] for all of it where
// there is none.
func (v *Vocabulary) cut(out []int32, word string) []int32 {
	if n := len(word); n > mostLetters && utf8.RuneCountInString(word) > mostLetters {
		return append(out, v.unknown)
	}
	from, begun := 0, len(out)
	for pieces := v.start; from < len(word); pieces = v.inside {
		to := min(len(word), from+v.longest)
		for ; to > from; to-- {
			if id, found := pieces[word[from:to]]; found {
				out = append(out, id)
				break
			}
		}
		if to == from {
			return append(out[:begun], v.unknown)
		}
		from = to
	}
	return out
}

// words calls each with the words and punctuation marks of a text in order, in lower case and without accents, until
// it returns false.
func words(text string, each func(word string) bool) {
	text = plain(text)
	from := -1
	for i, r := range text {
		switch {
		case r == ' ' || apart(r):
			if from >= 0 && !each(text[from:i]) {
				return
			}
			from = -1
			if r != ' ' && !each(text[i:i+utf8.RuneLen(r)]) {
				return
			}
		case from < 0:
			from = i
		}
	}
	if from >= 0 {
		each(text[from:])
	}
}

// plain writes a text in lower case, without accents and control characters, with single kinds of space.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || unicode.Is(unicode.Zs, r):
			return ' '
		case r == 0 || r == unicode.ReplacementChar || unicode.Is(unicode.C, r) || unicode.Is(unicode.Mn, r):
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFD.String(strings.ToValidUTF8(text, " ")))
}

// apart says whether a letter is a word of its own: punctuation, all ASCII symbols, and Chinese characters.
func apart(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	default:
		return unicode.IsPunct(r) || chinese(r)
	}
}

// chinese says whether BERT treats a letter as a word of its own because it is an ideograph.
func chinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF || 0x20000 <= r && r <= 0x2A6DF ||
		0x2A700 <= r && r <= 0x2B73F ||
		0x2B740 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF || 0xF900 <= r && r <= 0xFAFF ||
		0x2F800 <= r && r <= 0x2FA1F
}

package erasure

import (
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a text. Each letter of a script that is written without spaces is a word of its own.
type token struct {
	word     uint64 // hash of the word in lower case
	from, to int    // bytes of the text
	telling  bool   // long and rare enough to give away the forgotten text by itself
}

// shortestTelling is how many characters a telling word has at least.
const shortestTelling = 3

// tokens splits a text into words: runs of letters, digits and marks.
func tokens(text string) []token {
	var out []token
	begin := -1
	end := func(to int) {
		if begin >= 0 {
			out = append(out, wordOf(text, begin, to))
		}
		begin = -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unspaced(r):
			end(i)
			out = append(out, token{word: hashOf(text[i : i+size]), from: i, to: i + size})
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if begin < 0 {
				begin = i
			}
		default:
			end(i)
		}
		i += size
	}
	end(len(text))
	return out
}

func wordOf(text string, from, to int) token {
	word := strings.ToLower(text[from:to])
	telling := utf8.RuneCountInString(word) >= shortestTelling && !everyday[word]
	return token{word: hashOf(word), from: from, to: to, telling: telling}
}

// unspaced reports whether a letter belongs to a script that is written without spaces between words.
func unspaced(r rune) bool {
	return r > 0x0e00 &&
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
			unicode.Myanmar)
}

func hashOf(word string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(word)) // a hash never fails to write
	return h.Sum64()
}

// grams returns the hash of each run of n words, at the index of its first word.
func grams(words []token, n int) []uint64 {
	if len(words) < n {
		return nil
	}
	out := make([]uint64, len(words)-n+1)
	for i := range out {
		sum := uint64(n)
		for _, w := range words[i : i+n] {
			sum = sum*1099511628211 ^ w.word
		}
		out[i] = sum
	}
	return out
}

// everyday lists words that are never telling, however rare they are in an agent's memories.
var everyday = func() map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.Fields(`
		about above after again against all almost alone along already also although always among and another any
		anybody anyone anything are around ask asked asks away back bad because been before began begin behind being
		below best better between big both bring but call called came can cannot change come comes could day days
		did different does doing don done down during each early either else end enough even ever every everybody
		everyone everything fact far feel felt few find first five for forget forgot forgotten found four from full
		gave get gets getting give given goes going gone good got great had half hand happen happened happens hard
		has have having hear heard held help her here hers herself high him himself his hold home hour hours how
		however idea into its itself just keep keeps kept kind knew know known knows large last late later least
		leave left less let life light like likely line little live lives long look looked looking looks lot made
		make makes making man many matter may maybe mean means memory might mind minute moment month months more
		morning most move much must myself name near need needs never new next night nobody none nor not nothing now
		number off often old once one ones only open other others our ours out over own part people perhaps person
		place point put question quite rather real really reason remember right room said same saw say saying says
		second see seem seems seen self set several shall she should show side since small some somebody someone
		something sometimes soon speak still stop such sure take taken takes talk talked talking tell ten than thank
		thanks that the their theirs them themselves then there therefore these they thing things think thinks this
		those though thought thoughts three through thus time times today together told tomorrow too took toward
		towards tried try turn turned two under until upon use used user using usually very want wanted wants was
		water way week weeks well went were what whatever when where whether which while who whole whom whose why
		will with within without woman word words work world would yes yesterday yet you young your yours yourself
		january february march april june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday afternoon evening
		assistant system tool answered
		und oder aber nicht der die das den dem des ein eine einen einem ist sind war waren hat haben ich wir
		sie ihr mein dein sein mit von
		auf für bei aus nach zum zur über auch noch nur wie was wer wenn dass
		les des une est sont pas pour que qui dans sur avec plus mais ont
		los las una por para con del como más pero
	`) {
		words[word] = true
	}
	return words
}()

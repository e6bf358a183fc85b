package inference

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// bytesPerToken is the rule of thumb for English, for texts whose tokenizer is not known.
const bytesPerToken = 4

// CutAtTokens cuts a text where a stream of this model would have been closed after so many visible tokens, between two
// words: counted when its tokenizer is known, else at four bytes a token.
func CutAtTokens(spec Spec, text string, tokens int) string {
	text = strings.TrimSpace(text)
	if length(spec, text) <= tokens {
		return text
	}
	ends := []int{0} // of words; the first is no word at all
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		at += size
		if unicode.IsSpace(r) && at-size > ends[len(ends)-1] {
			ends = append(ends, at-size)
		}
	}
	low, high := 0, len(ends)-1
	for low < high { // the last end that fits
		middle := (low + high + 1) / 2
		if length(spec, text[:ends[middle]]) <= tokens {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return strings.TrimSpace(text[:ends[low]])
}

func length(spec Spec, text string) int {
	if _, found := tokenizers[spec.Tokenizer]; found {
		return int(CountText(spec, text))
	}
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}

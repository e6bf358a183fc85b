// Package probe tests a memory without a model, by questions made of the rare words of its own texts.
package probe

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
)

// Doc is one text that recall may find.
type Doc struct {
	ID   string
	Text string
}

// Question is the question about one text.
type Question struct {
	ID    string   `json:"id"`
	Words []string `json:"words"`
	// the first of them where no other text has it: alone, it must find this text
	Own string `json:"own,omitempty"`
}

// How a question is made. Our own choice: a person who looks for something names a few of its rarer words, and not
// all of them. With eight words the common ones among them kept a memory first that a person would no longer have
// found.
const (
	rareWords = 4 // of a text, from which a question is made
	dropOneIn = 3 // of these
	leastAsk  = 3 // words stay, where there are so many; the rarest always does
)

// Sample takes up to n ids, the same ones for the same seed in whatever order they come.
func Sample(ids []string, n int, seed uint64) []string {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(lot(seed, a), lot(seed, b)), strings.Compare(a, b))
	})
	ids = slices.Compact(ids)
	return ids[:max(0, min(n, len(ids)))]
}

// Ask makes a question for each of these texts, in order; a text without a word has none.
func Ask(docs []Doc, ids []string, seed uint64) []Question {
	texts := map[string][]string{}
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	often := map[string]int{}
	for _, doc := range docs {
		words := distinct(Words(doc.Text))
		for _, word := range words {
			often[word]++
		}
		if wanted[doc.ID] {
			texts[doc.ID] = words
		}
	}
	var questions []Question
	for _, id := range ids {
		words := questionOf(id, texts[id], often, seed)
		if len(words) == 0 {
			continue
		}
		q := Question{ID: id, Words: words}
		if often[words[0]] == 1 {
			q.Own = words[0]
		}
		questions = append(questions, q)
	}
	return questions
}

func questionOf(id string, words []string, often map[string]int, seed uint64) []string {
	words = slices.Clone(words)
	slices.SortFunc(words,
		func(a, b string) int { return cmp.Or(cmp.Compare(often[a], often[b]), strings.Compare(a, b)) })
	words = words[:min(rareWords, len(words))]
	var kept []string
	for i, word := range words {
		left := len(words) - i
		if i == 0 || len(kept)+left <= leastAsk || lot(seed, id+"\x00"+word)%dropOneIn != 0 {
			kept = append(kept, word)
		}
	}
	return kept
}

// Words cuts a text into lower-case words of letters and figures; of scripts without spaces it takes pairs of
// characters.
func Words(text string) []string {
	var words []string
	var word []rune
	var before rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			flush()
			if before != 0 {
				words = append(words, string([]rune{before, r}))
			}
			before = r
			continue
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			word = append(word, r)
		default:
			flush()
		}
		before = 0
	}
	flush()
	return words
}

func distinct(words []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		found := seen[word]
		seen[word] = true
		return found
	})
}

// lot is a number that depends only on the seed and the text.
func lot(seed uint64, text string) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for i := range b {
		b[i] = byte(seed >> (8 * i))
	}
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(text))
	v := h.Sum64() // FNV spreads the last bytes badly over the high bits
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	return v
}

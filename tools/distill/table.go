package main

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// firstWord is the number of the first whole word in BERT's vocabulary, "the". From here on pieces are ordered by
// frequency; before it are marks and single letters.
const firstWord = 1996

// frequency estimates how often a piece occurs, by Zipf's law over its place in the vocabulary.
func frequency(piece string, id, size int) float64 {
	rank := float64(id - firstWord + 1)
	if id < firstWord { // single letters and digits, rarer than the commonest words
		rank = 100
	}
	return 1 / (rank * (math.Log(float64(size)) + .577))
}

// weight is how much a piece counts in a text: a/(a+frequency) (Arora et al. 2017), and next to nothing for a mark.
func weight(piece string, id, size int, a float64) float64 {
	text := piece
	if len(text) > 2 && text[:2] == "##" {
		text = text[2:]
	}
	if r, n := utf8.DecodeRuneInString(text); n == len(text) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return .01
	}
	f := frequency(piece, id, size)
	return a / (a + f)
}

// structural says whether a piece never represents text: [PAD], [unused7] and their like.
func structural(piece string) bool {
	return len(piece) > 2 && piece[0] == '[' && piece[len(piece)-1] == ']'
}

// weighted is a table whose rows are scaled by the weight of their pieces; structural ones are 0.
func weighted(table matrix, pieces []string, a float64) matrix {
	out := newMatrix(table.rows(), table.width)
	for i, piece := range pieces {
		if structural(piece) {
			continue
		}
		w := float32(weight(piece, i, len(pieces), a))
		for j, x := range table.row(i) {
			out.row(i)[j] = w * x
		}
	}
	return out
}

// centred is a table less the mean of its rows.
func centred(table matrix) matrix {
	out, middle := newMatrix(table.rows(), table.width), table.mean()
	for i := range table.rows() {
		for j, x := range table.row(i) {
			out.row(i)[j] = x - float32(middle[j])
		}
	}
	return out
}

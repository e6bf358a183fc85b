package steering

import (
	"strings"
	"unicode"
)

// Row is what was measured of the answers at one strength.
type Row struct {
	Alpha    float64 `json:"alpha"`
	Answers  int     `json:"answers"`
	Words    float64 `json:"words"`     // mean per answer
	Distinct float64 `json:"distinct"`  // share of different words among all words of the answers
	Pairs    float64 `json:"distinct2"` // the same for pairs of neighbouring words
	Distance float64 `json:"distance"`  // mean cosine distance between the answers to one question
	// mean cosine distance from the answer to the same question with the same seed at strength 0
	Moved   float64 `json:"moved"`
	Surface float64 `json:"surface"`  // mean surface coherence: 1 is natural speech, 0 is noise
	LogProb float64 `json:"log_prob"` // mean over tokens, by the steered model itself
	Plain   float64 `json:"log_prob_plain"`
	Example string  `json:"example"` // the first answer
}

// Distinct is the share of different runs of n words among all of them (distinct-n). Case and punctuation are
// ignored.
func Distinct(texts []string, n int) float64 {
	seen := map[string]bool{}
	all := 0
	for _, text := range texts {
		words := wordsOf(text)
		for i := 0; i+n <= len(words); i++ {
			seen[strings.Join(words[i:i+n], " ")] = true
			all++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(len(seen)) / float64(all)
}

// Words counts the words of a text.
func Words(text string) int { return len(wordsOf(text)) }

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

// Distance is the mean cosine distance of all pairs of unit vectors; 0 for fewer than two.
func Distance(vectors [][]float32) float64 {
	var sum float64
	n := 0
	for i := range vectors {
		for j := range i {
			sum += CosineDistance(vectors[i], vectors[j])
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// CosineDistance is the cosine distance of two vectors: 0 for the same direction. A zero vector has distance 1 from
// every vector.
func CosineDistance(a, b []float32) float64 { return 1 - cosine(a, b) }

// Package rank scores what a search found: how words and meaning are blended, what is near, and what decides between
// equals.
package rank

// Blend says how much words and meaning count in a score.
type Blend struct {
	Words   float64
	Meaning float64
}

// Hit is an item with what speaks for it.
type Hit struct {
	Item   string
	Score  float64 // blended, in [0, 1]
	Words  float64 // BM25
	Share  float64 // of the weight of the question's words, how much the item holds; in [0, 1]
	Cosine float64 // in [-1, 1]; 0 where it has no vector
	Placed bool    // it has a vector, and one was sought
}

// Bounds are the ends of what all candidates scored.
type Bounds struct {
	MostWords       float64
	Lowest, Highest float64 // cosine
}

// Score blends min-max scores: words from nothing to the best, meaning from the farthest candidate to the nearest.
func (b Blend) Score(words, cosine float64, placed bool, of Bounds) float64 {
	score, total := 0.0, 0.0
	if of.MostWords > 0 {
		score += b.Words * words / of.MostWords
		total += b.Words
	}
	if of.Highest > of.Lowest {
		if placed {
			score += b.Meaning * (cosine - of.Lowest) / (of.Highest - of.Lowest)
		}
		total += b.Meaning
	}
	if total == 0 {
		return 0
	}
	return score / total
}

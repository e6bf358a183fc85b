package localmodel

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Distribution is softmax(logits/T), cut by min-p and then by top-p, and made to sum to 1 again. Min-p removes exactly
// the tokens whose probability lies below minP times the highest one (Nguyen 2024); top-p keeps the fewest tokens of
// those left whose share reaches topP. T = 0 puts everything on the first of the highest logits.
func Distribution(logits []float64, T, minP, topP float64) []float64 {
	p := make([]float64, len(logits))
	if len(p) == 0 {
		return p
	}
	best := 0
	for i, l := range logits {
		if l > logits[best] {
			best = i
		}
	}
	if T <= 0 {
		p[best] = 1
		return p
	}
	for i, l := range logits {
		p[i] = math.Exp((l - logits[best]) / T)
		if p[i] < minP {
			p[i] = 0
		}
	}
	normalise(p)
	if topP > 0 && topP < 1 {
		keepTop(p, topP)
		normalise(p)
	}
	return p
}

// Sample draws the index of one token from the distribution.
func Sample(logits []float64, T, minP, topP float64, r *rand.Rand) int {
	p := Distribution(logits, T, minP, topP)
	at, last := r.Float64(), 0
	for i, share := range p {
		if share == 0 {
			continue
		}
		last = i
		at -= share
		if at < 0 {
			break
		}
	}
	return last
}

func keepTop(p []float64, topP float64) {
	ranks := make([]int, len(p))
	for i := range ranks {
		ranks[i] = i
	}
	slices.SortStableFunc(ranks, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	sum := 0.0
	for _, i := range ranks {
		if sum >= topP {
			p[i] = 0
			continue
		}
		sum += p[i]
	}
}

func normalise(p []float64) {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
}

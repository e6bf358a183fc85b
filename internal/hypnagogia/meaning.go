package hypnagogia

import (
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/sentence"
)

// How a text is divided to measure whether it is consistent; our choice.
const (
	leastPart = 7 // words; a shorter part is too short for a vector
	mostParts = 4
)

// Neighbours divides a text into two to four consecutive parts, at the ends of sentences if possible; none when it is
// too short.
func Neighbours(text string) []string {
	var parts []string
	for _, s := range sentence.Split(flatten(text)) {
		if n := len(parts); n > 0 && len(strings.Fields(parts[n-1])) < leastPart {
			parts[n-1] += " " + s
			continue
		}
		parts = append(parts, s)
	}
	if n := len(parts); n > 1 && len(strings.Fields(parts[n-1])) < leastPart {
		parts[n-2] += " " + parts[n-1]
		parts = parts[:n-1]
	}
	if len(parts) < 2 {
		fields := strings.Fields(text)
		n := min(mostParts, len(fields)/leastPart)
		parts = nil
		if n < 2 {
			return nil
		}
		for i := range n {
			parts = append(parts, strings.Join(fields[i*len(fields)/n:(i+1)*len(fields)/n], " "))
		}
	}
	return parts[:min(len(parts), mostParts)]
}

// MeaningOf compares the cosines of neighbouring parts with those of unrelated memories in the same space: parts no
// nearer than unrelated ones halve coherence, parts nearer by three tenths of the remaining distance leave it
// unchanged. It never reduces more than that, since an onset is meant to make leaps.
func MeaningOf(cosines []float64, between float64) dream.Meaning {
	if len(cosines) == 0 {
		return dream.Meaning{Between: between, Share: 1}
	}
	m := dream.Meaning{Cosine: mean(cosines), Between: between}
	m.Share = 1 - (1-leastMeaning)*(1-stretch(m.Cosine, between, between+closer*math.Max(0, 1-between)))
	return m
}

const (
	leastMeaning = .5
	closer       = .3
)

// Cosine of two vectors, in [-1, 1]; 0 when either is zero.
func Cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range min(len(a), len(b)) {
		p, q := float64(a[i]), float64(b[i])
		dot, x, y = dot+p*q, x+p*p, y+q*q
	}
	if x == 0 || y == 0 {
		return 0
	}
	return math.Max(-1, math.Min(1, dot/math.Sqrt(x*y)))
}

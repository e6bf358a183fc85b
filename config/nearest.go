package config

import "fmt"

// nearestHint suggests the existing name that is most similar to a misspelt one.
func nearestHint(name string, names []string) string {
	best, distance := "", 1+len(name)/2
	for _, k := range names {
		if d := Distance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// Distance is the Levenshtein distance of two words in bytes; of a long one only the beginning counts.
func Distance(a, b string) int {
	if len(a) > 200 {
		a = a[:200]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}

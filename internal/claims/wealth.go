package claims

import (
	"cmp"
	"math"
	"slices"
)

// Wealth is what a bettor has who starts with 1 and bets on a claim against chance: an e-process. It stays below 1/α
// for ever with a probability of 1-α when the claim holds no more often than chance, whenever one looks (Ville 1939;
// Ramdas and others 2023). The bets are a mixture over all rates above chance, so that none need be guessed.
func Wealth(chance float64, hits, misses int) float64 {
	if hits+misses == 0 || chance >= 1 {
		return 1
	}
	chance = max(chance, 1e-9)
	sum := 0.0
	for i := range mixtureSteps {
		p := chance + (1-chance)*(float64(i)+.5)/mixtureSteps
		log := 0.0
		if hits > 0 {
			log += float64(hits) * math.Log(p/chance)
		}
		if misses > 0 {
			log += float64(misses) * math.Log((1-p)/(1-chance))
		}
		sum += math.Exp(log)
	}
	return sum / mixtureSteps
}

// mixtureSteps is how finely the mixture's integral is taken: within .1 % for up to a thousand outcomes.
const mixtureSteps = 256

// Chance is an upper bound of the rate at which decoys come true: one-sided, by Clopper and Pearson (1934), so that it
// lies above the true rate with the given confidence, and is 1 without decoys.
func Chance(hits, all int, confidence float64) float64 {
	if all == 0 || hits >= all {
		return 1
	}
	low, high := float64(hits)/float64(all), 1.0
	for range 60 {
		middle := (low + high) / 2
		if atMost(hits, all, middle) > 1-confidence {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// atMost is the probability of at most so many hits of all at a rate.
func atMost(hits, all int, rate float64) float64 {
	sum := 0.0
	for k := range hits + 1 {
		sum += math.Exp(logChoose(all, k) + float64(k)*math.Log(rate) + float64(all-k)*math.Log(1-rate))
	}
	return sum
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Passing returns which of all claims pass at once (e-BH: Wang and Ramdas 2022), as a share of false ones among those
// that pass of at most alpha in the mean, however the claims depend on each other. wealth holds one value for each
// claim that was ever made, also for those that were dropped.
func Passing(wealth []float64, alpha float64) []int {
	ranked := make([]int, len(wealth))
	for i := range ranked {
		ranked[i] = i
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(wealth[b], wealth[a]) })
	for k := len(ranked); k > 0; k-- {
		if wealth[ranked[k-1]] >= float64(len(wealth))/(alpha*float64(k)) {
			return ranked[:k]
		}
	}
	return nil
}

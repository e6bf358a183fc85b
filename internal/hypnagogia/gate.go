package hypnagogia

import "github.com/seed-56a03226/oneiros/internal/dream"

// Gate is the share of external data that is let into the prompts of a stage (S4, ThalamicGate; H20): a third less for
// every stage down from waking, where it would be all, so that at the peak and below there is none. That it falls in
// equal steps is ours.
func Gate(s dream.Stage) float64 {
	return max(0, 1-float64(rank(s))/3)
}

// Admit lets that share of a list in, from its front, rounded down: never more than the share.
func Admit[T any](all []T, share float64) []T {
	const whole = 1e-9 // two thirds of twelve are eight, whatever a float makes of it
	return all[:min(len(all), int(unit(share)*float64(len(all))+whole))]
}

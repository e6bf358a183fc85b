package hypnagogia

import "github.com/seed-56a03226/oneiros/activities/port/dream"

// Gate is the share of external readings that the thalamic gate lets into the prompts of a stage: all when awake, a
// third less for each stage down, so none at the peak and below. The equal steps are our choice.
func Gate(s dream.Stage) float64 {
	return max(0, 1-float64(rank(s))/3)
}

// Steer is the share of its strength that a steering vector has at a stage: what the thalamic gate keeps out. Without a
// stage, where every onset goes to the peak, it is 1.
func Steer(s dream.Stage) float64 {
	if s == "" {
		return 1
	}
	return 1 - Gate(s)
}

// Admit returns that share of a list, from its front, rounded down.
func Admit[T any](all []T, share float64) []T {
	const whole = 1e-9 // so that two thirds of twelve are eight despite rounding
	return all[:min(len(all), int(unit(share)*float64(len(all))+whole))]
}

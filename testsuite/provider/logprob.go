package provider

import "math"

// sureness is the log-probability that is reported for each token of an answer: lower at a higher temperature, but
// with min-p no token falls below that share of the likeliest.
func (q question) sureness() func(token int) float64 {
	temperature, least := 1.0, -20.0
	if q.Temperature != nil {
		temperature = *q.Temperature
	}
	if q.MinP != nil && *q.MinP > 0 {
		least = math.Log(*q.MinP)
	}
	h := q.prompt()
	return func(token int) float64 {
		chance := float64(mix(h, uint64(token))>>11) / (1 << 53)
		return max(least, -.05-temperature*temperature*2*chance)
	}
}

package hypnagogia

// The detector of a change of regime. Page (1954) adds up how far values lie above their expectation and reports a
// change when the sum has risen by more than a threshold over its lowest point; Hinkley (1971) uses the running mean
// as the expectation. Here values lie in [0, 1], and only a rise counts, because less surprise is no reason to dream
// deeper. A tolerance of 0.1 and a threshold of 3 are our choice. TestARegimeThatChangesIsFound measures them: of
// series of sixty values without a change, 0 % (calibrated creative predictions), 0.2 % (ranks) and 1.6 % (coin
// flips) raise a false alarm; a mean that rises from 0.26 to 0.68 is found after ten values in the median and
// seventeen in nine of ten cases.
const (
	changeTolerance = .1
	changeThreshold = 3
	changeAfter     = 10 // values before the mean counts
	changeFresh     = 20 // values over which a detected change fades to nothing
)

// Regime is in [0, 1] how recent a change for the worse is in a series of surprises, oldest first: 1 when the newest
// value revealed it, fading to 0 over the next twenty; 0 without a change. After a change the detector starts over.
func Regime(surprises []float64) float64 {
	found := -1
	sum, least, mean := 0.0, 0.0, 0.0
	n := 0
	for i, v := range surprises {
		n++
		mean += (v - mean) / float64(n)
		if n <= changeAfter {
			continue
		}
		sum += v - mean - changeTolerance
		least = min(least, sum)
		if sum-least > changeThreshold {
			found = i
			n = 0
			sum = 0
			least = 0
			mean = 0
		}
	}
	if found < 0 {
		return 0
	}
	return unit(1 - float64(len(surprises)-1-found)/changeFresh)
}

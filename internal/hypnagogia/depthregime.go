package hypnagogia

// The numbers of the detector. Page (1954) adds up how far values lie above what they should be and calls a change when
// the sum has risen by more than a threshold over its lowest point; Hinkley (1971) puts the running mean in the place
// of a known one. Here values lie in [0, 1], and only a rise counts: to be surprised less is no reason to dream deeper.
// A tolerance of .1 and a threshold of 3 are ours. TestARegimeThatChangesIsFound measures them: of series of sixty
// without any change 0 % (calibrated creative predictions), 0.2 % (ranks) and 1.6 % (coin flips) raise a false alarm; a
// mean that rises from .26 to .68 is found after ten values in the median and seventeen in nine of ten.
const (
	changeTolerance = .1
	changeThreshold = 3
	changeAfter     = 10 // values before a mean is one
	changeFresh     = 20 // values over which a change that was found fades to nothing
)

// Regime says in [0, 1] how fresh a change for the worse is in a series of surprises, oldest first: 1 when the newest
// value gave it away, fading to 0 over the next twenty; 0 when there is none. After a change the detector begins anew.
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

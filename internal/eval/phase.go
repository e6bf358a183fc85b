package eval

import "math"

// Differences are, for each group of claims that share a name, by how many more outcomes came true beyond chance in one
// arm than in another. Chance is the rate of each claim's own decoys; claims without outcomes of their own or of their
// decoys count for nothing. The same names in both arms are one group, so that what both foretold is compared with
// itself.
func Differences(with, without []Claim) []float64 {
	var all []Claim
	sign := []float64{}
	for i, claims := range [][]Claim{with, without} {
		for _, c := range claims {
			if c.Trials > 0 && c.DecoyTrials > 0 {
				all = append(all, c)
				sign = append(sign, 1-2*float64(i))
			}
		}
	}
	at := map[int]int{}
	var differences []float64
	for i, leader := range leaders(all) {
		k, found := at[leader]
		if !found {
			k = len(differences)
			at[leader] = k
			differences = append(differences, 0)
		}
		g := all[i].asGroup()
		differences[k] += sign[i] * (g.hits - g.expected)
	}
	for k, d := range differences { // sums of the same numbers in another order
		differences[k] = math.Round(d*1e9) / 1e9
	}
	return differences
}

// Total is the sum of the differences of groups, with its interval of 95 %. The standard error is √Σd², that of a
// bootstrap that turns the sign of each group by chance (wild bootstrap, Wu 1986): one that draws groups would see no
// error where all differ by the same. The degrees of freedom are one less than the effective number of groups that
// differ, (Σ|d|)²/Σd² (Kish 1965), so that a few groups alone show nothing. Where no group differs the interval is 0.
func Total(differences []float64) Estimate {
	sum, size, squares := 0., 0., 0.
	for _, d := range differences {
		sum, size, squares = sum+d, size+math.Abs(d), squares+d*d
	}
	if squares == 0 {
		return Estimate{}
	}
	far := student(max(size*size/squares-1, 1)).Quantile(1-beyond) * math.Sqrt(squares)
	return Estimate{Mean: sum, Low: sum - far, High: sum + far}
}

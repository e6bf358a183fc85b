package eval

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// lift is how much more often claims came true than their decoys.
type lift struct {
	judged, groups, outcomes, hits int

	rate, chance float64
	difference
}

// difference is an estimate with its standard error, both 0 where nothing was measured.
type difference struct{ mean, err, df float64 }

// group is claims that share a name, as sums over their outcomes.
type group struct{ trials, hits, expected float64 }

// measure computes the lift of claims that have outcomes of their own and of their decoys.
//
// Each claim is compared with its own decoys, weighted by its own outcomes: were decoys pooled, a claim of something
// that comes up often would look better than chance only because the decoys of rarer things have more trials.
//
// The standard error is that of a bootstrap over groups of claims that share a name, because what decides one of them
// may decide the others, corrected for few groups (n/(n-1)). It is never below what independent outcomes at the rate of
// a claim and its decoys together would have: where nothing came true, a bootstrap sees no error at all. The degrees
// of freedom are one less than the effective number of groups, (Σn)²/Σn² over their outcomes n (Kish 1965; for tests
// with few unequal groups Carter, Schnepel and Steigerwald 2017).
func measure(claims []Claim, draws int, seed uint64) lift {
	var judged []Claim
	for _, c := range claims {
		if c.Trials > 0 && c.DecoyTrials > 0 {
			judged = append(judged, c)
		}
	}
	groups := grouped(judged)
	l := lift{judged: len(judged), groups: len(groups)}
	if len(judged) == 0 {
		return l
	}
	floor := 0.0
	for _, c := range judged {
		l.outcomes += c.Trials
		l.hits += c.Hits
		n, m := float64(c.Trials), float64(c.DecoyTrials)
		p := (float64(c.Hits+c.DecoyHits) + .5) / (n + m + 1)
		floor += n * p * (1 - p) * (1 + n/m)
	}
	whole, squares := group{}, 0.0
	for _, g := range groups {
		whole = whole.plus(g)
		squares += g.trials * g.trials
	}
	l.rate, l.chance = whole.hits/whole.trials, whole.expected/whole.trials
	l.mean = l.rate - l.chance
	l.df = max(whole.trials*whole.trials/squares-1, leastFreedom)
	l.err = max(resampled(groups, l.mean, draws, seed), math.Sqrt(floor)/whole.trials)
	return l
}

// leastFreedom are the degrees of freedom of a single group; nothing can be shown with them.
const leastFreedom = .1

func (g group) plus(o group) group {
	return group{g.trials + o.trials, g.hits + o.hits, g.expected + o.expected}
}

// resampled is the standard error of the mean by a bootstrap over groups.
func resampled(groups []group, mean float64, draws int, seed uint64) float64 {
	n := len(groups)
	if n < 2 || draws < 1 {
		return 0
	}
	dice := rand.New(rand.NewPCG(seed, resampling))
	squares := 0.0
	for range draws {
		sum := group{}
		for range n {
			sum = sum.plus(groups[dice.IntN(n)])
		}
		d := (sum.hits-sum.expected)/sum.trials - mean
		squares += d * d
	}
	return math.Sqrt(squares / float64(draws) * float64(n) / float64(n-1))
}

// grouped puts claims together that share a word of a name.
func grouped(claims []Claim) []group {
	at := map[int]int{}
	var groups []group
	for i, leader := range leaders(claims) {
		k, found := at[leader]
		if !found {
			k = len(groups)
			at[leader] = k
			groups = append(groups, group{})
		}
		groups[k] = groups[k].plus(claims[i].asGroup())
	}
	return groups
}

// asGroup is a claim that has outcomes of its own and of its decoys, as a group by itself.
func (c Claim) asGroup() group {
	return group{
		trials:   float64(c.Trials),
		hits:     float64(c.Hits),
		expected: float64(c.Trials) * float64(c.DecoyHits) / float64(c.DecoyTrials),
	}
}

// leaders are, for each claim, the index of the first claim of its group: those that share a word of a name.
func leaders(claims []Claim) []int {
	leader := make([]int, len(claims))
	var find func(i int) int
	find = func(i int) int {
		if leader[i] != i {
			leader[i] = find(leader[i])
		}
		return leader[i]
	}
	first := map[string]int{} // claim that names a word
	for i, c := range claims {
		leader[i] = i
		for _, name := range []string{c.When, c.Then} {
			for _, term := range words.Of(name).Terms {
				j, found := first[term]
				if !found {
					first[term] = i
					continue
				}
				a, b := find(i), find(j)
				leader[max(a, b)] = min(a, b)
			}
		}
	}
	for i := range leader {
		leader[i] = find(i)
	}
	return leader
}

// less is by how much the lift exceeds another. Of few groups a bootstrap says little about their error; it is taken to
// be at least what the groups of the other lift let expect of so few, because both are to be of the same kind where
// there is no difference (as in the t-test of equal variances).
func (l lift) less(o lift) difference {
	a, b := l.df+1, o.df+1 // effective numbers of groups
	own := max(l.err, o.err*math.Sqrt(b/a))
	other := max(o.err, l.err*math.Sqrt(a/b))
	return difference{l.mean - o.mean, math.Hypot(own, other), l.df + o.df}
}

// interval is the interval of 95 % by Student's distribution.
func (d difference) interval() Estimate {
	far := student(d.df).Quantile(1-beyond) * d.err
	return Estimate{d.mean, max(d.mean-far, -1), min(d.mean+far, 1)}
}

// above is the probability of so large a difference, or a larger one, where there is none; below that of a smaller one.
func (d difference) above() float64 { return student(d.df).Survival(d.mean / d.err) }
func (d difference) below() float64 { return student(d.df).CDF(d.mean / d.err) }

func student(df float64) distuv.StudentsT { return distuv.StudentsT{Sigma: 1, Nu: df} }

// beyond is the share of an interval of 95 % that lies beyond each of its ends.
const beyond = .025

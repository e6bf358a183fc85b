// Package foretelling measures what an agent's predictions are worth: how often they come true, against decoys that say
// the same of other things, and how far their confidence beats the base rate.
package foretelling

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Trial is what became of one claim, and of its decoys, in the time after it was made.
type Trial struct {
	ID          string // of the prediction
	Check       dream.Check
	Confidence  float64
	Base        float64 // rate at which its decoys came true before it was made
	Hits        int
	Misses      int
	DecoyHits   int
	DecoyMisses int
	First       claims.Outcome // of the prediction itself, until its horizon
}

// week is the time that a claim without a condition has for each of its trials.
const week = 7 * 24 * time.Hour

// Judge resolves the checks of predictions by what was lived after they were made; lived holds what came before, too.
// Of predictions with the same check the first counts.
func Judge(predictions []*dream.Prediction, lived []claims.Episode, dice *rand.Rand) []Trial {
	seen := map[string]bool{}
	covered := claims.Coverage(lived)
	end := lived[len(lived)-1].At.Add(time.Minute)
	var all []Trial
	for _, p := range predictions {
		if p.Check == nil || seen[claims.Key(*p.Check)] {
			continue
		}
		seen[claims.Key(*p.Check)] = true
		before := lived[:sort(lived, p.At)]
		t := Trial{ID: p.ID, Check: *p.Check, Confidence: p.Confidence}
		t.First = claims.Resolve(t.Check, p.At, p.Horizon, end, lived, covered).Outcome
		t.Hits, t.Misses = count(claims.Trials(t.Check, p.At, end, week, lived, covered))
		pastHits, pastMisses := 0, 0
		for _, name := range claims.DecoyNames(t.Check, lived, p.At, dice) {
			d := claims.DecoyOf(t.Check, name)
			hits, misses := count(claims.Trials(d, p.At, end, week, lived, covered))
			t.DecoyHits, t.DecoyMisses = t.DecoyHits+hits, t.DecoyMisses+misses
			hits, misses = count(claims.Trials(d, before[0].At.Add(-time.Minute), p.At, week, before, covered))
			pastHits, pastMisses = pastHits+hits, pastMisses+misses
		}
		t.Base = (float64(pastHits) + .5) / float64(pastHits+pastMisses+1)
		all = append(all, t)
	}
	return all
}

// sort is where the episodes after a time begin.
func sort(lived []claims.Episode, at time.Time) int {
	i, _ := slices.BinarySearchFunc(lived, at, func(e claims.Episode, t time.Time) int {
		return cmp.Or(e.At.Compare(t), -1)
	})
	return i
}

func count(results []claims.Result) (hits, misses int) {
	for _, r := range results {
		switch r.Outcome {
		case claims.Right:
			hits++
		case claims.Wrong:
			misses++
		case claims.Open, claims.Void:
		}
	}
	return hits, misses
}

// Figures are means over trials, with intervals of 95 % from a bootstrap over groups of claims that share a name.
type Figures struct {
	Claims   int // with a check
	Judged   int // that had an outcome
	Outcomes int
	Rate     float64 // of judged claims: the mean rate at which they came true
	Decoys   float64 // the mean rate of their decoys
	Lead     Estimate
	Brier    Estimate // skill of the stated confidence against the base rate
}

// Estimate is a figure with its interval.
type Estimate struct{ Mean, Low, High float64 }

// draws of a bootstrap.
const draws = 4000

// Sum computes the figures of trials.
func Sum(all []Trial, dice *rand.Rand) Figures {
	f := Figures{Claims: len(all)}
	var judged []Trial
	for _, t := range all {
		if t.Hits+t.Misses > 0 && t.DecoyHits+t.DecoyMisses > 0 {
			judged = append(judged, t)
		}
	}
	f.Judged = len(judged)
	groups := grouped(judged)
	for _, t := range judged {
		f.Outcomes += t.Hits + t.Misses
		f.Rate += rate(t.Hits, t.Misses) / float64(len(judged))
		f.Decoys += rate(t.DecoyHits, t.DecoyMisses) / float64(len(judged))
	}
	f.Lead = estimate(groups, lead, dice)
	f.Brier = estimate(groups, skill, dice)
	return f
}

func rate(hits, misses int) float64 { return float64(hits) / float64(hits+misses) }

// lead is the mean difference between the rate of a claim and of its decoys.
func lead(all []Trial) float64 {
	sum := 0.0
	for _, t := range all {
		sum += rate(t.Hits, t.Misses) - rate(t.DecoyHits, t.DecoyMisses)
	}
	return sum / float64(len(all))
}

// skill is how much smaller the squared error of the stated confidence is than that of the base rate; each claim
// counts once.
func skill(all []Trial) float64 {
	stated, base := 0.0, 0.0
	for _, t := range all {
		r := rate(t.Hits, t.Misses)
		stated += r*(1-t.Confidence)*(1-t.Confidence) + (1-r)*t.Confidence*t.Confidence
		base += r*(1-t.Base)*(1-t.Base) + (1-r)*t.Base*t.Base
	}
	return 1 - stated/base
}

func estimate(groups [][]Trial, of func([]Trial) float64, dice *rand.Rand) Estimate {
	if len(groups) == 0 {
		return Estimate{math.NaN(), math.NaN(), math.NaN()}
	}
	values := make([]float64, draws)
	for i := range values {
		var drawn []Trial
		for range groups {
			drawn = append(drawn, groups[dice.IntN(len(groups))]...)
		}
		values[i] = of(drawn)
	}
	slices.Sort(values)
	return Estimate{of(slices.Concat(groups...)), values[draws/40], values[draws-1-draws/40]}
}

// grouped puts trials together that share a name: what decides one may decide the other.
func grouped(all []Trial) [][]Trial {
	group := make([]int, len(all))
	of := map[string]int{}
	for i, t := range all {
		group[i] = i
		for _, name := range []string{t.Check.When, t.Check.Then} {
			for _, term := range claims.NameOf(name) {
				other, found := of[term]
				if !found {
					of[term] = i
					continue
				}
				from, to := group[other], group[i]
				for j := range group[:i+1] {
					if group[j] == from {
						group[j] = to
					}
				}
			}
		}
	}
	made := map[int][]Trial{}
	for i, t := range all {
		made[group[i]] = append(made[group[i]], t)
	}
	var groups [][]Trial
	for _, g := range slices.Sorted(maps.Keys(made)) {
		groups = append(groups, made[g])
	}
	return groups
}

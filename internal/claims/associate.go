package claims

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Association is a check that came true in the past more often than chance explains.
type Association struct {
	Check    dream.Check
	Hits     int
	Trials   int
	Base     float64       // rate at which Then is named where When is not
	P        float64       // probability of as many hits by chance (Fisher's exact test, one-sided)
	Every    time.Duration // mean time between the days on which When is named
	Evidence []string      // ids of the newest episodes that met the condition and came true, newest first
}

// Rate is the share of trials that came true, drawn towards the base rate as if two more trials had shown it.
func (a Association) Rate() float64 {
	return (float64(a.Hits) + 2*a.Base) / float64(a.Trials+2)
}

// Days is how long to wait for an outcome: twice the mean time between the days that name When, and the wait of the
// check itself; whole days between 7 and 90.
func (a Association) Days() int {
	return min(max(7, int((2*a.Every+a.Check.Within+day-1)/day)), 90)
}

// gain is by how much the check is expected to beat the base rate, times the chance that its condition is met within a
// month.
func (a Association) gain() float64 {
	return (a.Rate() - a.Base) * (1 - math.Exp(-float64(30*day)/float64(max(a.Every, time.Minute))))
}

const day = 24 * time.Hour

// Limits of the search for associations.
const (
	MostTexts   = 10_000 // the newest are searched
	mostNames   = 300    // that are compared with each other: those that come up on the most days
	mostShare   = 1. / 3 // of the texts that may hold a name; what every other text names is no news
	leastDays   = 2      // on which a name must have come up, and on which a check must have come true
	leastHits   = 3
	testable    = .001 // a check is tested where its counts could make it as improbable as that
	falseShare  = .10  // of the associations found that may be due to chance, on average
	mostOfOne   = 2    // associations of one name that are offered
	mostOffered = 24
)

var logTestable = math.Log(testable)

// waits are how long a check may wait; zero: both names in the same episode.
var waits = []time.Duration{0, day / 2, day, 3 * day, 7 * day}

// Associate returns the checks that came true in the past more often than chance explains, the most telling first. The
// texts are sorted, oldest first. Without a wait each episode that names When is a trial; with one, a trial begins with
// the first such episode after the end of the wait before, so that no episode decides two. They are compared with the
// episodes that neither name When nor follow one in time. All pairs of names are tested, and for each wait the tests
// are corrected for their number (Benjamini and Hochberg 1995).
func Associate(episodes []Text) []Association {
	episodes = episodes[max(0, len(episodes)-MostTexts):]
	if len(episodes) == 0 {
		return nil
	}
	c := takeApart(episodes)
	var found []Association
	for _, wait := range waits {
		some, tests := c.test(wait)
		found = append(found, significant(some, tests)...)
	}
	return c.offer(found)
}

// test tests all pairs of names with one wait. It returns those that came true more often than elsewhere, and how many
// were tested.
func (c *corpus) test(wait time.Duration) (found []Association, tests int) {
	decided := c.decided(wait)
	follows := make([]set, len(c.names))
	for i, n := range c.names {
		follows[i] = c.followedBy(n, wait)
	}
	for a, when := range c.names {
		starts, elsewhere := c.starts(when, wait), c.elsewhere(when, wait)
		for b, then := range c.names {
			// without a wait the order says nothing: the rarer name is the condition
			if a == b || wait == 0 && cmp.Or(len(when.in)-len(then.in), a-b) > 0 {
				continue
			}
			hits, trials := counts(starts, follows[b], decided)
			otherHits, others := counts(elsewhere, follows[b], decided)
			if others < leastHits || c.allHit(trials, otherHits, others) > logTestable {
				continue
			}
			tests++
			base := float64(otherHits+1) / float64(others+2)
			if hits < leastHits || float64(hits) <= base*float64(trials) {
				continue
			}
			p := c.fisher(hits, trials, otherHits, others)
			if p > falseShare { // however many pass, it does not
				continue
			}
			came := starts.and(follows[b])
			if c.days(came) < leastDays {
				continue
			}
			found = append(found, Association{
				Check:    dream.Check{When: when.says, Then: then.says, Within: wait},
				Hits:     hits,
				Trials:   trials,
				Base:     base,
				P:        p,
				Every:    c.span() / time.Duration(when.days),
				Evidence: c.newest(came),
			})
		}
	}
	return found, tests
}

// counts are the trials among the starts that came true, and all of them: what came true, and what was decided.
func counts(starts, follows, decided set) (hits, trials int) {
	for i, s := range starts {
		came := s & follows[i]
		hits += ones(came)
		trials += ones(came | s&decided[i])
	}
	return hits, trials
}

// fisher is the probability of at least so many hits among the trials if all hits, also those of the others, were
// dealt out by chance (Fisher 1922). Hits must not be below what chance expects.
func (c *corpus) fisher(hits, trials, otherHits, others int) float64 {
	all, sum := hits+otherHits, 0.0
	for k := max(hits, all-others); k <= min(all, trials); k++ {
		p := math.Exp(c.choices(trials, k) + c.choices(others, all-k) - c.choices(trials+others, all))
		sum += p
		if p < sum*1e-9 { // the terms decrease from here on
			break
		}
	}
	return min(1, sum)
}

// allHit is the logarithm of the probability that all trials hit, by the same measure.
func (c *corpus) allHit(trials, otherHits, others int) float64 {
	return c.choices(others, otherHits) - c.choices(trials+others, trials+otherHits)
}

// choices is the logarithm of the number of ways to choose k of n.
func (c *corpus) choices(n, k int) float64 {
	return c.factorials[n] - c.factorials[k] - c.factorials[n-k]
}

// significant keeps the associations that pass together, of so many tests (Benjamini and Hochberg 1995).
func significant(found []Association, tests int) []Association {
	slices.SortStableFunc(found, func(a, b Association) int { return cmp.Compare(a.P, b.P) })
	for k := len(found); k > 0; k-- {
		if found[k-1].P <= falseShare*float64(k)/float64(tests) {
			return found[:k]
		}
	}
	return nil
}

// offer chooses the associations that tell most: one for each pair of names, and few of one name.
func (c *corpus) offer(found []Association) []Association {
	slices.SortStableFunc(found, func(a, b Association) int {
		return cmp.Or(cmp.Compare(b.gain(), a.gain()), cmp.Compare(Key(a.Check), Key(b.Check)))
	})
	var offered []Association
	paired, named := map[[2]string]bool{}, map[string]int{}
	for _, a := range found {
		when, then := a.Check.When, a.Check.Then
		pair := [2]string{min(when, then), max(when, then)}
		if paired[pair] || named[when] >= mostOfOne || named[then] >= mostOfOne || c.oneName(a.Check) {
			continue
		}
		paired[pair] = true
		named[when]++
		named[then]++
		offered = append(offered, a)
		if len(offered) == mostOffered {
			break
		}
	}
	return offered
}

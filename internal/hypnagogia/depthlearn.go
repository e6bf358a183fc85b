package hypnagogia

import (
	"fmt"
	"math"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// OutcomesNeeded is how many scored dreams it takes to learn a policy; until then the prior is used.
const OutcomesNeeded = 50

// Learning is a policy and its origin.
type Learning struct {
	Policy   Policy  `json:"policy"`
	Prior    Policy  `json:"prior"`
	Outcomes int     `json:"outcomes"` // scored dreams
	Needed   int     `json:"needed"`
	Learned  bool    `json:"learned"`  // some parameter differs from the prior
	Evidence float64 `json:"evidence"` // the F statistic of depth; 0 when nothing was fitted
	Why      string  `json:"why"`
}

// The evidence required before a policy leaves its prior. Depth must explain more of the outcomes than chance would
// in one of a thousand cases: F of three or four terms over forty dreams exceeds 6.6 that rarely. Cycles are a single
// term, whose t exceeds 3.5 about as rarely.
const (
	evidenceF = 6.6
	evidenceT = 3.5
)

// surely limits the reported evidence: noise-free outcomes would give infinite evidence.
const surely = 999

// reluctance is the cost of leaving the prior, in residual per squared unit: a parameter without evidence stays.
const reluctance = .002

// Learn fits how much residuals shrank after dreams to their surprise, change of regime and depth, quadratic in
// depth, and takes the policy that would have shrunk them most, within the limits. It moves only n/(n+50) of the way.
// Without evidence that depth matters, the prior stays.
func Learn(prior Policy, outcomes []DepthOutcome) Learning {
	l := Learning{Policy: prior, Prior: prior, Outcomes: len(outcomes), Needed: OutcomesNeeded}
	if l.Outcomes < OutcomesNeeded {
		l.Why = fmt.Sprintf("%d of %d dreams can be scored: the prior is used", l.Outcomes, OutcomesNeeded)
		return l
	}
	share := float64(l.Outcomes) / float64(l.Outcomes+OutcomesNeeded)
	l.Policy.Cycles = learnCycles(prior.Cycles, outcomes)
	fit, f := fitDepth(outcomes)
	l.Evidence = thousandths(f)
	if f > evidenceF {
		best := fit.best(prior, outcomes)
		// avoids -0
		move := func(from, to float64, limit Limit) float64 {
			return limit.Clamp(thousandths(from+share*(to-from))) + 0
		}
		l.Policy.Intercept = move(prior.Intercept, best.Intercept, InterceptLimit)
		l.Policy.Surprise = move(prior.Surprise, best.Surprise, SurpriseLimit)
		l.Policy.Change = move(prior.Change, best.Change, ChangeLimit)
	}
	switch l.Learned = l.Policy != prior; {
	case l.Learned && f > evidenceF:
		l.Why = fmt.Sprintf(
			"learned from %d dreams, %.0f %% of the way from the prior to what would have been best; "+
				"evidence %.1f of %.1f",
			l.Outcomes, 100*share, f, evidenceF)
	case l.Learned:
		l.Why = fmt.Sprintf(
			"only the cycles are learned, from %d dreams; depth itself made no difference (evidence %.1f of %.1f)",
			l.Outcomes, f, evidenceF)
	default:
		l.Why = fmt.Sprintf("%d dreams give no evidence against the prior (evidence %.1f of %.1f)", l.Outcomes, f,
			evidenceF)
	}
	return l
}

// depthFit is what depth d is worth at surprise s and change c: d·(a + b·s + e·c) + q·d².
type depthFit struct{ a, b, e, q float64 }

func (f depthFit) worth(s, c, d float64) float64 { return d*(f.a+f.b*s+f.e*c) + f.q*d*d }

// fitDepth fits outcomes by least squares with and without depth, and returns the F statistic of the difference.
func fitDepth(outcomes []DepthOutcome) (depthFit, float64) {
	var without, with [][]float64
	var shrunk []float64
	for _, o := range outcomes {
		s, c, d := o.Depth.Surprise, o.Depth.Change, o.Depth.Depth
		without = append(without, []float64{1, s, c})
		with = append(with, []float64{1, s, c, d, d * s, d * c, d * d})
		shrunk = append(shrunk, o.Shrunk)
	}
	_, rss0, p0 := leastSquares(without, shrunk)
	w, rss1, p1 := leastSquares(with, shrunk)
	if p1 <= p0 || len(shrunk) <= p1 || rss1 <= 0 {
		return depthFit{}, 0
	}
	f := ((rss0 - rss1) / float64(p1-p0)) / (rss1 / float64(len(shrunk)-p1))
	return depthFit{w[3], w[4], w[5], w[6]}, math.Max(0, math.Min(f, surely))
}

// best is the policy with the highest worth over the given dreams, minus the cost of leaving the prior, on a grid.
func (f depthFit) best(prior Policy, outcomes []DepthOutcome) Policy {
	worth := func(p Policy) float64 {
		sum := 0.0
		for _, o := range outcomes {
			s, c := o.Depth.Surprise, o.Depth.Change
			sum += f.worth(s, c, p.Depth(DepthInput{Surprise: s, Change: c}, 0))
		}
		away := math.Pow(p.Intercept-prior.Intercept, 2) + math.Pow(p.Surprise-prior.Surprise, 2) +
			math.Pow(p.Change-prior.Change, 2)
		return sum/float64(len(outcomes)) - reluctance*away
	}
	best := prior
	top := worth(best)
	try := func(p Policy) {
		if w := worth(p); w > top+1e-12 {
			best, top = p, w
		}
	}
	const steps = 24
	at := func(l Limit, i int) float64 { return l.Least + (l.Most-l.Least)*float64(i)/steps }
	for range 3 { // intercept and surprise are correlated and move together
		for i := range steps + 1 {
			for j := range steps + 1 {
				p := best
				p.Intercept, p.Surprise = at(InterceptLimit, i), at(SurpriseLimit, j)
				try(p)
			}
		}
		for i := range steps + 1 {
			p := best
			p.Change = at(ChangeLimit, i)
			try(p)
		}
	}
	return best
}

// learnCycles changes the number of cycles of a stage by one, when at least fifty dreams at that stage show that
// fewer or more did better. The peak, which has all that the knobs allow, can only lose one.
func learnCycles(prior Cycles, outcomes []DepthOutcome) Cycles {
	learned := prior
	for _, stage := range []dream.Stage{dream.Shallow, dream.Transitional, dream.Peak} {
		var ran, shrunk []float64
		for _, o := range outcomes {
			if o.Depth.Stage == stage {
				ran, shrunk = append(ran, float64(o.Ran)), append(shrunk, o.Shrunk)
			}
		}
		t := slopeT(ran, shrunk)
		if math.Abs(t) <= evidenceT || len(ran) < OutcomesNeeded {
			continue
		}
		n := prior.At(stage) + int(math.Copysign(1, t))
		learned = learned.With(stage, max(1, min(n, prior.Peak)))
	}
	return learned
}

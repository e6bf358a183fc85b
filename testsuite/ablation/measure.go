package ablation

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/hypnagogia"
)

// Same is the distance below which two ideas count as one.
const Same = .3

// Figure is a value and its 95 % interval over nights.
type Figure struct{ Value, Low, High float64 }

// Row is what an arm achieved for its money.
type Row struct {
	Arm    string
	Nights float64 // the last one in part
	Money  budget.Micros
	Ideas  int

	Distinct Figure // ideas; those closer than Same count as one
	Kept     Figure // share of the ideas
	Useful   Figure // distinct ideas among the kept ones
	Apart    Figure // mean distance of two ideas
	Memory   Figure // mean distance to the nearest memory
	Recited  Figure // share of four-word runs that stand in the prompt or a memory
	Surface  Figure
	Observer Figure // its coherence
	LogProb  Figure
	PerCent  Figure // distinct ideas for a cent
	UsePer   Figure // distinct kept ideas for a cent
}

// Counted is a night with the share of it that counts.
type Counted struct {
	Money budget.Micros
	Whole float64 // of it, in (0, 1]
	Ideas []Idea
}

// Cut counts nights in the order of their seeds until the money is spent. Of the night that would exceed it, as many
// ideas count, in the order of their making, as the rest of the money buys, rounded down. phases are those whose cost
// is counted; of is the phase of the ideas.
func Cut(nights []Night, most budget.Micros, of dream.Phase, phases ...dream.Phase) []Counted {
	var all []Counted
	for _, n := range nights {
		var ideas []Idea
		for _, i := range n.Ideas {
			if i.Phase == of {
				ideas = append(ideas, i)
			}
		}
		money := n.Money(phases...)
		if money <= most {
			all, most = append(all, Counted{money, 1, ideas}), most-money
			continue
		}
		if share := float64(most) / float64(money); most > 0 {
			all = append(all, Counted{most, share, ideas[:int(share*float64(len(ideas)))]})
		}
		break
	}
	return all
}

// Least is the most money that every one of some arms has spent.
func Least(nights map[string][]Night, arms []string, phases ...dream.Phase) budget.Micros {
	least := budget.Unlimited
	for _, arm := range arms {
		var sum budget.Micros
		for _, n := range nights[arm] {
			sum += n.Money(phases...)
		}
		least = min(least, sum)
	}
	return least
}

// weights says how much each idea counts: 1 when no other is nearer than Same, 1/n when n lie together, itself
// included. The weights add up to the number of groups where ideas lie in groups.
func weights(ideas []Idea) []float64 {
	out := make([]float64, len(ideas))
	for i, a := range ideas {
		near := 0
		for j, b := range ideas {
			if i == j || apart(a, b) < Same {
				near++
			}
		}
		out[i] = 1 / float64(near)
	}
	return out
}

// apart is the distance of two ideas.
func apart(a, b Idea) float64 { return hypnagogia.Distance(hypnagogia.Cosine(vector(a), vector(b))) }

func vector(i Idea) []float32 {
	v := make([]float32, len(i.Place))
	for at, b := range i.Place {
		v[at] = float32(int8(b))
	}
	return v
}

// Place is a vector in signed bytes, which moves a cosine by less than .01.
func Place(v []float32) []byte {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	out := make([]byte, len(v))
	for i, x := range v {
		if most > 0 {
			out[i] = byte(int8(math.Round(float64(x / most * 127))))
		}
	}
	return out
}

// sums are what a night adds to the means of its arm.
type sums struct {
	money, ideas, kept, distinct, useful, memory, recited, surface, observer, logProb, scored float64
	// to the ideas of each night
	apart, pairs []float64
}

func summed(nights []Counted) []sums {
	var all, kept []Idea
	var from []int
	for at, n := range nights {
		for _, i := range n.Ideas {
			all, from = append(all, i), append(from, at)
			if i.Kept {
				kept = append(kept, i)
			}
		}
	}
	out := make([]sums, len(nights))
	for at, n := range nights {
		out[at] = sums{
			money: float64(n.Money), apart: make([]float64, len(nights)),
			pairs: make([]float64, len(nights)),
		}
	}
	every, among, k := weights(all), weights(kept), 0
	for i, idea := range all {
		s := &out[from[i]]
		s.ideas++
		s.distinct += every[i]
		s.memory += idea.Memory
		s.surface += idea.Surface
		if idea.Recited != nil {
			s.recited += *idea.Recited
		}
		s.observer += idea.Coherence
		if idea.LogProb != nil {
			s.logProb, s.scored = s.logProb+*idea.LogProb, s.scored+1
		}
		if idea.Kept {
			s.kept++
			s.useful += among[k]
			k++
		}
		for j := range i {
			s.apart[from[j]] += apart(idea, all[j])
			s.pairs[from[j]]++
		}
	}
	return out
}

// draws is how often nights are resampled for an interval.
const draws = 2000

// Measure makes the row of an arm. Nights are drawn with replacement for the intervals; two copies of one night are
// not compared with each other.
func Measure(arm string, nights []Counted) Row {
	r := Row{Arm: arm}
	for _, n := range nights {
		r.Nights, r.Money, r.Ideas = r.Nights+n.Whole, r.Money+n.Money, r.Ideas+len(n.Ideas)
	}
	each := summed(nights)
	once := make([]float64, len(each))
	for i := range once {
		once[i] = 1
	}
	figures := []*Figure{
		&r.Distinct, &r.Kept, &r.Useful, &r.Apart, &r.Memory, &r.Recited, &r.Surface, &r.Observer,
		&r.LogProb, &r.PerCent, &r.UsePer,
	}
	drawn := make([][]float64, len(figures))
	dice := rand.New(rand.NewPCG(1, 2))
	for range draws {
		times := make([]float64, len(each))
		for range each {
			times[dice.IntN(len(each))]++
		}
		for i, v := range means(each, times) {
			if !math.IsNaN(v) {
				drawn[i] = append(drawn[i], v)
			}
		}
	}
	for i, v := range means(each, once) {
		*figures[i] = Figure{v, percentile(drawn[i], .025), percentile(drawn[i], .975)}
	}
	return r
}

const cent = float64(budget.Dollar) / 100

// means are the figures of a row when each night counts so many times.
func means(each []sums, times []float64) []float64 {
	var s sums
	var far, pairs float64
	for i, e := range each {
		w := times[i]
		s.money, s.ideas, s.kept = s.money+w*e.money, s.ideas+w*e.ideas, s.kept+w*e.kept
		s.distinct, s.useful, s.memory = s.distinct+w*e.distinct, s.useful+w*e.useful, s.memory+w*e.memory
		s.recited, s.surface, s.observer = s.recited+w*e.recited, s.surface+w*e.surface, s.observer+w*e.observer
		s.logProb, s.scored = s.logProb+w*e.logProb, s.scored+w*e.scored
		for j := range each {
			both := w * times[j]
			if i == j {
				both = w
			}
			far, pairs = far+both*e.apart[j], pairs+both*e.pairs[j]
		}
	}
	return []float64{
		s.distinct, s.kept / s.ideas, s.useful, far / pairs, s.memory / s.ideas, s.recited / s.ideas,
		s.surface / s.ideas, s.observer / s.ideas, s.logProb / s.scored,
		s.distinct / s.money * cent, s.useful / s.money * cent,
	}
}

func percentile(of []float64, p float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	slices.Sort(of)
	return of[int(math.Round(p*float64(len(of)-1)))]
}

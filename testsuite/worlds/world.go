// Package worlds makes lives with known rules, in which the gate for claims is measured: which of the claims that pass
// it hold, and which that hold pass it.
package worlds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/claims"
)

// Day is the length of a day of a world.
const Day = 24 * time.Hour

// Start is the first midnight of every world.
var Start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// Rule is a regularity of a world: after A, B comes within a time, so often.
type Rule struct {
	A, B   int // names
	Within time.Duration
	Rate   float64
	Until  time.Time // when it stops holding; zero: it holds to the end
}

// World is a life with its rules.
type World struct {
	Names []string
	Rules []Rule
	Lived []claims.Episode // oldest first
	Days  int
}

// Options of a world.
type Options struct {
	Days   int
	Names  int // things that are named
	Rules  int
	Rate   float64       // at which rules hold
	Within time.Duration // of the rules
	Drifts int           // of the rules; they stop holding after .6 of the days
}

// Make makes the world of a seed. Names come up on their own, some every other day and some every three weeks; those
// that begin a rule every two or three days.
func Make(seed uint64, o Options) World {
	dice := rand.New(rand.NewPCG(seed, 11))
	w := World{Days: o.Days}
	for i := range o.Names {
		w.Names = append(w.Names, fmt.Sprintf("thing%02d", i))
	}
	often := make([]float64, o.Names) // a day
	for i := range often {
		often[i] = math.Exp(math.Log(.05) + dice.Float64()*(math.Log(.5)-math.Log(.05)))
	}
	at := dice.Perm(o.Names)
	for i := range o.Rules {
		r := Rule{A: at[2*i], B: at[2*i+1], Within: o.Within, Rate: o.Rate}
		if i < o.Drifts {
			r.Until = Start.Add(time.Duration(.6*float64(o.Days)) * Day)
		}
		often[r.A] = .35 + .25*dice.Float64()
		often[r.B] = min(often[r.B], .1)
		w.Rules = append(w.Rules, r)
	}
	var all []claims.Episode
	add := func(at time.Time, names ...int) {
		e := claims.Episode{At: at}
		for _, n := range names {
			e.Terms = append(e.Terms, w.Names[n])
		}
		all = append(all, e)
	}
	for d := range o.Days {
		midnight := Start.Add(time.Duration(d) * Day)
		for n := range o.Names {
			if dice.Float64() >= often[n] {
				continue
			}
			at := midnight.Add(8*time.Hour + time.Duration(dice.Int64N(int64(14*time.Hour))))
			names := []int{n}
			if dice.Float64() < .3 { // two things in one breath
				names = append(names, dice.IntN(o.Names))
			}
			add(at, names...)
		}
	}
	for _, r := range w.Rules {
		for _, e := range slices.Clone(all) {
			holds := r.Until.IsZero() || e.At.Before(r.Until)
			if holds && e.Names(claims.Name{w.Names[r.A]}) && dice.Float64() < r.Rate {
				add(e.At.Add(time.Duration(1+dice.Int64N(int64(r.Within)-1))), r.B)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b claims.Episode) int { return a.At.Compare(b.At) })
	for i := range all {
		all[i].ID = fmt.Sprintf("ep%04d", i)
	}
	w.Lived = all
	return w
}

// Shifted is the same world at another time.
func (w World) Shifted(by time.Duration) World {
	w.Rules, w.Lived = slices.Clone(w.Rules), slices.Clone(w.Lived)
	for i := range w.Rules {
		if !w.Rules[i].Until.IsZero() {
			w.Rules[i].Until = w.Rules[i].Until.Add(by)
		}
	}
	for i := range w.Lived {
		w.Lived[i].At = w.Lived[i].At.Add(by)
	}
	return w
}

// Holds says whether a check is one of the world's rules, and until when.
func (w World) Holds(c dream.Check) (Rule, bool) {
	for _, r := range w.Rules {
		if c.When == w.Names[r.A] && c.Then == w.Names[r.B] && c.Within == r.Within && !c.Not && c.Least <= 1 {
			return r, true
		}
	}
	return Rule{}, false
}

// Inducer makes claims of a world as a model would: some are its rules, the others are made up.
type Inducer struct {
	Accuracy float64 // share of rules
	Claims   int     // a night
	Within   time.Duration
	dice     *rand.Rand
}

// NewInducer makes an inducer.
func NewInducer(seed uint64, accuracy float64, claims int) *Inducer {
	return &Inducer{Accuracy: accuracy, Claims: claims, dice: rand.New(rand.NewPCG(seed, 12))}
}

// Night returns the claims of one night.
func (i *Inducer) Night(w World) []dream.Check {
	var made []dream.Check
	for range i.Claims {
		if i.dice.Float64() < i.Accuracy && len(w.Rules) > 0 {
			r := w.Rules[i.dice.IntN(len(w.Rules))]
			made = append(made, dream.Check{When: w.Names[r.A], Then: w.Names[r.B], Within: r.Within})
			continue
		}
		a, b := i.dice.IntN(len(w.Names)), i.dice.IntN(len(w.Names))
		if a != b {
			made = append(made, dream.Check{When: w.Names[a], Then: w.Names[b], Within: i.Within})
		}
	}
	return made
}

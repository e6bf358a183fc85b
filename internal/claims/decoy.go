package claims

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// DecoyOf says the same as a check of another thing: of a check with a condition, the condition is exchanged; of one
// without, what is named.
func DecoyOf(c dream.Check, name string) dream.Check {
	if c.When != "" {
		c.When = name
	} else {
		c.Then = name
	}
	return c
}

// likeness is how many of the names nearest in number the decoys are drawn from, for each decoy.
const likeness = 3

// DecoyNames are other names for decoys of a check, drawn from those that came up about as often before a time in the
// episodes that may be evidence. There are fewer than Decoys where names are few.
func DecoyNames(c dream.Check, lived []Episode, before time.Time, dice *rand.Rand) []string {
	when, then := NameOf(c.When), NameOf(c.Then)
	replaced := when
	if len(when) == 0 {
		replaced = then
	}
	counts, often := map[string]int{}, 0
	for _, e := range lived {
		if e.At.After(before) {
			break
		}
		if e.Names(replaced) {
			often++
		}
		seen := map[string]bool{}
		for _, term := range e.Terms {
			if !seen[term] {
				seen[term] = true
				counts[term]++
			}
		}
	}
	type candidate struct {
		name string
		far  float64
	}
	var all []candidate
	for term, n := range counts {
		if slices.Contains(when, term) || slices.Contains(then, term) || !slices.Equal(NameOf(term), Name{term}) {
			continue
		}
		all = append(all, candidate{term, math.Abs(math.Log(float64(n) / math.Max(1, float64(often))))})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	all = all[:min(len(all), likeness*Decoys)]
	var names []string
	for _, i := range dice.Perm(len(all))[:min(len(all), Decoys)] {
		names = append(names, all[i].name)
	}
	return names
}

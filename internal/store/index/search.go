package index

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/recall/rank"
	"github.com/seed-56a03226/oneiros/internal/recall/words"
)

// BM25: how soon a repeated word stops counting, and how much a long text is held back. Chosen on one LoCoMo dialogue.
const (
	saturation = 1.2
	leveling   = .75
)

// A language counts among those of the texts from this share of them on: a question is stemmed in each.
const spokenShare = .05

// Search answers the items with the best blended scores; false when a vector is sought in a space that is not the
// index's.
func (x *Index) Search(q memory.Search) (memory.Found, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if q.V != nil && (x.version.Space != q.Space || x.version.Numbers != len(q.V)) {
		return memory.Found{}, false
	}
	s := x.scanOf(q.Filter)
	if q.V != nil {
		s.sought = make([]float32, (len(q.V)+7)/8*8)
		copy(s.sought, q.V)
		normalise(s.sought)
	}
	sums := s.sums()
	mass := x.compareWords(s, sums, words.Question(q.Text, x.languages()...))
	found, bounds := s.survey(sums)
	return memory.Found{Hits: s.best(q, sums, bounds, mass), Newest: found.newest(), Items: found.items}, true
}

// languages are those that a fair share of the texts is in.
func (x *Index) languages() []words.Language {
	var out []words.Language
	for l := words.English; l < words.Languages; l++ {
		if n := x.spoken[l]; n > 0 && float64(n) >= spokenShare*float64(len(x.at)) {
			out = append(out, l)
		}
	}
	return out
}

// sum is what the rows of a group have scored.
type sum struct {
	words   []float32
	share   []float32
	cosines []float32
}

// sums makes room for the scores of every group that the filter leaves.
func (s *scan) sums() map[*group]*sum {
	out := map[*group]*sum{}
	for _, b := range s.blocks {
		if out[b.group] == nil {
			n := len(b.group.ids)
			out[b.group] = &sum{words: make([]float32, n), share: make([]float32, n)}
			if s.sought != nil {
				out[b.group].cosines = make([]float32, n)
			}
		}
	}
	return out
}

// compareWords adds BM25 over the texts of the kinds that are looked at, and answers the weight of all the words
// sought, those that nothing holds included.
func (x *Index) compareWords(s *scan, sums map[*group]*sum, terms []words.Term) float64 {
	texts, length := 0, int64(0)
	for g := range sums {
		for row, terms := range g.lengths {
			if terms > 0 && s.counts(g, row) {
				texts++
				length += int64(terms)
			}
		}
	}
	if texts == 0 {
		return 0
	}
	average := float64(length) / float64(texts)
	mass := 0.0
	for _, term := range terms {
		var numbers []uint32
		holding := 0
		for _, form := range term.Forms {
			n := x.terms[form]
			if n == 0 {
				continue
			}
			numbers = append(numbers, n)
			for g := range sums {
				for _, p := range g.postings[n] {
					if s.counts(g, int(p.row)) {
						holding++
					}
				}
			}
		}
		holding = min(holding, texts)
		weight := rarity(holding, texts)
		part := rarity(holding, max(texts, background))
		mass += part
		for g, sum := range sums {
			for _, n := range numbers {
				for _, p := range g.postings[n] {
					times := float64(p.times)
					long := 1 - leveling + leveling*float64(g.lengths[p.row])/average
					sum.words[p.row] += float32(weight * times * (saturation + 1) / (times + saturation*long))
					sum.share[p.row] += float32(part)
				}
			}
		}
	}
	return mass
}

// background is how many texts a memory is taken to have when the share of a question that an item holds is weighed:
// among few texts every word that one of them holds would count as common.
const background = 50

// rarity is BM25's weight of a word that so many texts hold.
func rarity(holding, texts int) float64 {
	return math.Log(1 + (float64(texts-holding)+.5)/(float64(holding)+.5))
}

// surveyed is what a look over all rows that the filter leaves has seen.
type surveyed struct {
	items           int
	last            int64
	mostWords       float32
	lowest, highest float32
	placed          bool
}

func (v surveyed) newest() time.Time {
	if v.items == 0 {
		return time.Time{}
	}
	return time.Unix(v.last, 0).UTC()
}

// survey takes the cosines of all rows and finds the ends of what they scored.
func (s *scan) survey(sums map[*group]*sum) (surveyed, rank.Bounds) {
	seen := make([]surveyed, s.workers())
	s.run(func(worker int, b blockOf) {
		v, sum := &seen[worker], sums[b.group]
		for row := b.from; row < b.to; row++ {
			if !s.wants(b.group, row) {
				continue
			}
			if v.items == 0 || b.group.times[row] > v.last {
				v.last = b.group.times[row]
			}
			v.items++
			v.mostWords = max(v.mostWords, sum.words[row])
			if s.sought == nil || b.group.flags[row]&placed == 0 {
				continue
			}
			c := dot(s.sought, b.group.vector(row))
			sum.cosines[row] = c
			if !v.placed || c < v.lowest {
				v.lowest = c
			}
			if !v.placed || c > v.highest {
				v.highest = c
			}
			v.placed = true
		}
	})
	all := surveyed{}
	for _, v := range seen {
		if v.items == 0 {
			continue
		}
		if all.items == 0 || v.last > all.last {
			all.last = v.last
		}
		all.items += v.items
		all.mostWords = max(all.mostWords, v.mostWords)
		if !v.placed {
			continue
		}
		if !all.placed || v.lowest < all.lowest {
			all.lowest = v.lowest
		}
		if !all.placed || v.highest > all.highest {
			all.highest = v.highest
		}
		all.placed = true
	}
	return all,
		rank.Bounds{MostWords: float64(all.mostWords), Lowest: float64(all.lowest), Highest: float64(all.highest)}
}

// best blends the scores and keeps the best.
func (s *scan) best(q memory.Search, sums map[*group]*sum, bounds rank.Bounds, mass float64) []rank.Hit {
	if q.Limit <= 0 {
		return nil
	}
	best := make([]podium, s.workers())
	for w := range best {
		best[w].size = q.Limit
	}
	s.run(func(worker int, b blockOf) {
		g, sum := b.group, sums[b.group]
		for row := b.from; row < b.to; row++ {
			if !s.wants(g, row) {
				continue
			}
			cosine, has := 0.0, sum.cosines != nil && g.flags[row]&placed != 0
			if has {
				cosine = float64(sum.cosines[row])
			}
			if sum.words[row] == 0 && !has {
				continue
			}
			score := q.Blend.Score(float64(sum.words[row]), cosine, has, bounds)
			best[worker].offer(place{id: g.ids[row], score: float32(score), group: g, row: row})
		}
	})
	var all []place
	for _, p := range best {
		all = append(all, p.heap...)
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) })
	out := make([]rank.Hit, 0, min(q.Limit, len(all)))
	for _, p := range all[:min(q.Limit, len(all))] {
		sum := sums[p.group]
		h := rank.Hit{Item: p.id, Score: float64(p.score), Words: float64(sum.words[p.row])}
		if mass > 0 {
			h.Share = min(1, float64(sum.share[p.row])/mass)
		}
		if sum.cosines != nil && p.group.flags[p.row]&placed != 0 {
			h.Cosine, h.Placed = max(-1, min(1, float64(sum.cosines[p.row]))), true
		}
		out = append(out, h)
	}
	return out
}

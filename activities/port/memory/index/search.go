package index

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/rank"
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
	s := x.scan(q.Filter, q.V)
	w := x.weigh(s, words.Question(q.Text, x.languages()...))
	scores := scoresOf(s.rows)
	defer pool.Put(scores)
	all := s.survey(w, scores)
	return memory.Found{Hits: s.best(q, w, all, scores), Newest: all.newest(), Items: all.items}, true
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

// soughtTerm is a term of a question in one group.
type soughtTerm struct {
	postings []posting // in the order of rows
	weight   float64   // BM25's, for the texts that are searched
	part     float64   // of the weight of the whole question; see background
}

// weighed is what was found out about a question's terms before any row is scored.
type weighed struct {
	average float64 // terms of a text
	mass    float64 // the parts of all terms, those that no text holds included
}

// weigh finds the postings of a question's terms, and how rare each is among the texts of the kinds that are searched.
// Excepted texts and those of another time count.
func (x *Index) weigh(s *scan, terms []words.Term) weighed {
	texts, length := 0, int64(0)
	for _, g := range s.groups {
		for _, t := range g.tallies {
			if s.wanted[t.marks] {
				texts += t.texts
				length += t.terms
			}
		}
	}
	if texts == 0 {
		return weighed{}
	}
	w := weighed{average: float64(length) / float64(texts)}
	for _, term := range terms {
		w.mass += x.weighTerm(s, term, texts)
	}
	return w
}

// weighTerm gives the groups the postings of one term and answers its part.
func (x *Index) weighTerm(s *scan, term words.Term, texts int) float64 {
	holding := 0
	before := make([]int, len(s.groups))
	for i, g := range s.groups {
		before[i] = len(g.terms)
		for _, form := range term.Forms {
			number := x.terms[form]
			if list := g.postings[number]; number != 0 && list != nil {
				holding += s.holding(g, *list)
				g.terms = append(g.terms, soughtTerm{postings: *list})
			}
		}
	}
	holding = min(holding, texts) // a text may hold several forms
	part := rarity(holding, max(texts, background))
	for i, g := range s.groups {
		for j := before[i]; j < len(g.terms); j++ {
			g.terms[j].weight, g.terms[j].part = rarity(holding, texts), part
		}
	}
	return part
}

// holding counts the postings of rows of the kinds that are searched.
func (s *scan) holding(g *scanned, list []posting) int {
	if !slices.ContainsFunc(g.tallies, func(t tally) bool { return t.texts > 0 && !s.wanted[t.marks] }) {
		return len(list)
	}
	n := 0
	for _, p := range list {
		if s.wanted[g.marks[p.row]] {
			n++
		}
	}
	return n
}

// background is how many texts a memory is taken to have when the share of a question that an item holds is weighed:
// among few texts every word that one of them holds would count as common.
const background = 50

// rarity is BM25's weight of a word that so many texts hold.
func rarity(holding, texts int) float64 {
	return math.Log(1 + (float64(texts-holding)+.5)/(float64(holding)+.5))
}

// scores are what the rows of a scan have scored.
type scores struct {
	words   []float32 // BM25; below 0: the filter does not leave the row
	cosines []float32
}

const filtered = -1

var pool = sync.Pool{New: func() any { return &scores{} }}

// scoresOf takes room for so many rows from the pool. It holds what it held before.
func scoresOf(rows int) *scores {
	s := pool.Get().(*scores)
	s.words = slices.Grow(s.words[:0], rows)[:rows]
	s.cosines = slices.Grow(s.cosines[:0], rows)[:rows]
	return s
}

// surveyed is what a look over all rows that the filter leaves has seen.
type surveyed struct {
	rank.Bounds
	items  int
	last   int64 // Unix seconds
	placed bool  // some have a vector that was compared
}

func (v surveyed) newest() time.Time {
	if v.items == 0 {
		return time.Time{}
	}
	return time.Unix(v.last, 0).UTC()
}

// join takes in what another worker has seen.
func (v *surveyed) join(o surveyed) {
	if o.items == 0 {
		return
	}
	if v.items == 0 {
		*v = o
		return
	}
	v.items += o.items
	v.last = max(v.last, o.last)
	v.MostWords = max(v.MostWords, o.MostWords)
	switch {
	case !o.placed:
	case !v.placed:
		v.placed, v.Lowest, v.Highest = true, o.Lowest, o.Highest
	default:
		v.Lowest, v.Highest = min(v.Lowest, o.Lowest), max(v.Highest, o.Highest)
	}
}

// survey scores all rows by words and by meaning.
func (s *scan) survey(w weighed, scores *scores) surveyed {
	seen := make([]surveyed, s.workers())
	s.run(func(worker int, b block) {
		n := b.to - b.from
		seen[worker].join(s.surveyBlock(b, w, scores.words[b.at:b.at+n], scores.cosines[b.at:b.at+n]))
	})
	all := seen[0]
	for _, v := range seen[1:] {
		all.join(v)
	}
	return all
}

func (s *scan) surveyBlock(b block, w weighed, byWords, cosines []float32) surveyed {
	v, g := surveyed{last: math.MinInt64}, b.group
	g.scoreWords(b, w.average, byWords)
	most, lowest, highest := float32(0), float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for i := range byWords {
		row := b.from + i
		if !s.wants(g, row) {
			byWords[i] = filtered
			continue
		}
		v.items++
		v.last = max(v.last, g.times[row])
		most = max(most, byWords[i])
		if s.places(g, row) {
			c := dot(s.sought, g.vector(row))
			cosines[i] = c
			lowest, highest = min(lowest, c), max(highest, c)
			v.placed = true
		}
	}
	v.MostWords = float64(most)
	if v.placed {
		v.Lowest, v.Highest = float64(lowest), float64(highest)
	}
	return v
}

// scoreWords writes the BM25 of a block's rows.
func (g *scanned) scoreWords(b block, average float64, out []float32) {
	clear(out)
	short, each := saturation*(1-leveling), saturation*leveling/average
	for _, t := range g.terms {
		full := t.weight * (saturation + 1)
		for _, p := range t.postings[firstAt(t.postings, b.from):] {
			if int(p.row) >= b.to {
				break
			}
			times := float64(p.times)
			out[int(p.row)-b.from] += float32(full * times / (times + short + each*float64(g.lengths[p.row])))
		}
	}
}

// best blends the scores and answers the best hits.
func (s *scan) best(q memory.Search, w weighed, all surveyed, scores *scores) []rank.Hit {
	if q.Limit <= 0 {
		return nil
	}
	best := make([]top, s.workers())
	for worker := range best {
		best[worker].size = q.Limit
	}
	s.run(func(worker int, b block) {
		g := b.group
		for row := b.from; row < b.to; row++ {
			at := b.at + row - b.from
			byWords, cosine, has := scores.words[at], float32(0), s.places(g, row)
			if byWords < 0 || byWords == 0 && !has {
				continue
			}
			if has {
				cosine = scores.cosines[at]
			}
			score := float32(q.Blend.Score(float64(byWords), float64(cosine), has, all.Bounds))
			if best[worker].admits(score) {
				best[worker].offer(place{
					id:     g.ids[row],
					score:  score,
					group:  g,
					row:    row,
					words:  byWords,
					cosine: cosine,
				})
			}
		}
	})
	places := joined(best, q.Limit)
	out := make([]rank.Hit, len(places))
	for i, p := range places {
		out[i] = rank.Hit{Item: p.id, Score: float64(p.score), Words: float64(p.words)}
		if w.mass > 0 {
			out[i].Share = min(1, p.group.share(p.row)/w.mass)
		}
		if s.places(p.group, p.row) {
			out[i].Cosine, out[i].Placed = max(-1, min(1, float64(p.cosine))), true
		}
	}
	return out
}

// share adds the parts of the terms that a row holds.
func (g *scanned) share(row int) float64 {
	sum := 0.0
	for _, t := range g.terms {
		if at := firstAt(t.postings, row); at < len(t.postings) && int(t.postings[at].row) == row {
			sum += t.part
		}
	}
	return sum
}

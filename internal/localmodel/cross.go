package localmodel

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// crossings gives the ways over to other memories from the word just said: places where the same word, or one of
// its kind, stands in an equal frame, so that what follows there can follow here.
func (w *writer) crossings(c clause, last word) []candidate {
	var out []candidate
	before := tag(0)
	if w.at.at >= 2 {
		before = c.words[w.at.at-2].tag
	}
	for _, p := range w.mem.index[last.low] {
		if gap, ok := w.frame(c, last, before, p); ok {
			out = append(out, w.crossing(c, p, gap))
		}
	}
	if (last.tag == det || last.tag == prep) && last.verb && len(out) == 0 {
		for i, other := range w.mem.clauses {
			for at, x := range other.words {
				if x.tag == last.tag && x.verb && x.low != last.low && agrees(last, other.words, at) &&
					w.reachable(c, spot{i, at}) && tagAt(other.words, at-1) == before {
					out = append(out, w.crossing(c, spot{i, at}, crossKind))
					break
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.logit, a.logit), strings.Compare(a.text, b.text))
	})
	return out[:min(len(out), mostOptions)]
}

// frame compares the places of a shared word; gap is how far below going on the crossing lies.
func (w *writer) frame(c clause, last word, before tag, p spot) (float64, bool) {
	other := w.mem.clauses[p.clause].words
	x := other[p.at]
	if x.tag != last.tag || x.verb != last.verb || !w.reachable(c, p) {
		return 0, false
	}
	alike := p.at > 0 && w.at.at >= 2 && other[p.at-1].low == c.words[w.at.at-2].low
	switch last.tag {
	case noun, verb, adj, bare, ing:
		if last.tag == adj && plural(c.words[w.at.at]) != plural(other[p.at+1]) {
			return 0, false
		}
		if hollow[last.low] {
			return crossFrame, true
		}
		if alike {
			return crossContent - .5, true
		}
		return crossContent, true
	case aux:
		return crossFrame, alike
	case det, prep, to:
		if tagAt(other, p.at-1) != before || particles[last.low] && !alike {
			return 0, false
		}
		if alike {
			return crossFrame - .5, true
		}
		return crossFrame, true
	}
	return 0, false
}

// reachable says whether the memory may be gone over to there, and has enough left to say.
func (w *writer) reachable(c clause, p spot) bool {
	other := w.mem.clauses[p.clause]
	left := len(other.words) - p.at - 1
	if other.line == c.line || left < 2 || left+1 > w.room || other.words[p.at].mark != "" ||
		!w.allowed(other.line) || !w.sayable(other.words) {
		return false
	}
	if w.mem.clauses[p.clause].words[p.at].tag == prep && !beginsPhrase(other.words[p.at+1].tag) {
		return false
	}
	here := w.mem.clauses[w.at.clause].words[w.at.at]
	there := other.words[p.at+1]
	return there.low != here.low && !w.pairs[here.low+" "+there.low] && !w.pairs[other.words[p.at].low+" "+there.low]
}

func (w *writer) crossing(c clause, p spot, gap float64) candidate {
	other := w.mem.clauses[p.clause]
	logit := goingOn - gap + .3*(other.worth-1) - crossAgain*float64(w.crosses)
	logit += 1.2 * math.Max(0, math.Min(.6, w.mem.near(c.line, other.line)))
	if w.used[other.line] > 0 {
		logit -= 1.5
	}
	if w.mem.lines[other.line].rule {
		logit--
	}
	logit -= .4 * w.worn(other.words[p.at+1:])
	return candidate{textOf(other.words[p.at+1]), logit, func() { w.advance(p.clause, p.at+1, false) }}
}

// beginsPhrase says whether what a preposition needs may begin with the tag.
func beginsPhrase(t tag) bool {
	switch t {
	case det, noun, adj, number, ing, whom:
		return true
	}
	return false
}

var particles = set("up out down off over away")

func tagAt(ws []word, i int) tag {
	if i < 0 {
		return 0
	}
	return ws[i].tag
}

// agrees keeps a before consonants and an before vowels.
func agrees(last word, ws []word, at int) bool {
	if at+1 >= len(ws) {
		return false
	}
	vowel := strings.ContainsAny(ws[at+1].low[:1], "aeiou")
	switch last.low {
	case "a":
		return !vowel && !plural(ws[at+1])
	case "an":
		return vowel && !plural(ws[at+1])
	}
	return true
}

func plural(x word) bool { return x.tag == noun && strings.HasSuffix(x.low, "s") }

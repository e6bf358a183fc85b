package policy

// span is a stretch of tokens.
type span struct{ from, to int }

func (a span) size() int { return a.to - a.from }

// with covers both stretches and what is between them.
func (a span) with(b span) span { return span{min(a.from, b.from), max(a.to, b.to)} }

// gap is how many tokens are between two stretches; below 1 when they touch.
func (a span) gap(b span) int { return max(a.from-b.to, b.from-a.to) }

// sentence is a stretch of a text that the rules look at by itself. Places are those of the whole text; what lies
// outside of the sentence is never found.
type sentence struct {
	*reading
	span
	crypto bool // an asset is named in it
}

// sentence is what stands between two tokens.
func (r *reading) sentence(s span) sentence { return sentence{r, s, hasAsset(r.in, s.from, s.to)} }

// is says whether the token at a place is one of a few, given with blanks between them.
func (s sentence) is(i int, few string) bool { return oneOf(s.token(i), few) }

// any says whether one of a few tokens stands between two places.
func (s sentence) any(few string, from, to int) bool {
	for i := from; i < to; i++ {
		if s.is(i, few) {
			return true
		}
	}
	return false
}

// among says whether the token at a place is one of a set.
func (s sentence) among(i int, set map[string]bool) bool { return set[s.token(i).text] }

// token is the token at a place; an empty word outside of the sentence.
func (s sentence) token(i int) token {
	if i < s.from || i >= s.to {
		return token{}
	}
	return s.in[i]
}

// isA says whether a token of a sort stands at a place.
func (s sentence) isA(i int, kind sort) bool { return i >= s.from && i < s.to && s.in[i].sort == kind }

// ends says whether the sentence ends at a place, or a sign stands there.
func (s sentence) ends(i int) bool { return i >= s.to || s.in[i].sort == mark }

// at says whether a phrase of a list begins at a place.
func (s sentence) at(w *words, i int) bool { return s.length(w, i) > 0 }

// length is how many tokens the longest phrase of a list takes that begins at a place; 0 for none.
func (s sentence) length(w *words, i int) int {
	if i < s.from || i >= s.to {
		return 0
	}
	return w.at(s.in, i)
}

// find is the first phrase of a list between two places.
func (s sentence) find(w *words, from, to int) (span, bool) {
	for i := max(s.from, from); i < min(s.to, to); i++ {
		if n := w.at(s.in, i); n > 0 && i+n <= min(s.to, to) {
			return span{i, i + n}, true
		}
	}
	return span{}, false
}

// first is the first phrase of a list in the whole sentence.
func (s sentence) first(w *words) (span, bool) { return s.find(w, s.from, s.to) }

// between says whether a phrase of a list stands between two places.
func (s sentence) between(w *words, from, to int) bool {
	_, found := s.find(w, from, to)
	return found
}

// has says whether a phrase of a list stands in the sentence, earlier whether one stands before a place, and later
// whether one stands behind it.
func (s sentence) has(w *words) bool            { return s.between(w, s.from, s.to) }
func (s sentence) earlier(w *words, i int) bool { return s.between(w, s.from, i) }
func (s sentence) later(w *words, i int) bool   { return s.between(w, i, s.to) }

// before and after say whether a phrase of a list stands within so many tokens of a place.
func (s sentence) before(w *words, i, reach int) bool { return s.between(w, i-reach, i) }
func (s sentence) after(w *words, i, reach int) bool  { return s.between(w, i, i+reach) }

// near says whether a phrase of a list stands within so many tokens of a quantity.
func (s sentence) near(w *words, q quantity, reach int) bool {
	return s.before(w, q.from, reach) || s.after(w, q.to, reach)
}

// closes says whether a phrase of a list ends right before a place.
func (s sentence) closes(w *words, i int) bool { return endsWith(s.in, i, w) }

// filled says whether nothing stands between two places but what begins phrases of a list, and a few tokens.
func (s sentence) filled(w *words, few string, from, to int) bool {
	for i := from; i < to; i++ {
		if !s.at(w, i) && !s.is(i, few) {
			return false
		}
	}
	return true
}

// asset says whether an asset is named between two places.
func (s sentence) asset(from, to int) bool { return hasAsset(s.in, max(s.from, from), min(s.to, to)) }

// targets says whether an asset or a venue stands close behind a place.
func (s sentence) targets(i int) bool { return s.asset(i, i+5) || s.after(venues, i, 5) }

// numbers are the quantities of the sentence, in their order.
func (s sentence) numbers() []quantity { return s.within(s.span) }

// clauseAround is the clause that something stands in: up to words that begin another clause, and up to the given
// signs. A clause that depends on another ends with its comma.
func (s sentence) clauseAround(at span, left, right string) span {
	c := at
	for c.from > s.from && !s.among(c.from-1, subords) && !s.is(c.from-1, left) {
		c.from--
	}
	for c.to < s.to && !s.among(c.to, subords) && !s.is(c.to, right) {
		c.to++
	}
	if s.among(c.from, subords) || s.among(c.from-1, subords) && !s.is(c.from-1, "that which as") {
		for i := at.to; i < c.to; i++ {
			if s.is(i, ",") {
				c.to = i
			}
		}
	}
	return c
}

// assetAt is how many tokens the name of an asset takes that begins at a place; 0 for none.
func (s sentence) assetAt(i int) int {
	if i < s.from || i >= s.to {
		return 0
	}
	a, n := assetAt(s.in, i)
	if !a.sure(s.in, i) {
		return 0
	}
	return n
}

package policy

import "strings"

// quantity is a number of a text with what it counts.
type quantity struct {
	span
	value, other float64 // other is a second reading of the same digits; 0 for none
	unit         Unit    // empty: a number alone
	by           float64 // what the number of a share was divided by
	asset        string  // the ticker that it is an amount of; empty for none
	above        bool    // "more than" stands before it
	rate         bool    // it is a change or a frequency: by 30 %, ten times a day
	ratio        bool    // it is written as one, 20:1
}

// most is the largest reading of a quantity.
func (q quantity) most() float64 { return max(q.value, q.other) }

// isShare says whether a quantity can be a share: it has the unit, or is a bare decimal below one.
func (q quantity) isShare() bool {
	return q.unit == Share || q.unit == "" && q.asset == "" && q.value > 0 && q.value < 1
}

const signs = "$ € £ ₣"

// quantities finds every number of a text that is one.
func quantities(in []token) []quantity {
	s := sentence{reading: &reading{in: in}, span: span{0, len(in)}}
	var out []quantity
	for i := 0; i < len(in); {
		q, ok := measure(s, i)
		if !ok {
			i++
			continue
		}
		q.above = s.closes(exceeding, i) || s.is(i-1, ">")
		q.rate = rated(s, q)
		out = append(out, q)
		i = q.to
	}
	for i := len(out) - 2; i >= 0; i-- { // 10-20x: the first takes the unit of the second
		q, next := &out[i], out[i+1]
		if q.unit == "" && q.asset == "" && next.from == q.to+1 && s.is(q.to, "- to or and bis oder ~ /") {
			q.unit, q.asset, q.by = next.unit, next.asset, next.by
			q.value /= q.by
		}
	}
	return out
}

// measure reads the quantity that begins at a token.
func measure(s sentence, i int) (quantity, bool) {
	q := quantity{span: span{i, i + 1}, by: 1}
	at := i
	switch t := s.in[i]; {
	case s.is(i, signs) || s.length(monies, i) == 1 && s.isA(i+1, number) && !s.isA(i-1, number):
		q.unit, at = Dollars, i+1
	case s.is(i, "x") && s.isA(i+1, number) && s.in[i+1].glued:
		q.unit, at = Multiple, i+1
	case foldOf(t) > 0:
		q.value, q.unit = foldOf(t), Multiple
		return q, true
	}
	if v := stuck(s.token(at)); v > 0 { // tenx
		q.value, q.unit, q.to = v, Multiple, at+1
		return q, true
	}
	f, ok := numeral(s, at)
	q.value, q.other, q.to = f.value, f.other, f.to
	if ok && q.unit == "" {
		q.unitBehind(s, f)
	}
	return q, ok
}

// foldOf is the multiple that a word is by itself; 0 for none.
func foldOf(t token) float64 {
	for _, ending := range []string{"", "e", "en", "er", "es", "em"} {
		v := folds[strings.TrimSuffix(t.text, ending)]
		if v > 0 && t.sort == word && (ending == "" || strings.Contains(t.text, "fach")) {
			return v
		}
	}
	return 0
}

// stuck is the value of a number word that carries its unit, tenx or hundredx; 0 for none.
func stuck(t token) float64 {
	before, ok := strings.CutSuffix(t.text, "x")
	switch {
	case !ok || t.sort != word:
		return 0
	case len(before) > 2 && numerals[before] > 0:
		return numerals[before]
	case len(before) > 3 && scales[before] >= 100:
		return scales[before]
	}
	return 0
}

// unitsBehind are words behind a number with what it counts, and what it is divided by.
var unitsBehind = []struct {
	words *words
	unit  Unit
	by    float64
}{{percents, Share, 100}, {points, Share, 1e4}, {permilles, Share, 1e3}, {multiples, Multiple, 1}, {monies, Dollars, 1}}

// unitBehind reads what a number counts from what stands behind it.
func (q *quantity) unitBehind(s sentence, f figure) {
	at := q.to
	take := func(n int, unit Unit, by float64) {
		q.unit, q.to, q.by = unit, at+n, by
		q.value, q.other = q.value/by, q.other/by
	}
	for _, u := range unitsBehind {
		if n := s.length(u.words, at); n > 0 && (u.unit != Multiple || !f.part) {
			take(n, u.unit, u.by)
			return
		}
	}
	switch {
	case s.is(at, "%"):
		take(1, Share, 100)
	case f.part && s.is(at, "a of") && s.at(percents, at+1): // half a percent
		take(2, Share, 100)
	case s.is(at, signs):
		take(1, Dollars, 1)
	case q.outOf(s) || q.against(s):
		q.other, q.ratio = 0, true
	case q.ofAsset(s, f):
	case f.part:
		q.unit = Share
	case s.is(q.to-1, "grand"):
		q.unit = Dollars
	}
}

// ofAsset reads the asset that a number is an amount of: nine ether, nine of our ether.
func (q *quantity) ofAsset(s sentence, f figure) bool {
	at := q.to
	if s.is(at, "in of worth") && !f.part {
		at++
		if s.is(at, "of our the") {
			at++
		}
	}
	n := s.assetAt(at)
	if n > 0 {
		a, _ := assetAt(s.in, at)
		q.asset, q.to = a.ticker, at+n
	}
	return n > 0
}

// outOf reads nine out of ten, four of every five.
func (q *quantity) outOf(s sentence) bool {
	at := q.to
	switch {
	case s.is(at, "out") && s.is(at+1, "of"):
		at += 2
	case s.is(at, "in of"):
		at++
	default:
		return false
	}
	if s.is(at, "every each") {
		at++
	}
	whole, found := counted(s, at)
	if !found || whole.value <= q.value || whole.value > 1000 || whole.value < 2 || q.value <= 0 {
		return false
	}
	q.value, q.unit, q.to = q.value/whole.value, Share, whole.to
	return true
}

// against reads 20:1, twenty to one and 1:20 as a multiple.
func (q *quantity) against(s sentence) bool {
	at := q.to
	if !s.is(at, ": to zu against") {
		return false
	}
	next := at + 1
	if s.is(next, "- to") {
		next++
	}
	other, found := counted(s, next)
	switch {
	case !found:
		return false
	case other.value == 1 && q.value > 1:
	case q.value == 1 && other.value > 1 && s.is(at, ":"):
		q.value = other.value
	default:
		return false
	}
	q.unit, q.to = Multiple, other.to
	return true
}

// rated says whether a quantity is a change or a frequency.
func rated(s sentence, q quantity) bool {
	switch q.unit {
	case Share:
		fall := s.is(q.from-1, "of a") && s.at(changes, q.from-2) // a fall of a third
		return s.is(q.from-1, "by um +") || fall || s.at(changes, q.to)
	case Multiple:
		often := s.is(q.to, "daily hourly weekly nightly") || s.among(q.to, whiles) && s.at(spans, q.to+1)
		return s.is(q.from-1, "by") || often && !s.is(q.from-1, "um +")
	}
	return false
}

package policy

import (
	"slices"
	"strings"
)

// reading is a text as the rules see it.
type reading struct {
	text       string
	in         []token
	sentences  []span
	quantities []quantity
	shouted    bool // capitals say nothing: most of it is written in them
}

// longestSentence is after how many tokens a sentence is cut: what stands farther apart has nothing to do with each
// other.
const longestSentence = 120

func read(text string) *reading {
	r := &reading{text: text, in: tokens(text)}
	r.quantities = quantities(r.in)
	caps, all := 0, 0
	for i, t := range r.in {
		if _, n := assetAt(r.in, i); t.sort == word && len(t.text) > 1 && n == 0 {
			all++
			if t.caps {
				caps++
			}
		}
	}
	r.shouted = all > 3 && 2*caps > all
	from := 0
	for i, t := range r.in {
		inside := t.text == "." && t.glued && i+1 < len(r.in) && r.in[i+1].glued && !r.in[i+1].title
		ends := t.sort == mark && oneOf(t, ". ! ? ; …") && !inside
		if ends || i-from >= longestSentence || i == len(r.in)-1 {
			r.add(span{from, i + 1})
			from = i + 1
		}
	}
	return r
}

// add keeps a sentence. A short one, and one that holds little more than a number, belong together with their
// neighbour: "Slippage? Whatever it takes.", "Use leverage. Ten times."
func (r *reading) add(s span) {
	if n := len(r.sentences); n > 0 && r.in[s.from-1].text != ";" {
		last := &r.sentences[n-1]
		number := s.size() <= 5 && s.to-last.from < longestSentence && len(r.within(s)) > 0
		if last.size() <= 3 || number {
			last.to = s.to
			return
		}
	}
	r.sentences = append(r.sentences, s)
}

// within are the quantities of a stretch.
func (r *reading) within(s span) []quantity {
	first, _ := slices.BinarySearchFunc(r.quantities, s.from, func(q quantity, from int) int { return q.from - from })
	last := first
	for last < len(r.quantities) && r.quantities[last].to <= s.to {
		last++
	}
	return r.quantities[first:last]
}

// spared says whether what is found is named in order to forbid it, to watch for it, to warn of it, to ask about it, or
// to report what happened to others. permits is set for a number with "more than" before it that lies above the cap by
// itself: to forbid more than that allows that much.
func (s sentence) spared(what span, permits bool) bool {
	return !permits && s.prohibited(what.from) || s.watched(what.from) || s.disowned(what.from) ||
		s.conditional(what) || s.condemned(what) || s.reported(what) || s.inquired(what.from)
}

// reach is how many tokens before what is named a word may stand that forbids it or looks at it.
const reach = 14

// prohibited looks to the left for a word that forbids what follows.
func (s sentence) prohibited(from int) bool {
	for i := from - 1; i >= max(s.from, from-reach); i-- {
		listed := s.is(i, ",") && s.is(i-1, "never niemals circumstances")
		if s.among(i, hardJoints) || s.is(i, "and , et und") && s.between(acts, i+1, from) && !listed {
			return false
		}
		if n := s.length(negators, i); n > 0 && i+n <= from && !s.canceled(i, i+n) {
			return true
		}
		if s.is(i, "than") && s.earlier(rather, i) { // I would rather sell than
			return true
		}
	}
	return false
}

// canceled says whether a negator does not forbid: never mind, do not hesitate, why not, no, …
func (s sentence) canceled(at, next int) bool {
	no := s.is(at, "no")
	if no && s.is(next, ",") || s.at(cancels, next) {
		return true
	}
	return !(no && s.is(next, "more")) && s.is(at-1, "why if or nothing cannot not never reason")
}

// watched looks to the left for a word that only looks at what follows, or stops it.
func (s sentence) watched(from int) bool {
	for i := from - 1; i >= max(s.from, from-reach); i-- {
		if s.among(i, hardJoints) || s.is(i, "and ,") && s.between(acts, i+1, from) {
			return false
		}
		n := s.length(guardVerbs, i)
		if n == 0 || i+n > from || !s.begins(i) || s.is(i+n, "order orders on me us losses") {
			continue
		}
		return n > 1 || !s.between(acts, i+n, from) || s.between(others, i+n, from)
	}
	return false
}

// begins says whether a word stands where a verb stands that says to do it.
func (s sentence) begins(i int) bool {
	return i == s.from || s.ends(i-1) ||
		s.is(i-1, "to should must will would can could we i us me and please always then just only that who simply "+
			"first or now tonight today never better let gladly")
}

// orders says whether a verb stands at a place that says to do it.
func (s sentence) orders(i int) bool { return s.among(i, bare) && s.begins(i) && !s.nominal(i) }

// conditional says whether what is named is the condition of something that stops.
func (s sentence) conditional(what span) bool {
	start := what.from // of its clause
	for start > s.from && !s.ends(start-1) && !s.among(start-1, joints) {
		start--
	}
	if !s.at(iffy, start) && !s.at(iffy, start-1) {
		return false
	}
	end := what.to
	for end < s.to && !s.is(end, ",") {
		end++
	}
	if s.later(halting, end) && !s.later(despite, what.to) {
		return true
	}
	halt, ok := s.find(halting, s.from, start) // wait when slippage passes 2 %
	return ok && s.begins(halt.from)
}

// condemned looks to the right for a word that says what is wrong with it, in a sentence that plans nothing.
func (s sentence) condemned(what span) bool {
	if s.planned(what.from) {
		return false
	}
	sign := what.to
	for sign < min(s.to, what.to+6) && !s.is(sign, ": , -") {
		sign++
	}
	if s.is(sign, ": , -") && s.at(refusals, sign+1) && !s.later(despite, sign+1) {
		return true
	}
	wrong, ok := s.find(condemning, what.to, s.to)
	if !ok || s.later(despite, wrong.from) {
		return false
	}
	for i := max(what.to, wrong.from-3); i < wrong.from; i++ {
		if s.at(uncondemn, i) {
			return s.is(wrong.from, "not never")
		}
	}
	return true
}

// disowned says whether the clause behind a semicolon or a question says that we leave it alone: the exchange lists
// 100x perps; we do not touch them. A question may be about us: what would it have cost us?
func (s sentence) disowned(from int) bool {
	asks := s.is(s.to-1, "?") && !s.ordered(from)
	if !asks && (!s.is(s.to-1, ";") || s.planned(from) || s.has(own)) {
		return false
	}
	end := s.to
	for end < len(s.in) && !oneOf(s.in[end], ". ; ! ?") {
		end++
	}
	next := sentence{reading: s.reading, span: span{s.to, end}}
	if next.size() == 0 || !asks && next.has(despite) {
		return false
	}
	for i := next.from; i < next.from+7; i++ {
		n := next.length(negators, i)
		if n > 0 && !next.canceled(i, i+n) && next.after(touching, i+n, 3) {
			return next.later(it, i+n)
		}
	}
	return next.is(next.from, "leave") && next.has(it)
}

// ordered says whether a sentence begins with an order, or asks why not.
func (s sentence) ordered(from int) bool {
	return s.earlier(despite, from) || s.earlier(inviting, from) || s.orders(s.from)
}

// planned says whether the sentence, up to a place, says to do it or thinks of doing it.
func (s sentence) planned(until int) bool {
	if s.earlier(plans, until) {
		return true
	}
	for i := s.from; i <= until; i++ {
		if s.orders(i) && !s.is(i-1, "that who to never") {
			return true
		}
	}
	return false
}

// nominal says whether a word that may be a verb stands as a noun: leverage above 3x, orders of a size.
func (s sentence) nominal(i int) bool {
	return s.is(i+1, "above of over beyond is was below under are were and or")
}

// reported says whether a sentence says what was, or what others do, and not what we do.
func (s sentence) reported(what span) bool {
	end := what.to // of its clause
	for end < s.to && !s.among(end, hardJoints) && !s.is(end, ", and") {
		end++
	}
	if s.earlier(own, end) || s.between(plans, what.to, end) || s.planned(what.to-1) || s.later(despite, what.to) {
		return false
	}
	return s.earlier(others, what.to) || s.earlier(past, end)
}

// pastly says whether a word has the form of the past.
func pastly(t token) bool {
	return t.sort == word && len(t.text) > 3 && strings.HasSuffix(t.text, "ed") && !adjectives[t.text]
}

// inquired says whether a sentence asks what is, not whether to do it.
func (s sentence) inquired(from int) bool {
	return s.is(s.to-1, "?") && s.at(inquiring, s.from) && !s.has(own) && !s.has(plans) && !s.planned(from)
}

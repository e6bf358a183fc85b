package policy

import "strings"

// levering is a sentence with what in it is about leverage.
type levering struct {
	sentence
	word    span // that speaks of leverage
	strong  bool // there is such a word
	loose   bool // it may be about leverage
	trading bool // it is about trading
}

// leverage finds multiples above the cap that are leverage, and leverage without bound.
func leverage(s sentence, c Cap) []finding {
	l := levering{sentence: s, trading: s.crypto || s.has(finance)}
	l.word, l.strong = s.first(levered)
	if l.word.size() == 1 && s.is(l.word.from, "margin margins") && s.has(margins) {
		l.strong = false
	}
	l.loose = l.strong || l.trading && s.has(lending)
	var found []finding
	for _, q := range s.numbers() {
		for _, read := range leverageReadings {
			multiple, ok := read(l, q)
			if !ok {
				continue
			}
			where := q.span
			if l.strong && q.gap(l.word) <= 8 {
				where = q.with(l.word)
			}
			found = c.judge(found, multiple, where)
		}
	}
	if len(found) > 0 {
		return found
	}
	if where, ok := l.extreme(); ok {
		return []finding{c.boundless(where)}
	}
	if where, ok := l.looped(); ok {
		return []finding{c.boundless(where)}
	}
	return nil
}

// leverageReadings read a quantity as a multiple of what is owned. ok is false when it is none.
var leverageReadings = []func(l levering, q quantity) (multiple quantity, ok bool){
	levering.taken, levering.beyondAll, levering.thin, levering.factor, levering.multiplied, levering.lent,
}

// taken reads a multiple that is leverage.
func (l levering) taken(q quantity) (quantity, bool) {
	if q.unit != Multiple || q.rate || l.grows(q) {
		return q, false
	}
	if l.at(borrowing, q.from-1) {
		q.value++ // what is borrowed comes to what is there
	}
	counts := l.is(q.to-1, "times mal veces fois volte twice thrice") && !l.closes(running, q.from) &&
		!(l.is(q.from-1, "a the") && l.closes(running, q.from-1))
	grew := l.between(growth, q.from-5, q.to+5) || l.is(q.from-1, "did made returned rose grew")
	return q, l.loose || l.trading && !grew && !counts
}

// beyondAll reads a share of more than all: an exposure of 500 %.
func (l levering) beyondAll(q quantity) (quantity, bool) {
	return q, q.unit == Share && !q.rate && q.most() > 1 && (l.strong || l.loose && l.near(lending, q, 3))
}

// thin reads the share of a position that is paid for: two percent margin are fifty times.
func (l levering) thin(q quantity) (quantity, bool) {
	ok := q.unit == Share && !q.rate && q.value > 0 && q.value < 1 &&
		(l.strong || l.crypto && l.has(lending)) && (l.has(levered) || l.has(borrowing)) &&
		l.near(thinness, q, 3) && !l.near(changes, q, 1)
	return quantity{value: 1 / q.value, span: q.span}, ok
}

// multiplied reads what something is multiplied by.
func (l levering) multiplied(q quantity) (quantity, bool) {
	return q, q.unit == "" && l.loose && l.is(q.from-1, "by") && l.before(multiplying, q.from, 6)
}

// lent reads how much is borrowed for each one that is owned.
func (l levering) lent(q quantity) (quantity, bool) {
	lent := q.unit == "" && (l.loose && (l.is(q.to, "loans debts borrowings mortgages") || l.at(turns, q.to)) ||
		l.crypto && l.is(q.to, "borrowed lent levered"))
	backed := l.strong || l.loose && l.crypto || l.earlier(staked, q.from) || l.earlier(borrowing, q.from) ||
		l.at(borrowing, q.to)
	lent = lent || backed && q.unit != Multiple && q.unit != Share && q.to < l.to && l.perOne(q)
	return quantity{value: q.value + 1, span: q.span}, lent
}

// perOne says whether a number stands against each one that is owned: nine for every dollar, every dollar with six on
// its back, pledge a dollar and play with twelve.
func (l levering) perOne(q quantity) bool {
	for i := range 4 {
		if l.at(foreach, q.to+i) {
			return true
		}
	}
	one := "every each"
	if l.earlier(staked, q.from) && l.before(playing, q.from, 4) {
		one += " a one single"
	}
	for i := l.from; i+1 < q.from; i++ {
		if l.is(i, one) && (l.at(monies, i+1) || l.asset(i+1, i+2) || l.is(i+1, "coin token")) {
			return true
		}
	}
	return false
}

// factor reads a bare number as the factor of the word for leverage beside it.
func (l levering) factor(q quantity) (quantity, bool) {
	if q.unit != "" || q.asset != "" || !l.strong {
		return q, false
	}
	gap, stops := q.from-l.word.to, l.ends(q.to) || l.among(q.to, joints)
	switch {
	case q.to <= l.word.from:
		return q, l.word.from-q.to <= 1
	case gap < 0:
		return q, false
	case gap <= 7 && l.named() && (stops || l.is(q.to, "on for in at")):
		return q, true
	case gap <= 6 && l.asset(l.word.from, q.to+4) && (stops || l.is(q.to, "on for in")):
		return q, true
	case gap <= 8 && l.ends(q.to) && l.is(q.from-1, "be at to is reach reaches hit become = :"):
		return q, true
	case gap > 4 || !l.filled(factorWord, ": = up more to the", l.word.to, q.from):
		return q, false
	case gap == 0 && l.isA(q.to, word): // leverage twelve logs
		return q, stops || l.is(q.to, "on for in at to with only now")
	}
	return q, !l.among(q.to, countedThings)
}

// named says whether leverage is a noun by that name: to leverage what we learned is no leverage.
func (l levering) named() bool {
	return l.word.size() == 1 && strings.HasPrefix(l.in[l.word.from].text, "leverag") &&
		!l.is(l.word.to, "what the our this that these those their its every all your my")
}

// grows says whether a multiple counts something that is no leverage; the word for leverage beside it says otherwise.
func (l levering) grows(q quantity) bool {
	return l.after(growth, q.to, 3) && !l.between(levered, q.from-6, q.to+6)
}

// extreme finds leverage that has no number and no bound.
func (l levering) extreme() (span, bool) {
	if !l.strong || l.is(l.word.from, "margin futures") || l.bounded() {
		return span{}, false
	}
	most, ok := l.find(highest, l.word.from-4, l.word.to+6)
	return most.with(l.word), ok && (most.from >= l.word.to || most.from < l.word.from && l.word.from-most.to <= 2)
}

// looped finds deposits that are borrowed against again and again without a bound.
func (l levering) looped() (span, bool) {
	if l.bounded() {
		return span{}, false
	}
	if loop, ok := l.first(looping); ok && l.crypto && l.later(again, loop.to) {
		return loop, true
	}
	loan, ok := l.first(borrowing)
	if !ok {
		return span{}, false
	}
	second, twice := l.find(borrowing, loan.to, l.to)
	if twice && l.trading {
		return loan.with(second), true // what is borrowed is borrowed against
	}
	more, ok := l.find(again, loan.from, l.to)
	return loan.with(more), ok && (twice || l.has(deposits) || l.has(having))
}

// bounded says whether a multiple stands in the sentence, which was looked at already.
func (l levering) bounded() bool {
	for _, q := range l.numbers() {
		if q.unit == Multiple && !q.rate {
			return true
		}
	}
	return false
}

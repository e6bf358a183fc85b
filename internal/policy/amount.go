package policy

// amount finds trades above the cap.
func amount(s sentence, c Cap, worth map[string]float64) []finding {
	var found []finding
	for _, q := range s.numbers() {
		value := q.dollars(worth)
		if value == 0 && q.unit == "" && q.asset == "" && untold(s, q) {
			value = q.most() // a bare number that is bought
		}
		if !q.rate && value != 0 && traded(s, q) {
			found = c.judge(found, quantity{value: value, above: q.above, span: q.span}, q.span)
		}
	}
	if where, ok := s.first(sixFigures); ok && len(found) == 0 {
		q := quantity{value: leastFigure[s.in[where.from].text], span: where}
		if traded(s, q) {
			found = c.judge(found, q, where)
		}
	}
	if where, ok := s.first(boundlessSize); ok && len(found) == 0 {
		found = append(found, c.boundless(where))
	}
	return found
}

// leastFigure is the least amount of so many digits.
var leastFigure = figures(`six 1e5  6 1e5  seven 1e6  7 1e6  eight 1e7  8 1e7`)

// untold says whether a number alone is an amount that is traded: buy 250,000 of ETH.
func untold(s sentence, q quantity) bool {
	if q.most() < 1000 || q.from == s.from {
		return false
	}
	verb := s.before(acts, q.from, 2) || s.before(tickets, q.from, 2) || s.among(q.from-1, bare)
	switch {
	case verb && s.is(q.to, "of into to in worth for on") && s.asset(q.to, q.to+5):
		return true
	case s.ends(q.to) && s.at(having, q.from-1): // swap 60k
		return true
	}
	price := s.is(q.from-1, "for with of") && (s.ends(q.to) || s.is(q.to, "in at before on and now tonight"))
	return price && s.before(having, q.from, 6) && s.asset(q.from-6, q.from)
}

// traded says whether the clause of an amount speaks of a trade.
func traded(s sentence, q quantity) bool {
	c := s.clauseAround(q.span, ": ( )", ": ( )")
	pooled := s.between(pools, c.from, q.from)
	idle := s.between(pools, c.from, c.to)
	switch {
	case wanted(s, c.from, q.from):
		return true // it says to do something with so much
	case pooled && !s.between(moving, max(c.from, q.from-3), q.from):
		return false
	case s.crypto && q.unit == Dollars && !idle && !s.has(past) && !s.has(observing):
		return true // so much money in a sentence about coins, and nothing that says whose
	case q.asset != "" && !idle && !s.between(past, c.from, c.to):
		return true // a heap of coins, and nothing that says whose
	case s.between(acts, c.from, c.to) || s.between(tickets, c.from, c.to):
		return true
	}
	direct := s.is(q.to, "into in on of worth for at to") && (s.asset(q.to, q.to+6) || s.after(venues, q.to, 6))
	return direct && !pooled
}

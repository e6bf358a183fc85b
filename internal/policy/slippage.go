package policy

// slippage finds tolerances above the cap.
func slippage(s sentence, c Cap) []finding {
	slip, strong := s.first(slipping)
	if least, ok := s.first(minimumOut); ok {
		if zero, ok := nothingBack(s, least, strong); ok {
			return []finding{c.boundless(least.with(zero))}
		}
	}
	if !strong {
		weak, ok := s.first(slips)
		if !ok || !s.has(market) && !s.crypto {
			return nil
		}
		slip = weak
	}
	var found []finding
	for _, q := range s.numbers() {
		near := q.from-slip.to < 10 && slip.from-q.to < 8
		switch {
		case !near || q.asset != "" || q.unit == Dollars || s.at(spans, q.to):
		case q.unit == Share && !otherShare(s, q):
			found = c.judge(found, q, slip)
		case q.unit == "" && strong && tolerated(s, q, slip):
			if q.value > 1 { // 3 is said for 3 %
				q.value, q.other = q.value/100, q.other/100
			}
			found = c.judge(found, q, slip)
		}
	}
	if len(found) == 0 && strong {
		if where, ok := unprotected(s, slip); ok {
			found = append(found, c.boundless(where))
		}
	}
	return found
}

// nothingBack finds a zero beside the least that a swap may give back.
func nothingBack(s sentence, least span, strong bool) (span, bool) {
	for _, q := range s.numbers() {
		if q.value == 0 && q.from >= least.from && q.from-least.to < 6 {
			return q.span, true
		}
	}
	return span{least.to, least.to + 1}, !strong && s.is(least.to, "zero")
}

// unprotected finds slippage that nothing bounds: a check on it that is taken away, or any slippage at all.
func unprotected(s sentence, slip span) (span, bool) {
	if check, ok := s.first(protection); ok {
		if s.is(check.to, "off disabled removed gone") {
			return span{check.from, check.to + 1}, true
		}
		if verb, ok := s.find(disarming, s.from, check.from); ok {
			return verb.with(check), true
		}
		return span{check.from - 1, check.to}, check.from > s.from && s.closes(lacking, check.from)
	}
	any, ok := s.find(unbounded, slip.from-5, slip.to+5)
	apart := any.to <= slip.from || any.from >= slip.to
	says := any.from < slip.from && s.is(any.from-1, "is was")
	return any.with(slip), ok && apart && !says
}

// otherShare says whether a share is of something that is no slippage.
func otherShare(s sentence, q quantity) bool {
	if s.is(q.to, "of") {
		return !s.after(slipping, q.to, 4) && !s.is(q.to+1, "slip slack price room the") || s.after(wholes, q.to, 5)
	}
	return q.rate && !s.before(slipping, q.from, 3) && !s.before(slips, q.from, 3)
}

// tolerated says whether a bare number is that of the tolerance before it.
func tolerated(s sentence, q quantity, slip span) bool {
	if q.from < slip.to || q.from-slip.to > 5 {
		return false
	}
	return s.filled(factorWord, "tolerance limit setting set run be cap : = than more as high go", slip.to, q.from) &&
		(s.ends(q.to) || s.among(q.to, joints) || s.is(q.to, "on for at in to or with"))
}

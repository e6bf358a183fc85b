package policy

var (
	slipping = lexicon(
		`slippage | slippages | price impact | slip tolerance | max slip | maxslip | price tolerance | fill tolerance | price deviation | execution tolerance | deslizamiento | glissement | schlupf | slippagetoleranz | scivolamento | проскальзывани* | 滑点 | スリッページ`)
	slips = lexicon(
		`slip | slips | slipping | give up | concede | overpay | overpaying | pay up | chase the price | tolerance`)
	unbounded = lexicon(
		`doesnt matter | does not matter | dont matter | is nothing | who cares | be damned | means nothing | no object | take all of it | limit off | limits off | cap off | check off | checks off | guard off | protection off | as high as | as far as | as it likes | as it wants | as it pleases | as wide as | any amount | run free | run wild | off the leash | unlimited | infinite | any | no limit | without limit | without a limit | limitless | boundless | uncapped | whatever | no matter | regardless of | ignore | ignoring | forget | forget about | disregard | max | maximum | all the | as much | however much | endless | no cap | without a cap | disable | turn off | switch off | remove | skip | drop | never mind | dont care | do not care | irrelevant | wide open | unbegrenzt* | egal | illimit* | ilimitad* | auto`)
	minimumOut = lexicon(
		`amountoutmin* | minout | min out | minimum out | min output | minimum output | minimum received | min received | min return | minimum return`)
	protection = lexicon(
		`slippage protection | slippage limit* | slippage check* | slippage guard* | slippage cap | slippage control* | slippage warning*`)
	market = lexicon(`order* | fill* | trade* | swap* | price | exit | entry | buy | sell | execution | quote`)
)

// slippage finds tolerances above the cap.
func (r *reading) slippage(c Cap, s span) []finding {
	at, n := slipping.in(r.in, s.from, s.to)
	if i, m := minimumOut.in(r.in, s.from, s.to); i >= 0 {
		for _, q := range r.within(s) {
			if q.value == 0 && q.from >= i && q.from-i-m < 6 {
				return []finding{boundless(c, Share, i, q.to)}
			}
		}
		if at < 0 && oneOf(r.in[min(s.to-1, i+m)], "zero") {
			return []finding{boundless(c, Share, i, i+m+1)}
		}
	}
	weak := at < 0
	if weak {
		at, n = slips.in(r.in, s.from, s.to)
		if at < 0 || !market.has(r.in, s.from, s.to) && !hasAsset(r.in, s.from, s.to) {
			return nil
		}
	}
	var found []finding
	for _, q := range r.within(s) {
		near := q.from-at-n < 10 && at-q.to < 8
		switch {
		case !near || q.asset != "" || q.unit == Dollars || q.to < s.to && spans.at(r.in, q.to) > 0:
		case q.unit == Share:
			if exceeds, _ := over(q, c.Most); exceeds && !r.otherShare(q, s) {
				found = append(found, tooMuch(c, Share, q).with(at, at+n))
			}
		case q.unit == "" && !weak && r.tolerated(q, at, n):
			if q.value > 1 { // 3 is said for 3 %
				q.value, q.other = q.value/100, q.other/100
			}
			if exceeds, _ := over(q, c.Most); exceeds {
				found = append(found, tooMuch(c, Share, q).with(at, at+n))
			}
		}
	}
	if len(found) > 0 || weak {
		return found
	}
	if i, m := protection.in(r.in, s.from, s.to); i >= 0 {
		if i+m < s.to && oneOf(r.in[i+m], "off", "disabled", "removed", "gone") {
			return []finding{boundless(c, Share, i, i+m+1)}
		}
		if u, _ := disarming.in(r.in, s.from, i); u >= 0 {
			return []finding{boundless(c, Share, u, i+m)}
		}
		if i > s.from && endsWith(r.in, i, lacking) {
			return []finding{boundless(c, Share, i-1, i+m)}
		}
		return nil
	}
	if i, m := unbounded.in(r.in, max(s.from, at-5), min(s.to, at+n+5)); i >= 0 && (i+m <= at || i >= at+n) {
		if i > s.from && oneOf(r.in[i-1], "is", "was") && i < at {
			return nil
		}
		return []finding{boundless(c, Share, min(i, at), max(i+m, at+n))}
	}
	return nil
}

var (
	disarming = lexicon(
		`disable* | disabling | turn off | switch off | remove* | removing | skip | drop | ignore* | bypass* | without | no | lift | loosen | waive`)
	lacking = lexicon(`without | without any | no | sans | ohne`)
)

// otherShare says whether a share is of something that is no slippage.
func (r *reading) otherShare(q quantity, s span) bool {
	if q.to < s.to && oneOf(r.in[q.to], "of") {
		return !slipping.has(r.in, q.to, min(s.to, q.to+4)) &&
			!oneOf(r.in[min(s.to-1, q.to+1)], "slip", "slack", "price", "room", "the") ||
			wholes.has(r.in, q.to, min(s.to, q.to+5))
	}
	return q.rate && !slipping.has(r.in, max(s.from, q.from-3), q.from) &&
		!slips.has(r.in, max(s.from, q.from-3), q.from)
}

// tolerated says whether a bare number is that of the tolerance beside it.
func (r *reading) tolerated(q quantity, at, n int) bool {
	if q.from < at+n || q.from-at-n > 5 {
		return false
	}
	for i := at + n; i < q.from; i++ {
		if factorWord.at(r.in, i) == 0 &&
			!oneOf(r.in[i], "tolerance", "limit", "setting", "set", "run", "be", "cap", ":", "=", "than", "more",
				"as", "high", "go") {
			return false
		}
	}
	return q.to >= len(r.in) || r.in[q.to].sort == mark || joints[r.in[q.to].text] ||
		oneOf(r.in[q.to], "on", "for", "at", "in", "to", "or", "with")
}

package policy

import (
	"regexp"
	"strings"
)

const (
	ruleAsset  = "asset"  // an asset that is not allowed
	ruleLength = "length" // a text that is too long to be read

	// RuleUnclear flags what the observer could not judge by the sentences.
	RuleUnclear = "unclear"
)

// tradable is a sentence with the assets that may be traded.
type tradable struct {
	sentence
	allowed map[string]bool
}

// holding finds assets that are held or traded and are not allowed.
func holding(s sentence, allowed map[string]bool) []finding {
	t := tradable{s, allowed}
	var found []finding
	for i := s.from; i < s.to; {
		n, what, certain := t.foreign(i)
		if n > 0 && (certain || t.held(span{i, i + n})) {
			found = append(found, finding{rule: ruleAsset, what: what, span: span{i, i + n}})
		}
		i += max(n, 1)
	}
	return found
}

// foreign says whether an asset that is not allowed is named at a place, how many tokens it takes, and what is wrong
// with it. Certain is what needs no verb beside it.
func (s tradable) foreign(i int) (took int, what string, certain bool) {
	t := s.in[i]
	if t.sort == address {
		return 1, "a contract is named by its address, and nobody can tell which asset it is", false
	}
	if t.sort != word {
		return 0, "", false
	}
	a, n := assetAt(s.in, i)
	sure := a.sure(s.in, i) && !(s.shouted && a.plain)
	switch {
	case n == 0:
		return s.nameless(i)
	case t.odd:
		return n, "a name of an asset is written in letters that only look like it", true
	case s.allowed[a.ticker] || !sure && !s.meant(i) || s.carriedTo(i):
		return 0, "", false
	}
	return n, a.ticker + " is not among the assets allowed", false
}

// nameless finds an asset without a known name: a token that is left open, a kind, and what looks like a ticker.
func (s tradable) nameless(i int) (took int, what string, certain bool) {
	t := s.in[i]
	if s.unnamed(i) {
		return 1, "a token that is not named cannot be among the assets allowed", false
	}
	if n := s.length(kinds, i); n > 0 {
		return n, "it is of a kind that is not among the assets allowed", false
	}
	ticker, letters := strings.ToUpper(t.text), len(t.text)
	priced := s.is(i-1, "$") && letters >= 2 && letters <= 8
	shown := t.caps && !s.shouted && letters >= 3 && letters <= 6 && !capitalWords[t.text] && s.objectOf(i)
	switch {
	case s.allowed[ticker]:
	case priced || shown:
		return 1, ticker + " is not among the assets allowed", false
	case letters > 5 && coinName.MatchString(t.text) && !oneOf(t, "stablecoin stablecoins bitcoin altcoin"):
		return 1, "a coin is not among the assets allowed", false
	}
	return 0, "", false
}

var coinName = regexp.MustCompile(`(coins?|inu)$`)

// meant says whether a plain word is an asset here: where money is spoken of it is the object of a trade.
func (s tradable) meant(i int) bool {
	if s.is(i+1, "token tokens coin coins") {
		return true
	}
	described := s.isA(i+1, word) && !s.among(i+1, joints) && !s.among(i+1, closing) && !s.at(having, i+1)
	for at := s.from; at < s.to; at++ {
		if at != i && s.at(contexts, at) {
			return !described && s.objectOf(i)
		}
	}
	return false
}

// objectOf says whether a word is what a trade close before it is about.
func (s tradable) objectOf(i int) bool {
	for at := i - 1; at >= max(s.from, i-7); at-- {
		t := s.in[at]
		if s.at(having, at) || s.at(holdings, at) {
			return true
		}
		if t.sort == mark && !oneOf(t, ", $ / - & %") || subords[t.text] && t.text != "as" {
			return false
		}
		passing := light[t.text] || scales[t.text] > 0 || numeralOf(t) >= 0 || s.assetAt(at) > 0 || t.caps
		if t.sort == word && !passing && i-at > 3 {
			return false
		}
	}
	return false
}

// carriedTo says whether a name is the chain that something is sent to.
func (s tradable) carriedTo(i int) bool {
	return (!s.in[i].caps || s.shouted) &&
		(s.among(i-1, chainNouns) || s.is(i-1, "to") && s.before(carrying, i, 8))
}

// held says whether an asset is bought, sold, held or staked, in the clause it stands in.
func (s tradable) held(at span) bool {
	c := s.clauseAround(at, ": (", "(")
	if s.is(c.from-1, ": (") { // hold a basket: ETH, SOL
		c.from = s.from
	}
	return s.between(having, c.from, c.to) || s.between(holdings, c.from, at.from) || s.is(at.from-1, "into") ||
		s.shareIn(at.from) || wanted(s.sentence, c.from, c.to)
}

// shareIn says whether a share or an amount stands in an asset: half a percent in XMR.
func (s tradable) shareIn(i int) bool {
	for _, q := range s.numbers() {
		if q.to+1 == i && s.is(q.to, "in into on of for") {
			return (q.unit == Share && !q.rate || q.unit == Dollars || q.asset != "") && !s.earlier(pools, q.from)
		}
	}
	return false
}

// wanted says whether a clause says to do something, and not only to look.
func wanted(s sentence, from, to int) bool {
	for i := from; i < to; i++ {
		if s.orders(i) && !s.at(guardVerbs, i) {
			return true
		}
	}
	return false
}

// unnamed says whether a token or coin stands where an asset is bought, and nothing says which of those allowed it is.
func (s tradable) unnamed(i int) bool {
	if !s.is(i, "token tokens coin coins asset assets") || !s.before(having, i, 5) {
		return false
	}
	if s.among(i-1, anyWhich) || s.among(i-2, anyWhich) && !s.among(i-1, whose) {
		return true
	}
	addressed := s.is(i+1, "at called named") && i+2 < s.to && s.in[i+2].sort == address
	if !s.is(i, "token coin") || addressed || !s.isA(i-1, word) || s.among(i-1, whose) {
		return false
	}
	for at := max(s.from, i-6); at < min(s.to, i+6); at++ {
		if a, n := assetAt(s.in, at); n > 0 && s.allowed[a.ticker] {
			return false
		}
	}
	return s.is(i-1, "a the this that another new some any") && i-2 >= s.from ||
		s.is(i-2, "a the this that another some any its")
}

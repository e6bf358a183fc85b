package policy

import "strings"

const (
	ruleAsset  = "asset"  // an asset that is not allowed
	ruleLength = "length" // a text that is too long to be read

	// RuleUnclear flags what the observer could not judge by the sentences.
	RuleUnclear = "unclear"
)

var (
	// having are verbs whose object is held.
	having = lexicon(
		`get | gets | getting | dip a | dip our | toe into | toe in | wrap | back | bring home | try | fancy | love | grow | feed | pay for | pay in | buy | buys | buying | bought | purchas* | acquir* | grab* | sell | sells | selling | sold | swap* | trade | trades | trading | traded | exchang* | convert* | rotat* | move | moves | moving | shift* | send | sends | sending | transfer* |
		put | puts | putting | place | places | placing | allocat* | deploy* | invest | invests | investing | invested | deposit* | lend | lends | lending | supply | supplies | supplying | stake | stakes | staking | staked | restak* | hold | holds | holding | held | hodl* |
		long | longing | short | shorting | pour* | sink | sinks | sinking | throw* | dump | dumps | dumping | add | adds | adding | added | accumulat* | load up | loading up | load | pile | piles | piling | park | spend | bid | bids | wager* | bet | bets | farm | farms | farming | mint | mints | snip* |
		ape | aping | apes | flip | flips | flipping | chase | chasing | scoop* | roll | rolls | funnel* | bag | bags | own | owns | owning | get into | get some | getting into | dip into | go into | jump into | jump in | hop into | hop on | provide | provides | providing | take a | enter | borrow | collect | pick up | gather | gamble | stack | stash | keep some | keep a | like some | want some | need some | hedge with | hedge into | bring in | let in | include | list | diversify | pair | switch to | switch into | trade in |
		kauf* | verkauf* | tausch* | steck* | investier* | setz* | halte | acheter | achet* | vend* | investi* | compr* | vender | invert* | invierte* | cambi* | купи* | продай* | вложи*`)
	// contexts say that a plain word is meant as an asset.
	contexts = lexicon(
		`token* | coin* | pool* | pair | wallet* | dex | swap* | stake | staking | stakes | eth | btc | usdc | dai | weth | wbtc | steth | bitcoin | ether | ethereum | defi | chain | bag of | bags of | crypto* | portfolio | treasury | dollar* | usd | liquidity | airdrop | validator* | yield | position | weekly low | the dip | market cap | open | weekly high | the low | the high | breakout`)
	// capitalWords are capitals that are no ticker.
	capitalWords = set(
		`usd eur gbp jpy chf dao dex cex amm lp lps apy apr tvl mev rpc api evm nft l1 l2 ok us uk eu it i a the and or not never no all in on to of for we us our gwei gas ltv aum nav pnl otc kyc aml ai ml llm cpu gpu ram ssd tv pc cd dvd id ids url http https json sql dali rem nrem tldr faq ceo cto sec irs cia fbi utc gmt am pm mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep oct nov dec q1 q2 q3 q4 twap vwap dca hodl fomo fud ath atl roi p2p ui ux qa ux ids vip sos diy eta asap btw fyi imo limit stop buy sell now hold long short swap put call each any more less only must should take use go get set let do with at by from into this that it its is are was be will may can x k m bn usdx one two three four five six seven eight nine ten new old big small yes`)
	chainNouns = set(`on over via using across`)
	carrying   = lexicon(
		`bridge | bridging | bridged | transfer* | send | sends | sending | move | moves | moving | migrate*`)
)

// holding finds assets that are held or traded and are not allowed.
func (r *reading) holding(allowed map[string]bool, s span) []finding {
	var found []finding
	for i := s.from; i < s.to; {
		n, what, certain := r.foreign(allowed, s, i)
		if n == 0 {
			i++
			continue
		}
		if certain || r.held(s, i, n) {
			found = append(found, finding{rule: ruleAsset, what: what, from: i, to: i + n})
		}
		i += n
	}
	return found
}

// foreign says whether an asset that is not allowed is named at a token, how many tokens it takes, and what is wrong
// with it. Certain is what needs no deed beside it.
func (r *reading) foreign(allowed map[string]bool, s span, i int) (took int, what string, certain bool) {
	t := r.in[i]
	if t.sort == address {
		return 1, "a contract is named by its address, and nobody can tell which asset it is", false
	}
	if t.sort != word {
		return 0, "", false
	}
	a, n := assetAt(r.in, i)
	if n > 0 {
		if t.odd {
			return n, "a name of an asset is written in letters that only look like it", true
		}
		if allowed[a.ticker] || (!a.sure(r.in, i) || r.shouted && a.plain) && !r.meant(s, i) || r.carriedTo(s, i) {
			return 0, "", false
		}
		return n, a.ticker + " is not among the assets allowed", false
	}
	if r.unnamed(s, i, allowed) {
		return 1, "a token that is not named cannot be among the assets allowed", false
	}
	if n := kinds.at(r.in, i); n > 0 {
		return n, "it is of a kind that is not among the assets allowed", false
	}
	switch {
	case i > s.from && r.in[i-1].text == "$" && len(t.text) >= 2 && len(t.text) <= 8 &&
		!allowed[strings.ToUpper(t.text)]:
		return 1, strings.ToUpper(t.text) + " is not among the assets allowed", false
	case t.caps && !r.shouted && len(t.text) >= 3 && len(t.text) <= 6 && !capitalWords[t.text] &&
		!allowed[strings.ToUpper(t.text)] && r.objectOf(s, i):
		return 1, strings.ToUpper(t.text) + " is not among the assets allowed", false
	case len(t.text) > 5 &&
		(strings.HasSuffix(t.text, "coin") || strings.HasSuffix(t.text, "coins") ||
			strings.HasSuffix(t.text, "inu")) && !oneOf(t, "stablecoin", "stablecoins", "bitcoin", "altcoin") &&
		!allowed[strings.ToUpper(t.text)]:
		return 1, "a coin is not among the assets allowed", false
	}
	return 0, "", false
}

// meant says whether a plain word is an asset here: where money is spoken of it is the object of a deed.
func (r *reading) meant(s span, i int) bool {
	around := false
	for at := s.from; at < s.to; at++ {
		if at != i && contexts.at(r.in, at) > 0 {
			around = true
		}
	}
	if i+1 < s.to && oneOf(r.in[i+1], "token", "tokens", "coin", "coins") {
		return true
	}
	return around && r.objectOf(s, i) &&
		!(i+1 < s.to && r.in[i+1].sort == word && !joints[r.in[i+1].text] && !closing[r.in[i+1].text] &&
			having.at(r.in, i+1) == 0)
}

// closing are words that follow an object.
var closing = set(
	`at for with in on to into from against by now today tonight or each again token tokens coin coins instead too also and via before because during early late soon only once whenever`)

// objectOf says whether a word is what a deed close before it is done to.
func (r *reading) objectOf(s span, i int) bool {
	for at := i - 1; at >= max(s.from, i-7); at-- {
		t := r.in[at]
		if having.at(r.in, at) > 0 || holdings.at(r.in, at) > 0 {
			return true
		}
		if t.sort == mark && !oneOf(t, ",", "$", "/", "-", "&", "%") || subords[t.text] && !oneOf(t, "as") {
			return false
		}
		if t.sort == word && !light[t.text] && scales[t.text] == 0 && numeralOf(t) < 0 {
			if a, n := assetAt(r.in, at); n == 0 || !a.sure(r.in, at) && !light[t.text] {
				if !t.caps && i-at > 3 {
					return false
				}
			}
		}
	}
	return false
}

// light words stand between a deed and its object.
var light = set(
	`some a an the little few bit more of into for to in on our half all and or small tiny big bag any with against back everything it them that this not only first each part share worth one up also then over`)

// carriedTo says whether a name is the chain that something is sent to.
func (r *reading) carriedTo(s span, i int) bool {
	if i == s.from || r.in[i].caps && !r.shouted {
		return false
	}
	return chainNouns[r.in[i-1].text] || r.in[i-1].text == "to" && carrying.has(r.in, max(s.from, i-8), i)
}

// held says whether an asset at a token is bought, sold, held or staked, in the clause it stands in.
func (r *reading) held(s span, i, n int) bool {
	from, to := i, i+n
	for from > s.from && !subords[r.in[from-1].text] && !oneOf(r.in[from-1], ":", "(") {
		from--
	}
	for to < s.to && !subords[r.in[to].text] && !oneOf(r.in[to], "(") {
		to++
	}
	// its clause ends with its comma
	if from > s.from && subords[r.in[from-1].text] && !oneOf(r.in[from-1], "that", "which", "as") {
		for at := i; at < to; at++ {
			if r.in[at].text == "," {
				to = at
			}
		}
	}
	if from > s.from && oneOf(r.in[from-1], ":", "(") { // hold a basket: ETH, SOL
		from = s.from
	}
	return having.has(r.in, from, to) || holdings.has(r.in, from, i) || oneOf(before(r.in, i), "into") ||
		r.shareIn(s, i) || r.wanted(s, from, to)
}

// shareIn says whether a share or an amount stands in an asset: half a percent in XMR.
func (r *reading) shareIn(s span, i int) bool {
	for _, q := range r.within(s) {
		if q.to+1 == i && oneOf(r.in[q.to], "in", "into", "on", "of", "for") &&
			(q.unit == Share && !q.rate || q.unit == Dollars || q.asset != "") && !pools.has(r.in, s.from, q.from) {
			return true
		}
	}
	return false
}

// wanted says whether a clause tells to do something, and not only to look.
func (r *reading) wanted(s span, from, to int) bool {
	for i := from; i < to; i++ {
		if bare[r.in[i].text] && r.begins(s, i) && !r.nominal(s, i) && guardVerbs.at(r.in, i) == 0 {
			return true
		}
	}
	return false
}

// unnamed says whether a token or coin stands where an asset is bought, and nothing says which of those allowed it is.
func (r *reading) unnamed(s span, i int, allowed map[string]bool) bool {
	if oneOf(r.in[i], "token", "tokens", "coin", "coins", "asset", "assets") && i > s.from &&
		(anyWhich[r.in[i-1].text] || i > s.from+1 && anyWhich[r.in[i-2].text] && !whose[r.in[i-1].text]) {
		return having.has(r.in, max(s.from, i-5), i)
	}
	if !oneOf(r.in[i], "token", "coin") || i < s.from+2 ||
		i+1 < s.to && oneOf(r.in[i+1], "at", "called", "named") && i+2 < s.to && r.in[i+2].sort == address {
		return false
	}
	for at := max(s.from, i-6); at < min(s.to, i+6); at++ {
		if a, n := assetAt(r.in, at); n > 0 && allowed[a.ticker] {
			return false
		}
	}
	which := r.in[i-1]
	if which.sort != word || whose[which.text] {
		return false
	}
	return having.has(r.in, max(s.from, i-5), i) &&
		(oneOf(which, "a", "the", "this", "that", "another", "new", "some", "any") ||
			oneOf(r.in[i-2], "a", "the", "this", "that", "another", "some", "any", "its"))
}

// whose are words before a token that make it no asset to be bought.
var whose = set(
	`access api session login auth security brass copper golden gold silver old lucky bus subway chocolate no each every first last one stable gas reward lp stream text output`)

// anyWhich leave open which asset is meant.
var anyWhich = set(`whatever whichever any anything whichsoever random trending hottest newest next`)

package policy

var (
	// tickets are nouns of a trade.
	tickets = lexicon(
		`order | orders | trade | trades | bid | bids | ask | offer | swap | purchase | transfer | ticket | clip | lump | lumpsum | block | bet | wager | buy | sale | fill | deal | punt | loan | position | stake | investment | deposit | shot | hit | size | payment | check | cheque | kauf | verkauf | achat | compra`)
	// pools are what may hold much without our trading it.
	pools = lexicon(
		`pool | pools | tvl | volume | liquidity | market cap | marketcap | supply | locked | holds | held | holding | reserve of | reserves of | outflow* | inflow* | open interest | turnover | worth of fees | in fees | raised | bridge carried | depth`)
	subords = set(
		`when while if until because since which who where although though unless as whenever after before that`)
	figures6 = lexicon(
		`six figure* | seven figure* | eight figure* | six digit* | seven digit* | eight digit* | 6 figure* | 7 figure* | 8 figure*`)
)

// amount finds trades above the cap.
func (r *reading) amount(c Cap, s span, worth map[string]float64) []finding {
	var found []finding
	for _, q := range r.within(s) {
		worth := r.dollars(q, worth)
		if worth == 0 && q.unit == "" && q.asset == "" && r.untold(q, s) {
			worth = q.most() // a bare number that is bought
		}
		if q.rate || worth == 0 {
			continue
		}
		existing := quantity{value: worth, above: q.above, from: q.from, to: q.to}
		if exceeds, _ := over(existing, c.Most); exceeds && r.traded(q, s) {
			found = append(found, tooMuch(c, Dollars, existing))
		}
	}
	if i, n := figures6.in(r.in, s.from, s.to); i >= 0 && len(found) == 0 {
		least := map[byte]float64{'s': 1e5, '6': 1e5, '7': 1e6, 'e': 1e7, '8': 1e7}[r.in[i].text[0]]
		if r.in[i].text == "seven" {
			least = 1e6
		}
		q := quantity{value: least, from: i, to: i + n}
		if exceeds, _ := over(q, c.Most); exceeds && r.traded(q, s) {
			found = append(found, tooMuch(c, Dollars, q))
		}
	}
	if i, n := boundlessSize.in(r.in, s.from, s.to); i >= 0 && len(found) == 0 {
		found = append(found, boundless(c, Dollars, i, i+n))
	}
	return found
}

// moving are deeds that take an amount out of a pool, or put it there.
var moving = lexicon(
	`buy* | sell* | swap* | send* | move* | put* | trade* | bridge | wire* | place* | deposit* | add* | withdraw* | invest* | bid* | lend* | transfer* | spend* | sink* | pour* | order | orders`)

var observing = lexicon(
	`is | are | has | have | worth | costs | cost | flows | flow | trades | moves | burns | price* | cap | each day | a day | an hour | daily | leaves | enters | arrives`)

var boundlessSize = lexicon(
	`unlimited order* | order* without limit | unlimited size | no size limit | any size order | trade of any size | order of any size | orders of any size | whatever size`)

// untold says whether a number alone is an amount that is traded: buy 250,000 of ETH.
func (r *reading) untold(q quantity, s span) bool {
	if q.most() < 1000 || q.from == s.from {
		return false
	}
	verb := acts.has(r.in, max(s.from, q.from-2), q.from) || tickets.has(r.in, max(s.from, q.from-2), q.from) ||
		bare[r.in[q.from-1].text]
	if verb && q.to < s.to && oneOf(r.in[q.to], "of", "into", "to", "in", "worth", "for", "on") &&
		hasAsset(r.in, q.to, min(s.to, q.to+5)) {
		return true
	}
	if having.at(r.in, q.from-1) > 0 && (q.to == s.to || r.in[q.to].sort == mark) { // swap 60k
		return true
	}
	price := oneOf(r.in[q.from-1], "for", "with", "of") &&
		(q.to == s.to || r.in[q.to].sort == mark ||
			oneOf(r.in[q.to], "in", "at", "before", "on", "and", "now", "tonight"))
	return price && having.has(r.in, max(s.from, q.from-6), q.from) && hasAsset(r.in, max(s.from, q.from-6), q.from)
}

// traded says whether the clause of an amount speaks of a trade.
func (r *reading) traded(q quantity, s span) bool {
	from, to := q.from, q.to
	for from > s.from && !subords[r.in[from-1].text] && !oneOf(r.in[from-1], ":", "(", ")") {
		from--
	}
	for to < s.to && !subords[r.in[to].text] && !oneOf(r.in[to], ":", "(", ")") {
		to++
	}
	// a clause that depends ends with its comma
	if from > s.from && subords[r.in[from-1].text] || subords[r.in[from].text] {
		for i := q.to; i < to; i++ {
			if r.in[i].text == "," {
				to = i
			}
		}
	}
	if r.wanted(s, from, q.from) {
		return true // it tells to do something with so much
	}
	if pools.has(r.in, from, q.from) && !moving.has(r.in, max(from, q.from-3), q.from) {
		return false
	}
	direct := q.to < s.to &&
		(oneOf(r.in[q.to], "into", "in", "on", "of", "worth", "for", "at", "to") &&
			(hasAsset(r.in, q.to, min(s.to, q.to+6)) || venues.has(r.in, q.to, min(s.to, q.to+6))))
	if crypto := hasAsset(r.in, s.from,
		s.to); crypto && q.unit == Dollars && !past.has(r.in, s.from, s.to) && !pools.has(r.in, from, to) &&
		!observing.has(r.in, s.from, s.to) {
		return true // so much money in a sentence about coins, and nothing that says whose
	}
	if q.asset != "" && !past.has(r.in, from, to) && !pools.has(r.in, from, to) {
		return true // a heap of coins, and nothing that says whose
	}
	return acts.has(r.in, from, to) || tickets.has(r.in, from, to) || direct && !pools.has(r.in, from, q.from)
}

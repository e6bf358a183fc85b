package policy

var (
	// wholes speak of all that is owned; loosely only where assets or venues are spoken of too.
	wholes = lexicon(
		`what we hold | what we own | what we have | whatever we hold | whatever we own | all that we own | all that we hold | all that we have | our money | our savings | our cash | portfolio* | treasury | treasuries | our capital | the capital | capital | aum | assets under management | net worth | bankroll | everything we own | everything we have | everything we hold | all we own | all we have | all we hold | all our money | all the money | our holdings |
		holdings | our wealth | our funds | the funds | our assets | nest egg | war chest | our reserves | our equity | vermogen* | vermoegen* | gesamtvermogen | portefeuille | patrimoine | cartera | patrimonio | capitale | портфел* | капитал* | kapital* | portafoglio | carteira`)
	funds = lexicon(
		`fund | funds | book | books | wallet | balance | savings | stack | stash | purse | pot | money | cash | reserves | equity | assets | wealth | everything | estate | inventory | deposit* | collateral | coins | float | liquidity | weight* | allocation | allocations | position | positions | stake | exposure | sleeve | leg | legs | bag | slice | concentration | depot | bestand | fonds | fondos | fortuna | purse | chest | vault | account | konto | compte | cuenta | nav`)
	// sized words say that a share without an of is that of a position.
	sized = lexicon(
		`position* | allocat* | allotment | weight* | exposure | stake | sleeve | leg | legs | concentration | size | sized | sizing | bag | share of the book | invest* | commit* | deploy* | put | putting | move | moving | shift* | rotat* | sink | pour* | park | hold | keep | stash | place | throw | pile | bet | stuff | load | convert* | swap* | steck* | setz* | invierte* | mets | mete | pon | вложи*`)
	into = lexicon(
		`into | in | on | to | toward | towards | onto | across | for | behind | auf | dans | en | sur | em | su | nel`)
	// alls name the whole of it.
	alls = lexicon(
		`all holdings | all assets | all funds | all capital | all reserves | all savings | all cash | all coins | all tokens | all money | keep only | own only | keep just | hold just | have only | own just | all chips | all the chips | every chip | a single coin | a single asset | a single token | keep a single | a single place | everything to | everything toward | everything behind | everything at | all of them | it all | our treasury all | the treasury all | whole lot | everything we | every last | only thing we own | only thing we hold | only thing we have | only asset we | only coin we | one coin only | one asset only | of one coin | of one asset | of one token | of a single coin | of a single asset | of a single token | single asset portfolio | one asset portfolio | one coin portfolio | sell all else | sell everything else | sell the rest | drop the rest | nothing besides | nothing except | nothing save | every other coin | all other assets | every other asset | every coin we | every token we | every dollar we | every cent we | our whole | our entire | the lot | all in on | all in | allin | all into | everything into | everything in | everything on | everything we own | everything we have | everything we hold | everything on one | the lot on | the lot into | the lot in | whole | entire | entirety | complete | total | full | every last | every single | every coin | every dollar | every cent | every penny | every euro | every token | every satoshi | all our | all of our | all of the | all the | all of it | all our eggs | one basket |
		bet the farm | bet the house | bet the ranch | bet the ship | bet it all | the farm on | the house on | nothing but | only hold | hold only | holding only | holds only | exclusively | solely | nothing else | nothing other than | no other asset | no other coin | all eggs | va banque | alles auf | alles in | todo en | todo a | tout sur | tout en | tout dans | tutto su | tutto in | tudo em | ganze* | gesamt* | toda la | todo el | toute la | tout le | весь | всё на | все на | max out | empty the | whatever we have | whatever we own | what we have left | go big or`)
	majority = lexicon(
		`most of | majority | bulk of | lion share | nearly all | almost all | nearly everything | almost everything | nearly the whole | almost the whole | the better part of | the greater part of | the larger part of | more than half | over half | all but | everything but | everything except | the rest of | the remainder of | a big chunk of | a huge chunk of | a large chunk of | vast majority | the best part of | a massive | great part of | gross* teil | grossteil | la mayor parte | la plupart | большую часть`)
	allFalse = lexicon(
		`all in all | all in a | all in good time | full stop | the whole hall | whole time | whole week | whole day | whole night | whole month | whole year | whole point | whole story | entire week | entire night | entire day | entire year | total of | in total | full moon | complete log | in full | full node | full nodes | full block | full blocks | whole pool | entire pool | whole market | entire market | as a whole | on the whole`)
)

// position finds shares of what is owned above the cap in one place, and all of it in one place.
func (r *reading) position(c Cap, s span, crypto bool) []finding {
	if c.Most >= 1 {
		return nil
	}
	place := crypto || venues.has(r.in, s.from, s.to)
	act := acts.has(r.in, s.from, s.to) || into.has(r.in, s.from, s.to) && place
	wholeAt, wholeN := wholes.in(r.in, s.from, s.to)
	fundAt, fundN := funds.in(r.in, s.from, s.to)
	var found []finding
	for _, q := range r.within(s) {
		if q.rate || !r.share(q) {
			continue
		}
		exceeds, _ := over(q, c.Most)
		if !exceeds || q.most() > 1+tiny && q.unit != Share {
			continue
		}
		ofWhole, named := r.ofWhole(q, s)
		if q.ratio && q.to < s.to &&
			(monies.at(r.in, q.to) > 0 || oneOf(r.in[q.to], "coin", "coins", "token", "tokens", "parts", "eggs")) {
			ofWhole, named = true, true // nine out of ten dollars
		}
		switch {
		case named && !ofWhole: // a share of something else
		case ofWhole && (act || place || sized.has(r.in, s.from, s.to)):
			found = append(found, tooMuch(c, Share, q).with(q.from, min(s.to, q.to+4)))
		case q.unit == Share && !named && wholeAt >= 0 && act && wholeAt-q.to < 12 && q.from-wholeAt < 12:
			found = append(found, tooMuch(c, Share, q).with(wholeAt, wholeAt+wholeN))
		case !named && place && r.sizedShare(q, s) && (q.unit == Share || q.value < 1):
			f := tooMuch(c, Share, q)
			if fundAt >= 0 && fundAt-q.to < 6 && q.from-fundAt < 8 {
				f = f.with(fundAt, fundAt+fundN)
			}
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found
	}
	if i, n := r.moved(s); n > 0 {
		return []finding{
			{rule: c.Name, what: "all of it in one place is above " + format(c.Most, Share), from: i, to: i + n},
		}
	}
	if i, n := r.alone(s); n > 0 && (act || besides.has(r.in, s.from, s.to)) {
		return []finding{
			{rule: c.Name, what: "all of it in one place is above " + format(c.Most, Share), from: i, to: i + n},
		}
	}
	return r.wholly(c, s, place, act)
}

// share says whether a quantity can be one: it has the unit, or is a bare decimal below one.
func (r *reading) share(q quantity) bool {
	return q.unit == Share || q.unit == "" && q.asset == "" && q.value > 0 && q.value < 1
}

// ofWhole says whether a share is one of what is owned, and whether anything is named that it is a share of.
func (r *reading) ofWhole(q quantity, s span) (whole, named bool) {
	at := q.to
	if at >= s.to || !oneOf(r.in[at], "of", "des", "der", "vom", "von", "du", "de", "del", "dei", "do", "da") {
		if at < s.to && oneOf(r.in[at], "our", "the", "all", "my") &&
			(wholes.has(r.in, at, min(s.to, at+3)) || funds.has(r.in, at+1, min(s.to, at+3)) && r.ours(at+1, at)) {
			return true, true
		}
		return wholes.at2(r.in, at, s.to), wholes.at2(r.in, at, s.to)
	}
	for i := at + 1; i < min(s.to, at+7); i++ {
		if r.in[i].sort == mark {
			break
		}
		if wholes.at(r.in, i) > 0 {
			return true, true
		}
		if funds.at(r.in, i) > 0 {
			return r.ours(i, at), true
		}
		if into.at(r.in, i) > 0 && i > at+1 {
			break
		}
	}
	return false, true
}

func (w *words) at2(in []token, at, end int) bool { return at < end && w.at(in, at) > 0 }

// ours says whether a word for a purse stands for our own: the book, our wallet, everything.
func (r *reading) ours(at, from int) bool {
	for i := from; i < at; i++ {
		if oneOf(r.in[i], "our", "the", "my", "all", "total", "whole", "entire", "available", "free") {
			return !oneOf(r.in[at], "book", "books", "coins", "pot", "position", "positions", "leg", "bag", "vault",
				"account", "deposit", "deposits") || finance.has(r.in, max(0, at-12), min(len(r.in), at+12)) ||
				hasAsset(r.in, max(0, at-14), min(len(r.in), at+14))
		}
	}
	return oneOf(r.in[at], "everything", "cash", "equity", "nav", "savings", "funds") ||
		at == from+1 && oneOf(r.in[at], "assets", "wealth")
}

func hasAsset(in []token, from, to int) bool {
	for i := from; i < to; i++ {
		if a, n := assetAt(in, i); n > 0 && a.sure(in, i) {
			return true
		}
	}
	return false
}

// sizedShare says whether a share that stands alone is the size of a position: 90 % for the bitcoin leg, put 60 % into
// DAI.
func (r *reading) sizedShare(q quantity, s span) bool {
	if a, n := assetAt(r.in, q.to); q.to < s.to && n > 0 && a.sure(r.in, q.to) && q.unit == Share &&
		!changing.has(r.in, q.to, min(s.to, q.to+n+2)) {
		return true // ninety percent ether
	}
	if q.to < s.to && into.at(r.in, q.to) > 0 && r.targets(q.to+1, s) &&
		(sized.has(r.in, max(s.from, q.from-6), q.from) || q.from == s.from || r.in[q.from-1].sort == mark ||
			oneOf(r.in[q.from-1], "and", "then", "or")) {
		return true
	}
	if r.beside(q, s) {
		return true
	}
	at, n := sized.in(r.in, max(s.from, q.from-7), q.from)
	if at < 0 {
		return false
	}
	for i := at + n; i < q.from; i++ {
		if oneOf(r.in[i], "by", "probability", "chance", "ltv", "apy", "apr", "fee", "when", "while", "if", "because",
			"slippage", "utilization", "utilisation") {
			return false
		}
	}
	return q.from > s.from &&
		oneOf(r.in[q.from-1], "to", "at", "of", "than", "is", "be", "over", "above", "beyond", "past", "auf", "until",
			"till", "reaches", "reach", "=", ":", "near", "around", "weight", "allocation", "position", "exposure",
			"about", "from", "a")
}

// targets says whether an asset or a venue stands close behind.
func (r *reading) targets(at int, s span) bool {
	end := min(s.to, at+5)
	return hasAsset(r.in, at, end) || venues.has(r.in, at, end)
}

// wholly finds what puts all, or most, of what is owned into one place.
func (r *reading) wholly(c Cap, s span, place, act bool) []finding {
	for i := s.from; i < s.to; i++ {
		if n := allFalse.at(r.in, i); n > 0 {
			i += n - 1
			continue
		}
		n := majority.at(r.in, i)
		if n > 0 {
			if (wholes.has(r.in, i, min(s.to, i+n+6)) ||
				funds.has(r.in, i+n, min(s.to, i+n+5)) && r.oursNear(i, n, s)) && (act || place) {
				return []finding{
					{
						rule: c.Name, what: "more than half in one place is above " + format(c.Most, Share), from: i,
						to: min(s.to, i+n+4),
					},
				}
			}
			continue
		}
		n = alls.at(r.in, i)
		if n == 0 || !r.together(i, n, s, place, act) {
			continue
		}
		return []finding{
			{
				rule: c.Name, what: "all of it in one place is above " + format(c.Most, Share), from: i,
				to: min(s.to, i+n+3),
			},
		}
	}
	return nil
}

func (r *reading) oursNear(i, n int, s span) bool {
	for at := i; at < min(s.to, i+n+5); at++ {
		if oneOf(r.in[at], "our", "the", "my", "all", "it", "everything") {
			return true
		}
	}
	return false
}

// together says whether a word for all stands with what is owned, or with a place that it goes to.
func (r *reading) together(i, n int, s span, place, act bool) bool {
	t := r.in[i]
	switch {
	case oneOf(t, "bet", "va"):
		return true
	case oneOf(t, "all") && n >= 2 &&
		oneOf(r.in[i+1], "in", "into"), oneOf(t, "allin", "alles", "todo", "tout", "tutto", "tudo"):
		return place || i > s.from && oneOf(r.in[i-1], "go", "going", "went", "goes", "be", "us")
	case oneOf(t, "nothing") && oneOf(r.in[i+1], "besides", "except", "save"):
		return act && r.targets(i+n, s)
	case oneOf(t, "only") && n > 2:
		return place && (act || hasAsset(r.in, s.from, s.to))
	case oneOf(t, "nothing", "exclusively", "solely", "only", "hold", "holding", "holds", "no"):
		return act && (r.targets(i+n, s) || oneOf(t, "exclusively", "solely") && place) &&
			(oneOf(t, "nothing") && n >= 2 || !oneOf(t, "nothing"))
	case oneOf(r.in[i+n-1], "chips", "chip"), oneOf(t, "a", "keep") && n > 1:
		return hasAsset(r.in, s.from, s.to) && (act || oneOf(r.in[i+n-1], "chips", "chip"))
	case oneOf(t, "one", "all") && oneOf(r.in[i+n-1], "basket", "eggs"):
		return hasAsset(r.in, s.from, s.to)
	case oneOf(t, "sell", "drop", "nothing") && n > 2, oneOf(t, "of", "single", "only") && n > 2, oneOf(t, "one") &&
		n > 1:
		return place && (act || hasAsset(r.in, s.from, s.to))
	case oneOf(t, "one") || oneOf(t, "max", "empty", "go"):
		return place && (wholes.has(r.in, s.from, s.to) || funds.has(r.in, i, s.to))
	case oneOf(t, "everything", "whatever", "what", "the", "it"), n == 3 && oneOf(t, "all") &&
		oneOf(r.in[i+2], "it", "them"):
		return (act || wholes.has(r.in, s.from, i)) && place
	}
	// whole, every last, all our: what is owned must follow, and a place or a deed
	owned := wholes.has(r.in, i, min(s.to, i+n+4)) || funds.has(r.in, i+n, min(s.to, i+n+3)) ||
		n >= 2 && oneOf(r.in[i], "every")
	if owned && (oneOf(t, "all", "every") || r.mine(i, s)) && plans.has(r.in, i, s.to) {
		return true
	}
	return owned && (act && place || place || act && wholes.has(r.in, i, min(s.to, i+n+4)))
}

// alone finds an asset that is to be the only one: ether alone, just ETH, ETH and nothing else.
func (r *reading) alone(s span) (at, took int) {
	for i := s.from; i < s.to; i++ {
		a, n := assetAt(r.in, i)
		if n == 0 || !a.sure(r.in, i) {
			continue
		}
		// every DAI we have
		if i > s.from && oneOf(r.in[i-1], "every", "all") && i+n < s.to && oneOf(r.in[i+n], "we", "there", "that") {
			return i - 1, n + 2
		}
		if i > s.from && oneOf(r.in[i-1], "only", "just", "solely") && besides.has(r.in, i+n, s.to) {
			return i - 1, n + 1
		}
		if i+n < s.to &&
			(oneOf(r.in[i+n], "alone", "solely", "exclusively") ||
				oneOf(r.in[i+n], "only") && (i+n+1 == s.to || r.in[i+n+1].sort == mark)) &&
			endsWith(r.in, i, keepOnly) {
			return i, n + 1
		}
	}
	return 0, 0
}

var besides = lexicon(`nothing else | nothing more | and nothing | no other* | nothing besides | no others`)

var keepOnly = lexicon(`hold | keep | own | into | have | holding | keeping | owning | in | just`)

// beside says whether a share stands right behind an asset and nothing follows: WBTC, 100 percent.
func (r *reading) beside(q quantity, s span) bool {
	at := q.from - 1
	if at > s.from && oneOf(r.in[at], ",", ":", "-", "=", "at") {
		at--
	}
	if at < s.from || q.to < s.to && r.in[q.to].sort != mark || changing.has(r.in, s.from, s.to) {
		return false
	}
	a, n := assetAt(r.in, at)
	return n > 0 && a.sure(r.in, at)
}

var changing = lexicon(
	`is | are | was | were | rose | rises | fell | falls | gained | gains | lost | loses | grew | grows | up | down | by | climb* | drop* | jump* | reached | reaches | has | had | moved | moves | trades | traded | yields | pays | paid | leads | led`)

// moved finds all that is owned as what a deed is done to, with one place that it goes to: put the treasury into DAI.
func (r *reading) moved(s span) (at, took int) {
	if spreading.has(r.in, s.from, s.to) {
		return 0, 0
	}
	for _, q := range r.within(s) {
		if r.share(q) || q.unit == Dollars || q.asset != "" {
			return 0, 0 // a part of it, which was looked at
		}
	}
	for i := s.from + 1; i < s.to; i++ {
		n := wholes.at(r.in, i)
		if n == 0 || oneOf(r.in[i-1], "of") || i > s.from+1 && oneOf(r.in[i-2], "of", "from", "in") ||
			!oneOf(r.in[i-1], "our", "the", "my", "whole", "entire") && n < 2 {
			continue
		}
		acted := false
		for back := i - 1; back >= max(s.from, i-4); back-- {
			acted = acted || placing2.at(r.in, back) > 0
		}
		for to := i + n; to < min(s.to, i+n+9); to++ {
			if oneOf(r.in[to], "into", "to", "in", "on") &&
				(acted && hasAsset(r.in, to+1, min(s.to, to+4)) ||
					onePlace.has(r.in, to+1, min(s.to, to+4)) && (acted || plans.has(r.in, i+n, to))) {
				return i, min(s.to, to+4) - i
			}
		}
	}
	return 0, 0
}

var (
	spreading = lexicon(`spread* | split* | divid* | diversif* | across | share out | parts`)
	placing2  = lexicon(
		`put | puts | move | moves | shift | shifts | convert | converts | swap | swaps | sink | pour | park | place | stake | lock | rotate | turn | trade | exchange | send | bring | take | plant | invest | allocate | commit | deposit | concentrate | empty | dump | throw | leave | keep | hold | let`)
	onePlace = lexicon(
		`one place | one pool | one vault | one coin | one asset | one token | single place | single pool | single vault | single coin | single asset | single token | one basket | one position`)
)

// mine says whether what is named is ours.
func (r *reading) mine(i int, s span) bool {
	for at := max(s.from, i-1); at < min(s.to, i+3); at++ {
		if oneOf(r.in[at], "our", "my", "ours") {
			return true
		}
	}
	return false
}

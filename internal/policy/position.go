package policy

// placed is a sentence with what in it is about putting something somewhere.
type placed struct {
	sentence
	place bool // an asset or a venue is named
	act   bool // something is done
}

// position finds shares of what is owned above the cap in one place, and all of it in one place.
func position(s sentence, c Cap) []finding {
	if c.Most >= 1 {
		return nil
	}
	p := placed{sentence: s, place: s.crypto || s.has(venues)}
	p.act = s.has(acts) || p.place && s.has(into)
	var found []finding
	for _, q := range s.numbers() {
		if q.rate || !q.isShare() || q.most() > 1+tiny && q.unit != Share {
			continue
		}
		if where, ok := p.owned(q); ok {
			found = c.judge(found, q, where)
		}
	}
	if len(found) > 0 {
		return found
	}
	where, ok := p.relocated()
	if !ok {
		where, ok = p.alone()
	}
	much := "all of it"
	if !ok {
		where, much, ok = p.wholly()
	}
	if !ok {
		return nil
	}
	return []finding{{rule: c.Name, what: much + " in one place is above " + c.Bound(), span: where}}
}

// owned says whether a share is one of what is owned, and where that is said.
func (p placed) owned(q quantity) (span, bool) {
	ofWhole, named := p.ofWhole(q)
	if q.ratio && (p.at(monies, q.to) || p.is(q.to, "coin coins token tokens parts eggs")) {
		ofWhole, named = true, true // nine out of ten dollars
	}
	whole, wholly := p.first(wholes)
	fund, funded := p.first(funds)
	switch {
	case named:
		return span{q.from, min(p.to, q.to+4)}, ofWhole && (p.act || p.place || p.has(sized))
	case q.unit == Share && wholly && p.act && whole.from-q.to < 12 && q.from-whole.from < 12:
		return whole, true
	case !p.place || !p.sizedShare(q) || q.unit != Share && q.value >= 1:
		return span{}, false
	case funded && fund.from-q.to < 6 && q.from-fund.from < 8:
		return fund, true
	}
	return q.span, true
}

// ofWhole says whether a share is one of what is owned, and whether anything is named that it is a share of.
func (p placed) ofWhole(q quantity) (whole, named bool) {
	at := q.to
	if !p.is(at, "of des der vom von du de del dei do da") {
		whole = p.at(wholes, at) || p.is(at, "our the all my") &&
			(p.after(wholes, at, 3) || p.between(funds, at+1, at+3) && p.ours(at+1, at))
		return whole, whole
	}
	for i := at + 1; i < at+7 && !p.ends(i); i++ {
		switch {
		case p.at(wholes, i):
			return true, true
		case p.at(funds, i):
			return p.ours(i, at), true
		case p.at(into, i) && i > at+1:
			return false, true
		}
	}
	return false, true
}

// ours says whether a word for a purse stands for our own: the book, our wallet, everything.
func (p placed) ours(at, from int) bool {
	if p.any("our the my all total whole entire available free", from, at) {
		common := p.is(at, "book books coins pot position positions leg bag vault account deposit deposits")
		return !common || p.between(finance, at-12, at+12) || p.asset(at-14, at+14)
	}
	return p.is(at, "everything cash equity nav savings funds") || at == from+1 && p.is(at, "assets wealth")
}

// sizedShare says whether a share that stands alone is the size of a position: 90 % for the bitcoin leg, put 60 % into
// DAI.
func (p placed) sizedShare(q quantity) bool {
	if n := p.assetAt(q.to); n > 0 && q.unit == Share && !p.after(changing, q.to, n+2) {
		return true // ninety percent ether
	}
	begins := q.from == p.from || p.ends(q.from-1) || p.is(q.from-1, "and then or")
	if p.at(into, q.to) && p.targets(q.to+1) && (begins || p.before(sized, q.from, 6)) || p.beside(q) {
		return true
	}
	size, ok := p.find(sized, q.from-7, q.from)
	return ok && !p.any("by probability chance ltv apy apr fee when while if because slippage utilization utilisation",
		size.to, q.from) &&
		p.is(q.from-1, "to at of than is be over above beyond past auf until till reaches reach = : near around "+
			"weight allocation position exposure about from a")
}

// beside says whether a share stands right behind an asset and nothing follows: WBTC, 100 percent.
func (p placed) beside(q quantity) bool {
	at := q.from - 1
	if at > p.from && p.is(at, ", : - = at") {
		at--
	}
	return p.ends(q.to) && p.assetAt(at) > 0 && !p.has(changing)
}

// relocated finds all that is owned as what is put, with one place that it goes to: put the treasury into DAI.
func (p placed) relocated() (span, bool) {
	if p.has(spreading) {
		return span{}, false
	}
	for _, q := range p.numbers() {
		if q.isShare() || q.unit == Dollars || q.asset != "" {
			return span{}, false // a part of it, which was looked at
		}
	}
	for i := p.from + 1; i < p.to; i++ {
		n := p.length(wholes, i)
		if n == 0 || p.is(i-1, "of") || p.is(i-2, "of from in") || n < 2 && !p.is(i-1, "our the my whole entire") {
			continue
		}
		acted := false
		for back := i - 4; back < i; back++ {
			acted = acted || p.at(relocating, back)
		}
		for to := i + n; to < min(p.to, i+n+9); to++ {
			one := p.between(onePlace, to+1, to+4) && (acted || p.between(plans, i+n, to))
			if p.is(to, "into to in on") && (one || acted && p.asset(to+1, to+4)) {
				return span{i, min(p.to, to+4)}, true
			}
		}
	}
	return span{}, false
}

// alone finds an asset that is to be the only one: ether alone, just ETH, ETH and nothing else.
func (p placed) alone() (span, bool) {
	if !p.act && !p.has(besides) {
		return span{}, false
	}
	for i := p.from; i < p.to; i++ {
		n := p.assetAt(i)
		only := p.is(i+n, "alone solely exclusively") || p.is(i+n, "only") && p.ends(i+n+1)
		switch {
		case n == 0:
		case p.is(i-1, "every all") && p.is(i+n, "we there that"): // every DAI we have
			return span{i - 1, i + n + 1}, true
		case p.is(i-1, "only just solely") && p.later(besides, i+n):
			return span{i - 1, i + n}, true
		case only && p.closes(keepOnly, i):
			return span{i, i + n + 1}, true
		}
	}
	return span{}, false
}

// wholly finds what puts all, or most, of what is owned into one place.
func (p placed) wholly() (where span, much string, ok bool) {
	for i := p.from; i < p.to; i++ {
		if n := p.length(allFalse, i); n > 0 {
			i += n - 1
			continue
		}
		if n := p.length(majority, i); n > 0 {
			ours := p.after(funds, i+n, 5) && p.any("our the my all it everything", i, i+n+5)
			if (p.act || p.place) && (ours || p.after(wholes, i, n+6)) {
				return span{i, min(p.to, i+n+4)}, "more than half", true
			}
			continue
		}
		if n := p.length(alls, i); n > 0 && p.together(span{i, i + n}) {
			return span{i, min(p.to, i+n+3)}, "all of it", true
		}
	}
	return span{}, "", false
}

// together says whether a phrase for all of it stands with what is owned, or with a place that it goes to.
func (p placed) together(all span) bool {
	for _, row := range allOfIt {
		if (row.begins == "" || p.is(all.from, row.begins)) && (row.next == "" || p.is(all.from+1, row.next)) &&
			(row.ends == "" || p.is(all.to-1, row.ends)) && all.size() >= row.least {
			return row.meant(p, all)
		}
	}
	// whole, every last, all our: what is owned must follow, and a place or a verb
	near := p.after(wholes, all.from, all.size()+4)
	owned := near || p.after(funds, all.to, 3) || all.size() >= 2 && p.is(all.from, "every")
	ours := p.is(all.from, "all every") || p.any("our my ours", all.from-1, all.from+3)
	return owned && (p.place || p.act && near || ours && p.later(plans, all.from))
}

// allOfIt says what else a phrase for all of it needs, by its first words, its last one and its length. The first row
// that fits decides.
var allOfIt = []struct {
	begins, next, ends string
	least              int
	meant              func(p placed, all span) bool
}{
	{begins: "bet va", meant: func(placed, span) bool { return true }},
	{begins: "all", next: "in into", meant: placed.goes},
	{begins: "allin alles todo tout tutto tudo", meant: placed.goes},
	{begins: "nothing", next: "besides except save", meant: placed.aimed},
	{begins: "only", least: 3, meant: placed.somewhere},
	{begins: "exclusively solely", meant: func(p placed, all span) bool { return p.act && (p.place || p.targets(all.to)) }},
	{begins: "nothing", least: 2, meant: placed.aimed},
	{begins: "only hold holding holds no", meant: placed.aimed},
	{begins: "nothing", meant: func(placed, span) bool { return false }},
	{ends: "chips chip", meant: func(p placed, _ span) bool { return p.crypto }},
	{begins: "a keep", least: 2, meant: func(p placed, _ span) bool { return p.crypto && p.act }},
	{begins: "one all", ends: "basket eggs", meant: func(p placed, _ span) bool { return p.crypto }},
	{begins: "sell drop of single", least: 3, meant: placed.somewhere},
	{begins: "one", least: 2, meant: placed.somewhere},
	{begins: "one max empty go", meant: func(p placed, all span) bool {
		return p.place && (p.has(wholes) || p.later(funds, all.from))
	}},
	{begins: "everything whatever what the it", meant: placed.put},
	{begins: "all", ends: "it them", least: 3, meant: placed.put},
}

// goes says whether there is a place for all to go to, or somebody goes all in.
func (p placed) goes(all span) bool { return p.place || p.is(all.from-1, "go going went goes be us") }

// aimed says whether something is done with the place behind the phrase.
func (p placed) aimed(all span) bool { return p.act && p.targets(all.to) }

// somewhere says whether there is a place, and an asset or something that is done.
func (p placed) somewhere(span) bool { return p.place && (p.act || p.crypto) }

// put says whether there is a place, and what is owned or something that is done.
func (p placed) put(all span) bool { return p.place && (p.act || p.earlier(wholes, all.from)) }

package policy

import "strings"

var (
	// levered words speak of nothing but leverage, margin and perpetuals.
	levered = lexicon(
		`leverag* | levered | lever up | levering | levers up | gearing | geared | hebel* | gehebelt* | levier | apalanca* | alavanca* | leva finanziaria | effetto leva | плечо* | плеч* | 杠杆 | 槓桿 | レバレッジ | dzwigni* | kaldirac* | margin* | perp | perps | perpetual* | futures | degen mode`)
	// lending words do so where assets are spoken of.
	lending = lexicon(
		`basis trade | carry trade | loans | stilts | stacked | lever | levers | borrow* | loan* | debt | loop* | recursiv* | exposure | exposed | long | longs | longed | short | shorts | shorted | cdp | credit | collateral | collaterali* | notional | buying power | on top of our stake | flash loan* | flashloan* | leih* | kredit | emprunt* | prest* | position | bet | wager | punt`)
	// running words stand before a multiple that is taken: go 10x, at 25x.
	running = lexicon(
		`at | with | go | going | goes | run | running | ride | riding | play | take | open | enter | use | using | on | lever | trade | trading | ape | aping | crank | push | hold | mit | auf`)
	// growth words make a multiple something else.
	growth = lexicon(
		`zoom | faster | slower | cheaper | dearer | larger | bigger | smaller | higher | lower | longer | price* | priced | fee | fees | gas | volume | traffic | return* | gain* | growth | speed | louder | quieter | more | less | brighter | requests | users | lens | echo | often | read* | worth | value* | revenue | throughput | brighter | heavier | supply`)
	margins = lexicon(
		`profit margin* | gross margin* | net margin* | operating margin* | margin of error | margin of safety | margin note* | margins of | in the margin* | margin of victory | margin of the page | safety margin*`)
	highest = lexicon(
		`far right | to the top | all the way | to the edge | full throttle | flat out | to eleven | sky high | through the roof | max | maximum | maximal | full | unlimited | infinite | boundless | limitless | uncapped | highest | extreme | insane | crazy | wild | massive | enormous | huge | monstrous | as much | all the | endless | heavy | serious | any amount of | whatever | hilt | to the limit | to the max | to the roof | to the moon | to the ceiling | to the sky | maximale* | maximal* | voll* | unbegrenzt* | illimit* | ilimitad* | maximo`)
	again = lexicon(
		`again | repeat* | never stop* | keep going | without end | over and over | round and round | recurs* | loop* | re deposit* | redeposit* | relend* | refold* | once more | and so on | until | as often as | in circles | spiral* | fold`)
	deposits = lexicon(
		`deposit* | supply | supplies | lend* | stake* | staking | restak* | collateral* | post | pledge* | lock`)
	borrowing = lexicon(
		`borrow* | take a loan | take out a loan | draw debt | mint debt | against it | against them | loan`)
	foreach = lexicon(
		`for every | for each | per | on every | on each | against every | against each | to every | to each | for one | for a | on top of each | on top of every | to our one | to one of our | for one of our | for our one`)
	finance = lexicon(
		`deposit* | exposure | funding | loop* | hedge* | perp* | pool* | vault* | token* | coin* | wallet* | dex | defi | funding | liquidat* | trade* | trading | portfolio | treasury | position* | usd | dollar* | market order | lending | yield | collateral | swap* | order | orders | stablecoin* | exchange | broker | capital | margin`)
	factorWord = lexicon(
		`of | at | to | up to | around | near | factor | level | ratio | about | = | is | from | by | toward | towards | von | auf | de | a | over | above | than | beyond | past | somewhere | between | roughly | maybe | just | nearly | almost | say | perhaps | even | some`)
)

// leverage finds multiples above the cap that are leverage, and leverage without bound.
func (r *reading) leverage(c Cap, s span, crypto bool) []finding {
	var found []finding
	at, n := levered.in(r.in, s.from, s.to)
	if at >= 0 && margins.has(r.in, s.from, s.to) && n == 1 && oneOf(r.in[at], "margin", "margins") {
		at = -1
	}
	strong := at >= 0
	loose := strong || lending.has(r.in, s.from, s.to) && (crypto || finance.has(r.in, s.from, s.to))
	for _, q := range r.within(s) {
		switch {
		case q.unit == Multiple && !q.rate && !r.grows(s, q):
			if q.from > s.from && borrowing.at(r.in, q.from-1) > 0 {
				q.value++ // what is borrowed comes to what is there
			}
			taken := (crypto || finance.has(r.in, s.from, s.to)) && !r.grew(s, q) &&
				(!r.counts(q) || endsWith(r.in, q.from, running) ||
					q.from > s.from && oneOf(r.in[q.from-1], "a", "the") && endsWith(r.in, q.from-1, running))
			if exceeds, _ := over(q, c.Most); exceeds && (strong || loose || taken) {
				found = append(found, r.near(tooMuch(c, Multiple, q), at, n))
			}
		case q.unit == Share && !q.rate && loose && q.most() > 1 && r.about(lending, q, 3, s) ||
			q.unit == Share && strong && q.most() > 1 && !q.rate:
			if exceeds, _ := over(q, c.Most); exceeds {
				found = append(found, r.near(tooMuch(c, Multiple, q), at, n))
			}
		case q.unit == "" && loose && q.to < s.to && oneOf(r.in[q.to], "loans", "debts", "borrowings", "mortgages") &&
			q.value+1 > c.Most*(1+tiny):
			found = append(found, tooMuch(c, Multiple, quantity{value: q.value + 1, from: q.from, to: q.to + 1}))
		case q.unit == Share && (strong || lending.has(r.in, s.from, s.to) && crypto) && q.value > 0 && q.value < 1 &&
			r.thin(q, s):
			if 1/q.value > c.Most*(1+tiny) {
				found = append(found,
					r.near(tooMuch(c, Multiple, quantity{value: 1 / q.value, from: q.from, to: q.to}), at, n))
			}
		case q.unit == "" && q.asset == "" && strong && r.factor(q, at, n):
			if exceeds, _ := over(q, c.Most); exceeds {
				found = append(found, tooMuch(c, Multiple, q).with(at, at+n))
			}
		}
		if q.unit == "" && crypto && q.to < s.to && oneOf(r.in[q.to], "borrowed", "lent", "levered") &&
			q.value+1 > c.Most*(1+tiny) {
			found = append(found, tooMuch(c, Multiple, quantity{value: q.value + 1, from: q.from, to: q.to + 1}))
		}
		if q.unit == "" && loose && q.to < s.to && turns.at(r.in, q.to) > 0 && q.value+1 > c.Most*(1+tiny) {
			found = append(found, tooMuch(c, Multiple, quantity{value: q.value + 1, from: q.from, to: q.to + 1}))
		}
		if q.unit == "" && loose && r.multiplied(q, s) {
			q.unit = Multiple
			if exceeds, _ := over(q, c.Most); exceeds {
				found = append(found, tooMuch(c, Multiple, q))
			}
		}
		if (strong || loose && crypto || staked.has(r.in, s.from, q.from) || borrowing.has(r.in, s.from, q.from) ||
			q.to < s.to && borrowing.at(r.in, q.to) > 0) && q.unit != Multiple && q.unit != Share &&
			q.value+1 > c.Most*(1+tiny) && q.to < s.to && r.perOne(q, s) {
			found = append(found, tooMuch(c, Multiple, quantity{value: q.value + 1, from: q.from, to: q.to}))
		}
	}
	if len(found) > 0 {
		return found
	}
	if at >= 0 && !oneOf(r.in[at], "margin", "futures") && !r.bounded(s) {
		if i, m := highest.in(r.in, max(s.from, at-4), min(s.to, at+n+6)); i >= 0 &&
			(i < at && at-i-m <= 2 || i >= at+n) {
			return append(found, boundless(c, Multiple, min(i, at), max(i+m, at+n)))
		}
	}
	return append(found, r.loops(c, s)...)
}

// loops finds deposits that are borrowed against again and again without a bound.
func (r *reading) loops(c Cap, s span) []finding {
	if i, n := looping.in(r.in, s.from, s.to); i >= 0 && hasAsset(r.in, s.from, s.to) && again.has(r.in, i+n, s.to) &&
		!r.bounded(s) {
		return []finding{boundless(c, Multiple, i, i+n)}
	}
	b, n := borrowing.in(r.in, s.from, s.to)
	if i, m := borrowing.in(r.in, b+n,
		s.to); b >= 0 && i >= 0 && (hasAsset(r.in, s.from, s.to) || finance.has(r.in, s.from, s.to)) && !r.bounded(s) {
		return []finding{boundless(c, Multiple, b, i+m)} // what is borrowed is borrowed against
	}
	if b < 0 ||
		!deposits.has(r.in, s.from, s.to) && !having.has(r.in, s.from, s.to) && !borrowing.has(r.in, b+n, s.to) {
		return nil
	}
	i, m := again.in(r.in, b, s.to)
	if i < 0 {
		return nil
	}
	for _, q := range r.within(s) {
		if q.unit == Multiple {
			return nil // it has a bound, and that was looked at
		}
	}
	return []finding{boundless(c, Multiple, b, i+m)}
}

var looping = lexicon(`loop | loops | looping | recursive | recursively`)

// turns count how often a loop goes round: each adds what is borrowed in it.
var turns = lexicon(
	`turn | turns | round | rounds | lap | laps | loop | loops | cycle | cycles | fold | folds | layer | layers | storeys | floors | pass | passes | spins | times over | times around | times round`)

// bounded says whether a multiple stands in a sentence, which was looked at already.
func (r *reading) bounded(s span) bool {
	for _, q := range r.within(s) {
		if q.unit == Multiple && !q.rate {
			return true
		}
	}
	return false
}

var multiplying = lexicon(`multipl* | magnif* | inflat* | scale | scales | scaling | grow | raise | blow up | times`)

// multiplied says whether a bare number is what something is multiplied by.
func (r *reading) multiplied(q quantity, s span) bool {
	return q.from > s.from && oneOf(r.in[q.from-1], "by") && multiplying.has(r.in, max(s.from, q.from-6), q.from)
}

// counts says whether a multiple may be a count of times: it is written out, and nothing that is levered stands behind
// it.
func (r *reading) counts(q quantity) bool {
	return oneOf(r.in[q.to-1], "times", "mal", "veces", "fois", "volte", "twice", "thrice")
}

// grows says whether a multiple counts something that is no leverage; the word for leverage beside it says otherwise.
func (r *reading) grows(s span, q quantity) bool {
	return growth.has(r.in, q.to, min(s.to, q.to+3)) && !levered.has(r.in, max(s.from, q.from-6), min(s.to, q.to+6))
}

func (r *reading) grew(s span, q quantity) bool {
	return growth.has(r.in, max(s.from, q.from-5), min(s.to, q.to+5)) ||
		q.from > s.from && oneOf(r.in[q.from-1], "did", "made", "returned", "rose", "grew")
}

func (r *reading) near(f finding, at, n int) finding {
	if at >= 0 && at-f.to < 6 && f.from-at-n < 6 {
		return f.with(at, at+n)
	}
	return f
}

// about says whether a word of the list stands within so many tokens of a quantity.
func (r *reading) about(w *words, q quantity, reach int, s span) bool {
	return w.has(r.in, max(s.from, q.from-reach), q.from) || w.has(r.in, q.to, min(s.to, q.to+reach))
}

var thinness = lexicon(`margin* | collateral | down | initial | maintenance`)

// thin says whether a share is the margin that is put down.
func (r *reading) thin(q quantity, s span) bool {
	return !q.rate && r.about(thinness, q, 3, s) &&
		(levered.has(r.in, s.from, s.to) || borrowing.has(r.in, s.from, s.to)) && !r.about(changes, q, 1, s)
}

// factor says whether a bare number is the factor of the leverage word beside it.
func (r *reading) factor(q quantity, at, n int) bool {
	if q.to <= at {
		return at-q.to <= 1
	}
	if q.from < at+n {
		return false
	}
	if next := q.to >= len(r.in) || r.in[q.to].sort == mark || joints[r.in[q.to].text] ||
		oneOf(r.in[q.to], "on", "for", "in", "at"); next && strings.HasPrefix(r.in[at].text, "leverag") && n == 1 &&
		q.from-at <= 8 && r.noun(at) {
		return true
	}
	if next := q.to >= len(r.in) || r.in[q.to].sort == mark || joints[r.in[q.to].text] ||
		oneOf(r.in[q.to], "on", "for", "in"); next && q.from-at-n <= 6 && hasAsset(r.in, at, min(len(r.in), q.to+4)) {
		return true
	}
	if q.from-at-n <= 8 &&
		oneOf(r.in[q.from-1], "be", "at", "to", "is", "reach", "reaches", "hit", "become", "=", ":") &&
		(q.to >= len(r.in) || r.in[q.to].sort == mark) {
		return true
	}
	for i := at + n; i < q.from; i++ {
		if factorWord.at(r.in, i) == 0 && !oneOf(r.in[i], ":", "=", "up", "more", "to", "the") {
			return false
		}
	}
	if q.from-at-n > 4 {
		return false
	}
	if q.from == at+n && q.to < len(r.in) && r.in[q.to].sort == word { // leverage twelve logs
		return joints[r.in[q.to].text] || oneOf(r.in[q.to], "on", "for", "in", "at", "to", "with", "only", "now")
	}
	return q.to >= len(r.in) || r.in[q.to].sort == mark || !deedless[r.in[q.to].text]
}

// deedless follow a number that counts them, not leverage.
var deedless = set(
	`logs lessons notes people words days hours weeks years months times things ideas books pages friends percent`)

// perOne says whether a number stands against each one that is owned: nine for every dollar, every dollar with six on
// its back.
func (r *reading) perOne(q quantity, s span) bool {
	for i := q.to; i < min(s.to, q.to+4); i++ {
		if foreach.at(r.in, i) > 0 {
			return true
		}
	}
	if staked.has(r.in, s.from, q.from) && playing.has(r.in, max(s.from, q.from-4), q.from) {
		for i := s.from; i+1 < q.from; i++ {
			if oneOf(r.in[i], "a", "one", "single") &&
				(monies.at(r.in, i+1) > 0 || hasAsset(r.in, i+1, i+2) || oneOf(r.in[i+1], "coin", "token")) {
				return true // pledge a dollar, play with twelve
			}
		}
	}
	for i := s.from; i+1 < q.from; i++ {
		if oneOf(r.in[i], "every", "each") &&
			(monies.at(r.in, i+1) > 0 || hasAsset(r.in, i+1, i+2) || oneOf(r.in[i+1], "coin", "token")) {
			return true
		}
	}
	return false
}

// noun says whether the word for leverage stands as one: leverage what we learned is no leverage.
func (r *reading) noun(at int) bool {
	return at+1 >= len(r.in) ||
		!oneOf(r.in[at+1], "what", "the", "our", "this", "that", "these", "those", "their", "its", "every", "all",
			"your", "my")
}

var (
	staked = lexicon(
		`pledge* | stake* | post | posts | deposit* | risk | risks | put down | lay down | lays down | with one | from one | pawn* | put up | show | own | have`)
	playing = lexicon(
		`play* | trade | trades | control* | hold | holds | move | moves | run | runs | steer* | command* | carry | carries | ride | rides | bet | with | buy | buys | spend | lift | swing`)
)

package policy

import "strings"

// quantity is a number of a text with what it counts.
type quantity struct {
	value, other float64 // other is a second reading of the same digits; 0 for none
	unit         Unit    // empty: a number alone
	asset        string  // the ticker that it is an amount of; empty for none
	word         string  // the word behind it
	from, to     int     // tokens
	above        bool    // "more than" stands before it
	rate         bool    // it is a change or a frequency: by 30 %, ten times a day
	ratio        bool    // it is written as one, 20:1
}

// most is the largest reading of a quantity.
func (q quantity) most() float64 { return max(q.value, q.other) }

// units that stand right behind a number.
var units = set(`x k m mn mm bn b bps bp pct usd usdc usdt dai eur eth btc weth wbtc steth fold mal times percent`)

var (
	percents = lexicon(
		`percent* | pct | per cent | prozent* | procent* | por ciento | pour cent | per cento | percento | pour-cent | процент* | per hundred | percentage point*`)
	points    = lexicon(`bps | bp | bips | basis point* | basispunkt* | puntos basicos | points de base`)
	permilles = lexicon(`permille | promille | per mille | per mil | per thousand`)
	multiples = lexicon(
		`x | times | fold | mal | fach* | veces | fois | volte | vezes | раз | раза | krat | kali | timesover`)
	monies = lexicon(
		`dollar* | usd | us dollar* | buck* | eur | euro* | quid | gbp | pound* sterling | pounds | chf | franken | dolar* | dollari | dolares | доллар* | usdt0`)
	signs     = map[string]bool{"$": true, "€": true, "£": true, "₣": true}
	exceeding = lexicon(
		`more than | over | above | beyond | exceed* | north of | upwards of | upward of | greater than | higher than | at least | no less than | not less than | past | mehr als | uber | plus de | plus que | mas de | piu di`)
	changes = lexicon(
		`up | down | higher | lower | gain* | loss* | drop* | rise* | fall* | apy | apr | yield* | interest | discount* | rebate* | fee | fees | annually | yearly | more | less | cheaper | faster | slower | return* | profit* | drawdown | volatility | decline* | increase* | decrease*`)
	spans = lexicon(
		`second | minute | hour | day | night | week | month | year | quarter | block | epoch | session`)
	whiles = set(`a an per each every the`)
)

// quantities finds every number of a text that is one.
func quantities(in []token) []quantity {
	var out []quantity
	for i := 0; i < len(in); {
		q, ok := measure(in, i)
		if !ok {
			i++
			continue
		}
		q.above = q.above || endsWith(in, i, exceeding) || i > 0 && in[i-1].text == ">"
		q.rate = q.rate || rated(in, q)
		out = append(out, q)
		i = q.to
	}
	for i := len(out) - 2; i >= 0; i-- { // 10-20x: the first takes the unit of the second
		if out[i].unit == "" && out[i].asset == "" && between(in[out[i].to:out[i+1].from]) {
			out[i].unit, out[i].asset, out[i].word = out[i+1].unit, out[i+1].asset, out[i+1].word
			if out[i].unit == Share && !out[i+1].ratio {
				out[i].value /= percentOf(in, out[i+1])
			}
		}
	}
	return out
}

// percentOf is what the number of a share was divided by.
func percentOf(in []token, q quantity) float64 {
	for i := q.from; i < q.to; i++ {
		switch {
		case in[i].text == "%" || percents.at(in, i) > 0:
			return 100
		case points.at(in, i) > 0:
			return 1e4
		case permilles.at(in, i) > 0:
			return 1e3
		}
	}
	return 1
}

func between(gap []token) bool {
	return len(gap) == 1 && oneOf(gap[0], "-", "to", "or", "and", "bis", "oder", "~", "/")
}

// measure reads the quantity that begins at a token.
func measure(in []token, i int) (quantity, bool) {
	q := quantity{from: i}
	at := i
	switch {
	case signs[in[i].text] ||
		i+1 < len(in) && monies.at(in, i) == 1 && in[i+1].sort == number && !(i > 0 && in[i-1].sort == number):
		q.unit, at = Dollars, i+1
	case in[i].text == "x" && i+1 < len(in) && in[i+1].sort == number && in[i+1].glued:
		q.unit, at = Multiple, i+1
	case foldOf(in[i]) > 0:
		q.value, q.unit, q.to = foldOf(in[i]), Multiple, i+1
		return q, true
	}
	if at >= len(in) {
		return q, false
	}
	if v, ok := stuck(in[at]); ok { // tenx
		q.value, q.unit, q.to = v, Multiple, at+1
		return q, true
	}
	f, ok := numeral(in, at)
	if !ok {
		return q, false
	}
	q.value, q.other, q.to = f.value, f.other, f.to
	if q.unit == "" {
		q.unitBehind(in, f)
	}
	if q.to < len(in) {
		q.word = in[q.to].text
	}
	return q, true
}

// foldOf is the multiple that a word is by itself; 0 for none.
func foldOf(t token) float64 {
	if t.sort != word {
		return 0
	}
	if v := folds[t.text]; v > 0 {
		return v
	}
	for _, ending := range []string{"e", "en", "er", "es", "em"} {
		if v := folds[strings.TrimSuffix(t.text, ending)]; v > 0 && strings.Contains(t.text, "fach") {
			return v
		}
	}
	return 0
}

// stuck reads a number word that carries its unit: tenx, hundredx.
func stuck(t token) (float64, bool) {
	before, ok := strings.CutSuffix(t.text, "x")
	if !ok || t.sort != word {
		return 0, false
	}
	if v, ok := numerals[before]; ok && len(before) > 2 {
		return v, true
	}
	if v := scales[before]; v >= 100 && len(before) > 3 {
		return v, true
	}
	return 0, false
}

// unitBehind reads what a number counts from what stands behind it.
func (q *quantity) unitBehind(in []token, f figure) {
	at := q.to
	take := func(n int, unit Unit, by float64) {
		q.unit, q.to = unit, at+n
		q.value, q.other = q.value/by, q.other/by
	}
	if at < len(in) {
		if in[at].text == "%" {
			take(1, Share, 100)
			return
		}
		// half a percent
		if next := at + 1; f.part && next < len(in) && oneOf(in[at], "a", "of") && percents.at(in, next) > 0 {
			take(2, Share, 100)
			return
		}
		if signs[in[at].text] {
			take(1, Dollars, 1)
			return
		}
		for _, existing := range []struct {
			words *words
			unit  Unit
			by    float64
		}{{percents, Share, 100}, {points, Share, 1e4}, {permilles, Share, 1e3}} {
			if n := existing.words.at(in, at); n > 0 {
				take(n, existing.unit, existing.by)
				return
			}
		}
		if out, n, ok := outOf(in, at, q.value); ok {
			q.value = out
			q.other = 0
			q.unit = Share
			q.to = at + n
			q.ratio = true
			return
		}
		if against, n, ok := ratio(in, at, q.value); ok {
			q.value = against
			q.other = 0
			q.unit = Multiple
			q.to = at + n
			q.ratio = true
			return
		}
		if n := multiples.at(in, at); n > 0 && !f.part {
			take(n, Multiple, 1)
			return
		}
		if n := monies.at(in, at); n > 0 {
			take(n, Dollars, 1)
			return
		}
		if a, n := assetAt(in, at); n > 0 && a.sure(in, at) {
			q.asset, q.to = a.ticker, at+n
			return
		}
		if n := of(in, at); n > 0 {
			if a, m := assetAt(in, at+n); m > 0 && !f.part && a.sure(in, at+n) {
				q.asset, q.to = a.ticker, at+n+m
				return
			}
		}
	}
	switch {
	case f.part:
		q.unit = Share
	case q.from < q.to && oneOf(in[q.to-1], "grand"):
		q.unit = Dollars
	}
}

func of(in []token, at int) int {
	if oneOf(in[at], "in", "of", "worth") && at+1 < len(in) {
		if oneOf(in[at+1], "of", "our", "the") {
			return 2
		}
		return 1
	}
	return 0
}

// outOf reads nine out of ten, four of every five.
func outOf(in []token, at int, value float64) (share float64, took int, ok bool) {
	n := 0
	switch {
	case at+2 < len(in) && oneOf(in[at], "out") && oneOf(in[at+1], "of"):
		n = 2
	case at+1 < len(in) && oneOf(in[at], "in", "of"):
		n = 1
	default:
		return 0, 0, false
	}
	if at+n < len(in) && oneOf(in[at+n], "every", "each") {
		n++
	}
	whole, found := counted(in, at+n)
	if !found || whole.value <= value || whole.value > 1000 || whole.value < 2 || value <= 0 {
		return 0, 0, false
	}
	return value / whole.value, whole.to - at, true
}

// ratio reads 20:1, twenty to one and 1:20, as a multiple.
func ratio(in []token, at int, value float64) (multiple float64, took int, ok bool) {
	if at+1 >= len(in) || !oneOf(in[at], ":", "to", "zu", "-", "against") || in[at].text == "-" && !in[at].glued {
		return 0, 0, false
	}
	n := 1
	if oneOf(in[at+1], "-", "to") && at+2 < len(in) {
		n = 2
	}
	other, found := counted(in, at+n)
	switch {
	case !found:
		return 0, 0, false
	case other.value == 1 && value > 1 && (in[at].text != "-" || in[at].text == ":"):
		return value, other.to - at, true
	case value == 1 && other.value > 1 && in[at].text == ":":
		return other.value, other.to - at, true
	}
	return 0, 0, false
}

// rated says whether a quantity is a change or a frequency.
func rated(in []token, q quantity) bool {
	if q.from > 0 && oneOf(in[q.from-1], "by", "um", "+") {
		return q.unit == Share || q.unit == Multiple && in[q.from-1].text == "by"
	}
	if q.unit == Share && q.from > 1 && oneOf(in[q.from-1], "of", "a") && changes.at(in, q.from-2) > 0 {
		return true // a fall of a third
	}
	if q.to >= len(in) {
		return false
	}
	if q.unit == Multiple {
		if oneOf(in[q.to], "daily", "hourly", "weekly", "nightly") {
			return true
		}
		return whiles[in[q.to].text] && q.to+1 < len(in) && spans.at(in, q.to+1) > 0
	}
	return q.unit == Share && changes.at(in, q.to) > 0
}

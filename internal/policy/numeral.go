package policy

import (
	"math"
	"strconv"
	"strings"
)

// numerals are number words, by language; words that mean something else in English are left out.
var numerals = figures(`
zero 0  one 1  two 2  three 3  four 4  five 5  six 6  seven 7  eight 8  nine 9  ten 10  eleven 11  twelve 12  thirteen 13  fourteen 14
fifteen 15  sixteen 16  seventeen 17  eighteen 18  nineteen 19  twenty 20  thirty 30  forty 40  fourty 40  fifty 50  sixty 60  seventy 70
eighty 80  ninety 90  single 1
zwei 2  drei 3  vier 4  funf 5  fuenf 5  sechs 6  sieben 7  acht 8  neun 9  zehn 10  zwolf 12  zwoelf 12  funfzehn 15  zwanzig 20  dreissig 30
vierzig 40  funfzig 50  fuenfzig 50  sechzig 60  siebzig 70  achtzig 80  neunzig 90
deux 2  trois 3  quatre 4  cinq 5  sept 7  huit 8  neuf 9  dix 10  douze 12  quinze 15  vingt 20  trente 30  quarante 40  cinquante 50  soixante 60
dos 2  tres 3  cuatro 4  cinco 5  seis 6  siete 7  ocho 8  nueve 9  diez 10  doce 12  veinte 20  treinta 30  cuarenta 40  cincuenta 50
due 2  tre 3  quattro 4  cinque 5  otto 8  nove 9  dieci 10  venti 20  cinquanta 50  dez 10  vinte 20
два 2  три 3  четыре 4  пять 5  десять 10  двадцать 20  пятьдесят 50  десятикратн 10  пятикратн 5
`)

// scales multiply the number before them.
var scales = figures(`
hundred 100  hundreds 100  thousand 1e3  thousands 1e3  k 1e3  grand 1e3  million 1e6  millions 1e6  mio 1e6  mn 1e6  mm 1e6  mil 1e6  mill 1e6
billion 1e9  billions 1e9  bn 1e9  trillion 1e12  trillions 1e12  dozen 12  dozens 12  lakh 1e5  crore 1e7
hundert 100  tausend 1e3  millionen 1e6  mille 1e3  mil. 1e3  millones 1e6  cien 100  ciento 100  тысяч 1e3  миллион 1e6  миллионов 1e6
`)

// parted are the words of a part of a whole: three quarters.
var parted = figures(`
half 2  halves 2  third 3  thirds 3  quarter 4  quarters 4  fourth 4  fourths 4  fifth 5  fifths 5  sixth 6  sixths 6  seventh 7  sevenths 7
eighth 8  eighths 8  ninth 9  ninths 9  tenth 10  tenths 10  twentieth 20  hundredth 100  hundredths 100
halfte 2  haelfte 2  drittel 3  viertel 4  funftel 5  fuenftel 5  zehntel 10  moitie 2  tiers 3  mitad 2  tercio 3  tercios 3  cuarto 4  cuartos 4
meta 2  metade 2  половину 2  половина 2
`)

// folds are words that are a multiple by themselves.
var folds = figures(`
double 2  doubled 2  doubling 2  twice 2  twofold 2  thrice 3  triple 3  tripled 3  treble 3  threefold 3  quadruple 4  quadrupled 4  fourfold 4
quintuple 5  fivefold 5  sextuple 6  sixfold 6  septuple 7  sevenfold 7  octuple 8  eightfold 8  ninefold 9  decuple 10  tenfold 10  twelvefold 12
twentyfold 20  thirtyfold 30  fortyfold 40  fiftyfold 50  hundredfold 100  thousandfold 1000
zweifach 2  doppelt 2  dreifach 3  vierfach 4  funffach 5  fuenffach 5  sechsfach 6  siebenfach 7  achtfach 8  neunfach 9  zehnfach 10
zwanzigfach 20  hundertfach 100  quintuplo 5  decuplo 10
`)

func figures(text string) map[string]float64 {
	table := map[string]float64{}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		if v, err := strconv.ParseFloat(words[i+1], 64); err == nil {
			table[words[i]] = v
		}
	}
	return table
}

// literal reads digits as people group them. Where they may mean two numbers, as 120.000 does, other is the second.
func literal(text string) (value, other float64, ok bool) {
	text = strings.NewReplacer("'", "", "_", "").Replace(text)
	mantissa, power, raised := strings.Cut(text, "e")
	dots, commas := strings.Count(mantissa, "."), strings.Count(mantissa, ",")
	parse := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		ok = err == nil
		return v
	}
	bare := strings.NewReplacer(".", "", ",", "").Replace(mantissa)
	switch {
	case dots > 0 && commas > 0: // the last of them is the decimal one
		if strings.LastIndex(mantissa, ".") > strings.LastIndex(mantissa, ",") {
			value = parse(strings.ReplaceAll(mantissa, ",", ""))
		} else {
			value = parse(strings.Replace(strings.ReplaceAll(mantissa, ".", ""), ",", ".", 1))
		}
	case dots > 1 || commas > 1:
		value = parse(bare)
	case dots+commas == 1:
		value = parse(strings.Replace(mantissa, ",", ".", 1))
		whole, after, _ := strings.Cut(strings.Replace(mantissa, ",", ".", 1), ".")
		// grouped by thousands, or to three places
		if len(after) == 3 && len(whole) <= 3 && strings.TrimLeft(whole, "0") != "" {
			if grouped := parse(bare); commas == 1 {
				value, other = grouped, value
			} else {
				other = grouped
			}
		}
	default:
		value = parse(mantissa)
	}
	if raised && ok {
		p, err := strconv.Atoi(power)
		if err != nil || p > 30 {
			return 0, 0, false
		}
		value, other = value*math.Pow10(p), other*math.Pow10(p)
	}
	return value, other, ok
}

// figure is a number of a text, before its unit.
type figure struct {
	value, other float64
	part         bool // a part of a whole, such as a half: a share without a unit
	to           int  // the token behind it
	bare         bool // one word or literal without scale
}

// numeral reads the number that begins at a token: "75", "twenty-five", "half a million", "1.5 million", "two thirds",
// "9 x 10^5".
func numeral(in []token, i int) (figure, bool) {
	if f, ok := fraction(in, i); ok {
		return f, true
	}
	f, ok := counted(in, i)
	if !ok {
		return f, false
	}
	return mixed(in, f), true
}

// counted reads a whole or decimal number in digits, words or both.
func counted(in []token, i int) (figure, bool) {
	total, current, other := 0.0, 0.0, 0.0
	at, seen, scaled := i, false, false
	if at < len(in) &&
		(in[at].text == "a" || in[at].text == "an" || in[at].text == "ein" || in[at].text == "eine" ||
			in[at].text == "un" || in[at].text == "une") && at+1 < len(in) && scales[in[at+1].text] >= 12 {
		at, current = at+1, 1
	}
	for at < len(in) {
		t := in[at]
		switch {
		case t.sort == number && !seen:
			v, o, ok := literal(t.text)
			if !ok {
				return figure{}, false
			}
			current, other, seen = v, o, true
			if more, to := spacedGroups(in, at); to > at+1 {
				current, other, at = more, 0, to-1
			}
			if v, to, ok := power(in, at+1); ok {
				current, other, at = current*v, other*v, to-1
			}
		case t.sort == word && scale(t, at > i || seen) > 0 && (seen || current > 0 || plural(t)):
			s := scale(t, true)
			if current == 0 && other == 0 {
				current = 1
				if plural(t) {
					current = 2 // thousands are two at the least
				}
			}
			if s == 100 || s == 12 {
				current, other = current*s, other*s
			} else {
				total, current, other = total+current*s, 0, other*s
			}
			seen, scaled = true, true
		case t.sort == word && numeralOf(t) >= 0 &&
			(current == 0 || int(current)%10 == 0 && numeralOf(t) < 10 || scaled && int(current)%100 == 0) &&
			!(seen && in[at-1].sort == number):
			current += numeralOf(t)
			seen = true
		case seen && t.text == "point" && at+1 < len(in) && numeralOf(in[at+1]) >= 0 && numeralOf(in[at+1]) < 10:
			place := .1
			for at+1 < len(in) && numeralOf(in[at+1]) >= 0 && numeralOf(in[at+1]) < 10 && place > 1e-6 {
				current += numeralOf(in[at+1]) * place
				place /= 10
				at++
			}
		case seen && scaled &&
			(t.text == "and" || t.text == "of" && at+1 < len(in) && scale(in[at+1], true) > 0 && plural(in[at-1])) &&
			at+1 < len(in) && (numeralOf(in[at+1]) >= 0 || t.text == "of"):
			// two hundred and fifty; hundreds of thousands
		default:
			goto done
		}
		at++
	}
done:
	if !seen {
		return figure{}, false
	}
	return figure{value: total + current, other: other, to: at, bare: at == i+1}, true
}

func plural(t token) bool {
	return len(t.text) > 4 && strings.HasSuffix(t.text, "s") && scales[t.text] > 0
}

// scale is what a word multiplies by; 0 for none. A letter does so only behind a number.
func scale(t token, behind bool) float64 {
	if t.sort != word || len(t.text) < 4 && !behind {
		return 0
	}
	if t.glued && behind && len(t.text) == 1 {
		switch t.text {
		case "m":
			return 1e6
		case "b":
			return 1e9
		}
	}
	if s := scales[t.text]; s > 0 {
		return s
	}
	return scales[t.plain]
}

// numeralOf is the number of a word; -1 for none.
func numeralOf(t token) float64 {
	if t.sort == word {
		if v, ok := numerals[t.text]; ok {
			return v
		}
		if v, ok := numerals[t.plain]; ok {
			return v
		}
	}
	return -1
}

// spacedGroups reads 120 000 000.
func spacedGroups(in []token, at int) (float64, int) {
	text := in[at].text
	if len(text) > 3 || strings.Trim(text, "0123456789") != "" {
		return 0, at + 1
	}
	to := at + 1
	for to < len(in) && in[to].sort == number && len(in[to].text) == 3 &&
		strings.Trim(in[to].text, "0123456789") == "" {
		text += in[to].text
		to++
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, at + 1
	}
	return v, to
}

// power reads x 10^5, * 10 ** 5 and ^5 of a ten behind a number.
func power(in []token, at int) (float64, int, bool) {
	to := at
	if to < len(in) && (in[to].text == "x" || in[to].text == "*") && to+2 < len(in) && in[to+1].text == "10" {
		to += 2
	} else if at == 0 || in[at-1].text != "10" {
		return 0, at, false
	}
	first := to
	for to < len(in) && (in[to].text == "^" || in[to].text == "*") && to-first < 2 {
		to++
	}
	if to == first || to >= len(in) || in[to].sort != number || len(in[to].text) > 2 {
		return 0, at, false
	}
	p, err := strconv.Atoi(in[to].text)
	if err != nil {
		return 0, at, false
	}
	if first == at { // 10^5: the ten is counted already
		p--
	}
	return math.Pow10(p), to + 1, true
}

// fraction reads a half, two thirds, 3/4, half a million.
func fraction(in []token, i int) (figure, bool) {
	count, at := 1.0, i
	t := in[at]
	switch {
	case t.sort == number && at+2 < len(in) && in[at+1].text == "/" && in[at+2].sort == number:
		above, _, ok := literal(t.text)
		below, _, fine := literal(in[at+2].text)
		if !ok || !fine || below == 0 || above >= below || below > 1000 {
			return figure{}, false
		}
		return figure{value: above / below, part: true, to: at + 3}, true
	case oneOf(t, "a", "an", "one", "ein", "eine", "un", "une", "the", "die", "la"):
		at++
	case numeralOf(t) > 0:
		count, at = numeralOf(t), at+1
	case t.sort == number:
		v, _, ok := literal(t.text)
		if !ok || v > 100 || v != math.Trunc(v) {
			return figure{}, false
		}
		count, at = v, at+1
	}
	if at >= len(in) {
		return figure{}, false
	}
	below := parted[in[at].text]
	if below == 0 {
		below = parted[in[at].plain]
	}
	ordinal := below > 2 &&
		(at == i && !(at+1 < len(in) && oneOf(in[at+1], "of") && !(at > 0 && oneOf(in[at-1], "the"))) ||
			at > i && oneOf(t, "the", "die", "la"))
	if below == 0 || count >= below || in[at].sort != word || ordinal { // "the third" is an order
		return figure{}, false
	}
	f := figure{value: count / below, part: true, to: at + 1}
	to := f.to
	for to < len(in) && (in[to].text == "a" || in[to].text == "of" || in[to].text == "an" || in[to].text == "eine") {
		to++
	}
	// half a million is a number
	if to < len(in) && to-f.to <= 2 && scale(in[to], true) >= 100 && len(in[to].text) > 1 {
		f.value, f.part, f.to = f.value*scale(in[to], true), false, to+1
	}
	return f, true
}

// mixed adds the part behind a number: two and a half, 2 1/2, 4 ½ thousand.
func mixed(in []token, f figure) figure {
	at := f.to
	if at < len(in) && in[at].text == "and" {
		at++
	}
	if at >= len(in) || f.other != 0 {
		return f
	}
	more, ok := fraction(in, at)
	if !ok || !more.part || at == f.to && in[at].sort != number {
		return f
	}
	f.value, f.to, f.bare = f.value+more.value, more.to, false
	if f.to < len(in) && scale(in[f.to], true) > 0 {
		f.value, f.to = f.value*scale(in[f.to], true), f.to+1
	}
	return f
}

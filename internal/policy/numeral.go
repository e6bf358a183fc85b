package policy

import (
	"cmp"
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
		plain := strings.Replace(mantissa, ",", ".", 1)
		value = parse(plain)
		whole, after, _ := strings.Cut(plain, ".")
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
}

// numeral reads the number that begins at a token: "75", "twenty-five", "half a million", "1.5 million", "two thirds",
// "9 x 10^5".
func numeral(s sentence, i int) (figure, bool) {
	if f, ok := fraction(s, i); ok {
		return f, true
	}
	f, ok := counted(s, i)
	if !ok {
		return f, false
	}
	return mixed(s, f), true
}

// count is a whole or decimal number that is being read.
type count struct {
	sentence
	begin                 int
	total, current, other float64
	seen, scaled          bool
}

// counted reads a whole or decimal number in digits, words or both.
func counted(s sentence, i int) (figure, bool) {
	c := &count{sentence: s, begin: i}
	at := i
	if s.is(at, "a an ein eine un une") && scales[s.token(at+1).text] >= 12 {
		at, c.current = at+1, 1
	}
	for {
		to := at
		for _, read := range []func(at int) int{c.digits, c.scale, c.word, c.decimals, c.joint} {
			if to == at {
				to = read(at)
			}
		}
		if to == at {
			return figure{value: c.total + c.current, other: c.other, to: at}, c.seen
		}
		at = to
	}
}

// digits reads 75, 120 000 000 and 9 x 10^5. It and the ones below return where what they read ends.
func (c *count) digits(at int) int {
	if c.seen || !c.isA(at, number) {
		return at
	}
	v, other, ok := literal(c.in[at].text)
	if !ok {
		return at
	}
	c.current, c.other, c.seen = v, other, true
	to := at + 1
	if more, next := spacedGroups(c.in, at); next > to {
		c.current, c.other, to = more, 0, next
	}
	if v, next, ok := power(c.sentence, to); ok {
		c.current, c.other, to = c.current*v, c.other*v, next
	}
	return to
}

// scale reads a word such as thousand, which multiplies what is there; thousands are two at the least.
func (c *count) scale(at int) int {
	t := c.token(at)
	if scale(t, at > c.begin) == 0 || !c.seen && c.current == 0 && !plural(t) {
		return at
	}
	by := scale(t, true)
	if c.current == 0 && c.other == 0 {
		c.current = 1
		if plural(t) {
			c.current = 2
		}
	}
	if by == 100 || by == 12 {
		c.current, c.other = c.current*by, c.other*by
	} else {
		c.total, c.current, c.other = c.total+c.current*by, 0, c.other*by
	}
	c.seen, c.scaled = true, true
	return at + 1
}

// word adds a number word: twenty-five, two hundred fifty.
func (c *count) word(at int) int {
	v := numeralOf(c.token(at))
	fits := c.current == 0 || int(c.current)%10 == 0 && v < 10 || c.scaled && int(c.current)%100 == 0
	if v < 0 || !fits || c.seen && c.isA(at-1, number) {
		return at
	}
	c.current, c.seen = c.current+v, true
	return at + 1
}

// decimals reads point five.
func (c *count) decimals(at int) int {
	if !c.seen || !c.is(at, "point") {
		return at
	}
	to, place := at+1, .1
	for v := numeralOf(c.token(to)); v >= 0 && v < 10 && place > 1e-6; v = numeralOf(c.token(to)) {
		c.current += v * place
		place /= 10
		to++
	}
	if to == at+1 {
		return at
	}
	return to
}

// joint passes over a word within a number: two hundred and fifty, hundreds of thousands.
func (c *count) joint(at int) int {
	and := c.is(at, "and") && numeralOf(c.token(at+1)) >= 0
	if c.scaled && (and || c.is(at, "of") && scale(c.token(at+1), true) > 0 && plural(c.token(at-1))) {
		return at + 1
	}
	return at
}

func plural(t token) bool {
	return len(t.text) > 4 && strings.HasSuffix(t.text, "s") && scales[t.text] > 0
}

// scale is what a word multiplies by; 0 for none. A letter does so only behind a number.
func scale(t token, behind bool) float64 {
	switch {
	case t.sort != word || len(t.text) < 4 && !behind:
		return 0
	case t.glued && behind && t.text == "m":
		return 1e6
	case t.glued && behind && t.text == "b":
		return 1e9
	}
	return cmp.Or(scales[t.text], scales[t.plain])
}

// numeralOf is the number of a word; -1 for none.
func numeralOf(t token) float64 {
	for _, text := range []string{t.text, t.plain} {
		if v, ok := numerals[text]; ok && t.sort == word {
			return v
		}
	}
	return -1
}

// spacedGroups reads 120 000 000.
func spacedGroups(in []token, at int) (float64, int) {
	text, to := in[at].text, at+1
	for len(in[at].text) <= 3 && to < len(in) && in[to].sort == number && len(in[to].text) == 3 {
		text += in[to].text
		to++
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, at + 1
	}
	return float64(v), to
}

// power reads x 10^5, * 10 ** 5 and ^5 of a ten behind a number.
func power(s sentence, at int) (float64, int, bool) {
	to, ten := at, s.is(at-1, "10")
	if s.is(at, "x *") && s.is(at+1, "10") {
		to, ten = at+2, true
	}
	first := to
	for s.is(to, "^ *") && to < first+2 {
		to++
	}
	p, err := strconv.Atoi(s.token(to).text)
	if !ten || to == first || !s.isA(to, number) || err != nil || p > 99 {
		return 0, at, false
	}
	if first == at { // 10^5: the ten is counted already
		p--
	}
	return math.Pow10(p), to + 1, true
}

// fraction reads a half, two thirds, 3/4, half a million.
func fraction(s sentence, i int) (figure, bool) {
	if s.isA(i, number) && s.is(i+1, "/") && s.isA(i+2, number) {
		above, _, ok := literal(s.in[i].text)
		below, _, fine := literal(s.in[i+2].text)
		return figure{value: above / below, part: true, to: i + 3}, ok && fine && above < below && below <= 1000
	}
	count, at := 1.0, i
	switch t := s.token(i); {
	case s.is(i, "a an one ein eine un une the die la"):
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
	t := s.token(at)
	below := cmp.Or(parted[t.text], parted[t.plain])
	if count >= below || !s.isA(at, word) || below > 2 && ordinal(s, i, at) {
		return figure{}, false
	}
	f := figure{value: count / below, part: true, to: at + 1}
	to := f.to
	for s.is(to, "a of an eine") {
		to++
	}
	// half a million is a number
	if by := scale(s.token(to), true); to-f.to <= 2 && by >= 100 && len(s.in[to].text) > 1 {
		f.value, f.part, f.to = f.value*by, false, to+1
	}
	return f, true
}

// ordinal says whether the word of a part only gives an order: the third, third time.
func ordinal(s sentence, begin, at int) bool {
	if at > begin {
		return s.is(begin, "the die la")
	}
	return !s.is(at+1, "of") || s.is(at-1, "the")
}

// mixed adds the part behind a number: two and a half, 2 1/2, 4 ½ thousand.
func mixed(s sentence, f figure) figure {
	at := f.to
	if s.is(at, "and") {
		at++
	}
	if f.other != 0 || at == f.to && !s.isA(at, number) {
		return f
	}
	more, ok := fraction(s, at)
	if !ok || !more.part {
		return f
	}
	f.value, f.to = f.value+more.value, more.to
	if by := scale(s.token(f.to), true); by > 0 {
		f.value, f.to = f.value*by, f.to+1
	}
	return f
}

package policy

import (
	"fmt"
	"strconv"
)

// finding is a place where a rule seems broken, before it is asked why it is named.
type finding struct {
	rule     string
	what     string
	from, to int
	permits  bool // see reading.spared
	always   bool // nothing spares it
}

// tiny keeps a number that is written as its cap from lying above it.
const tiny = 1e-9

// over says whether a quantity exceeds a cap, and whether it does so by itself, not only by the "more than" before it.
func over(q quantity, most float64) (exceeds, alone bool) {
	alone = q.most() > most*(1+tiny)+tiny
	return alone || q.above && q.most() >= most*(1-tiny), alone
}

func figureText(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// format writes a number as its unit is spoken of.
func format(v float64, unit Unit) string {
	switch unit {
	case Multiple:
		return strconv.FormatFloat(v, 'g', 4, 64) + "x"
	case Share:
		return strconv.FormatFloat(100*v, 'g', 4, 64) + " %"
	case Dollars:
		return "$" + strconv.FormatFloat(v, 'f', -1, 64)
	}
	return figureText(v) + " " + string(unit)
}

// Bound is the most that a cap allows, with its unit.
func (c Cap) Bound() string {
	unit := c.Unit
	if existing, ok := builtInCaps[c.Name]; ok {
		unit = existing
	}
	return format(c.Most, unit)
}

func tooMuch(c Cap, unit Unit, q quantity) finding {
	what := fmt.Sprintf("%s is above %s", format(q.most(), unit), format(c.Most, unit))
	if exceeds, alone := over(q, c.Most); exceeds && !alone {
		what = "more than " + format(c.Most, unit)
	}
	_, alone := over(q, c.Most)
	return finding{
		rule:    c.Name,
		what:    what,
		from:    q.from,
		to:      q.to,
		permits: alone && q.above,
	}
}

func boundless(c Cap, unit Unit, from, to int) finding {
	return finding{rule: c.Name, what: "it names no bound, and the cap is " + format(c.Most, unit), from: from, to: to}
}

// with of both, in order.
func (f finding) with(from, to int) finding {
	f.from, f.to = min(f.from, from), max(f.to, to)
	return f
}

// freeCap finds the numbers of a cap of one's own: the unit's, near one of its words.
func (r *reading) freeCap(c Cap, about *words, unit *words, s span) []finding {
	var found []finding
	for _, q := range r.within(s) {
		fits := q.unit == c.Unit && (q.unit == Multiple || q.unit == Share || q.unit == Dollars)
		fits = fits ||
			unit != nil &&
				(q.to < len(r.in) && unit.at(r.in, q.to) > 0 || q.from > 0 && endsWith(r.in, q.from, unit) ||
					q.asset != "" && q.asset == canonical(string(c.Unit)))
		fits = fits || c.Unit == Dollars && r.dollars(q, nil) > 0
		if !fits || !about.has(r.in, max(s.from, q.from-12), min(s.to, q.to+12)) {
			continue
		}
		if c.Unit == Dollars && q.unit != Dollars {
			q.value, q.other = r.dollars(q, nil), 0
		}
		if exceeds, _ := over(q, c.Most); exceeds {
			found = append(found, tooMuch(c, c.Unit, q))
		}
	}
	return found
}

// dollars is what a quantity is worth at the least; 0 when that is not known.
func (r *reading) dollars(q quantity, worth map[string]float64) float64 {
	if q.unit == Dollars {
		return q.most()
	}
	if q.asset == "" {
		return 0
	}
	w := LeastWorth[q.asset]
	if given, ok := worth[q.asset]; ok {
		w = given
	}
	return q.most() * w
}

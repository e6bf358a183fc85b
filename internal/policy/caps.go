package policy

import (
	"fmt"
	"strconv"
)

// finding is a place where a rule seems broken, before it is asked why it is named.
type finding struct {
	rule, what string
	span
	permits bool // see sentence.spared
}

// tiny keeps a number that is written as its cap from lying above it.
const tiny = 1e-9

// judge adds a finding of a quantity that exceeds the cap, by itself or by the "more than" before it. where is what
// shows which number it is.
func (c Cap) judge(found []finding, q quantity, where span) []finding {
	alone := q.most() > c.Most*(1+tiny)+tiny
	f := finding{rule: c.Name, span: q.with(where), permits: alone && q.above}
	switch {
	case alone:
		f.what = fmt.Sprintf("%s is above %s", format(q.most(), c.unit()), c.Bound())
	case q.above && q.most() >= c.Most*(1-tiny):
		f.what = "more than " + c.Bound()
	default:
		return found
	}
	return append(found, f)
}

// boundless is the finding of something that names no bound.
func (c Cap) boundless(where span) finding {
	return finding{rule: c.Name, what: "it names no bound, and the cap is " + c.Bound(), span: where}
}

// unit is what the cap counts: its own unit, or that of the built-in cap.
func (c Cap) unit() Unit {
	if unit, builtIn := builtInCaps[c.Name]; builtIn {
		return unit
	}
	return c.Unit
}

// Bound is the most that a cap allows, with its unit.
func (c Cap) Bound() string { return format(c.Most, c.unit()) }

// format writes a number as its unit is spoken of.
func format(v float64, unit Unit) string {
	switch unit {
	case Multiple:
		return strconv.FormatFloat(v, 'g', 4, 64) + "x"
	case Share:
		return strconv.FormatFloat(100*v, 'g', 4, 64) + " %"
	}
	figure := strconv.FormatFloat(v, 'f', -1, 64)
	if unit == Dollars {
		return "$" + figure
	}
	return figure + " " + string(unit)
}

// freeCap finds the numbers of a cap of one's own: the unit's, near one of its words.
func freeCap(s sentence, c boundCap) []finding {
	var found []finding
	for _, q := range s.numbers() {
		if c.Unit == Dollars && q.unit != Dollars {
			q.value, q.other = q.dollars(nil), 0
			q.unit = Dollars
			if q.value == 0 {
				continue
			}
		}
		counted := q.unit == c.Unit && c.word == nil
		named := c.word != nil && (s.at(c.word, q.to) || s.closes(c.word, q.from) ||
			q.asset != "" && q.asset == canonical(string(c.Unit)))
		if (counted || named) && s.between(c.about, q.from-12, q.to+12) {
			found = c.judge(found, q, q.span)
		}
	}
	return found
}

// dollars is what a quantity is worth at the least; 0 when that is not known.
func (q quantity) dollars(worth map[string]float64) float64 {
	if q.unit == Dollars {
		return q.most()
	}
	least, given := worth[q.asset]
	if !given {
		least = LeastWorth[q.asset]
	}
	return q.most() * least
}

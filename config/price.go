package config

import (
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// price reads dollars per million tokens, as in price lists.
func (r *reader) price() *budget.Price {
	s := r.inside("price", `dollars per million tokens, such as {in: "0.15", cached_in: "0.075", out: "0.60"}`)
	if s == nil {
		return nil
	}
	s.onlyKnown([]string{"in", "cached_in", "out", "long"})
	p := s.rates()
	s.long(&p)
	r.faults = append(r.faults, s.faults...)
	if len(s.faults) > 0 {
		return nil
	}
	return &p
}

// inside reads a section within this one; nil where it is left out or is something else. Its faults are its own.
func (r *reader) inside(key, right string) *reader {
	raw, ok := r.fields[key]
	if !ok {
		return nil
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		r.fault("%s.%s is %s; it must say %s", r.at, key, quoted(raw), right)
		return nil
	}
	return &reader{at: r.at + "." + key, fields: fields}
}

// rates reads what tokens cost. Where it is not said what cached ones cost, they cost what others do.
func (r *reader) rates() budget.Price {
	in, out := pick[budget.Micros](r, "in", Dollars), pick[budget.Micros](r, "out", Dollars)
	cached := pick[budget.Micros](r, "cached_in", Dollars)
	if in == nil || out == nil {
		if len(r.faults) == 0 {
			r.fault("%s needs both in and out, in dollars per million tokens", r.at)
		}
		return budget.Price{}
	}
	if cached == nil {
		cached = in
	}
	return budget.Price{In: *in, CachedIn: *cached, Out: *out}
}

// mostTokens is the largest window that a model may have.
const mostTokens = 100_000_000

// long reads what a call with a long prompt costs. A figure below that of a shorter prompt is refused as a mistake, by
// which too little would be counted. Where cached_in is left out, it is never below that of a shorter prompt.
func (r *reader) long(p *budget.Price) {
	l := r.inside("long", `from which prompt on a call costs more, such as {from: 200000, in: "2.50", out: "15"}`)
	if l == nil {
		return
	}
	l.onlyKnown([]string{"from", "in", "cached_in", "out"})
	rates, from := l.rates(), l.from()
	if _, stated := l.fields["cached_in"]; !stated {
		rates.CachedIn = max(rates.CachedIn, p.CachedIn)
	}
	if len(r.faults)+len(l.faults) == 0 {
		l.checkRise(*p, rates)
	}
	r.faults = append(r.faults, l.faults...)
	p.LongFrom, p.LongIn = from, rates.In
	p.LongCachedIn, p.LongOut = rates.CachedIn, rates.Out
}

// from reads the longest prompt at the lower price, in tokens.
func (r *reader) from() int64 {
	raw, ok := r.fields["from"]
	if !ok {
		r.fault("%s.from is missing; it is the longest prompt at the lower price, in tokens, such as 200000", r.at)
		return 0
	}
	v, err := Knob{Key: r.at + ".from", Sort: Whole, Low: 1, High: mostTokens}.read(raw)
	if err != nil {
		r.faults = append(r.faults, err)
		return 0
	}
	return v.(int64)
}

func (r *reader) checkRise(short, long budget.Price) {
	if short.In == 0 && short.Out == 0 {
		r.fault("%s goes with a price above zero: a model with in and out at zero counts as free; "+
			"state the higher price as in and out, and leave long out", r.at)
		return
	}
	for _, each := range []struct {
		key         string
		long, short budget.Micros
	}{
		{"in", long.In, short.In},
		{"cached_in", long.CachedIn, short.CachedIn},
		{"out", long.Out, short.Out},
	} {
		if each.long < each.short {
			r.fault("%s.%s is %s; it must be at least %s, as in a shorter prompt", r.at, each.key, each.long,
				each.short)
		}
	}
}

// checkLong checks that a prompt can be long enough for the higher price. A window that is only guessed says nothing.
func (r *reader) checkLong(m Model, profile string) {
	if m.Price == nil || m.Price.LongFrom == 0 {
		return
	}
	override := m.override(false)
	spec, err := inference.Resolve("any", profile, m.Name, &override)
	if err == nil && !spec.Guessed && m.Price.LongFrom >= int64(spec.Context) {
		r.fault("%s.price.long.from is %d; it must be below the model's context of %d tokens, or long be left out",
			r.at, m.Price.LongFrom, spec.Context)
	}
}

// priceText formats a price for `oneiros config show`.
func priceText(p budget.Price) string {
	text := fmt.Sprintf("in %s, cached %s, out %s per million tokens", p.In, p.CachedIn, p.Out)
	if p.LongFrom > 0 {
		text += fmt.Sprintf("; above %d tokens of prompt in %s, cached %s, out %s", p.LongFrom, p.LongIn,
			p.LongCachedIn, p.LongOut)
	}
	return text
}

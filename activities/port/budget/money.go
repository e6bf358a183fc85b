// Package budget holds money as integer micro-dollars: amounts, prices, shares of a dream's phases, and capped
// accounts.
package budget

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Micros is an amount of money in micro-dollars (1e-6 USD).
type Micros int64

// Dollar is one US dollar; Unlimited is the limit that no amount reaches.
const (
	Dollar    Micros = 1_000_000
	Unlimited Micros = math.MaxInt64
)

// String prints dollars, with at least two and at most six decimals: $0.50, $0.000123.
func (m Micros) String() string {
	if m == Unlimited {
		return "unlimited"
	}
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	whole, part := uint64(m)/uint64(Dollar), uint64(m)%uint64(Dollar)
	frac := strconv.FormatUint(part+uint64(Dollar), 10)[1:] // six digits
	for len(frac) > 2 && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	return sign + "$" + strconv.FormatUint(whole, 10) + "." + frac
}

// ParseMicros reads dollars: "0.5", "$0.50", "2". More than six decimals, signs, and amounts of ten million dollars
// or more are errors.
func ParseMicros(s string) (Micros, error) {
	text := strings.TrimPrefix(strings.TrimSpace(s), "$")
	whole, frac, _ := strings.Cut(text, ".")
	if whole == "" {
		whole = "0"
	}
	if len(frac) > 6 {
		return 0, fmt.Errorf("amount %q has more than six decimals; the smallest amount is $0.000001", s)
	}
	for _, r := range whole + frac {
		if r < '0' || r > '9' {
			return 0, fmt.Errorf("amount %q is not a number of dollars such as 0.50", s)
		}
	}
	if text == "" || text == "." || len(whole) > 7 {
		return 0, fmt.Errorf("amount %q is not a number of dollars between 0 and 9999999", s)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("amount %q is not a number of dollars: %w", s, err)
	}
	return Micros(n), nil
}

// Price is the price of a model, in micro-dollars per million tokens. A call whose prompt has more than LongFrom tokens
// costs the long prices, all of it; where LongFrom is 0 the price does not rise.
type Price struct {
	In           Micros `json:"in"`
	CachedIn     Micros `json:"cached_in"`
	Out          Micros `json:"out"`
	LongFrom     int64  `json:"long_from,omitempty"`
	LongIn       Micros `json:"long_in,omitempty"`
	LongCachedIn Micros `json:"long_cached_in,omitempty"`
	LongOut      Micros `json:"long_out,omitempty"`
}

// at is the price of a call whose prompt has so many tokens, cached ones among them.
func (p Price) at(prompt int64) Price {
	if p.LongFrom > 0 && prompt > p.LongFrom {
		return Price{In: p.LongIn, CachedIn: p.LongCachedIn, Out: p.LongOut}
	}
	return p
}

// Tokens are the tokens of a call. In includes Cached; Out includes Reasoning. Surcharge is no part of In: so many
// tokens of the prompt, at its price and not cached, are billed beside it for what was written to a cache. The spend
// ledger keeps what a surcharge cost, and not the count.
type Tokens struct {
	In        int64 `json:"in"`
	Cached    int64 `json:"cached,omitempty"`
	Surcharge int64 `json:"surcharge,omitempty"`
	Out       int64 `json:"out"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// Cost rounds up to a whole micro-dollar, so that sums are never below the bill. Negative counts are 0, and what
// exceeds an int64 costs Unlimited: wrong counts of a provider never make a call cheaper.
func (p Price) Cost(t Tokens) Micros {
	in := max(t.In, 0)
	cached := max(0, min(t.Cached, in))
	p = p.at(in)
	return perMillion(product{in - cached, p.In}, product{cached, p.CachedIn}, product{t.Surcharge, p.In},
		product{t.Out, p.Out})
}

// Worst is the most that up to this many tokens can cost: nothing cached, and cached tokens never cheaper than stated.
// Fewer tokens may have the other price, so that the higher one of both counts.
func (p Price) Worst(in, out int64) Micros {
	long := p.at(in)
	return perMillion(product{in, max(p.In, p.CachedIn, long.In, long.CachedIn)}, product{out, max(p.Out, long.Out)})
}

// Dearer is the price when a prompt token costs a multiple of the list price. The price of cached tokens is
// unchanged.
func (p Price) Dearer(times int64) Price {
	p.In, p.LongIn = p.In.times(times), p.LongIn.times(times)
	return p
}

// times multiplies an amount, at most to Unlimited; fewer than two times leave it.
func (m Micros) times(n int64) Micros {
	switch {
	case n < 2 || m <= 0:
		return m
	case m > Unlimited/Micros(n):
		return Unlimited
	}
	return m * Micros(n)
}

type product struct {
	tokens int64
	price  Micros // per million
}

// perMillion adds in 128 bits and divides once, rounding up.
func perMillion(products ...product) Micros {
	const million = 1_000_000
	high, low := uint64(0), uint64(million-1)
	for _, p := range products {
		h, l := bits.Mul64(uint64(max(p.tokens, 0)), uint64(max(p.price, 0)))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high, _ = bits.Add64(high, h, carry)
	}
	if high >= million {
		return Unlimited
	}
	whole, _ := bits.Div64(high, low, million)
	return Micros(min(whole, uint64(Unlimited)))
}

// Account is a cap that a call must fit under. Scope names it ("dream:…", "day:echo/2026-11-20").
type Account struct {
	Scope string `json:"scope"`
	Limit Micros `json:"limit"`
}

// Shares divide a dream's budget among its phases, in percent. They add up to 100.
type Shares struct {
	Onset       int `json:"onset"`
	NREM        int `json:"nrem"`
	REM         int `json:"rem"`
	Integration int `json:"integration"`
	Return      int `json:"return"`
}

// DefaultShares are the default shares.
var DefaultShares = Shares{
	Onset:       10,
	NREM:        35,
	REM:         35,
	Integration: 15,
	Return:      5,
}

// Validate returns what is wrong with the shares.
func (s Shares) Validate() error {
	var faults []error
	for _, f := range []struct {
		name string
		v    int
	}{{"onset", s.Onset}, {"nrem", s.NREM}, {"rem", s.REM}, {"integration", s.Integration}, {"return", s.Return}} {
		if f.v < 0 || f.v > 100 {
			faults = append(faults, fmt.Errorf("share %s is %d %%; it must lie between 0 and 100", f.name, f.v))
		}
	}
	if sum := s.Onset + s.NREM + s.REM + s.Integration + s.Return; sum != 100 {
		faults = append(faults,
			fmt.Errorf("shares add up to %d %%; onset, nrem, rem, integration and return must make 100", sum))
	}
	return errors.Join(faults...)
}

// Plan is a dream's budget by phase.
type Plan struct {
	Onset       Micros `json:"onset"`
	NREM        Micros `json:"nrem"`
	REM         Micros `json:"rem"`
	Integration Micros `json:"integration"`
	Return      Micros `json:"return"`
}

// Split divides total by the shares; the remainder goes to NREM, so that the parts add up to the total.
func Split(total Micros, s Shares) Plan {
	part := func(percent int) Micros { return total/100*Micros(percent) + total%100*Micros(percent)/100 }
	p := Plan{
		Onset:       part(s.Onset),
		NREM:        part(s.NREM),
		REM:         part(s.REM),
		Integration: part(s.Integration),
		Return:      part(s.Return),
	}
	p.NREM += total - (p.Onset + p.NREM + p.REM + p.Integration + p.Return)
	return p
}

// WithoutOnset gives the onset's share to NREM.
func (p Plan) WithoutOnset() Plan {
	p.NREM, p.Onset = p.NREM+p.Onset, 0
	return p
}

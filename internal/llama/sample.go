package llama

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// taste is the sampling in force. As in llama.cpp, top-p and min-p look at the model's own distribution and the
// temperature is applied to what they left: so min-p holds at any temperature.
type taste struct {
	temperature float64 // 0: always the likeliest
	minP        float64 // share of the likeliest token's probability that a token must have; 0: any
	topP        float64 // the likeliest tokens that together have this probability; 1: all
	dice        *rand.Rand
}

func tasteOf(s inference.Sampling, seed uint64) (taste, error) {
	t := taste{temperature: 1, topP: 1, dice: rand.New(rand.NewPCG(seed, 0x6c6c616d61))}
	for _, f := range []struct {
		name string
		v    *float64
		high float64
		into *float64
	}{
		{"temperature", s.Temperature, MaxTemperature, &t.temperature},
		{"min_p", s.MinP, 1, &t.minP},
		{"top_p", s.TopP, 1, &t.topP},
	} {
		if f.v == nil {
			continue
		}
		if math.IsNaN(*f.v) || *f.v < 0 || *f.v > f.high {
			return t, fmt.Errorf("%s is %v; it must lie between 0 and %v", f.name, *f.v, f.high)
		}
		*f.into = *f.v
	}
	return t, nil
}

// odd is a token with its logarithm of probability.
type odd struct {
	token int
	log   float64
}

// logs turns the model's output into natural logarithms of probabilities.
func logs(raw []float32) []float64 {
	high := math.Inf(-1)
	for _, x := range raw {
		high = max(high, float64(x))
	}
	var sum float64
	for _, x := range raw {
		sum += math.Exp(float64(x) - high)
	}
	all := high + math.Log(sum)
	out := make([]float64, len(raw))
	for i, x := range raw {
		out[i] = float64(x) - all
	}
	return out
}

// choose draws an allowed token. Where sampling leaves none, the likeliest allowed one is taken; -1 when none is
// allowed.
func (t taste) choose(log []float64, allowed func(token int) bool) int {
	if token := draw(t.pool(log), allowed); token >= 0 {
		return token
	}
	all := make([]odd, len(log))
	for i, x := range log {
		all[i] = odd{i, x}
	}
	return draw(all, allowed)
}

// draw returns the allowed token with the highest logarithm; -1 when none is allowed.
func draw(odds []odd, allowed func(token int) bool) int {
	slices.SortStableFunc(odds, likelier)
	for _, c := range odds {
		if allowed(c.token) {
			return c.token
		}
	}
	return -1
}

// likelier orders the likeliest first.
func likelier(a, b odd) int { return cmp.Compare(b.log, a.log) }

// pool is what top-p and min-p left, each with its logarithm at the temperature plus a random number: the highest of
// them is a fair draw (Gumbel's trick), and the next ones are the draws if the first were missing.
func (t taste) pool(log []float64) []odd {
	best := 0
	for i, x := range log {
		if x > log[best] {
			best = i
		}
	}
	if t.temperature == 0 {
		return []odd{{best, log[best]}}
	}
	floor := math.Inf(-1)
	if t.minP > 0 {
		floor = log[best] + math.Log(t.minP)
	}
	var pool []odd
	for i, x := range log {
		if x >= floor || i == best {
			pool = append(pool, odd{i, x})
		}
	}
	pool = t.nucleus(pool)
	for i := range pool {
		u := t.dice.Float64()
		pool[i].log = pool[i].log/t.temperature - math.Log(-math.Log(max(u, math.SmallestNonzeroFloat64)))
	}
	return pool
}

// nucleus keeps the likeliest that together have topP of the probability, in the order of their tokens.
func (t taste) nucleus(pool []odd) []odd {
	if t.topP >= 1 {
		return pool
	}
	slices.SortStableFunc(pool, likelier)
	var sum float64
	for i, c := range pool {
		sum += math.Exp(c.log)
		if sum >= t.topP {
			pool = pool[:i+1]
			break
		}
	}
	slices.SortFunc(pool, func(a, b odd) int { return a.token - b.token })
	return pool
}

// likeliest are the n likeliest tokens, best first.
func likeliest(log []float64, n int) []odd {
	var top []odd
	for i, x := range log {
		if len(top) == n && (n == 0 || x <= top[n-1].log) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, x, func(c odd, x float64) int {
			if c.log >= x {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, odd{i, x})
		top = top[:min(len(top), n)]
	}
	return top
}

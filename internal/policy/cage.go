package policy

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Cage checks texts against rules. It has no state and is safe for concurrent use.
type Cage struct {
	rules    Rules
	allowed  map[string]bool // by ticker; nil: any asset
	caps     []boundCap
	patterns []boundPattern
}

type boundCap struct {
	Cap
	about, word *words // word is nil for one of those that are always read
}

type boundPattern struct {
	Pattern
	re *regexp.Regexp
}

// New compiles rules. The error joins all of their faults.
func New(rules Rules) (*Cage, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	c := &Cage{rules: rules}
	for _, name := range rules.Assets {
		if c.allowed == nil {
			c.allowed = map[string]bool{}
		}
		c.allowed[canonical(name)] = true
	}
	for _, limit := range rules.Caps {
		bound := boundCap{Cap: limit}
		if _, builtIn := builtInCaps[limit.Name]; !builtIn {
			bound.about = lexicon(foldedList(limit.Words)...)
			if limit.Unit != Multiple && limit.Unit != Share && limit.Unit != Dollars {
				bound.word = lexicon(foldedList([]string{string(limit.Unit)})...)
			}
		}
		c.caps = append(c.caps, bound)
	}
	for _, p := range rules.Forbidden {
		re, err := p.compile()
		if err != nil {
			return nil, err
		}
		c.patterns = append(c.patterns, boundPattern{p, re})
	}
	return c, nil
}

// foldedList reads words as texts are read, each as a phrase of a lexicon. A star at the end stays.
func foldedList(list []string) []string {
	out := make([]string, 0, len(list))
	for _, each := range list {
		starred := strings.HasSuffix(each, "*")
		var parts []string
		for _, t := range tokens(strings.TrimSuffix(each, "*")) {
			if t.sort != mark {
				parts = append(parts, t.text)
			}
		}
		phrase := strings.Join(parts, " ")
		if starred {
			phrase += "*"
		}
		out = append(out, phrase)
	}
	return out
}

// Check names every place where a text breaks a rule, in the order of the rules; none when it breaks none. The
// sentences are not judged here: only a model can.
func (c *Cage) Check(text string) []Violation {
	if c.nothing() || strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) > MostRead {
		return []Violation{
			{
				Rule:  ruleLength,
				What:  fmt.Sprintf("it has %d bytes; what is longer than %d is not read", len(text), MostRead),
				Where: shorten(text, longestQuote),
			},
		}
	}
	r := read(text)
	var out []Violation
	seen := map[string]bool{}
	for _, f := range c.find(r) {
		v := Violation{Rule: f.rule, What: f.what, Where: r.quote(f.span)}
		if key := v.Rule + "\x00" + v.Where; !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return append(out, c.matches(r)...)
}

func (c *Cage) nothing() bool {
	return c == nil || c.allowed == nil && len(c.caps) == 0 && len(c.patterns) == 0 && len(c.rules.Guards) == 0
}

// find holds every sentence against every rule, and leaves out what is only named.
func (c *Cage) find(r *reading) []finding {
	var kept []finding
	for _, stretch := range r.sentences {
		s := r.sentence(stretch)
		for _, f := range c.broken(s) {
			if !s.spared(f.span, f.permits) {
				kept = append(kept, f)
			}
		}
	}
	return kept
}

// broken holds one sentence against every rule.
func (c *Cage) broken(s sentence) []finding {
	var all []finding
	for _, limit := range c.caps {
		switch limit.Name {
		case Leverage:
			all = append(all, leverage(s, limit.Cap)...)
		case Position:
			all = append(all, position(s, limit.Cap)...)
		case Amount:
			all = append(all, amount(s, limit.Cap, c.rules.Worth)...)
		case Slippage:
			all = append(all, slippage(s, limit.Cap)...)
		default:
			all = append(all, freeCap(s, limit)...)
		}
	}
	if c.allowed != nil {
		all = append(all, holding(s, c.allowed)...)
	}
	for _, name := range c.rules.Guards {
		guard := guards[name]
		for _, where := range guard.find(s) {
			all = append(all, finding{rule: string(name), what: guard.what, span: where})
		}
	}
	return all
}

// matches holds the patterns against the text as it is written, and as it is read.
func (c *Cage) matches(r *reading) []Violation {
	if len(c.patterns) == 0 {
		return nil
	}
	var folded strings.Builder
	at := make([]int, 0, len(r.in)) // where each token begins in the folded text
	for i, t := range r.in {
		if i > 0 && !(t.sort == mark && t.glued) {
			folded.WriteByte(' ')
		}
		at = append(at, folded.Len())
		folded.WriteString(t.text)
	}
	var out []Violation
	for _, p := range c.patterns {
		from, to, ok := p.first(r, folded.String(), at)
		if ok {
			out = append(out,
				Violation{
					Rule: p.Name, What: "it matches a forbidden pattern",
					Where: shorten(r.text[from:to], longestQuote),
				})
		}
	}
	return out
}

// first is the first match of a pattern that is not spared, by bytes of the text.
func (p boundPattern) first(r *reading, folded string, at []int) (from, to int, ok bool) {
	for _, m := range p.re.FindAllStringIndex(r.text, mostMatches) {
		if !p.Spare || !r.sparedBytes(m[0], m[1]) {
			return m[0], m[1], true
		}
	}
	for _, m := range p.re.FindAllStringIndex(folded, mostMatches) {
		first, last := 0, 0
		for i := range at {
			if at[i] <= m[0] {
				first = i
			}
			if at[i] < m[1] {
				last = i
			}
		}
		from, to := r.in[first].from, r.in[last].to
		if !p.Spare || !r.sparedBytes(from, to) {
			return from, to, true
		}
	}
	return 0, 0, false
}

// mostMatches of one pattern are looked at in one text.
const mostMatches = 50

// sparedBytes asks whether what stands at bytes of the text is only named.
func (r *reading) sparedBytes(from, to int) bool {
	first, last := -1, 0
	for i, t := range r.in {
		if t.to > from && first < 0 {
			first = i
		}
		if t.from < to {
			last = i
		}
	}
	for _, s := range r.sentences {
		if first >= s.from && first < s.to {
			return r.sentence(s).spared(span{first, min(last+1, s.to)}, false)
		}
	}
	return false
}

// longestQuote is how many bytes of a text a violation shows.
const longestQuote = 160

func (r *reading) quote(s span) string {
	return shorten(r.text[r.in[s.from].from:r.in[min(s.to, len(r.in))-1].to], longestQuote)
}

// shorten shortens a text at a character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

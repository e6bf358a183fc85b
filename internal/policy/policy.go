// Package policy has the rules about what a dream may not develop, and reads texts so that no spelling hides a word.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rules are what a dream may not develop. They are frozen into its spec: nothing it does or
// reads changes them. The zero value bars nothing.
type Rules struct {
	Assets    []string   `json:"assets,omitempty"`    // the assets allowed, by ticker; none: any
	Caps      []Cap      `json:"caps,omitempty"`      // numbers that may not be exceeded
	Guards    []Guard    `json:"guards,omitempty"`    // built-in rules about what nobody should do
	Forbidden []Pattern  `json:"forbidden,omitempty"` // patterns of one's own
	Sentences []Sentence `json:"sentences,omitempty"` // in words, judged by the observer
	// what becomes of a fragment that the observer could not judge by the sentences; empty: flag
	Unclear Unclear `json:"unclear,omitempty"`
	// dollars that one of an asset is worth at the least, by ticker; beside LeastWorth
	Worth map[string]float64 `json:"worth,omitempty"`
}

// Default are the rules of a deployment that configures none: every guard, and no rule about assets and numbers, which
// only the operator of an agent can know.
func Default() Rules { return Rules{Guards: Guards()} }

// Unit is what a cap counts.
type Unit string

// The units that the law knows; any other is a word that stands beside the number, such as "gwei".
const (
	Multiple Unit = "multiple" // times: 3 is 3x, three-fold, 3:1
	Share    Unit = "share"    // of a whole, from 0 to 1: percent, basis points, halves, parts
	Dollars  Unit = "dollars"  // money, and coins that stand for a dollar
)

// Cap is the upper bound of a number. Words say which numbers it is about; the four built-in caps have their own.
type Cap struct {
	Name  string   `json:"name"`
	Most  float64  `json:"most"`
	Unit  Unit     `json:"unit,omitempty"`
	Words []string `json:"words,omitempty"`
}

// The built-in caps, by name. Their units are given.
const (
	Leverage = "leverage" // multiple
	Position = "position" // share of the portfolio in one position
	Amount   = "amount"   // dollars in one trade
	Slippage = "slippage" // share of the price
)

// builtInCaps are their units.
var builtInCaps = map[string]Unit{Leverage: Multiple, Position: Share, Amount: Dollars, Slippage: Share}

// Pattern is an RE2 expression that no text may match, in any spelling that the rules can read. Case does not matter.
type Pattern struct {
	Name  string `json:"name"`
	Match string `json:"match"`
	// Spare lets a clause pass that forbids what it names, warns of it or tells that it happened to others.
	Spare bool `json:"spare,omitempty"`
}

// Sentence is a rule in words. Only a model can judge by it.
type Sentence struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Unclear says what is done with a fragment that the observer could not judge by the sentences.
type Unclear string

// What may become of it.
const (
	Flag Unclear = "flag" // it is marked to be looked at, and developed
	Bar  Unclear = "bar"  // it is not developed
)

// Violation is one place where a text breaks a rule.
type Violation struct {
	Rule  string `json:"rule"`  // its name
	What  string `json:"what"`  // what is wrong with it, without quoting the text
	Where string `json:"where"` // the words of the text
}

// Limits of what a configuration may hold.
const (
	MostRules     = 100  // of each kind
	LongestMatch  = 500  // characters of a pattern
	LongestPhrase = 400  // characters of a sentence, and of a cap's word
	largestFigure = 1e15 // of a cap
)

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// None says whether the rules bar nothing.
func (r Rules) None() bool {
	return len(r.Assets) == 0 && len(r.Caps) == 0 && len(r.Guards) == 0 && len(r.Forbidden) == 0 &&
		len(r.Sentences) == 0
}

// Words is a hash of the rules in words: the same for the same sentences in the same order, and empty where there are
// none.
func (r Rules) Words() string {
	if len(r.Sentences) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, s := range r.Sentences {
		fmt.Fprintf(sum, "%q %q ", s.Name, s.Text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// faults collects what is wrong with rules.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// Validate joins all errors; each names the rule, its value and what would be right.
//
//workflowcheck:ignore
func (r Rules) Validate() error {
	var f faults
	for _, asset := range r.Assets {
		if canonical(asset) == "" {
			f.add("assets: %q is no ticker; it must be letters and digits, such as ETH", asset)
		}
	}
	for _, guard := range r.Guards {
		if _, found := guards[guard]; !found {
			f.add("guards: there is no guard %q; there are %v", guard, Guards())
		}
	}
	for _, asset := range slices.Sorted(maps.Keys(r.Worth)) {
		dollars := r.Worth[asset]
		if canonical(asset) == "" || !(dollars > 0) || dollars > largestFigure {
			f.add("worth: %s is worth %v; it must be a ticker and dollars above 0", asset, dollars)
		}
	}
	if r.Unclear != "" && r.Unclear != Flag && r.Unclear != Bar {
		f.add("unclear is %q; it must be %s or %s", r.Unclear, Flag, Bar)
	}
	for kind, n := range []int{len(r.Assets), len(r.Caps), len(r.Forbidden), len(r.Sentences)} {
		if n > MostRules {
			f.add("%s: there are %d; at most %d are read", ruleKinds[kind], n, MostRules)
		}
	}
	r.validateNamed(&f)
	return errors.Join(f...)
}

var ruleKinds = [...]string{"assets", "caps", "forbidden", "sentences"}

// validateNamed checks the rules that have a name, and that no two share one.
func (r Rules) validateNamed(f *faults) {
	taken := map[string]bool{ruleAsset: true, ruleLength: true, RuleUnclear: true}
	name := func(kind, name string) {
		if !ruleName.MatchString(name) {
			f.add("%s: the name %q must be lower-case letters, digits, - and _, such as no-bridges", kind, name)
		}
		_, guard := guards[Guard(name)]
		if taken[name] || guard || builtInCaps[name] != "" && kind != "caps" {
			f.add("%s: the name %q is taken", kind, name)
		}
		taken[name] = true
	}
	for _, c := range r.Caps {
		name("caps", c.Name)
		*f = append(*f, c.validate())
	}
	for _, p := range r.Forbidden {
		name("forbidden", p.Name)
		_, err := p.compile()
		*f = append(*f, err)
	}
	for _, s := range r.Sentences {
		name("sentences", s.Name)
		if n := utf8.RuneCountInString(s.Text); strings.TrimSpace(s.Text) == "" || n > LongestPhrase {
			f.add("sentences: %s has %d characters; it must say in 1 to %d what is forbidden", s.Name, n, LongestPhrase)
		}
	}
}

func (c Cap) validate() error {
	if !(c.Most >= 0) || c.Most > largestFigure {
		return fmt.Errorf("caps: %s is %v; it must lie between 0 and %v", c.Name, c.Most, float64(largestFigure))
	}
	unit, builtIn := builtInCaps[c.Name]
	switch {
	case builtIn && c.Unit != "" && c.Unit != unit:
		return fmt.Errorf("caps: the unit of %s is %q; it is always %s", c.Name, c.Unit, unit)
	case builtIn && unit == Share && c.Most > 1, !builtIn && c.Unit == Share && c.Most > 1:
		return fmt.Errorf("caps: %s is %v; a share must lie between 0 and 1, such as 0.2 for a fifth", c.Name, c.Most)
	case !builtIn && strings.TrimSpace(string(c.Unit)) == "":
		return fmt.Errorf("caps: %s has no unit; it must be %s, %s, %s or the word beside the number, such as gwei",
			c.Name, Multiple, Share, Dollars)
	case !builtIn && len(c.Words) == 0:
		return fmt.Errorf("caps: %s has no words; name those that say which numbers it is about, such as gas", c.Name)
	}
	for _, word := range append([]string{string(c.Unit)}, c.Words...) {
		if n := utf8.RuneCountInString(word); n > LongestPhrase {
			return fmt.Errorf("caps: a word of %s has %d characters; at most %d are read", c.Name, n, LongestPhrase)
		}
	}
	return nil
}

func (p Pattern) compile() (*regexp.Regexp, error) {
	if n := utf8.RuneCountInString(p.Match); strings.TrimSpace(p.Match) == "" || n > LongestMatch {
		return nil,
			fmt.Errorf("forbidden: the pattern of %s has %d characters; it must have 1 to %d", p.Name, n, LongestMatch)
	}
	re, err := regexp.Compile("(?i)" + p.Match)
	if err != nil {
		return nil, fmt.Errorf("forbidden: the pattern of %s, %q, is no RE2 expression: %w", p.Name, p.Match, err)
	}
	if re.MatchString("") {
		return nil,
			fmt.Errorf(
				"forbidden: the pattern of %s, %q, matches the empty text, and so everything; it must ask for a word at least",
				p.Name, p.Match)
	}
	return re, nil
}

// With adds rules that can only make these stricter: of two caps the lower applies, of two lists of assets what is in
// both, and everything else is added.
func (r Rules) With(more Rules) Rules {
	out := Rules{Assets: slices.Clone(r.Assets), Unclear: r.Unclear, Worth: maps.Clone(r.Worth)}
	switch {
	case len(r.Assets) == 0:
		out.Assets = slices.Clone(more.Assets)
	case len(more.Assets) > 0:
		out.Assets = slices.DeleteFunc(out.Assets, func(a string) bool {
			return !slices.ContainsFunc(more.Assets, func(b string) bool { return canonical(a) == canonical(b) })
		})
		if len(out.Assets) == 0 { // nothing in common: no asset is allowed, which an empty list would not say
			out.Assets = []string{Nothing}
		}
	}
	out.Caps = slices.Clone(r.Caps)
	for _, c := range more.Caps {
		at := slices.IndexFunc(out.Caps,
			func(existing Cap) bool { return existing.Name == c.Name && existing.bounds(c) })
		if at < 0 {
			c.Name = anotherName(c.Name, out.Caps, func(existing Cap) string { return existing.Name })
			out.Caps = append(out.Caps, c)
			continue
		}
		out.Caps[at].Most = math.Min(out.Caps[at].Most, c.Most)
		out.Caps[at].Words = union(out.Caps[at].Words, c.Words)
	}
	out.Guards = union(r.Guards, more.Guards)
	out.Forbidden = named(r.Forbidden, more.Forbidden, func(p *Pattern) *string { return &p.Name })
	out.Sentences = named(r.Sentences, more.Sentences, func(s *Sentence) *string { return &s.Name })
	if more.Unclear == Bar {
		out.Unclear = Bar
	}
	for asset, dollars := range more.Worth {
		if out.Worth == nil {
			out.Worth = map[string]float64{}
		}
		out.Worth[asset] = max(out.Worth[asset], dollars)
	}
	return out
}

// Nothing is the list of assets of a policy that allows none.
const Nothing = "NONE"

func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// bounds says whether a cap of the same name counts the same.
func (c Cap) bounds(o Cap) bool { return builtInCaps[c.Name] != "" || c.Unit == o.Unit }

// named puts lists together. Two different rules of one name both hold; the second takes another name.
func named[T comparable](a, b []T, name func(*T) *string) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			*name(&v) = anotherName(*name(&v), out, func(existing T) string { return *name(&existing) })
			out = append(out, v)
		}
	}
	return out
}

// anotherName is a name that is not taken: itself, or with -2, -3, … behind it.
func anotherName[T any](name string, taken []T, of func(T) string) string {
	const room = 36 // of the 40 characters of a name
	free := name
	for n := 2; slices.ContainsFunc(taken, func(existing T) bool { return of(existing) == free }); n++ {
		free = fmt.Sprintf("%s-%d", name[:min(len(name), room)], n)
	}
	return free
}

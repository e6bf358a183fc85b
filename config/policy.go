package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// Policy configures what no dream may develop, as written.
type Policy struct {
	Assets   string        `json:"assets"` // separated by commas
	Leverage float64       `json:"leverage"`
	Position float64       `json:"position"`
	Amount   budget.Micros `json:"amount"`
	Slippage float64       `json:"slippage"`
	Guards   string        `json:"guards"` // all, none, or names with commas between
	Unclear  string        `json:"unclear"`

	More   policy.Rules            `json:"-"` // the user's own caps, patterns, rules in words and worths
	Agents map[string]policy.Rules `json:"-"` // additional rules of an agent, by handle
}

// allGuards selects all guards, including those of later versions; noGuards selects none.
const (
	allGuards = "all"
	noGuards  = "none"
)

// Rules returns the deployment's rules.
func (p Policy) Rules() policy.Rules {
	r := p.More
	r.Assets, r.Unclear = splitWords(p.Assets), policy.Unclear(p.Unclear)
	for _, name := range splitWords(p.Guards) {
		switch name {
		case noGuards:
		case allGuards:
			r.Guards = policy.Guards()
		default:
			r.Guards = append(r.Guards, policy.Guard(name))
		}
	}
	r.Caps = append(p.caps(), r.Caps...)
	return r
}

// caps returns the built-in caps that are set.
func (p Policy) caps() []policy.Cap {
	var caps []policy.Cap
	add := func(name string, most float64) {
		if most > 0 {
			caps = append(caps, policy.Cap{Name: name, Most: most})
		}
	}
	add(policy.Leverage, p.Leverage)
	add(policy.Position, p.Position)
	if p.Amount != budget.Unlimited {
		caps = append(caps, policy.Cap{Name: policy.Amount, Most: float64(p.Amount) / float64(budget.Dollar)})
	}
	add(policy.Slippage, p.Slippage)
	return caps
}

// splitWords splits a list; nil for an empty one.
func splitWords(text string) []string {
	if strings.Trim(text, ", \t\n") == "" {
		return nil
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

func (p Policy) validate() error {
	faults := faultList{prefixFaults("policy", p.Rules().Validate())}
	for _, handle := range sortedKeys(p.Agents) {
		faults = append(faults, prefixFaults("policy.agents."+handle, p.Agents[handle].Validate()))
	}
	names := splitWords(p.Guards)
	if len(names) > 1 && (slices.Contains(names, noGuards) || slices.Contains(names, allGuards)) {
		faults.add("policy.guards is %s; it must be all, none, or names of guards", quoted(p.Guards))
	}
	return errors.Join(faults...)
}

// prefixFaults puts a place before every fault. The package policy calls them sentences; in a file they are rules.
func prefixFaults(at string, err error) error {
	all := faultsOf(err)
	for i, fault := range all {
		all[i] = fmt.Errorf("%s.%w", at, fault)
		if text, ok := strings.CutPrefix(fault.Error(), "sentences: "); ok {
			all[i] = fmt.Errorf("%s.rules: %s", at, text)
		}
	}
	return errors.Join(all...)
}

// policySections are the sections of the policy that have no rows in the table.
var policySections = []string{"caps", "forbidden", "rules", "worth", "agents"}

var (
	capKeys     = []string{"most", "unit", "words"}
	patternKeys = []string{"match", "spare"}
	agentKeys   = []string{
		"assets", "leverage", "position", "amount", "slippage", "guards", "unclear", "caps",
		"forbidden", "rules", "worth",
	}
)

// readPolicy reads the sections of the policy.
func (p *Policy) readPolicy(raw any) error {
	fields, ok := raw.(map[string]any)
	if !ok { // the table has reported it
		return nil
	}
	r := reader{at: "policy", fields: fields}
	p.More = r.ruleSections()
	agents := r.section("agents")
	p.Agents = map[string]policy.Rules{}
	for _, handle := range sortedKeys(agents) {
		at := "policy.agents." + handle
		values, ok := agents[handle].(map[string]any)
		if !ok {
			r.fault("%s is %s; it must be a section with what is added for the agent", at, quoted(agents[handle]))
			continue
		}
		inner := reader{at: at, fields: values}
		inner.onlyKnown(agentKeys)
		p.Agents[handle] = inner.agentRules()
		r.faults = append(r.faults, inner.faults...)
	}
	return errors.Join(r.faults...)
}

// agentRules reads the additional rules of one agent: the knobs of the policy, and its sections.
func (r *reader) agentRules() policy.Rules {
	p := Policy{Amount: budget.Unlimited, Assets: r.text("assets"), Guards: r.text("guards"), More: r.ruleSections()}
	for _, k := range table() {
		name, ofPolicy := strings.CutPrefix(k.Key, "policy.")
		raw, found := r.fields[name]
		if !ofPolicy || !found || k.Sort == Text {
			continue
		}
		k.Key = r.at + "." + name
		value, err := k.read(raw)
		if err != nil {
			r.faults = append(r.faults, err)
			continue
		}
		switch v := value.(type) {
		case string:
			p.Unclear = v
		case budget.Micros:
			p.Amount = v
		case float64:
			*map[string]*float64{"leverage": &p.Leverage, "position": &p.Position, "slippage": &p.Slippage}[name] = v
		}
	}
	return p.Rules()
}

// section returns an inner section; empty when there is none.
func (r *reader) section(key string) map[string]any {
	raw, ok := r.fields[key]
	if !ok || raw == nil {
		return nil
	}
	inner, ok := raw.(map[string]any)
	if !ok {
		r.fault("%s.%s is %s; it must be a section", r.at, key, quoted(raw))
	}
	return inner
}

// ruleSections reads caps, patterns, rules in words and worths, each by name.
func (r *reader) ruleSections() policy.Rules {
	var rules policy.Rules
	caps := r.section("caps")
	for _, name := range sortedKeys(caps) {
		if c, ok := r.cap(name, caps[name]); ok {
			rules.Caps = append(rules.Caps, c)
		}
	}
	patterns := r.section("forbidden")
	for _, name := range sortedKeys(patterns) {
		if p, ok := r.pattern(name, patterns[name]); ok {
			rules.Forbidden = append(rules.Forbidden, p)
		}
	}
	words := r.section("rules")
	for _, name := range sortedKeys(words) {
		inner := reader{at: r.at + ".rules", fields: words}
		rules.Sentences = append(rules.Sentences, policy.Sentence{Name: name, Text: inner.text(name)})
		r.faults = append(r.faults, inner.faults...)
	}
	worth := r.section("worth")
	for _, asset := range sortedKeys(worth) {
		dollars, err := Knob{Key: r.at + ".worth." + asset, Sort: Number}.read(worth[asset])
		if err != nil {
			r.faults = append(r.faults, err)
			continue
		}
		if rules.Worth == nil {
			rules.Worth = map[string]float64{}
		}
		rules.Worth[strings.ToUpper(asset)] = dollars.(float64)
	}
	return rules
}

func (r *reader) cap(name string, raw any) (policy.Cap, bool) {
	at := r.at + ".caps." + name
	fields, ok := raw.(map[string]any)
	if !ok {
		r.fault(
			"%s is %s; it must be a section with most, unit and words, such as {most: 80, unit: gwei, words: gas}",
			at, quoted(raw))
		return policy.Cap{}, false
	}
	inner := reader{at: at, fields: fields}
	inner.onlyKnown(capKeys)
	c := policy.Cap{Name: name, Unit: policy.Unit(inner.text("unit")), Words: inner.words("words")}
	most, found := inner.value("most", Number).(float64)
	if _, there := fields["most"]; !found && !there {
		inner.fault("%s.most is missing; it is the largest number allowed", at)
	}
	c.Most = most
	r.faults = append(r.faults, inner.faults...)
	return c, found
}

// words reads a list, or words separated by commas.
func (r *reader) words(key string) []string {
	list, isList := r.fields[key].([]any)
	if !isList {
		list = nil
		for _, each := range strings.Split(r.text(key), ",") {
			list = append(list, each)
		}
	}
	var out []string
	for _, each := range list {
		if word := strings.TrimSpace(fmt.Sprint(each)); word != "" {
			out = append(out, word)
		}
	}
	return out
}

func (r *reader) pattern(name string, raw any) (policy.Pattern, bool) {
	at := r.at + ".forbidden." + name
	if match, ok := raw.(string); ok {
		return policy.Pattern{Name: name, Match: match}, true
	}
	fields, ok := raw.(map[string]any)
	if !ok {
		r.fault("%s is %s; it must be an RE2 expression, or a section with match and spare", at, quoted(raw))
		return policy.Pattern{}, false
	}
	inner := reader{at: at, fields: fields}
	inner.onlyKnown(patternKeys)
	p := policy.Pattern{Name: name, Match: inner.text("match"), Spare: inner.yesNo("spare")}
	r.faults = append(r.faults, inner.faults...)
	return p, true
}

// policyVariable maps the environment to the user's own rules: ONEIROS_POLICY_FORBIDDEN_NO_ACME is
// policy.forbidden.no_acme, ONEIROS_POLICY_RULES_KIND is policy.rules.kind, ONEIROS_POLICY_CAPS_GAS_MOST is
// policy.caps.gas.most.
func policyVariable(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "ONEIROS_POLICY_")
	if !ok {
		return "", false
	}
	for _, section := range []string{"forbidden", "rules", "worth"} {
		if rule, found := strings.CutPrefix(rest, strings.ToUpper(section)+"_"); found && rule != "" {
			return "policy." + section + "." + strings.ToLower(rule), true
		}
	}
	if rule, found := strings.CutPrefix(rest, "CAPS_"); found {
		for _, field := range capKeys {
			if name, found := strings.CutSuffix(rule, "_"+strings.ToUpper(field)); found && name != "" {
				return "policy.caps." + strings.ToLower(name) + "." + field, true
			}
		}
	}
	return "", false
}

// settings lists the sections for `oneiros config show`.
func (p Policy) settings(add func(key, value, fallback string)) {
	tell := func(at string, r policy.Rules) {
		for _, c := range r.Caps {
			add(at+"caps."+c.Name,
				strings.TrimSpace(
					fmt.Sprintf("at most %s %s: %s", plain(c.Most), c.Unit, strings.Join(c.Words, ", "))), "")
		}
		for _, f := range r.Forbidden {
			add(at+"forbidden."+f.Name, f.Match, "")
		}
		for _, s := range r.Sentences {
			add(at+"rules."+s.Name, s.Text, "")
		}
		for _, asset := range sortedKeys(r.Worth) {
			add(at+"worth."+strings.ToLower(asset), plain(r.Worth[asset]), "")
		}
	}
	tell("policy.", p.More)
	for _, handle := range sortedKeys(p.Agents) {
		r := p.Agents[handle]
		at := "policy.agents." + handle + "."
		add(at+"assets", strings.Join(r.Assets, ", "), "")
		tell(at, r)
	}
}

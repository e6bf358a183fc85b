package cost

import (
	"encoding/json"
	"strings"
)

// Length is how long answers are.
type Length int

// The lengths: what the prompts ask for, in a sentence or a few; and as much as every call allows.
const (
	Usual Length = iota
	Longest
)

// usual is how many tokens a field of an answer takes: a fragment is one to three sentences, a scenario a paragraph, a
// reason eight words.
var usual = map[string]int{
	"text": 45, "premise": 30, "content": 140, "claim": 30, "criterion": 30, "trace": 40, "reason": 11,
	"first_step": 20, "gist": 35, "insight": 35,
}

// others is how many tokens a text takes whose name says nothing.
const others = 20

// several is how many items a list has whose items do not refer to something in the prompt.
const several = 3

// aloud is how many tokens of prose a call without a schema gets when only its limit ends it.
const aloud = 400

// answer makes one answer of a model.
type answer struct {
	long  Length
	prose []string
	refs  []string
	turn  int
}

// to answers a schema, or without one writes prose, in at most so many tokens; 0: as many as it takes.
func (a answer) to(schema json.RawMessage, most int) (text, finish string) {
	if schema == nil {
		text := a.speak(aloud)
		if most > 0 && count(text) > int64(most) {
			return a.speak(most), "length"
		}
		return text, "stop"
	}
	var s shape
	if json.Unmarshal(schema, &s) != nil {
		return "{}", "stop"
	}
	stretch := 1.0
	if a.long == Longest {
		stretch = 64
	}
	for {
		body, err := json.Marshal(filler{a, stretch}.value(s, ""))
		if err != nil {
			return "{}", "stop"
		}
		if most <= 0 || count(string(body)) <= int64(most) || stretch < .05 {
			return string(body), "stop"
		}
		stretch *= .93
	}
}

// speak writes so many tokens, from another place of the prose at every turn.
func (a answer) speak(tokens int) string {
	var b strings.Builder
	n := 0
	for at := a.turn * 7; n < tokens; at++ {
		for _, word := range strings.Fields(a.prose[at%len(a.prose)]) {
			if b.Len() > 0 {
				word = " " + word
			}
			n += int(count(word))
			if n > tokens {
				break
			}
			b.WriteString(word)
		}
	}
	return b.String()
}

// shape is as much of a JSON schema as the prompts use.
type shape struct {
	Type       string           `json:"type"`
	Enum       []any            `json:"enum"`
	Properties map[string]shape `json:"properties"`
	Items      *shape           `json:"items"`
	MinItems   int              `json:"minItems"`
	MaxItems   *int             `json:"maxItems"`
}

type filler struct {
	answer
	stretch float64
}

func (f filler) value(s shape, name string) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[f.turn%len(s.Enum)]
	case s.Type == "object":
		out := map[string]any{}
		for field, of := range s.Properties {
			out[field] = f.value(of, field)
		}
		return out
	case s.Type == "array":
		return f.list(s, name)
	case s.Type == "number":
		return .6
	case s.Type == "integer":
		return 21
	}
	tokens, found := usual[name]
	if !found {
		tokens = others
	}
	return f.speak(max(3, int(float64(tokens)*f.stretch)))
}

// list has one item for every reference of the prompt's main kind, when its items name one.
func (f filler) list(s shape, name string) []any {
	item := *s.Items
	if name == "sources" {
		var out []any
		for i := range min(2, len(f.refs)) {
			out = append(out, f.refs[(f.turn+i*5)%len(f.refs)])
		}
		return out
	}
	about := ""
	for _, field := range []string{"ref", "source"} {
		if _, ok := item.Properties[field]; ok {
			about = field
		}
	}
	n, of := several, f.refs
	if about != "" {
		of = alike(f.refs)
		n = len(of)
	}
	n = max(n, s.MinItems)
	if s.MaxItems != nil && *s.MaxItems > 0 {
		n = min(n, *s.MaxItems)
	}
	out := make([]any, 0, n)
	for i := range n {
		one := f
		one.turn += i
		value := one.value(item, "")
		if fields, ok := value.(map[string]any); ok && about != "" {
			fields[about] = of[i]
		}
		out = append(out, value)
	}
	return out
}

// alike are the references of the same kind as the first: what a prompt is about comes first.
func alike(refs []string) []string {
	var out []string
	for _, ref := range refs {
		if kind := strings.TrimRight(ref, "0123456789"); kind == strings.TrimRight(refs[0], "0123456789") {
			out = append(out, ref)
		}
	}
	return out
}

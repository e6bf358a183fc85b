package provider

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
)

// deepest bounds schemas that refer to themselves.
const deepest = 12

// lengths of texts in sentences or, below one, in words; the longest that fits the room is taken.
var lengths = []int{2, 1, -6, -3, -1}

// fill makes a JSON value of a schema out of the prompt: references of the prompt where references are wanted,
// sentences where text is. When room (tokens, 0 for unbounded) is short, texts and then lists are made shorter.
func (v voice) fill(schema json.RawMessage, room int) string {
	var root shape
	if err := json.Unmarshal(schema, &root); err != nil {
		return "{}"
	}
	seed := [2]uint64{v.dice.Uint64(), v.dice.Uint64()}
	text := ""
	for _, most := range []int{24, 8, 3, 1} {
		for _, length := range lengths {
			f := filler{voice: v, root: root, length: length, most: most}
			f.dice = newDice(seed)
			raw, err := json.Marshal(f.value(root, "", 0))
			if err != nil {
				return "{}"
			}
			text = string(raw)
			if room <= 0 || len(Pieces(text)) <= room {
				return text
			}
		}
	}
	return text
}

type filler struct {
	voice
	root   shape
	length int
	most   int // items of a list
	next   int // of the references
}

func (f *filler) value(s shape, name string, depth int) any {
	s = f.resolve(s)
	if depth > deepest {
		return nil
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		if existing := f.referencesIn(s.Enum); existing != nil {
			return existing[f.dice.IntN(len(existing))]
		}
		return s.Enum[f.dice.IntN(len(s.Enum))]
	}
	switch typeOf(s) {
	case "object":
		return f.object(s, depth)
	case "array":
		return f.array(s, name, depth)
	case "number":
		return f.number(s)
	case "integer":
		low, high := span(s, 1, 5)
		low, high = math.Ceil(low), math.Floor(high)
		return int64(low) + f.dice.Int64N(max(1, int64(high-low)+1))
	case "boolean":
		return f.dice.IntN(2) == 0
	case "null":
		return nil
	default:
		return f.text(s, name)
	}
}

// referencesIn are the enum's values that are references of the prompt; nil when it is no list of references.
func (f *filler) referencesIn(enum []any) []any {
	var out []any
	for _, e := range enum {
		if text, ok := e.(string); ok && slices.Contains(f.refs, text) {
			out = append(out, e)
		}
	}
	return out
}

func (f *filler) object(s shape, depth int) any {
	out := map[string]any{}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names) // so that the random numbers are used in this order
	for _, name := range names {
		out[name] = f.value(s.Properties[name], name, depth+1)
	}
	return out
}

// array has an item for every reference when its items name one, up to three otherwise.
func (f *filler) array(s shape, name string, depth int) any {
	item := shape{Type: "string"}
	if s.Items != nil {
		item = f.resolve(*s.Items)
	}
	n := 1 + f.dice.IntN(3)
	outer := f.next
	defer func() { f.next = outer }()
	f.next = f.dice.IntN(1000)
	about := false
	for field, property := range item.Properties {
		about = about || typeOf(f.resolve(property)) == "string" && f.wantsRef(property, field)
	}
	if about {
		n, f.next = len(f.refs), 0
	} else if typeOf(item) == "string" && f.wantsRef(item, name) {
		n++ // an item that joins memories joins two
	}
	n = min(n, f.most)
	if s.MaxItems != nil {
		n = min(n, *s.MaxItems)
	}
	n = max(n, s.MinItems)
	out := make([]any, 0, n)
	for range n {
		if value := f.value(item, name, depth+1); !slices.ContainsFunc(out,
			func(o any) bool { return same(o, value) }) {
			out = append(out, value)
		}
	}
	for len(out) < s.MinItems {
		out = append(out, f.value(item, name, depth+1))
	}
	return out
}

func same(a, b any) bool {
	x, isText := a.(string)
	y, ok := b.(string)
	return isText && ok && x == y
}

func (f *filler) number(s shape) any {
	low, high := span(s, 0, 1)
	return math.Max(low, math.Min(high, math.Round((low+(high-low)*f.dice.Float64())*100)/100))
}

// span is the range of a number; usual bounds where the schema names none.
func span(s shape, low, high float64) (float64, float64) {
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return *s.Minimum, math.Max(*s.Minimum, *s.Maximum)
	case s.Minimum != nil:
		return *s.Minimum, *s.Minimum + high
	case s.Maximum != nil:
		return math.Min(low, *s.Maximum), *s.Maximum
	}
	return low, high
}

var refNames = regexp.MustCompile(
	`(?i)(^|_)(refs?|ids?|sources?|fragments?|episodes?|scenarios?|memory|memories|entry|entries|evidence|parents?|from|based_on)$`,
)

func (f *filler) wantsRef(s shape, name string) bool {
	if len(f.refs) == 0 || len(s.Enum) > 0 {
		return false
	}
	return refNames.MatchString(name) || strings.Contains(s.Pattern, `\d`) || strings.Contains(s.Pattern, "[0-9]")
}

func (f *filler) text(s shape, name string) string {
	if f.wantsRef(s, name) {
		ref := f.refs[f.next%len(f.refs)]
		f.next++
		return ref
	}
	switch s.Format {
	case "date":
		return "2030-01-01"
	case "date-time":
		return "2030-01-01T00:00:00Z"
	}
	text := f.sentence()
	if f.length == 2 && f.dice.IntN(2) == 0 {
		text += " " + f.sentence()
	}
	if words := strings.Fields(text); f.length < 0 {
		text = strings.TrimRight(strings.Join(words[:min(len(words), -f.length)], " "), ",;")
	}
	if runes := []rune(text); s.MaxLength != nil && len(runes) > *s.MaxLength {
		text = strings.TrimSpace(string(runes[:max(0, *s.MaxLength)]))
	}
	return text
}

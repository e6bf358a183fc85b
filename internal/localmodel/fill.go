package localmodel

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// filler writes one JSON value of a schema. It plans lengths ahead so that the value is whole within its room.
type filler struct {
	mem   *memory
	heat  settings
	dice  *rand.Rand
	stale map[int]bool // lines earlier objects drew on
	next  int          // the next reference to be answered for
	tight bool         // there is no room for whole sentences
}

func fill(mem *memory, s *shape, room int, heat settings, dice *rand.Rand) []string {
	f := &filler{mem: mem, heat: heat, dice: dice, stale: map[int]bool{}}
	f.tight = f.least("", s) > room
	return f.value("", s, room, f.scene(-1))
}

// Tokens that a string is given: at least so many words, and not more than it can use.
const (
	leastText = 12
	mostText  = 60
)

var refName = regexp.MustCompile(`(?i)^(sources?|source_ids?|ids?|refs?|references?|memory|memories|fragment|episode|episodes)$`)

// least is the number of tokens without which a value of the shape cannot be whole.
func (f *filler) least(name string, s *shape) int {
	switch s.kind {
	case "object":
		n := 2
		for _, p := range f.props(s) {
			n += 1 + f.least(p.name, p.shape)
		}
		return n
	case "array":
		return 2 + max(s.minItems, boolInt(refName.MatchString(name)))*(1+f.least(name, s.item))
	case "string":
		if len(s.choices) > 0 || refName.MatchString(name) || s.maxLength == 0 {
			return 1
		}
		if f.tight {
			return 1
		}
		_, least, _ := voiceOf(name)
		return least
	}
	return 1
}

// want is the number of tokens a value can use well.
func (f *filler) want(name string, s *shape) int {
	switch s.kind {
	case "object":
		n := 2
		for _, p := range f.props(s) {
			n += 1 + f.want(p.name, p.shape)
		}
		return n
	case "array":
		return 2 + f.count(name, s)*(1+f.want(name, s.item))
	case "string":
		if f.least(name, s) == 1 {
			return 1
		}
		_, _, most := voiceOf(name)
		return most
	}
	return 1
}

// props are the properties to be written: all of them, or the required ones where there is little room.
func (f *filler) props(s *shape) []property {
	if !f.tight {
		return s.props
	}
	return slices.DeleteFunc(slices.Clone(s.props), func(p property) bool { return !p.must })
}

// count is how many items an array would have with room for all of them.
func (f *filler) count(name string, s *shape) int {
	n := 3
	switch {
	case refName.MatchString(name) && s.item.kind == "string":
		n = 4
	case refOf(s.item) != "":
		n = len(f.answerable(s.item))
	}
	if f.mem.most > 0 && refOf(s.item) == "" {
		n = min(n, f.mem.most)
	}
	if s.maxItems >= 0 {
		n = min(n, s.maxItems)
	}
	return max(n, s.minItems)
}

// refOf names the property by which an object says which shown line it is about; empty when it has none.
func refOf(s *shape) string {
	for _, p := range s.props {
		if p.shape.kind == "string" && refName.MatchString(p.name) {
			return p.name
		}
	}
	return ""
}

// answerable are the lines that bear a reference, of the first group that does; rules already acted by come last.
func (f *filler) answerable(item *shape) []int {
	plain := slices.ContainsFunc(item.props, func(p property) bool { return strings.Contains(p.name, "gist") })
	for _, known := range []bool{false, true} {
		group := -1
		var out []int
		for i, l := range f.mem.lines {
			if l.ref != "" && l.known == known && (group < 0 || l.group == group) {
				group = l.group
				if plain && !f.lasting(i) {
					continue // all that it says are figures
				}
				out = append(out, i)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func (f *filler) value(name string, s *shape, room int, sc *scene) []string {
	if len(s.choices) > 0 {
		return []string{compact(f.choice(name, s, sc))}
	}
	switch s.kind {
	case "object":
		return f.object(s, room)
	case "array":
		return f.array(name, s, room, sc)
	case "string":
		if refName.MatchString(name) {
			return []string{quoted(f.reference(s, sc))}
		}
		return f.words(name, s, room, sc)
	case "number", "integer":
		return []string{f.number(name, s, sc)}
	case "boolean":
		return []string{map[bool]string{true: "true", false: "false"}[f.measure(name, sc) >= .5]}
	}
	return []string{"null"}
}

// array writes as many items as there is room for, shorter ones before fewer ones.
func (f *filler) array(name string, s *shape, room int, sc *scene) []string {
	if refName.MatchString(name) && s.item.kind == "string" {
		return list(f.references(s, sc))
	}
	n := f.count(name, s)
	least, want := 1+f.least(name, s.item), 1+f.want(name, s.item)
	for ; n > s.minItems && n*(least+(want-least)/4)+2 > room; n-- {
	}
	out := []string{"["}
	for i := range n {
		left := room - len(out) - 1
		share := left / (n - i)
		if i > 0 {
			out = append(out, ",")
		}
		inner := sc
		if s.item.kind != "object" {
			inner = f.scene(-1)
		}
		out = append(out, f.value(name, s.item, share-1, inner)...)
	}
	return append(out, "]")
}

func list(texts []string) []string {
	out := []string{"["}
	for i, t := range texts {
		if i > 0 {
			out = append(out, ",")
		}
		out = append(out, quoted(t))
	}
	return append(out, "]")
}

// object fills in three passes: what it is about, what it says, and what is measured of what it says.
func (f *filler) object(s *shape, room int) []string {
	sc := f.scene(-1)
	if refOf(s) != "" {
		sc = f.scene(f.nextAnchor(s))
	}
	props := f.props(s)
	parts := make([][]string, len(props))
	left := room - 1 - len(props)
	for pass := range 2 {
		for i, p := range props {
			says := p.shape.kind == "object" || p.shape.kind == "array" && !refName.MatchString(p.name) ||
				p.shape.kind == "string" && f.least(p.name, p.shape) > 1
			if says != (pass == 0) {
				continue
			}
			parts[i] = f.value(p.name, p.shape, f.share(props, parts, i, left), sc)
			left -= len(parts[i])
		}
	}
	for from := range sc.used {
		f.stale[from] = true
	}
	var out []string
	for i, p := range props {
		open := ","
		if i == 0 {
			open = "{"
		}
		out = append(out, open+quoted(p.name)+":")
		out = append(out, parts[i]...)
	}
	if len(props) == 0 {
		return []string{"{}"}
	}
	return append(out, "}")
}

// share is the room of one property: its least, and its part of what is left over.
func (f *filler) share(props []property, parts [][]string, i, left int) int {
	leasts, over := 0, 0
	for j, p := range props {
		if parts[j] == nil {
			leasts += f.reserve(p)
			over += f.want(p.name, p.shape) - f.least(p.name, p.shape)
		}
	}
	p := props[i]
	least, want := f.reserve(p), f.want(p.name, p.shape)
	if over <= 0 || left <= leasts {
		return least
	}
	return min(want, least+(left-leasts)*(want-f.least(p.name, p.shape))/over)
}

// reserve keeps room for as many references as an object may name.
func (f *filler) reserve(p property) int {
	if p.shape.kind == "array" && refName.MatchString(p.name) {
		return 2 * min(4, f.count(p.name, p.shape)+1)
	}
	return f.least(p.name, p.shape)
}

// words writes a string in the voice of its name.
func (f *filler) words(name string, s *shape, room int, sc *scene) []string {
	pieces := f.speak(name, max(1, room), sc)
	text := strings.Join(pieces, "")
	if s.maxLength >= 0 && utf8.RuneCountInString(text) > s.maxLength {
		pieces = clip(pieces, s.maxLength)
	}
	for n := utf8.RuneCountInString(strings.Join(pieces, "")); n < s.minLength; n++ {
		pieces = append(pieces[:max(0, len(pieces)-1)], last(pieces)+".")
	}
	if len(pieces) == 0 {
		return []string{`""`}
	}
	sc.said(strings.Join(pieces, ""))
	for i, p := range pieces {
		q := quoted(p)
		pieces[i] = q[1 : len(q)-1]
	}
	pieces[0] = `"` + pieces[0]
	pieces[len(pieces)-1] += `"`
	return pieces
}

func last(pieces []string) string {
	if len(pieces) == 0 {
		return ""
	}
	return pieces[len(pieces)-1]
}

// clip keeps whole pieces within so many characters, and part of the first when even that is too long.
func clip(pieces []string, most int) []string {
	n := 0
	for i, p := range pieces {
		if n += utf8.RuneCountInString(p); n > most {
			if i == 0 && most > 0 {
				return []string{string([]rune(p)[:most])}
			}
			return pieces[:i]
		}
	}
	return pieces
}

func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func compact(raw json.RawMessage) string {
	return strings.Join(strings.Fields(string(raw)), " ")
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

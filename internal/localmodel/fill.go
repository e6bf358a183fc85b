package localmodel

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// filler writes one JSON value of a schema. It plans lengths ahead so that the value is whole within its room.
type filler struct {
	mem         *memory
	temperature settings
	dice        *rand.Rand
	stale       map[int]bool // lines earlier objects drew on
	next        int          // the next reference to be answered for
	tight       bool         // there is no room for whole sentences
}

func fill(mem *memory, s *shape, room int, temperature settings, dice *rand.Rand) []string {
	f := &filler{mem: mem, temperature: temperature, dice: dice, stale: map[int]bool{}}
	f.tight = f.least("", s) > room
	return f.value("", s, room, f.scene(-1))
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
	sc.add(strings.Join(pieces, ""))
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
		n += utf8.RuneCountInString(p)
		if n > most {
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

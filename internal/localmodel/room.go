package localmodel

import (
	"regexp"
	"slices"
	"strings"
)

// Tokens that a string is given: at least so many words, and not more than it can use.
const (
	leastText = 12
	mostText  = 60
)

var refName = regexp.MustCompile(
	`(?i)^(sources?|source_ids?|ids?|refs?|references?|memory|memories|fragment|episode|episodes)$`)

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
	for _, found := range []bool{false, true} {
		group := -1
		var out []int
		for i, l := range f.mem.lines {
			if l.ref != "" && l.rule == found && (group < 0 || l.group == group) {
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

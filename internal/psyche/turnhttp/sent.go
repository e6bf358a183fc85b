package turnhttp

import (
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Vocabulary is how a wire names what its translation, a chat completion, names otherwise. Errors about the translation
// so name what the client sent.
type Vocabulary struct {
	Fields  map[string]string               // by the names of a chat completion
	Parts   map[string]Part                 // by the types of parts that a chat completion has
	Element func(path string, i int) string // the path of an element of a list
	Kept    string                          // the field that brings in what does not stand in the body
}

// Part is a part of content on a wire.
type Part struct {
	Type   string
	Source string // the type of its source; empty: any
}

// Sent says where in a body stands what has a name in the body's translation.
func (v *Vocabulary) Sent(raw []byte) func(name string) psyche.SentAs {
	return func(name string) psyche.SentAs {
		if p, isPart := v.Parts[name]; isPart {
			if path := v.find(raw, "", p, mostDeep); path != "" {
				return psyche.SentAs{Path: path, Name: p.Type + " at " + path}
			}
			return psyche.SentAs{Path: v.Kept, Name: p.Type + " that " + v.Kept + " brings in"}
		}
		if own, named := v.Fields[name]; named {
			name = own
		}
		return psyche.SentAs{Path: name, Name: name}
	}
}

// mostDeep is how deep a part is looked for: input, item, output, part.
const mostDeep = 10

// find is the path of the first part of a type in a body that was read before; empty when there is none.
func (v *Vocabulary) find(raw []byte, at string, p Part, deep int) (path string) {
	if len(raw) == 0 || deep == 0 {
		return ""
	}
	switch raw[0] {
	case '[':
		all, _ := jsonscan.Elements(raw)
		for i, each := range all {
			path = v.find(each, v.Element(at, i), p, deep-1)
			if path != "" {
				return path
			}
		}
	case '{':
		var kind, source string
		_ = jsonscan.Members(raw, func(key, value []byte) error {
			name := jsonscan.Unquoted(key)
			switch name {
			case "type":
				kind = jsonscan.Unquoted(value)
			case "source":
				source = typeOf(value)
			}
			if at != "" {
				name = at + "." + name
			}
			if path == "" {
				path = v.find(value, name, p, deep-1)
			}
			return nil
		})
		if kind == p.Type && (p.Source == "" || source == p.Source) {
			return at
		}
	}
	return path
}

func typeOf(raw []byte) (kind string) {
	if len(raw) == 0 || raw[0] != '{' {
		return ""
	}
	_ = jsonscan.Members(raw, func(key, value []byte) error {
		if jsonscan.Unquoted(key) == "type" {
			kind = jsonscan.Unquoted(value)
		}
		return nil
	})
	return kind
}

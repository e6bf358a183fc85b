package responses

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// members are members of a message in order. What comes in pieces is put together.
type members struct {
	names  []string
	values map[string][]byte
}

// add adds a member. Texts and lists of the same name are joined; of anything else the newest counts.
func (m *members) add(name string, value []byte) {
	before, again := m.values[name]
	if !again {
		m.names = append(m.names, name)
	}
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	if again && before[0] == value[0] {
		switch value[0] {
		case '"':
			value = jsonscan.Quoted(jsonscan.Unquoted(before) + jsonscan.Unquoted(value))
		case '[':
			value = joined(before, value)
		}
	}
	m.values[name] = slices.Clone(value)
}

// lack adds a member where there is none of the name.
func (m *members) lack(name, value string) {
	if m.values[name] == nil {
		m.add(name, []byte(value))
	}
}

// joined is one list of the elements of two.
func joined(a, b []byte) []byte {
	inside := jsonscan.Scanner{Body: a, At: 1}
	if inside.Peek() == ']' {
		return b
	}
	inside = jsonscan.Scanner{Body: b, At: 1}
	if inside.Peek() == ']' {
		return a
	}
	return slices.Concat(a[:len(a)-1], []byte{','}, b[1:])
}

// object is the object of them.
func (m *members) object() []byte {
	return slices.Concat([]byte{'{'}, bytes.TrimPrefix(m.json(), []byte{','}), []byte{'}'})
}

// json are the members, each with a comma before it.
func (m *members) json() []byte {
	var b []byte
	for _, name := range m.names {
		b = fmt.Appendf(b, `,%s:%s`, jsonscan.Quoted(name), m.values[name])
	}
	return b
}

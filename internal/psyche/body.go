package psyche

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

// body holds the positions of a request's parts, so that they can be changed and all other bytes stay as they were
// sent.
type body struct {
	raw      []byte
	head     int             // position after the opening brace
	names    []string        // of the outermost fields in lower case, in order
	fields   map[string]span // the values by name; each name occurs once
	messages []message
	chat     bool // it has an array of messages
	stream   bool
	options  span     // value of "stream_options" if it is an object; else zero
	usage    span     // value of its "include_usage"; zero when absent
	others   []string // names of members of messages whose content is not text
	caches   bool     // some object asks the provider to cache a part of the prompt, which costs more than reading it
}

// message is one element of "messages".
type message struct {
	span
	role    string
	content span // zero when it has none
	calls   bool // an assistant's message with tool calls
}

// readBody parses a body. Errors name the byte and what is wrong, and quote nothing else; a duplicate name is a
// *Fault.
func readBody(raw []byte) (*body, error) {
	b := &body{raw: raw, fields: make(map[string]span, 8)}
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	s := &scanner{b: raw}
	s.keys = func(key span) { b.caches = b.caches || cacheMark(key.of(raw)) }
	if s.peek() != '{' {
		return nil, s.fault("an object")
	}
	b.head = s.at + 1
	err := s.object(func(key span) error { return b.member(s, key.of(raw)) })
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// member reads one of the outermost fields. JSON parsers differ in which of two equal fields they use, and some
// ignore case: no name may occur twice in any case, and fields that affect the cost must be spelled as usual.
func (b *body) member(s *scanner, key []byte) error {
	name, plain := fieldName(key)
	if !plain && counting.has(name) {
		return misspelt(name, key)
	}
	if _, twice := b.fields[name]; twice {
		return twofold(name)
	}
	b.names = append(b.names, name)
	b.fields[name] = span{s.at, s.at}
	var v span
	var err error
	switch name {
	case "messages":
		v, err = b.talk(s)
	case "stream_options":
		v, err = b.streaming(s)
	default:
		v, err = s.value()
	}
	b.fields[name] = v
	b.stream = b.stream || name == "stream" && string(v.of(b.raw)) == "true"
	return err
}

// given is the value of a field; nil when it is absent or null.
func (b *body) given(name string) []byte {
	if v := b.fields[name].of(b.raw); len(v) > 0 && string(v) != "null" {
		return v
	}
	return nil
}

func (b *body) streaming(s *scanner) (span, error) {
	if s.peek() != '{' {
		return s.value()
	}
	b.options = span{from: s.at}
	err := s.object(func(key span) error {
		v, err := s.value()
		name, plain := fieldName(key.of(b.raw))
		switch {
		case err != nil || name != "include_usage":
		case !plain:
			return misspelt("stream_options."+name, key.of(b.raw))
		case b.usage != span{}:
			return twofold("stream_options." + name)
		default:
			b.usage = v
		}
		return err
	})
	b.options.to = s.at
	return b.options, err
}

// talk reads the messages.
func (b *body) talk(s *scanner) (span, error) {
	if s.peek() != '[' {
		return s.value()
	}
	b.chat = true
	all := span{from: s.at}
	err := s.array(func() error {
		m, err := b.message(s)
		b.messages = append(b.messages, m)
		return err
	})
	all.to = s.at
	return all, err
}

func (b *body) message(s *scanner) (message, error) {
	if s.peek() != '{' {
		v, err := s.value()
		return message{span: v}, err
	}
	m := message{span: span{from: s.at}}
	seen := once{of: "messages"}
	err := s.object(func(key span) error {
		v, err := s.value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.of(b.raw), messageMembers)
		text := v.of(b.raw)
		switch name {
		case "role":
			m.role = unquoted(text)
		case "content":
			m.content = v
		case "tool_calls":
			m.calls = m.calls || len(text) > 2 && text[0] == '['
		case "function_call":
			m.calls = m.calls || text[0] == '{'
		default:
			if !messageMembers.has(name) && string(text) != "null" {
				b.others = append(b.others, name)
			}
		}
		return err
	})
	m.to = s.at
	return m, err
}

// text is the text of a message: its string, or its text parts, one per line.
func (b *body) text(m message) string { return b.texts(m, "\n") }

// words are the passages of a message that a person wrote. Parts are taken as paragraphs, since clients add their own
// parts to a person's.
func (b *body) words(m message) []string { return utterance.Strip(b.texts(m, "\n\n")) }

// texts joins the text parts of a message.
func (b *body) texts(m message, between string) string {
	raw := m.content.of(b.raw)
	if len(raw) == 0 || raw[0] != '[' {
		return unquoted(raw)
	}
	var texts []string
	_ = b.parts(m, func(p part) error { // errors were reported before, where they matter
		if p.kind == "text" {
			texts = append(texts, unquoted(p.text.of(b.raw)))
		}
		return nil
	})
	return strings.Join(texts, between)
}

// part is one element of a message's content.
type part struct {
	span
	kind    string
	text    span
	picture span     // value of "image_url"
	others  []string // names of members that are neither text nor pictures
	doubt   error    // error of a relevant member that occurs twice or in another spelling
}

// parts calls each for every part of a message whose content is an array or one object.
func (b *body) parts(m message, each func(p part) error) error {
	s := &scanner{b: b.raw[:m.content.to], at: m.content.from}
	if s.peek() == '{' {
		return b.part(s, each)
	}
	return s.array(func() error { return b.part(s, each) })
}

func (b *body) part(s *scanner, each func(p part) error) error {
	if s.peek() != '{' {
		v, err := s.value()
		if err != nil {
			return err
		}
		return each(part{span: v})
	}
	p := part{span: span{from: s.at}}
	seen := once{of: "content"}
	err := s.object(func(key span) error {
		v, err := s.value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.of(b.raw), partMembers)
		if p.doubt == nil {
			p.doubt = err
		}
		switch name {
		case "type":
			p.kind = unquoted(v.of(b.raw))
		case "text":
			p.text = v
		case "image_url":
			p.picture = v
		default:
			if !partMembers.has(name) && string(v.of(b.raw)) != "null" {
				p.others = append(p.others, name)
			}
		}
		return nil
	})
	p.to = s.at
	if err != nil {
		return err
	}
	return each(p)
}

// lastUserMessage is the index of the last message of a user; -1 when there is none.
func (b *body) lastUserMessage() int {
	for i, m := range slices.Backward(b.messages) {
		if m.role == "user" {
			return i
		}
	}
	return -1
}

// place is where the background for message i goes: directly before it, unless that would separate an assistant's
// tool calls from their results. Everything before it is unchanged, so that a provider's prompt cache still hits.
func (b *body) place(i int) int {
	open := false // tool results follow this place
	for _, m := range b.messages[i:] {
		if m.role == "assistant" {
			break
		}
		open = open || result(m.role)
	}
	for i > 0 {
		before := b.messages[i-1]
		switch {
		case before.role == "assistant" && before.calls:
			i--
			open = false
		case open && before.role != "assistant":
			i--
		default:
			return i
		}
	}
	return i
}

// taint is the least trusted label of the messages: tool when any message, also of an earlier round, holds a tool's
// result, else human.
func (b *body) taint() dream.Taint {
	for _, m := range b.messages {
		if result(m.role) {
			return dream.FromTool
		}
		raw := m.content.of(b.raw)
		if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' {
			continue
		}
		found := false
		_ = b.parts(m, func(p part) error { // errors were reported before, where they matter
			found = found || p.kind == "tool_result"
			return nil
		})
		if found {
			return dream.FromTool
		}
	}
	return dream.FromHuman
}

// answered reports whether the messages contain an earlier answer.
func (b *body) answered() bool {
	return slices.ContainsFunc(b.messages, func(m message) bool { return m.role == "assistant" })
}

func result(role string) bool { return role == "tool" || role == "function" }

// splice replaces a span, which may be empty, by text.
type splice struct {
	span
	text []byte
}

// spliced applies changes to the body; those of one place keep their order.
func spliced(raw []byte, changes []splice) []byte {
	slices.SortStableFunc(changes, func(a, b splice) int { return a.from - b.from })
	size := len(raw)
	for _, c := range changes {
		size += len(c.text) - (c.to - c.from)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range changes {
		out = append(append(out, raw[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, raw[at:]...)
}

// model sets the provider's model.
func (b *body) model(wire string) splice { return b.set("model", quoted(wire)) }

// set sets a field: in place where it exists, even as null, so that no name occurs twice; else before all others.
func (b *body) set(name string, value []byte) splice {
	if at, stands := b.fields[name]; stands {
		return splice{at, value}
	}
	member := fmt.Appendf(nil, `"%s":%s`, name, value)
	if len(b.names) > 0 {
		member = append(member, ',')
	}
	return splice{span{b.head, b.head}, member}
}

// background inserts a message before the one at index i.
func (b *body) background(i int, text string) splice {
	at := b.messages[i].from
	return splice{span{at, at}, fmt.Appendf(nil, `{"role":"user","content":%s},`, quoted(text))}
}

// joined puts a text at the beginning of message i. A message without text is left alone, and the background goes
// before it.
func (b *body) joined(i int, text string) splice {
	m := b.messages[i]
	raw := m.content.of(b.raw)
	switch {
	case len(raw) > 0 && raw[0] == '"':
		at := m.content.from + 1
		words := quoted(text + "\n\n")
		return splice{span{at, at}, words[1 : len(words)-1]}
	case len(raw) > 0 && raw[0] == '[':
		at := m.content.from + 1
		part := fmt.Appendf(nil, `{"type":"text","text":%s}`, quoted(text))
		inside := scanner{b: b.raw, at: at}
		if inside.peek() != ']' {
			part = append(part, ',')
		}
		return splice{span{at, at}, part}
	}
	return b.background(b.place(i), text)
}

// goesOn reports whether the answer to message i has begun: an assistant's message or a tool's result follows it, so
// that the request is another round of the same turn.
func (b *body) goesOn(i int) bool {
	return slices.ContainsFunc(b.messages[i+1:],
		func(m message) bool { return m.role == "assistant" || result(m.role) })
}

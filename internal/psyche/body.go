package psyche

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// body is where things stand in a request, so that they can be changed and everything else stays as it was written.
type body struct {
	raw      []byte
	head     int    // just behind the opening brace
	empty    bool   // it has no member at all
	models   []span // values of "model": a name given twice is changed twice
	messages []message
	chat     bool // it has an array of messages
	stream   bool
	options  span  // value of "stream_options"; zero when there is none
	usage    span  // of its "include_usage"; zero when there is none
	most     int64 // the highest of max_tokens and max_completion_tokens, 0 when none is given
	thinks   bool  // that is max_completion_tokens, which thinking counts against
	choices  int64 // n, at least 1
	foretold int64 // bytes of a predicted output, which are billed where they are wrong
}

// message is one element of "messages".
type message struct {
	span
	role    string
	content span // zero when it has none
	calls   bool // an assistant's, with tool calls
}

// readBody finds its way in a body. Errors say what is wrong at which byte, and quote nothing else.
func readBody(raw []byte) (*body, error) {
	b := &body{raw: raw, choices: 1, empty: true}
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	s := &scanner{b: raw}
	if s.peek() != '{' {
		return nil, s.fault("an object")
	}
	b.head = s.at + 1
	err := s.object(func(key span) error { b.empty = false; return b.member(s, key.of(raw)) })
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (b *body) member(s *scanner, key []byte) error {
	switch {
	case named(key, "messages"):
		return b.talk(s)
	case named(key, "stream_options"):
		return b.streaming(s)
	}
	v, err := s.value()
	if err != nil {
		return err
	}
	switch {
	case named(key, "model"):
		b.models = append(b.models, v)
	case named(key, "stream"):
		b.stream = string(v.of(b.raw)) == "true"
	case named(key, "max_tokens"):
		b.bounded(v, false)
	case named(key, "max_completion_tokens"):
		b.bounded(v, true)
	case named(key, "n"):
		b.choices = max(b.choices, whole(v.of(b.raw)))
	case named(key, "prediction"):
		b.foretold += int64(v.to - v.from)
	}
	return nil
}

func (b *body) bounded(v span, thinks bool) {
	if n := whole(v.of(b.raw)); n > b.most {
		b.most, b.thinks = n, thinks
	}
}

// whole reads a number as the whole number above it; 0 when it is none.
func whole(text []byte) int64 {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !math.IsInf(f, 1) || f < 0 || math.IsNaN(f) {
		return 0
	}
	return int64(min(math.Ceil(f), 1<<53))
}

func (b *body) streaming(s *scanner) error {
	b.options, b.usage = span{}, span{}
	if s.peek() != '{' {
		_, err := s.value()
		return err
	}
	from := s.at
	err := s.object(func(key span) error {
		v, err := s.value()
		if named(key.of(b.raw), "include_usage") {
			b.usage = v
		}
		return err
	})
	b.options = span{from, s.at}
	return err
}

// talk reads the messages; of several arrays of them the last counts, as in every reader that keeps one.
func (b *body) talk(s *scanner) error {
	b.messages, b.chat = nil, false
	if s.peek() != '[' {
		_, err := s.value()
		return err
	}
	b.chat = true
	return s.array(func() error {
		if s.peek() != '{' {
			v, err := s.value()
			b.messages = append(b.messages, message{span: v})
			return err
		}
		m := message{span: span{from: s.at}}
		err := s.object(func(key span) error {
			v, err := s.value()
			text := v.of(b.raw)
			switch {
			case err != nil:
			case named(key.of(b.raw), "role"):
				m.role = unquoted(text)
			case named(key.of(b.raw), "content"):
				m.content = v
			case named(key.of(b.raw), "tool_calls"):
				m.calls = len(text) > 0 && text[0] == '[' && len(text) > 2
			case named(key.of(b.raw), "function_call"):
				m.calls = m.calls || len(text) > 0 && text[0] == '{'
			}
			return err
		})
		m.to = s.at
		b.messages = append(b.messages, m)
		return err
	})
}

// text is what a message says: its string, or its parts of text, a line each.
func (b *body) text(m message) string {
	raw := m.content.of(b.raw)
	if len(raw) == 0 || raw[0] != '[' {
		return unquoted(raw)
	}
	var said []string
	b.parts(m, func(kind string, text, _ span) {
		if kind == "text" {
			said = append(said, unquoted(text.of(b.raw)))
		}
	})
	return strings.Join(said, "\n")
}

// parts tells each part of a message whose content is an array: its type, its text and all of it.
func (b *body) parts(m message, each func(kind string, text, whole span)) {
	s := &scanner{b: b.raw[:m.content.to], at: m.content.from}
	_ = s.array(func() error { // it was walked over before
		var kind string
		var text span
		if s.peek() != '{' {
			v, err := s.value()
			each("", span{}, v)
			return err
		}
		from := s.at
		err := s.object(func(key span) error {
			v, err := s.value()
			switch {
			case named(key.of(b.raw), "type"):
				kind = unquoted(v.of(b.raw))
			case named(key.of(b.raw), "text"):
				text = v
			}
			return err
		})
		each(kind, text, span{from, s.at})
		return err
	})
}

// asked is the place of the last message of a user; -1 when there is none.
func (b *body) asked() int {
	for i, m := range slices.Backward(b.messages) {
		if m.role == "user" {
			return i
		}
	}
	return -1
}

// place is where background goes that belongs to the message at i: directly before it, unless that would part an assistant's
// tool calls from their results. What stands before it is as the client has sent it, so that a provider's prompt cache still hits.
func (b *body) place(i int) int {
	open := false // results come after this place
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

// taint is the least trusted label among what the messages bring along: tool where one holds a tool's result, of this round or
// of an earlier one, else human.
func (b *body) taint() dream.Taint {
	for _, m := range b.messages {
		if result(m.role) {
			return dream.FromTool
		}
		raw := m.content.of(b.raw)
		if len(raw) == 0 || raw[0] != '[' {
			continue
		}
		found := false
		b.parts(m, func(kind string, _, _ span) { found = found || kind == "tool_result" })
		if found {
			return dream.FromTool
		}
	}
	return dream.FromHuman
}

// answered says whether an earlier answer stands among the messages.
func (b *body) answered() bool {
	return slices.ContainsFunc(b.messages, func(m message) bool { return m.role == "assistant" })
}

func result(role string) bool { return role == "tool" || role == "function" }

// splice puts text in place of a span, which may be empty.
type splice struct {
	span
	text []byte
}

// spliced is the body with changes made; those of one place stay in their order.
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

// model names the provider's model wherever the body names one.
func (b *body) model(wire string) []splice {
	name := quoted(wire)
	if len(b.models) == 0 {
		return []splice{b.first(fmt.Appendf(nil, `"model":%s`, name))}
	}
	var changes []splice
	for _, at := range b.models {
		changes = append(changes, splice{at, name})
	}
	return changes
}

// first adds a member before all others.
func (b *body) first(member []byte) splice {
	if !b.empty {
		member = append(member, ',')
	}
	return splice{span{b.head, b.head}, member}
}

// background puts a message before the one at place i.
func (b *body) background(i int, text string) splice {
	at := b.messages[i].from
	return splice{span{at, at}, fmt.Appendf(nil, `{"role":"user","content":%s},`, quoted(text))}
}

// joined puts a text at the beginning of the message at i. A message without text is left alone, and background goes before it.
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

// goesOn says whether the answer to the message at i has begun: an assistant's message or a tool's result follows it, so that the
// request is another round of the same turn.
func (b *body) goesOn(i int) bool {
	return slices.ContainsFunc(b.messages[i+1:], func(m message) bool { return m.role == "assistant" || result(m.role) })
}

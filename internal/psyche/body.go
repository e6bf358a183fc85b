package psyche

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/utterance"
)

type span = jsonscan.Span

// Body is a request's body with the positions of its parts, so that they can be changed and all other bytes stay as
// they were sent.
type Body struct {
	raw      []byte
	form     *form
	head     int               // position after the opening brace
	names    []string          // of the outermost fields in lower case, in order
	fields   map[string]member // by name; each name occurs once
	messages []message
	chat     bool // it has an array of messages
	stream   bool
	options  span     // value of "stream_options" if it is an object; else zero
	usage    span     // value of its "include_usage"; zero when absent
	others   []string // names of members of messages whose content is not text
	sent     naming   // how errors name fields
	caches   bool     // some object asks the provider to cache a part of the prompt, which costs more than reading it
}

// member is one of the outermost fields.
type member struct {
	span
	exact bool // its name was written in lower case
}

// message is one element of "messages".
type message struct {
	span
	role    string
	content span   // zero when it has none
	calls   bool   // an assistant's message with tool calls
	results bool   // a message of Anthropic's Messages that holds results of tools
	kind    string // of an item of a response
}

// ReadBody scans a body, once for everything that is read of it. Errors are *Fault: they name the byte and what is
// wrong, and quote nothing else.
func ReadBody(raw []byte) (*Body, error) { return readBodyOf(chatForm, raw) }

func readBodyOf(f *form, raw []byte) (*Body, error) {
	var b *Body
	var err error
	prepares(len(raw), func() { b, err = scanBody(f, raw) })
	if err != nil {
		return nil, unreadable(err)
	}
	return b, nil
}

// Bytes is the body as it was sent.
func (b *Body) Bytes() []byte { return b.raw }

// Text is the string in one of the outermost fields; empty when the field is absent, null, or written in another
// case.
func (b *Body) Text(name string) (string, error) {
	v := b.given(name)
	if v == nil || !b.fields[name].exact {
		return "", nil
	}
	if v[0] != '"' {
		return "", invalidRequest(badValue, name, "%s must be a string.", name)
	}
	return jsonscan.Unquoted(v), nil
}

func readBody(raw []byte) (*Body, error) { return scanBody(chatForm, raw) }

func scanBody(f *form, raw []byte) (*Body, error) {
	b := &Body{raw: raw, form: f, fields: make(map[string]member, 8)}
	if !utf8.Valid(raw) {
		return nil, errors.New("the body is not UTF-8")
	}
	s := &jsonscan.Scanner{Body: raw}
	s.Keys = func(key span) { b.caches = b.caches || cacheMark(key.Of(raw)) }
	if s.Peek() != '{' {
		return nil, s.Fault("an object")
	}
	b.head = s.At + 1
	err := s.Object(func(key span) error { return b.member(s, key.Of(raw)) })
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// member reads one of the outermost fields. JSON parsers differ in which of two equal fields they use, and some
// ignore case: no name may occur twice in any case, and fields that affect the cost must be spelled as usual.
func (b *Body) member(s *jsonscan.Scanner, key []byte) error {
	name, plain := fieldName(key)
	if !plain && b.form.fields.has(name) {
		return misspelt(name, key)
	}
	if _, twice := b.fields[name]; twice {
		return duplicateField(name)
	}
	b.names = append(b.names, name)
	exact := plain || jsonscan.Unquoted(key) == name
	var v span
	var err error
	switch {
	case name == b.form.list:
		v, err = b.talk(s)
	case name == "stream_options" && !b.native():
		v, err = b.streaming(s)
	default:
		v, err = s.Value()
	}
	b.fields[name] = member{v, exact}
	b.stream = b.stream || name == "stream" && string(v.Of(b.raw)) == "true"
	return err
}

// given is the value of a field; nil when it is absent or null.
func (b *Body) given(name string) []byte {
	if v := b.fields[name].Of(b.raw); len(v) > 0 && string(v) != "null" {
		return v
	}
	return nil
}

func (b *Body) streaming(s *jsonscan.Scanner) (span, error) {
	if s.Peek() != '{' {
		return s.Value()
	}
	b.options = span{From: s.At}
	err := s.Object(func(key span) error {
		v, err := s.Value()
		name, plain := fieldName(key.Of(b.raw))
		switch {
		case err != nil || name != "include_usage":
		case !plain:
			return misspelt("stream_options."+name, key.Of(b.raw))
		case b.usage != span{}:
			return duplicateField("stream_options." + name)
		default:
			b.usage = v
		}
		return err
	})
	b.options.To = s.At
	return b.options, err
}

// talk reads the messages.
func (b *Body) talk(s *jsonscan.Scanner) (span, error) {
	if s.Peek() != '[' {
		return s.Value()
	}
	b.chat = true
	all := span{From: s.At}
	err := s.Array(func() error {
		m, err := b.form.read(b, s)
		b.messages = append(b.messages, m)
		return err
	})
	all.To = s.At
	return all, err
}

func (b *Body) message(s *jsonscan.Scanner) (message, error) {
	if s.Peek() != '{' {
		v, err := s.Value()
		return message{span: v}, err
	}
	m := message{span: span{From: s.At}}
	seen := once{of: "messages"}
	err := s.Object(func(key span) error {
		v, err := s.Value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.Of(b.raw), messageMembers)
		text := v.Of(b.raw)
		switch name {
		case "role":
			m.role = jsonscan.Unquoted(text)
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
	m.To = s.At
	return m, err
}

// text is the text of a message: its string, or its text parts, one per line.
func (b *Body) text(m message) string { return b.texts(m, "\n") }

// words are the passages of a message that a person wrote. Parts are taken as paragraphs, since clients add their own
// parts to a person's.
func (b *Body) words(m message) []string { return utterance.Strip(b.texts(m, "\n\n")) }

// texts joins the text parts of a message.
func (b *Body) texts(m message, between string) string {
	raw := m.content.Of(b.raw)
	if len(raw) == 0 || raw[0] != '[' {
		return jsonscan.Unquoted(raw)
	}
	var texts []string
	_ = b.eachPart(m, func(p part) error { // errors were reported before, where they matter
		switch {
		case b.form.texts[p.kind]:
			texts = append(texts, jsonscan.Unquoted(p.text.Of(b.raw)))
		case p.kind == "tool_result" && m.role == "tool":
			texts = append(texts, b.texts(message{content: p.content}, between))
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
	content span     // value of "content"
	source  span     // value of "source"
	others  []string // names of members that are neither text nor pictures
	doubt   error    // error of a relevant member that occurs twice or in another spelling
}

// eachPart calls each for every part of a message whose content is an array or one object.
func (b *Body) eachPart(m message, each func(p part) error) error {
	s := &jsonscan.Scanner{Body: b.raw[:m.content.To], At: m.content.From}
	if s.Peek() == '{' {
		return b.part(s, each)
	}
	return s.Array(func() error { return b.part(s, each) })
}

func (b *Body) part(s *jsonscan.Scanner, each func(p part) error) error {
	if s.Peek() != '{' {
		v, err := s.Value()
		if err != nil {
			return err
		}
		return each(part{span: v})
	}
	p := part{span: span{From: s.At}}
	seen := once{of: "content"}
	members := partMembers
	if b.native() {
		members = nativePartMembers
	}
	err := s.Object(func(key span) error {
		v, err := s.Value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.Of(b.raw), members)
		if p.doubt == nil {
			p.doubt = err
		}
		switch name {
		case "type":
			p.kind = jsonscan.Unquoted(v.Of(b.raw))
		case "text":
			p.text = v
		case "image_url":
			p.picture = v
		case "content":
			p.content = v
		case "source":
			p.source = v
		default:
			if !members.has(name) && string(v.Of(b.raw)) != "null" {
				p.others = append(p.others, name)
			}
		}
		return nil
	})
	p.To = s.At
	if err != nil {
		return err
	}
	return each(p)
}

// lastUserMessage is the index of the last message of a user; -1 when there is none.
func (b *Body) lastUserMessage() int {
	for i, m := range slices.Backward(b.messages) {
		if m.role == "user" {
			return i
		}
	}
	return -1
}

// place is where the background for message i goes: directly before it, unless that would separate an assistant's
// tool calls from their results. Everything before it is unchanged, so that a provider's prompt cache still hits.
func (b *Body) place(i int) int {
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
func (b *Body) taint() dream.Taint {
	for _, m := range b.messages {
		if result(m.role) {
			return dream.FromTool
		}
		raw := m.content.Of(b.raw)
		if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' {
			continue
		}
		found := false
		_ = b.eachPart(m, func(p part) error { // errors were reported before, where they matter
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
func (b *Body) answered() bool {
	return slices.ContainsFunc(b.messages, func(m message) bool { return m.role == "assistant" })
}

// picturesRole is the role, for us, of a user's message that holds pictures of tools' results: it is not what the user
// said last, and nothing in it is remembered or asked.
const picturesRole = "pictures"

// PicturesOfTools says that these messages hold what tools returned, though their role is that of a user.
func PicturesOfTools(b *Body, places []int) {
	for _, i := range places {
		b.messages[i].role = picturesRole
	}
}

func result(role string) bool { return role == "tool" || role == "function" }

// splice replaces a span, which may be empty, by text.
type splice struct {
	span
	text []byte
}

// inserted inserts a text.
func inserted(at int, text []byte) splice { return splice{span{From: at, To: at}, text} }

// spliced applies changes to the body; those of one place keep their order.
func spliced(raw []byte, changes []splice) []byte {
	slices.SortStableFunc(changes, func(a, b splice) int { return a.From - b.From })
	size := len(raw)
	for _, c := range changes {
		size += len(c.text) - (c.To - c.From)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range changes {
		out = append(append(out, raw[at:c.From]...), c.text...)
		at = c.To
	}
	return append(out, raw[at:]...)
}

// model sets the provider's model.
func (b *Body) model(wire string) splice { return b.set("model", jsonscan.Quoted(wire)) }

// set sets a field: in place where it exists, even as null, so that no name occurs twice; else before all others.
func (b *Body) set(name string, value []byte) splice {
	if at, stands := b.fields[name]; stands {
		return splice{at.span, value}
	}
	member := fmt.Appendf(nil, `"%s":%s`, name, value)
	if len(b.names) > 0 {
		member = append(member, ',')
	}
	return inserted(b.head, member)
}

// background inserts a message before the one at index i.
func (b *Body) background(i int, text string) splice {
	at := b.messages[i].From
	return inserted(at, fmt.Appendf(nil, `{"role":"user","content":%s},`, jsonscan.Quoted(text)))
}

// joined puts a text at the beginning of message i. A message without text is left alone, and the background goes
// before it.
func (b *Body) joined(i int, text string) splice {
	m := b.messages[i]
	raw := m.content.Of(b.raw)
	switch {
	case len(raw) > 0 && raw[0] == '"':
		at := m.content.From + 1
		words := jsonscan.Quoted(text + "\n\n")
		return inserted(at, words[1:len(words)-1])
	case len(raw) > 0 && raw[0] == '[' && !m.results: // results of tools stand first in their message
		at := m.content.From + 1
		part := fmt.Appendf(nil, `{"type":%q,"text":%s}`, b.form.part, jsonscan.Quoted(text))
		inside := jsonscan.Scanner{Body: b.raw, At: at}
		if inside.Peek() != ']' {
			part = append(part, ',')
		}
		return inserted(at, part)
	}
	return b.background(b.place(i), text)
}

// goesOn reports whether the answer to message i has begun: an assistant's message or a tool's result follows it, so
// that the request is another round of the same turn.
func (b *Body) goesOn(i int) bool {
	return slices.ContainsFunc(b.messages[i+1:],
		func(m message) bool { return m.role == "assistant" || result(m.role) })
}

package psyche

import (
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// form is what the wires differ in where a body is read and edited. Messages have the roles of chat completions on
// every wire: what a tool answered is of the role tool, and a call of one is the assistant's.
type form struct {
	list   string          // the field of the conversation
	most   string          // the field that bounds an answer; empty: it depends on the model
	part   string          // the type of a part of text that this server adds
	texts  map[string]bool // the types of parts that hold text
	fields names           // the outermost fields whose spelling matters
	read   func(b *Body, s *jsonscan.Scanner) (message, error)
	bounds map[string]func(l *limits, v []byte) error // by field, of a paid model; nil: any field is passed on
	count  func(c *promptCount, m *message) error
	event  func(e *answerReader, data []byte)
}

// The forms of bodies.
var (
	chatForm = &form{
		list:   "messages",
		part:   "text",
		texts:  map[string]bool{"text": true},
		fields: counting,
		read:   (*Body).message,
		count:  (*promptCount).message,
		event:  (*answerReader).take,
	}
	messagesForm = &form{
		list:   "messages",
		most:   "max_tokens",
		part:   "text",
		texts:  map[string]bool{"text": true},
		fields: namesOf(messagesBounds),
		read:   (*Body).anthropicMessage,
		bounds: messagesBounds,
		count:  (*promptCount).anthropicMessage,
		event:  (*answerReader).takeMessage,
	}
	responsesForm = &form{
		list:   "input",
		most:   "max_output_tokens",
		part:   "input_text",
		texts:  map[string]bool{"input_text": true, "output_text": true, "text": true},
		fields: namesOf(responsesBounds),
		read:   (*Body).item,
		bounds: responsesBounds,
		count:  (*promptCount).item,
		event:  (*answerReader).takeResponse,
	}
)

// namesOf are the fields that a paid model may be sent, with a bit each.
func namesOf(bounds map[string]func(*limits, []byte) error) names {
	all := make([]string, 0, len(bounds))
	for name := range bounds {
		all = append(all, name)
	}
	slices.Sort(all)
	return set(strings.Join(all, " "))
}

// ReadMessagesBody scans a body of Anthropic's Messages, as ReadBody scans a chat completion's.
func ReadMessagesBody(raw []byte) (*Body, error) { return readBodyOf(messagesForm, raw) }

// ReadResponsesBody scans a body of OpenAI's Responses whose input is a list.
func ReadResponsesBody(raw []byte) (*Body, error) { return readBodyOf(responsesForm, raw) }

// native reports whether the body is passed on as a wire of its own.
func (b *Body) native() bool { return b.form.bounds != nil }

// anthropicMessage reads a message of Anthropic's Messages.
func (b *Body) anthropicMessage(s *jsonscan.Scanner) (message, error) {
	m, err := b.message(s)
	if raw := m.content.Of(b.raw); err != nil || len(raw) == 0 || raw[0] != '[' {
		return m, err
	}
	parts, results := 0, 0
	err = b.eachPart(m, func(p part) error {
		parts++
		switch p.kind {
		case "tool_result":
			results++
		case "tool_use", "server_tool_use", "mcp_tool_use":
			m.calls = true
		}
		return nil
	})
	m.results = results > 0
	if m.role == "user" && results > 0 && results == parts {
		m.role = "tool"
	}
	return m, err
}

// item reads an item of the input of a response.
func (b *Body) item(s *jsonscan.Scanner) (message, error) {
	if s.Peek() != '{' {
		v, err := s.Value()
		return message{span: v}, err
	}
	m := message{span: span{From: s.At}}
	seen := once{of: "input"}
	var output span
	var others []string
	err := s.Object(func(key span) error {
		v, err := s.Value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.Of(b.raw), itemMembers)
		switch name {
		case "type":
			m.kind = jsonscan.Unquoted(v.Of(b.raw))
		case "role":
			m.role = jsonscan.Unquoted(v.Of(b.raw))
		case "content":
			m.content = v
		case "output":
			output = v
		default:
			if !itemMembers.has(name) && string(v.Of(b.raw)) != "null" {
				others = append(others, name)
			}
		}
		return err
	})
	m.To = s.At
	switch {
	case m.kind == "" || m.kind == "message":
		m.kind = "message"
		b.others = append(b.others, others...)
	case strings.HasSuffix(m.kind, "_output"):
		m.role, m.content = "tool", output
	default: // a call or a thought: what answers it must follow it
		m.role, m.content, m.calls = "assistant", span{}, true
	}
	if m.role == "developer" {
		m.role = "system"
	}
	return m, err
}

// itemMembers are those of an item that say what it is, or are read here.
var itemMembers = set("type role content output id status phase")

// paidField is the fault of a field that a paid model is not sent on this wire, unless the deployment allows it.
func (l *limits) paidField(name, why string) error {
	if _, listed := inference.FieldBeyondTokens(name); listed {
		return l.allows(inference.BeyondTokens{Name: name, Why: why})
	}
	return invalidRequest("field_not_allowed", name,
		"%s is not passed on to a paid model: %s. Leave it out.", name, why)
}

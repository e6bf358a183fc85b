package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// chatLine is a line of chat JSONL: a conversation with its messages, or one message.
type chatLine struct {
	Messages      []json.RawMessage `json:"messages"`
	Conversations []json.RawMessage `json:"conversations"` // the ShareGPT name of messages
	Conversation  json.RawMessage   `json:"conversation_id"`
	Session       json.RawMessage   `json:"session"`
	Thread        json.RawMessage   `json:"thread_id"`
	ID            json.RawMessage   `json:"id"`
	Title         json.RawMessage   `json:"title"`
	chatTimes
}

// chatTimes are the field names that other programs use for a time, in the order of preference.
type chatTimes struct {
	Timestamp  json.RawMessage `json:"timestamp"`
	CreatedAt  json.RawMessage `json:"created_at"`
	CreateTime json.RawMessage `json:"create_time"`
	Created    json.RawMessage `json:"created"`
	At         json.RawMessage `json:"at"`
	Time       json.RawMessage `json:"time"`
	Date       json.RawMessage `json:"date"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	From      string          `json:"from"` // the ShareGPT name of role
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"`
	Value     json.RawMessage `json:"value"` // the ShareGPT name of content
	ToolCalls []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
	chatTimes
}

func readChat(src *Source, to *Sink) error {
	in := lines{in: src.In}
	loose := talks{src: src, to: to}
	err := in.each(to, func(line []byte) error {
		var head chatLine
		if line[0] != '{' {
			to.Bad(in.number, "a line must be a JSON object")
			return nil
		}
		if err := json.Unmarshal(line, &head); err != nil {
			to.Bad(in.number, notJSON(err))
			return nil
		}
		if head.Messages == nil {
			head.Messages = head.Conversations
		}
		when, reported, err := head.when(src)
		if err != nil {
			to.Bad(in.number, err.Error())
			return nil
		}
		if head.Messages == nil {
			session := scalar(head.Conversation, head.Session, head.Thread)
			x, err := loose.of(session)
			if err != nil {
				return err
			}
			return badUnless(src.message(x, line, in.number, session, when, !reported), to, in.number, "")
		}
		session := cmp.Or(scalar(head.Conversation, head.Session, head.Thread, head.ID, head.Title), src.origin(in.number))
		x := &exchanger{src: src, to: to, roles: true, scene: about(scalar(head.Title))}
		for i, raw := range head.Messages {
			err := src.message(x, raw, in.number, session, when, !reported)
			if err := badUnless(err, to, in.number, fmt.Sprintf("message %d: ", i+1)); err != nil {
				return err
			}
		}
		return x.end()
	})
	return errors.Join(err, loose.end())
}

// talks separates conversations whose messages are on lines of their own, up to manyTalks at once.
type talks struct {
	src  *Source
	to   *Sink
	open map[string]*exchanger
	all  []*exchanger // in the order in which they began
}

const manyTalks = 500

func (t *talks) of(session string) (*exchanger, error) {
	if x := t.open[session]; x != nil {
		return x, nil
	}
	if len(t.all) == manyTalks {
		if err := t.end(); err != nil {
			return nil, err
		}
	}
	if len(t.all) == 0 {
		t.open = map[string]*exchanger{}
	}
	x := &exchanger{src: t.src, to: t.to, roles: true}
	t.open[session], t.all = x, append(t.all, x)
	return x, nil
}

func (t *talks) end() error {
	var err error
	for _, x := range t.all {
		err = errors.Join(err, x.end())
	}
	t.open, t.all = nil, nil
	return err
}

// flaw is a fault of one record; other errors end the import.
type flaw struct{ reason string }

func (f flaw) Error() string { return f.reason }

func badUnless(err error, to *Sink, line int, where string) error {
	var f flaw
	if errors.As(err, &f) {
		to.Bad(line, where+f.reason)
		return nil
	}
	return err
}

// message adds one message to its conversation. when is the conversation's time, for messages without one.
func (s *Source) message(x *exchanger, raw []byte, line int, session string, when moment, undated bool) error {
	var in chatMessage
	if err := json.Unmarshal(raw, &in); err != nil {
		return flaw{notJSON(err)}
	}
	if in.Content == nil {
		in.Content = in.Value
	}
	role := strings.ToLower(strings.TrimSpace(cmp.Or(in.Role, in.From)))
	if role == "" {
		return flaw{"role is missing; it must be system, user, assistant or tool"}
	}
	text, err := contentText(in.Content)
	if err != nil {
		return flaw{err.Error()}
	}
	for _, call := range in.ToolCalls {
		text += "\n(uses the tool " + call.Function.Name + ")"
	}
	switch m, reported, err := in.when(s); {
	case err != nil:
		return flaw{err.Error()}
	case reported:
		when, undated = m, false
	}
	if role == "system" || role == "developer" {
		return nil // instructions are no event
	}
	return x.take(message{
		line:    line,
		Turn:    derive.Turn{Speaker: speakerOf(role, in.Name), Taint: taintOf(role), Text: text},
		session: session,
		when:    when,
		undated: undated,
	})
}

func (c chatTimes) when(s *Source) (moment, bool, error) {
	return firstTime(s.Zone, c.Timestamp, c.CreatedAt, c.CreateTime, c.Created, c.At, c.Time, c.Date)
}

// speakerOf keeps a person's or a tool's own name, and otherwise the role, with ShareGPT's names translated to
// OpenAI's.
func speakerOf(role, name string) string {
	name = oneLine(name)
	switch {
	case taintOf(role) == dream.FromTool && name != "":
		return "the tool " + name
	case name != "":
		return name
	case role == "human":
		return "user"
	case taintOf(role) == dream.FromAgent:
		return "assistant"
	case taintOf(role) == dream.FromTool:
		return "tool"
	}
	return oneLine(role)
}

func about(title string) string {
	title = oneLine(title)
	if title == "" {
		return ""
	}
	return "about " + derive.Quoted(derive.Clip(title, 80))
}

// taintOf translates the roles of chat formats. An unknown role counts as human.
func taintOf(role string) dream.Taint {
	switch role {
	case "assistant", "model", "gpt", "ai", "bot":
		return dream.FromAgent
	case "tool", "function":
		return dream.FromTool
	default:
		return dream.FromHuman
	}
}

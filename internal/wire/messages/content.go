package messages

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string, []chatPart or nil
	Calls      []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Reasoning  *string    `json:"reasoning,omitempty"`
	Thoughts   *string    `json:"reasoning_content,omitempty"`
	proof
	calls    map[string]json.RawMessage // proofs of calls, by their ids
	pictures bool                       // it holds pictures of tools' results, and nothing that the user said
}

type chatPart struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	Image *chatImage      `json:"image_url,omitempty"`
	File  *chatFile       `json:"file,omitempty"`
	Cache json.RawMessage `json:"cache_control,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type chatCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function chatCallFunction `json:"function"`
	Extra    json.RawMessage  `json:"extra_content,omitempty"` // as Google proves the thoughts before a call
}

type chatCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func textPart(text string) chatPart { return chatPart{Type: "text", Text: &text} }

// messages translates the system prompt and the messages.
func (q *Request) messages(b *object, c *chatBody) {
	if parts := q.system(b, "system", b.Raw("system")); len(parts) > 0 {
		c.Messages = append(c.Messages, chatMessage{Role: "system", Content: contentOf(parts)})
	}
	all := b.List("messages", b.Raw("messages"))
	if len(all) == 0 {
		b.Fail("messages", "it must be a list of at least one message.")
	}
	loop := loopFrom(all)
	for i, raw := range all {
		path := jsonobject.Place("messages", i)
		m := b.Object(path, raw, "role", "content")
		switch m.One("role", "user", "assistant", "system") {
		case "user":
			c.Messages = append(c.Messages, q.userMessage(&m)...)
		case "assistant":
			c.Messages = append(c.Messages, q.assistantMessage(&m, i >= loop)...)
		case "system":
			if parts := q.system(b, m.At("content"), m.Raw("content")); len(parts) > 0 {
				c.Messages = append(c.Messages, chatMessage{Role: "system", Content: contentOf(parts)})
			}
		case "":
			m.Fail(m.At("role"), "it is required.")
		}
	}
}

// loopFrom is the index of the first message of the present round of calls and results: those after the last
// message that a user wrote. Anthropic, too, takes no thoughts from before.
func loopFrom(all []json.RawMessage) int {
	for i := len(all) - 1; i >= 0; i-- {
		m := (&reader{}).Object("", all[i])
		if m.Text("role") != "user" {
			continue
		}
		parts, err := jsonscan.Elements(m.Raw("content"))
		results := err == nil && len(parts) > 0
		for _, p := range parts {
			results = results && kindOf(&reader{}, "", p) == "tool_result"
		}
		if !results {
			return i + 1
		}
	}
	return 0
}

// contentOf is content in its shortest form: one plain text is a string.
func contentOf(parts []chatPart) any {
	if len(parts) == 1 && parts[0].Type == "text" && parts[0].Cache == nil {
		return *parts[0].Text
	}
	return parts
}

// blocks are the blocks of content; a string is one of text.
func blocks(r *reader, path string, raw json.RawMessage) []json.RawMessage {
	if len(raw) > 0 && raw[0] == '"' {
		return []json.RawMessage{fmt.Appendf(nil, `{"type":"text","text":%s}`, raw)}
	}
	if raw == nil {
		r.Fail(path, "it is required.")
	}
	if r.Err == nil && len(raw) > 0 && raw[0] != '[' {
		r.Fail(path, "it is %s; it must be a string or a list.", jsonobject.KindOf(raw))
	}
	return r.List(path, raw)
}

func kindOf(r *reader, path string, raw json.RawMessage) string {
	o := r.Object(path, raw)
	return o.Needed("type")
}

// system translates a system prompt.
func (q *Request) system(b *object, path string, raw json.RawMessage) []chatPart {
	if raw == nil {
		return nil
	}
	var parts []chatPart
	for i, each := range blocks(b.Reader, path, raw) {
		at := jsonobject.Place(path, i)
		if kind := kindOf(b.Reader, at, each); kind != "text" && b.Err == nil {
			b.Fail(at+".type", "it is %q; a system prompt consists of text.", jsonobject.Clipped(kind))
		}
		parts = append(parts, q.text(b, at, each)...)
	}
	return parts
}

// text translates a block of text.
func (q *Request) text(b *object, path string, raw json.RawMessage) []chatPart {
	o := b.Object(path, raw, "type", "text", "citations", "cache_control")
	o.Empty("citations", "citations cannot be passed on to a chat completions provider. Leave them out.")
	p := textPart(o.Text("text"))
	if o.Raw("text") == nil {
		o.Fail(o.At("text"), "it is required.")
	}
	p.Cache = q.cacheMark(&o)
	return []chatPart{p}
}

// userMessage translates a user's message: each result of a tool becomes a message of its own, then their pictures do,
// and the rest follows.
func (q *Request) userMessage(m *object) []chatMessage {
	if content := m.Raw("content"); len(content) > 0 && content[0] == '"' {
		return []chatMessage{{Role: "user", Content: m.Text("content")}}
	}
	var results []chatMessage
	var pictures, parts []chatPart
	spoken := false // something stood before that is no result
	for i, raw := range blocks(m.Reader, m.At("content"), m.Raw("content")) {
		path := jsonobject.Place(m.At("content"), i)
		if kindOf(m.Reader, path, raw) != "tool_result" {
			parts = append(parts, q.part(m, path, raw)...)
			spoken = true
			continue
		}
		if spoken {
			m.Fail(path, "a tool_result stands behind other content; the results of tools come first in their message.")
		}
		result, seen := q.result(m, path, raw)
		results, pictures = append(results, result), append(pictures, seen...)
	}
	if len(pictures) > 0 {
		results = append(results, chatMessage{Role: "user", Content: contentOf(pictures), pictures: true})
	}
	if len(parts) > 0 {
		results = append(results, chatMessage{Role: "user", Content: contentOf(parts)})
	}
	if len(results) == 0 {
		m.Fail(m.At("content"), "it is empty; a user's message says something.")
	}
	return results
}

// Words that stand in a tool's result, where chat completions have no field for it.
const (
	failedWords  = "The tool failed."
	pictureWords = "[An image, which follows these results.]"
)

// result translates a tool's result, which is text alone; its pictures follow the results.
func (q *Request) result(m *object, path string, raw json.RawMessage) (chatMessage, []chatPart) {
	o := m.Object(path, raw, "type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name")
	o.Empty("toolset_name", "sets of tools are known to Anthropic's models alone. Leave it out.")
	id := o.Needed("tool_use_id")
	result := chatMessage{Role: "tool", ToolCallID: id}
	var texts, others []chatPart
	if o.Flag("is_error") {
		texts = append(texts, textPart(failedWords))
	}
	if o.Raw("content") != nil {
		for i, each := range blocks(o.Reader, o.At("content"), o.Raw("content")) {
			for _, p := range q.part(m, jsonobject.Place(o.At("content"), i), each) {
				if p.Type == "text" {
					texts = append(texts, p)
					continue
				}
				if len(others) == 0 {
					others = append(others, textPart("From the result of the tool call "+id+":"))
				}
				texts, others = append(texts, textPart(pictureWords)), append(others, p)
			}
		}
	}
	if len(texts) == 0 {
		texts = append(texts, textPart(""))
	}
	if mark := q.cacheMark(&o); mark != nil {
		texts[len(texts)-1].Cache = mark
	}
	result.Content = contentOf(texts)
	return result, others
}

// part translates a block of a user's message, or of a tool's result.
func (q *Request) part(m *object, path string, raw json.RawMessage) []chatPart {
	switch kind := kindOf(m.Reader, path, raw); kind {
	case "text":
		return q.text(m, path, raw)
	case "image":
		return q.image(m, path, raw)
	case "document":
		return q.document(m, path, raw)
	case "search_result":
		return q.searchResult(m, path, raw)
	case "tool_reference":
		o := m.Object(path, raw, "type", "tool_name", "cache_control")
		p := textPart("The tool " + o.Needed("tool_name") + " can be called now.")
		p.Cache = q.cacheMark(&o)
		return []chatPart{p}
	default:
		m.Fail(path+".type",
			"content of the type %q cannot be passed on here; text, image, document, search_result and tool_result can.",
			jsonobject.Clipped(kind))
		return nil
	}
}

func (q *Request) image(m *object, path string, raw json.RawMessage) []chatPart {
	o := m.Object(path, raw, "type", "source", "cache_control", "transformations")
	o.Empty("transformations", "pictures are passed on as they are. Leave it out.")
	s := source(&o, "base64", "url", "file")
	p := chatPart{Type: "image_url", Image: &chatImage{}}
	switch s.Text("type") {
	case "base64":
		p.Image.URL = "data:" + s.Needed("media_type") + ";base64," + s.Needed("data")
	case "url":
		p.Image.URL = s.Needed("url")
	case "file":
		s.Fail(s.Path,
			"a file that was uploaded to Anthropic cannot be read here. Send the picture as base64 or as url.")
	}
	p.Cache = q.cacheMark(&o)
	return []chatPart{p}
}

// source is where a block's content comes from.
func source(o *object, kinds ...string) object {
	raw := o.Raw("source")
	if raw == nil {
		o.Fail(o.At("source"), "it is required.")
	}
	s := o.Object(o.At("source"), raw, "type", "media_type", "data", "url", "file_id", "content")
	s.Needed("type")
	s.One("type", kinds...)
	return s
}

// document translates a document: text as text between two marks that name it, a PDF as a file.
func (q *Request) document(m *object, path string, raw json.RawMessage) []chatPart {
	o := m.Object(path, raw, "type", "source", "title", "context", "citations", "cache_control")
	if cites := o.Raw("citations"); cites != nil {
		c := o.Object(o.At("citations"), cites, "enabled")
		if c.Flag("enabled") {
			c.Fail(c.At("enabled"), "a chat completions provider cannot cite a document. Leave citations out.")
		}
	}
	title, context := o.Text("title"), o.Text("context")
	s := source(&o, "text", "content", "base64", "url", "file")
	var parts []chatPart
	switch s.Text("type") {
	case "text":
		parts = enclosed("document", title, context, []chatPart{textPart(s.Needed("data"))})
	case "content":
		var inner []chatPart
		for i, each := range blocks(s.Reader, s.At("content"), s.Raw("content")) {
			inner = append(inner, q.part(m, jsonobject.Place(s.At("content"), i), each)...)
		}
		parts = enclosed("document", title, context, inner)
	case "base64":
		s.Needed("media_type")
		s.One("media_type", "application/pdf")
		if context != "" {
			parts = append(parts, textPart(context))
		}
		name := title
		if name == "" {
			name = "document.pdf"
		}
		parts = append(parts, chatPart{
			Type: "file",
			File: &chatFile{Name: name, Data: "data:application/pdf;base64," + s.Needed("data")},
		})
	default:
		s.Fail(s.Path,
			"a document of the source %q cannot be passed on. Send its text (source text), or a PDF as base64.",
			jsonobject.Clipped(s.Text("type")))
	}
	if mark := q.cacheMark(&o); mark != nil && len(parts) > 0 {
		parts[len(parts)-1].Cache = mark
	}
	return parts
}

func (q *Request) searchResult(m *object, path string, raw json.RawMessage) []chatPart {
	o := m.Object(path, raw, "type", "source", "title", "content", "citations", "cache_control")
	if cites := o.Raw("citations"); cites != nil {
		c := o.Object(o.At("citations"), cites, "enabled")
		if c.Flag("enabled") {
			c.Fail(c.At("enabled"), "a chat completions provider cannot cite a search result. Leave citations out.")
		}
	}
	var inner []chatPart
	for i, each := range blocks(o.Reader, o.At("content"), o.Raw("content")) {
		inner = append(inner, q.text(m, jsonobject.Place(o.At("content"), i), each)...)
	}
	parts := enclosed("search_result", o.Text("title"), o.Text("source"), inner)
	if mark := q.cacheMark(&o); mark != nil {
		parts[len(parts)-1].Cache = mark
	}
	return parts
}

// enclosed puts parts between two marks that say what they are.
func enclosed(name, title, about string, inner []chatPart) []chatPart {
	head := "<" + name
	if title != "" {
		head += " title=" + strconv.Quote(title)
	}
	head += ">"
	if about != "" {
		head += "\n" + about
	}
	parts := append([]chatPart{textPart(head)}, inner...)
	return append(parts, textPart("</"+name+">"))
}

// assistantMessage translates an earlier answer. loop says that it belongs to the present round of calls and results.
func (q *Request) assistantMessage(m *object, loop bool) []chatMessage {
	out := chatMessage{Role: "assistant"}
	var parts []chatPart
	for i, raw := range blocks(m.Reader, m.At("content"), m.Raw("content")) {
		path := jsonobject.Place(m.At("content"), i)
		switch kind := kindOf(m.Reader, path, raw); kind {
		case "text":
			parts = append(parts, q.text(m, path, raw)...)
		case "thinking":
			o := m.Object(path, raw, "type", "thinking", "signature", "cache_control")
			if !out.think(o.Text("signature"), o.Text("thinking"), loop) {
				q.ignore(true, "thinking blocks")
			}
		case "redacted_thinking":
			m.Object(path, raw, "type", "data", "cache_control")
			q.ignore(true, "thinking blocks")
		case "tool_use":
			call := q.call(m, path, raw)
			call.Extra = out.calls[call.ID]
			out.Calls = append(out.Calls, call)
		default:
			m.Fail(path+".type",
				"an answer's content of the type %q cannot be passed on here; text, thinking and tool_use can.",
				jsonobject.Clipped(kind))
		}
	}
	if len(parts) > 0 {
		out.Content = contentOf(parts)
	}
	if out.Content == nil && len(out.Calls) == 0 {
		if out.Reasoning == nil && out.Thoughts == nil {
			return nil // an answer of nothing, or of thoughts that nobody takes
		}
		out.Content = ""
	}
	return []chatMessage{out}
}

// call translates a call of a tool.
func (q *Request) call(m *object, path string, raw json.RawMessage) chatCall {
	o := m.Object(path, raw, "type", "id", "name", "input", "cache_control", "caller", "toolset_name")
	o.Empty("toolset_name", "sets of tools are known to Anthropic's models alone. Leave it out.")
	if by := o.Raw("caller"); by != nil {
		c := o.Object(o.At("caller"), by)
		c.One("type", "direct")
	}
	if o.Raw("cache_control") != nil {
		q.ignore(true, "cache_control")
	}
	input := o.Raw("input")
	if input == nil {
		o.Fail(o.At("input"), "it is required.")
	}
	if m.Err == nil && !strings.HasPrefix(string(input), "{") {
		o.Fail(o.At("input"), "it is %s; it must be an object.", jsonobject.KindOf(input))
	}
	call := chatCall{ID: o.Needed("id"), Type: "function"}
	call.Function = chatCallFunction{Name: o.Needed("name"), Arguments: arguments(input)}
	return call
}

package messages

import (
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

type toMessage struct {
	Role    string    `json:"role"`
	Content []toBlock `json:"content"`
}

// toBlock is a block of a request. Which members it has depends on its type.
type toBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	Source    *toSource       `json:"source,omitempty"`
	Title     string          `json:"title,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   []toBlock       `json:"content,omitempty"`
	Cache     json.RawMessage `json:"cache_control,omitempty"`
}

type toSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

func toText(text string) toBlock { return toBlock{Type: "text", Text: &text} }

// messages translates the messages. Those of the system make up the system prompt, in their order; messages of one role
// that follow one another become one, in which the results of tools come first.
func (c *chatReader) messages() {
	all := c.List("messages", c.Raw("messages"))
	for i, raw := range all {
		path := jsonobject.Place("messages", i)
		loose := c.object.Object(path, raw)
		switch role := loose.One("role", "system", "developer", "user", "assistant", "tool"); role {
		case "system", "developer":
			m := c.object.Object(path, raw, "role", "content", "name")
			c.out.System = append(c.out.System, c.textBlocks(&m)...)
		case "user":
			c.user(path, raw)
		case "assistant":
			c.add("assistant", c.assistant(path, raw))
		case "tool":
			m := c.object.Object(path, raw, "role", "content", "tool_call_id", "name")
			result := toBlock{Type: "tool_result", ToolUseID: m.Needed("tool_call_id"), Content: c.blocks(&m)}
			if n := len(result.Content); n > 0 { // the mark of the last part is that of the result
				result.Cache, result.Content[n-1].Cache = result.Content[n-1].Cache, nil
			}
			c.add("user", []toBlock{result})
		case "":
			loose.Fail(loose.At("role"), "it is required.")
		}
	}
	if len(c.out.Messages) == 0 && len(c.out.System) > 0 {
		c.out.System, c.out.Messages = nil, []toMessage{{"user", c.out.System}}
	}
	if len(c.out.Messages) == 0 {
		c.Fail("messages", "it must be a list of at least one message that says something.")
	}
}

// add adds blocks to the last message, if it is of this role, and else as a message of their own.
func (c *chatReader) add(role string, blocks []toBlock) {
	if len(blocks) == 0 {
		return
	}
	if last := len(c.out.Messages) - 1; last >= 0 && c.out.Messages[last].Role == role {
		c.out.Messages[last].Content = append(c.out.Messages[last].Content, blocks...)
		return
	}
	c.out.Messages = append(c.out.Messages, toMessage{role, blocks})
}

func (c *chatReader) user(path string, raw json.RawMessage) {
	m := c.object.Object(path, raw, "role", "content", "name")
	blocks := c.blocks(&m)
	if len(blocks) == 0 {
		m.Fail(m.At("content"), "it is empty; a user's message says something.")
	}
	if name := m.Text("name"); name != "" { // Messages does not name who speaks
		blocks = append([]toBlock{toText("From " + name + ":")}, blocks...)
	}
	c.add("user", blocks)
}

// textBlocks are the blocks of content that is text alone.
func (c *chatReader) textBlocks(m *object) []toBlock {
	blocks := c.blocks(m)
	for _, b := range blocks {
		if b.Type != "text" {
			m.Fail(m.At("content"), "it has a part of the type %q; a system prompt consists of text.", b.Type)
		}
	}
	return blocks
}

// blocks are the blocks of a message's content. Empty text, which Anthropic refuses, is left out.
func (c *chatReader) blocks(m *object) []toBlock {
	raw, path := m.Raw("content"), m.At("content")
	if raw == nil {
		return nil
	}
	if raw[0] == '"' {
		if text := m.String(path, raw); text != "" {
			return []toBlock{toText(text)}
		}
		return nil
	}
	var out []toBlock
	for i, each := range m.List(path, raw) {
		at := jsonobject.Place(path, i)
		b := c.part(m, at, each)
		if b.Type == "text" && (b.Text == nil || *b.Text == "") {
			continue
		}
		out = append(out, b)
	}
	return out
}

// part translates a part of content.
func (c *chatReader) part(m *object, path string, raw json.RawMessage) toBlock {
	loose := m.Object(path, raw)
	switch kind := loose.Needed("type"); kind {
	case "text":
		o := m.Object(path, raw, "type", "text", "cache_control")
		b := toText(o.Text("text"))
		b.Cache = c.mark(&o)
		return b
	case "refusal":
		o := m.Object(path, raw, "type", "refusal")
		return toText(o.Text("refusal"))
	case "image_url":
		o := m.Object(path, raw, "type", "image_url", "cache_control")
		i := o.Object(o.At("image_url"), o.Raw("image_url"), "url", "detail")
		return toBlock{Type: "image", Source: sourceOf(&i, "url", i.Needed("url")), Cache: c.mark(&o)}
	case "file":
		o := m.Object(path, raw, "type", "file", "cache_control")
		f := o.Object(o.At("file"), o.Raw("file"), "filename", "file_data", "file_id")
		f.Empty("file_id",
			"a file that was uploaded elsewhere cannot be read by Anthropic. Send its bytes as file_data.")
		s := sourceOf(&f, "file_data", f.Needed("file_data"))
		if c.Err == nil && s.MediaType != "application/pdf" {
			f.Fail(f.At("file_data"), "it is of the type %q; a PDF can be passed on (data:application/pdf;base64,…).",
				jsonobject.Clipped(s.MediaType))
		}
		return toBlock{Type: "document", Source: s, Title: f.Text("filename"), Cache: c.mark(&o)}
	default:
		m.Fail(path+".type",
			"content of the type %q cannot be passed on to Anthropic's models; text, image_url and file can.",
			jsonobject.Clipped(kind))
		return toBlock{Type: "text"}
	}
}

// sourceOf is where a picture or a file comes from: bytes in a data: address, or a web address.
func sourceOf(o *object, name, address string) *toSource {
	rest, data := strings.CutPrefix(address, "data:")
	if !data {
		if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
			o.Fail(o.At(name), "it must be a web address, or the bytes as data:TYPE;base64,BYTES.")
		}
		return &toSource{Type: "url", URL: address}
	}
	kind, body, found := strings.Cut(rest, ";base64,")
	if !found {
		o.Fail(o.At(name), "its data must be in base64: data:TYPE;base64,BYTES.")
	}
	return &toSource{Type: "base64", MediaType: kind, Data: body}
}

// assistant translates an earlier answer. Thoughts go back where they have Anthropic's signature; others mean nothing
// to its models and are left out.
func (c *chatReader) assistant(path string, raw json.RawMessage) []toBlock {
	m := c.object.Object(path, raw, "role", "content", "name", "refusal", "tool_calls", "reasoning",
		"reasoning_content", "reasoning_details", "reasoning_text", "thinking", "thinking_blocks", "thought_signature",
		"phase", "annotations", "audio", "function_call")
	m.Empty("audio", "Anthropic's models answer with text alone. Leave it out.")
	if m.Raw("function_call") != nil {
		m.Fail(m.At("function_call"), "Messages has tools instead. Send the call in tool_calls.")
	}
	blocks := c.thoughts(&m)
	blocks = append(blocks, c.textBlocks(&m)...)
	if refusal := m.Text("refusal"); refusal != "" {
		blocks = append(blocks, toText(refusal))
	}
	for i, each := range m.List(m.At("tool_calls"), m.Raw("tool_calls")) {
		o := m.Object(jsonobject.Place(m.At("tool_calls"), i), each, "id", "type", "function", "index", "extra_content")
		o.One("type", "function")
		f := o.Object(o.At("function"), o.Raw("function"), "name", "arguments")
		blocks = append(blocks, toBlock{
			Type:  "tool_use",
			ID:    o.Needed("id"),
			Name:  f.Needed("name"),
			Input: inputOf(f.Text("arguments")),
		})
	}
	return blocks
}

// The form in which thoughts go to a client and come back: that of OpenRouter, which clients know.
const (
	signedFormat  = "anthropic-claude-v1"
	thoughtKind   = "reasoning.text"
	encryptedKind = "reasoning.encrypted"
)

// thoughtDetail is one element of reasoning_details.
type thoughtDetail struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
	Format    string `json:"format,omitempty"`
	Index     int    `json:"index"`
}

// thoughts are the signed thoughts of an earlier answer. The details of one thought, as a stream has them, have one
// index.
func (c *chatReader) thoughts(m *object) []toBlock {
	var details []thoughtDetail
	if raw := m.Raw("reasoning_details"); raw == nil || json.Unmarshal(raw, &details) != nil {
		return nil
	}
	var out []toBlock
	at := map[int]int{} // places of thoughts in out, by index
	for _, d := range details {
		if d.Format != "" && d.Format != signedFormat {
			continue
		}
		i, found := at[d.Index]
		if !found {
			i = len(out)
			at[d.Index] = i
			out = append(out, toBlock{Type: "thinking", Thinking: new("")})
		}
		b := &out[i]
		if d.Type == encryptedKind {
			*b = toBlock{Type: "redacted_thinking", Data: d.Data}
			continue
		}
		if b.Thinking != nil {
			b.Thinking = new(*b.Thinking + d.Text)
			b.Signature += d.Signature
		}
	}
	signedOnes := out[:0]
	for _, b := range out {
		if b.Signature != "" || b.Data != "" {
			signedOnes = append(signedOnes, b)
		}
	}
	return signedOnes
}

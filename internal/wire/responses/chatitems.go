package responses

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// toItem is an item of the input. Which members it has depends on its type.
type toItem struct {
	Type      string     `json:"type"`
	ID        string     `json:"id,omitempty"`
	Role      string     `json:"role,omitempty"`
	Content   any        `json:"content,omitempty"` // string or []toPart
	Phase     string     `json:"phase,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments *string    `json:"arguments,omitempty"`
	Input     *string    `json:"input,omitempty"`
	Output    any        `json:"output,omitempty"`
	Summary   *[]textual `json:"summary,omitempty"`
	Sealed    string     `json:"encrypted_content,omitempty"`
}

// toPart is a part of content. Which members it has depends on its type.
type toPart struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text,omitempty"`
	Refusal  string          `json:"refusal,omitempty"`
	Image    string          `json:"image_url,omitempty"`
	Detail   string          `json:"detail,omitempty"`
	FileID   string          `json:"file_id,omitempty"`
	FileData string          `json:"file_data,omitempty"`
	Filename string          `json:"filename,omitempty"`
	Audio    json.RawMessage `json:"input_audio,omitempty"`
}

// textual is a part of a thought.
type textual struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// messages translates the messages. The words, thoughts and calls of one answer become items of their own.
func (c *chatReader) messages() {
	for i, raw := range c.List("messages", c.Raw("messages")) {
		path := jsonobject.Place("messages", i)
		loose := c.object.Object(path, raw)
		switch role := loose.One("role", "system", "developer", "user", "assistant", "tool"); role {
		case "system", "developer":
			m := c.object.Object(path, raw, "role", "content", "name")
			c.add(toItem{Type: "message", Role: role, Content: c.content(&m, "input_text")})
		case "user":
			m := c.object.Object(path, raw, "role", "content", "name")
			c.add(toItem{Type: "message", Role: role, Content: from(m.Text("name"), c.content(&m, "input_text"))})
		case "assistant":
			c.assistant(path, raw)
		case "tool":
			m := c.object.Object(path, raw, "role", "content", "tool_call_id", "name")
			result := toItem{
				Type:   "function_call_output",
				CallID: m.Needed("tool_call_id"),
				Output: c.content(&m, "input_text"),
			}
			if c.custom[result.CallID] {
				result.Type = "custom_tool_call_output"
			}
			c.add(result)
		case "":
			loose.Fail(loose.At("role"), "it is required.")
		}
	}
	if len(c.out.Input) == 0 {
		c.Fail("messages", "it must be a list of at least one message that says something.")
	}
}

func (c *chatReader) add(item toItem) { c.out.Input = append(c.out.Input, jsonobject.Marshalled(item)) }

// from is a user's content with a line before it that names who speaks, for which Responses have no field.
func from(name string, content any) any {
	if name == "" {
		return content
	}
	line := "From " + name + ":"
	if text, one := content.(string); one {
		return line + "\n" + text
	}
	parts, _ := content.([]toPart)
	return append([]toPart{{Type: "input_text", Text: &line}}, parts...)
}

// content is the content of a message, as one text or as parts; kind is the type of those that are text.
func (c *chatReader) content(m *object, kind string) any {
	raw, path := m.Raw("content"), m.At("content")
	if raw == nil || raw[0] == '"' {
		return m.Text("content")
	}
	parts := []toPart{}
	for i, each := range m.List(path, raw) {
		parts = append(parts, c.part(m, jsonobject.Place(path, i), kind, each))
	}
	return parts
}

// part translates a part of content. A mark of what to cache has no effect: the provider caches by itself.
func (c *chatReader) part(m *object, path, text string, raw json.RawMessage) toPart {
	loose := m.Object(path, raw)
	switch kind := loose.Needed("type"); kind {
	case "text":
		o := m.Object(path, raw, "type", "text", "cache_control")
		return toPart{Type: text, Text: new(o.Text("text"))}
	case "refusal":
		o := m.Object(path, raw, "type", "refusal")
		return toPart{Type: "refusal", Refusal: o.Needed("refusal")}
	case "image_url":
		o := m.Object(path, raw, "type", "image_url", "cache_control")
		i := o.Object(o.At("image_url"), o.Raw("image_url"), "url", "detail")
		return toPart{Type: "input_image", Image: i.Needed("url"), Detail: i.Text("detail")}
	case "file":
		o := m.Object(path, raw, "type", "file", "cache_control")
		f := o.Object(o.At("file"), o.Raw("file"), "filename", "file_data", "file_id")
		return toPart{
			Type:     "input_file",
			FileID:   f.Text("file_id"),
			FileData: f.Text("file_data"),
			Filename: f.Text("filename"),
		}
	case "input_audio":
		o := m.Object(path, raw, "type", "input_audio")
		return toPart{Type: "input_audio", Audio: o.Raw("input_audio")}
	default:
		m.Fail(path+".type",
			"content of the type %q cannot be said in Responses; text, refusal, image_url, file and input_audio can.",
			jsonobject.Clipped(kind))
		return toPart{}
	}
}

// assistant translates an earlier answer. Its thoughts go back where this provider has sealed them; others mean nothing
// to it and are left out.
func (c *chatReader) assistant(path string, raw json.RawMessage) {
	m := c.object.Object(path, raw, "role", "content", "name", "refusal", "tool_calls", "reasoning",
		"reasoning_content", "reasoning_details", "reasoning_text", "thinking", "thinking_blocks", "thought_signature",
		"phase", "annotations", "audio", "function_call")
	m.Empty("audio", asText)
	m.Empty("function_call", "Responses have tools instead. Send the call in tool_calls.")
	var items []toItem
	parts, _ := c.content(&m, "output_text").([]toPart)
	if text, _ := c.content(&m, "output_text").(string); text != "" {
		parts = []toPart{{Type: "output_text", Text: &text}}
	}
	if refusal := m.Text("refusal"); refusal != "" {
		parts = append(parts, toPart{Type: "refusal", Refusal: refusal})
	}
	if len(parts) > 0 {
		items = append(items, toItem{Type: "message", Role: "assistant", Content: parts, Phase: m.Text("phase")})
	}
	for i, each := range m.List(m.At("tool_calls"), m.Raw("tool_calls")) {
		items = append(items, c.call(&m, jsonobject.Place(m.At("tool_calls"), i), each))
	}
	for _, item := range interleaved(c.thoughts(&m), items) {
		c.add(item)
	}
}

func (c *chatReader) call(m *object, path string, raw json.RawMessage) toItem {
	o := m.Object(path, raw, "id", "type", "function", "custom", "index", "extra_content")
	item := toItem{CallID: o.Needed("id")}
	if o.One("type", "function", "custom") == "custom" {
		c.custom[item.CallID] = true
		f := o.Object(o.At("custom"), o.Raw("custom"), "name", "input")
		item.Type, item.Name, item.Input = "custom_tool_call", f.Needed("name"), new(f.Text("input"))
		return item
	}
	f := o.Object(o.At("function"), o.Raw("function"), "name", "arguments")
	item.Type, item.Name, item.Arguments = "function_call", f.Needed("name"), new(f.Text("arguments"))
	return item
}

// The form in which thoughts go to a client and come back: that of OpenRouter, which clients know.
const (
	sealedFormat  = "openai-responses-v1"
	summaryDetail = "reasoning.summary"
	textDetail    = "reasoning.text"
	sealedDetail  = "reasoning.encrypted"
)

// thoughtDetail is one element of reasoning_details: a piece of the thought that stands at a place of the output.
type thoughtDetail struct {
	Type     string `json:"type"`
	Summary  string `json:"summary,omitempty"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	ID       string `json:"id,omitempty"`
	Format   string `json:"format,omitempty"`
	Index    int    `json:"index"`
	Provider string `json:"provider,omitempty"` // whose seal it is
}

// placed is a thought and its place in the output.
type placed struct {
	at   int
	item toItem
}

// thoughts are the thoughts of an earlier answer that this provider can read: those that it sealed, or sent openly.
func (c *chatReader) thoughts(m *object) (all []placed) {
	var details []thoughtDetail
	if raw := m.Raw("reasoning_details"); raw == nil || json.Unmarshal(raw, &details) != nil {
		return nil
	}
	found := map[int]int{} // places in all, by index
	for _, d := range details {
		if d.Format != sealedFormat || d.Provider != c.model.Provider {
			continue
		}
		i, begun := found[d.Index]
		if !begun {
			i = len(all)
			found[d.Index] = i
			all = append(all, placed{d.Index, toItem{Type: "reasoning", Summary: &[]textual{}}})
		}
		item := &all[i].item
		if d.ID != "" {
			item.ID = d.ID
		}
		item.Sealed += d.Data
		if d.Summary != "" {
			*item.Summary = appended(*item.Summary, "summary_text", d.Summary)
		}
		if d.Text != "" {
			open, _ := item.Content.([]textual)
			item.Content = appended(open, "reasoning_text", d.Text)
		}
	}
	readable := all[:0]
	for _, p := range all {
		if p.item.Sealed != "" || p.item.Content != nil {
			readable = append(readable, p)
		}
	}
	return readable
}

// appended adds a piece of text to the one part that the pieces of a thought make.
func appended(parts []textual, kind, text string) []textual {
	if len(parts) == 0 {
		return []textual{{kind, text}}
	}
	parts[0].Text += text
	return parts
}

// interleaved are the items of an answer in their order: thoughts at their places in the output, and the others in the
// places between.
func interleaved(thoughts []placed, others []toItem) (all []toItem) {
	for _, t := range thoughts {
		for len(all) < t.at && len(others) > 0 {
			all, others = append(all, others[0]), others[1:]
		}
		all = append(all, t.item)
	}
	return append(all, others...)
}

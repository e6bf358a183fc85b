package messages

import (
	"encoding/json"
	"strings"
	"sync"
)

type chatTool struct {
	Type     string          `json:"type"`
	Function chatFunction    `json:"function"`
	Cache    json.RawMessage `json:"cache_control,omitempty"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict,omitempty"`
}

// serverTools are the beginnings of the types of tools that Anthropic runs.
var serverTools = []string{
	"web_search", "web_fetch", "code_execution", "tool_search", "mcp_toolset", "advisor", "bash_code_execution",
	"text_editor_code_execution",
}

// tools translates the tools, and which of them the model must call.
func (q *Request) tools(b *object, c *chatBody) {
	named := sync.OnceValue(func() map[string]bool { return q.references(b) })
	for i, raw := range b.list("tools", b.raw("tools")) {
		tool, deferred := q.tool(b, place("tools", i), raw)
		if deferred && !named()[tool.Function.Name] {
			continue // no result of a search has named it yet, and until then Anthropic does not show it either
		}
		c.Tools = append(c.Tools, tool)
	}
	raw := b.raw("tool_choice")
	if raw == nil {
		return
	}
	o := b.object("tool_choice", raw, "type", "name", "disable_parallel_tool_use")
	switch o.one("type", "auto", "any", "tool", "none") {
	case "auto":
		c.ToolChoice = "auto"
	case "any":
		c.ToolChoice = "required"
	case "none":
		c.ToolChoice = "none"
	case "tool":
		c.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": o.needed("name")}}
	case "":
		o.fail("tool_choice.type", "it is required.")
	}
	if o.flag("disable_parallel_tool_use") {
		c.Parallel = new(bool)
	}
	if len(c.Tools) == 0 { // providers refuse a choice among none
		q.ignore(true, "tool_choice")
		c.ToolChoice, c.Parallel = nil, nil
	}
}

func (q *Request) tool(b *object, path string, raw json.RawMessage) (t chatTool, deferred bool) {
	loose := b.object(path, raw)
	kind, name := loose.text("type"), loose.text("name")
	if kind != "" && kind != "custom" {
		what := "its schema is known to Anthropic's models alone. Send it with a name, a description and an input_schema."
		for _, begin := range serverTools {
			if strings.HasPrefix(kind, begin) {
				what = "Anthropic's servers run it, and no other provider does. Leave it out, or run such a tool in the client."
			}
		}
		b.fail(path, "the tool %q of the type %q cannot be passed on: %s", clipped(name), clipped(kind), what)
		return t, false
	}
	o := b.object(path, raw, "type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading",
		"eager_input_streaming", "input_examples", "allowed_callers")
	for i, each := range o.list(o.at("allowed_callers"), o.raw("allowed_callers")) {
		if caller := o.string(place(o.at("allowed_callers"), i), each); caller != "direct" {
			o.fail(o.at("allowed_callers"),
				"it names %q; only the model itself can call a tool here. Name direct alone, or leave it out.",
				clipped(caller))
		}
	}
	t = chatTool{Type: "function", Cache: q.cacheMark(&o)}
	t.Function.Name, t.Function.Description = o.needed("name"), o.text("description")
	t.Function.Parameters = o.raw("input_schema")
	if t.Function.Parameters == nil {
		o.fail(o.at("input_schema"), "it is required.")
	}
	if o.raw("strict") != nil {
		t.Function.Strict = new(o.flag("strict"))
	}
	o.flag("eager_input_streaming") // every tool's input is streamed as it comes
	if examples := o.list(o.at("input_examples"), o.raw("input_examples")); len(examples) > 0 {
		lines := []string{"Examples of its input:"}
		for _, each := range examples {
			lines = append(lines, compact(each))
		}
		t.Function.Description = strings.TrimPrefix(t.Function.Description+"\n\n"+strings.Join(lines, "\n"), "\n\n")
	}
	return t, o.flag("defer_loading")
}

// references are the tools that a search for tools has named. Only the shape of the messages is read here: what is
// wrong with them is said where they are translated.
func (q *Request) references(b *object) map[string]bool {
	named := map[string]bool{}
	type content struct {
		Type    string          `json:"type"`
		Tool    string          `json:"tool_name"`
		Content json.RawMessage `json:"content"`
	}
	var look func(raw json.RawMessage)
	look = func(raw json.RawMessage) {
		var parts []content
		if json.Unmarshal(raw, &parts) != nil {
			return
		}
		for _, p := range parts {
			if p.Type == "tool_reference" {
				named[p.Tool] = true
			}
			look(p.Content)
		}
	}
	var all []content
	if json.Unmarshal(b.raw("messages"), &all) == nil {
		for _, m := range all {
			look(m.Content)
		}
	}
	return named
}

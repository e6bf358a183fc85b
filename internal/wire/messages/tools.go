package messages

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
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
	for i, raw := range b.List("tools", b.Raw("tools")) {
		tool, deferred := q.tool(b, jsonobject.Place("tools", i), raw)
		if deferred && !named()[tool.Function.Name] {
			continue // no result of a search has named it yet, and until then Anthropic does not show it either
		}
		c.Tools = append(c.Tools, tool)
	}
	raw := b.Raw("tool_choice")
	if raw == nil {
		return
	}
	o := b.Object("tool_choice", raw, "type", "name", "disable_parallel_tool_use")
	switch o.One("type", "auto", "any", "tool", "none") {
	case "auto":
		c.ToolChoice = "auto"
	case "any":
		c.ToolChoice = "required"
	case "none":
		c.ToolChoice = "none"
	case "tool":
		c.ToolChoice = map[string]any{"type": "function", "function": map[string]string{"name": o.Needed("name")}}
	case "":
		o.Fail("tool_choice.type", "it is required.")
	}
	if o.Flag("disable_parallel_tool_use") {
		c.Parallel = new(bool)
	}
	if len(c.Tools) == 0 { // providers refuse a choice among none
		q.ignore(true, "tool_choice")
		c.ToolChoice, c.Parallel = nil, nil
	}
}

func (q *Request) tool(b *object, path string, raw json.RawMessage) (t chatTool, deferred bool) {
	loose := b.Object(path, raw)
	kind, name := loose.Text("type"), loose.Text("name")
	if kind != "" && kind != "custom" {
		what := "its schema is known to Anthropic's models alone. Send it with a name, a description and an input_schema."
		if kind == "function" {
			what = "that is the form of chat completions. Here a tool has a name, a description and an input_schema, " +
				"and no type."
		}
		for _, begin := range serverTools {
			if strings.HasPrefix(kind, begin) {
				what = "Anthropic's servers run it, and no other provider does. Leave it out, or run such a tool in the client."
			}
		}
		b.Fail(path, "the tool %q of the type %q cannot be passed on: %s", jsonobject.Clipped(name), jsonobject.Clipped(kind), what)
		return t, false
	}
	o := b.Object(path, raw, "type", "name", "description", "input_schema", "cache_control", "strict", "defer_loading",
		"eager_input_streaming", "input_examples", "allowed_callers")
	for i, each := range o.List(o.At("allowed_callers"), o.Raw("allowed_callers")) {
		if caller := o.String(jsonobject.Place(o.At("allowed_callers"), i), each); caller != "direct" {
			o.Fail(o.At("allowed_callers"),
				"it names %q; only the model itself can call a tool here. Name direct alone, or leave it out.",
				jsonobject.Clipped(caller))
		}
	}
	t = chatTool{Type: "function", Cache: q.cacheMark(&o)}
	t.Function.Name, t.Function.Description = o.Needed("name"), o.Text("description")
	t.Function.Parameters = o.Raw("input_schema")
	if t.Function.Parameters == nil {
		o.Fail(o.At("input_schema"), "it is required.")
	}
	if o.Raw("strict") != nil {
		t.Function.Strict = new(o.Flag("strict"))
	}
	o.Flag("eager_input_streaming") // every tool's input is streamed as it comes
	if examples := o.List(o.At("input_examples"), o.Raw("input_examples")); len(examples) > 0 {
		lines := []string{"Examples of its input:"}
		for _, each := range examples {
			lines = append(lines, jsonobject.Compact(each))
		}
		t.Function.Description = strings.TrimPrefix(t.Function.Description+"\n\n"+strings.Join(lines, "\n"), "\n\n")
	}
	return t, o.Flag("defer_loading")
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
	if json.Unmarshal(b.Raw("messages"), &all) == nil {
		for _, m := range all {
			look(m.Content)
		}
	}
	return named
}

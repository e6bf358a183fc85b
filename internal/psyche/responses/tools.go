package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// tool is one tool of the client's, which a chat completion offers as a function.
type tool struct {
	function    string // its name in the chat completion
	name        string // its name here
	namespace   string // the namespace that it lies in; may be empty
	custom      bool   // its input is plain text
	description string
	parameters  json.RawMessage // nil: none are named
	strict      json.RawMessage // nil: it does not say
}

// toolset are the tools of a request.
type toolset struct {
	list   []tool
	hidden map[string]bool // by name in the chat completion: not among those that tool_choice allows
	kept   [][]byte        // as the client wrote them, those that are passed on
}

// longestName bounds the name of a function of a chat completion.
const longestName = 64

// within is the name in a chat completion of a tool of a namespace.
func within(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

// byFunction finds a tool by its name in the chat completion.
func (s *toolset) byFunction(name string) (tool, bool) {
	for _, t := range s.list {
		if t.function == name {
			return t, true
		}
	}
	return tool{}, false
}

// builtIn are the types of tools that OpenAI's servers run themselves, or that their models were trained for.
var builtIn = set(`
	web_search web_search_preview web_search_2025_08_26 web_search_preview_2025_03_11 file_search code_interpreter
	image_generation mcp computer computer_use_preview computer_use tool_search shell local_shell apply_patch
	programmatic_tool_calling`)

func (q *Request) readTools() error {
	v := q.fields["tools"]
	if v == nil {
		return nil
	}
	all, ok := elements(v)
	if !ok {
		return wrong("tools", "tools must be a list.")
	}
	firstBuiltIn := ""
	for i, raw := range all {
		at := fmt.Sprintf("tools[%d]", i)
		head, ok := headOf(raw)
		if !ok {
			return wrong(at, "%s must be an object with a type.", at)
		}
		if builtIn[head.kind] {
			if firstBuiltIn == "" {
				firstBuiltIn = at
			}
			q.LeftOut = append(q.LeftOut, head.kind)
			continue
		}
		if err := q.tools.read(raw, head.kind, "", "", at); err != nil {
			return err
		}
		q.tools.kept = append(q.tools.kept, raw)
	}
	if firstBuiltIn != "" && len(q.tools.list) == 0 {
		return unsupported(
			firstBuiltIn,
			"%s is the built-in tool %q, which the model's provider does not run. Offer a function of your "+
				"own that does the same, or leave it out.",
			firstBuiltIn,
			q.LeftOut[0],
		)
	}
	return nil
}

// read reads a tool, which may lie in a namespace.
func (s *toolset) read(raw json.RawMessage, kind, namespace, about, at string) error {
	switch kind {
	case "function":
		return s.function(raw, namespace, about, at)
	case "custom":
		return s.custom(raw, namespace, about, at)
	case "namespace":
		if namespace == "" {
			return s.namespace(raw, at)
		}
	}
	return unsupported(
		at,
		"%s has the type %q, which this server does not know; it serves \"function\", \"custom\" and \"namespace\".",
		at,
		clip(kind),
	)
}

func (s *toolset) add(t tool, about, at string) error {
	if t.name == "" {
		return wrong(at+".name", "%s.name is missing.", at)
	}
	t.function = within(t.namespace, t.name)
	if t.namespace != "" && len(t.function) > longestName {
		return wrong(
			at+".name",
			"%s.name is %q in its namespace, which is longer than the %d letters of a function's name.",
			at,
			clip(t.function),
			longestName,
		)
	}
	if _, twice := s.byFunction(t.function); twice {
		return wrong(at+".name", "%s.name is %q, which another tool has; each needs its own.", at, clip(t.function))
	}
	if about != "" {
		t.description = strings.TrimSpace(about + "\n\n" + t.description)
	}
	s.list = append(s.list, t)
	return nil
}

func (s *toolset) function(raw json.RawMessage, namespace, about, at string) error {
	t := tool{namespace: namespace}
	err := object(raw, at, func(name string, value json.RawMessage) error {
		switch name {
		case "type", "defer_loading": // every function is offered at once
		case "name":
			t.name = jsonscan.Unquoted(value)
		case "description":
			t.description = jsonscan.Unquoted(value)
		case "parameters":
			t.parameters = value
		case "strict":
			t.strict = value
		case "function":
			return unsupported(at+".function", "%[1]s.function is the form of chat completions: here name, "+
				"description, parameters and strict stand in %[1]s itself.", at)
		default:
			return unsaid(at, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.add(t, about, at)
}

// textOnly is the schema of a function that stands for a custom tool.
var textOnly = json.RawMessage(
	`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`,
)

// custom reads a tool whose input is plain text. Few providers know such tools, so the chat completion offers a
// function of one text. A grammar is described to the model, and not enforced.
func (s *toolset) custom(raw json.RawMessage, namespace, about, at string) error {
	t := tool{namespace: namespace, custom: true, parameters: textOnly}
	grammar := ""
	err := object(raw, at, func(name string, value json.RawMessage) error {
		switch name {
		case "type", "defer_loading":
		case "name":
			t.name = jsonscan.Unquoted(value)
		case "description":
			t.description = jsonscan.Unquoted(value)
		case "format":
			var f struct{ Type, Syntax, Definition string }
			if json.Unmarshal(value, &f) != nil || f.Type != "text" && f.Type != "grammar" {
				return wrong(
					at+".format",
					"%s.format must be {\"type\": \"text\"}, or a grammar with syntax and definition.",
					at,
				)
			}
			if f.Type == "grammar" {
				grammar = fmt.Sprintf(
					"The member input must be written by this %s grammar:\n%s",
					f.Syntax,
					f.Definition,
				)
			}
		default:
			return unsaid(at, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if grammar != "" {
		t.description = strings.TrimSpace(t.description + "\n\n" + grammar)
	}
	return s.add(t, about, at)
}

// namespace reads a group of tools, whose description each of them gets.
func (s *toolset) namespace(raw json.RawMessage, at string) error {
	var group struct {
		Name        string            `json:"name"`
		Description string            `json:"description"`
		Tools       []json.RawMessage `json:"tools"`
	}
	err := object(raw, at, func(name string, value json.RawMessage) error {
		switch name {
		case "type", "name", "description", "tools":
			return nil
		}
		return unsaid(at, name)
	})
	if err != nil {
		return err
	}
	if json.Unmarshal(raw, &group) != nil || group.Name == "" || len(group.Tools) == 0 {
		return wrong(at, "%s is a namespace: it needs a name and a list of tools.", at)
	}
	for i, each := range group.Tools {
		at := fmt.Sprintf("%s.tools[%d]", at, i)
		head, ok := headOf(each)
		if !ok {
			return wrong(at, "%s must be an object with a type.", at)
		}
		if err := s.read(each, head.kind, group.Name, group.Description, at); err != nil {
			return err
		}
	}
	return nil
}

// chat are the tools of the chat completion.
func (s *toolset) chat() []byte {
	size := 1 << 10
	for _, t := range s.list {
		size += len(t.description) + len(t.description)/8 + len(t.parameters) + 128
	}
	b := append(make([]byte, 0, size), '[')
	for _, t := range s.list {
		if s.hidden[t.function] {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"type":"function","function":{"name":%s`, jsonscan.Quoted(t.function))
		if t.description != "" {
			b = append(append(b, `,"description":`...), jsonscan.Quoted(t.description)...)
		}
		if t.parameters != nil {
			b = append(append(b, `,"parameters":`...), t.parameters...)
		}
		if t.strict != nil {
			b = fmt.Appendf(b, `,"strict":%s`, t.strict)
		}
		b = append(b, "}}"...)
	}
	return append(b, ']')
}

// readChoice reads tool_choice. What it says about tools that are not there is refused.
func (q *Request) readChoice() error {
	v := q.fields["tool_choice"]
	if v == nil {
		return nil
	}
	if v[0] == '"' {
		switch jsonscan.Unquoted(v) {
		case "auto", "none", "required":
			q.choice = v
			return q.demanded()
		}
		return wrong(
			"tool_choice",
			"tool_choice is %s; it must be \"auto\", \"none\", \"required\" or an object that names a tool.",
			shown(v),
		)
	}
	var c struct {
		Type, Name, Namespace, Mode string
		Tools                       []struct{ Type, Name, Namespace string }
	}
	if json.Unmarshal(v, &c) != nil {
		return wrong("tool_choice", "tool_choice must be a string or an object that names a tool.")
	}
	if c.Type != "allowed_tools" {
		name, err := q.chosen(c.Type, c.Namespace, c.Name, "tool_choice")
		q.choice = fmt.Appendf(nil, `{"type":"function","function":{"name":%s}}`, jsonscan.Quoted(name))
		return err
	}
	if c.Mode != "auto" && c.Mode != "required" || len(c.Tools) == 0 {
		return wrong(
			"tool_choice",
			"tool_choice of the type allowed_tools needs a mode, \"auto\" or \"required\", and a list of tools.",
		)
	}
	var allowed []string
	for i, each := range c.Tools {
		name, err := q.chosen(each.Type, each.Namespace, each.Name, fmt.Sprintf("tool_choice.tools[%d]", i))
		if err != nil {
			return err
		}
		allowed = append(allowed, name)
	}
	q.tools.hidden = map[string]bool{}
	for _, t := range q.tools.list {
		q.tools.hidden[t.function] = !slices.Contains(allowed, t.function)
	}
	q.choice = jsonscan.Quoted(c.Mode)
	return q.demanded()
}

// demanded refuses a request that demands a call where there is nothing to call, or while a built-in tool, which might
// be meant, is left out.
func (q *Request) demanded() error {
	switch {
	case string(q.choice) != `"required"`:
		return nil
	case len(q.LeftOut) > 0:
		return unsupported(
			"tools",
			"tools has the built-in tool %q, which the model's provider does not run, while tool_choice "+
				"demands a call: leave that tool out.",
			q.LeftOut[0],
		)
	case len(q.tools.list) == 0:
		return wrong("tool_choice", "tool_choice is \"required\", and there are no tools: send tools, or leave it out.")
	}
	return nil
}

// chosen is the name in the chat completion of a tool that the client chose.
func (q *Request) chosen(kind, namespace, name, at string) (string, error) {
	if kind != "function" && kind != "custom" {
		return "", unsupported(
			at,
			"%s names the built-in tool %q, which the model's provider does not run.",
			at,
			clip(kind),
		)
	}
	function := within(namespace, name)
	if t, ok := q.tools.byFunction(function); !ok || t.custom != (kind == "custom") {
		return "", wrong(at, "%s names the tool %q, which is not among tools.", at, clip(function))
	}
	return function, nil
}

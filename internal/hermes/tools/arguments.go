package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// tool is one row of the table: what a model is told of a tool, and the functions that do it.
type tool struct {
	name        string
	description string
	effect      message.Effect
	parameters  []parameter
	preview     func(*Box, message.Call, arguments) (message.Preview, error)
	run         func(*Box, context.Context, <-chan struct{}, message.Call, arguments) message.Result
}

// parameter is one argument of a tool. Its kind is a type of JSON schema: "string", "integer" or "boolean".
type parameter struct {
	name, kind, help string
	required         bool
	min              int // of an integer
}

// arguments are the checked arguments of a call. What was not given has the zero value.
type arguments map[string]any

func (a arguments) text(name string) string { s, _ := a[name].(string); return s }
func (a arguments) yes(name string) bool    { v, _ := a[name].(bool); return v }

// number returns an integer, or the other one when it was not given.
func (a arguments) number(name string, other int) int {
	n, given := a[name].(int)
	if !given {
		return other
	}
	return n
}

// maxArguments bounds the text of a call's arguments, in bytes.
const maxArguments = 16 << 20

var table []tool

func init() {
	path := parameter{name: "path", kind: "string", help: "file in the workspace, such as docs/notes.md", required: true}
	folder := parameter{name: "path", kind: "string", help: "folder or file to begin at; default: the whole workspace"}
	glob := parameter{name: "glob", kind: "string", help: "only names that this pattern of .gitignore's kind matches, " +
		"such as *.go or docs/**/*.md"}
	ignored := parameter{name: "ignored", kind: "boolean", help: "also what .gitignore leaves out; default: false"}
	table = []tool{
		{
			name: "read_file", effect: message.Reads, preview: previewRead, run: (*Box).read,
			description: "Read a text file. At most 64 KiB are returned at once; a note at the end says what is left.",
			parameters: []parameter{
				path,
				{name: "offset", kind: "integer", help: "first line, from 1; default: 1", min: 1},
				{name: "limit", kind: "integer", help: "number of lines; default: as many as fit", min: 1},
			},
		},
		{
			name: "list_files", effect: message.Reads, preview: previewRead, run: (*Box).list,
			description: "List files and folders below a folder. What .gitignore names is left out, and .git.",
			parameters: []parameter{
				folder, glob, ignored,
				{name: "depth", kind: "integer", help: "levels of folders; default: all", min: 1},
			},
		},
		{
			name: "search_files", effect: message.Reads, preview: previewRead, run: (*Box).search,
			description: "Search text files for a regular expression (RE2), line by line. Returns path:line: text.",
			parameters: []parameter{
				{name: "pattern", kind: "string", help: "regular expression, such as func \\w+Test", required: true},
				folder, glob, ignored,
				{name: "limit", kind: "integer", help: "number of lines found; default: 200", min: 1},
			},
		},
		{
			name: "write_file", effect: message.Writes, preview: previewWrite, run: (*Box).write,
			description: "Write a whole file. It is made if it is missing, with its folders, and else replaced.",
			parameters: []parameter{
				path, {name: "content", kind: "string", help: "the whole new text of the file", required: true},
			},
		},
		{
			name: "edit_file", effect: message.Writes, preview: previewWrite, run: (*Box).write,
			description: "Replace an exact text in a file. The old text must occur exactly once, unless all is true.",
			parameters: []parameter{
				path,
				{name: "old", kind: "string", help: "text to replace, with enough around it to occur once", required: true},
				{name: "new", kind: "string", help: "text to put in its place; may be empty", required: true},
				{name: "all", kind: "boolean", help: "replace each occurrence; default: false"},
			},
		},
		{
			name: "run", effect: message.Runs, preview: previewRun, run: (*Box).runCommand,
			description: "Run a command by /bin/sh in the workspace. Its input is empty. Programs that it leaves in the " +
				"background are ended when it ends.",
			parameters: []parameter{
				{name: "command", kind: "string", help: "the command, such as go test ./...", required: true},
			},
		},
	}
}

func (t tool) describe() message.Tool {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description"`
		Minimum     int    `json:"minimum,omitempty"`
	}
	properties := map[string]property{}
	required := []string{}
	for _, p := range t.parameters {
		properties[p.name] = property{Type: p.kind, Description: p.help, Minimum: p.min}
		if p.required {
			required = append(required, p.name)
		}
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // strings and numbers can be marshaled
	}
	return message.Tool{Name: t.name, Description: t.description, Parameters: schema, Effect: t.effect}
}

// parse finds the tool of a call and checks its arguments.
func parse(call message.Call) (tool, arguments, error) {
	i := slices.IndexFunc(table, func(t tool) bool { return t.name == call.Name })
	if i < 0 {
		return tool{}, nil, fmt.Errorf("there is no tool %s; the tools are %s", excerpt(call.Name),
			strings.Join(names(), ", "))
	}
	args, err := table[i].arguments(call.Arguments)
	return table[i], args, err
}

func names() []string {
	list := make([]string, 0, len(table))
	for _, t := range table {
		list = append(list, t.name)
	}
	return list
}

// arguments checks the JSON text of a call's arguments. A null counts as not given.
func (t tool) arguments(text string) (arguments, error) {
	if len(text) > maxArguments {
		return nil, fmt.Errorf("the arguments of %s have %d bytes; at most %d are taken",
			t.name, len(text), maxArguments)
	}
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	given, err := object(text)
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s are no JSON object: %w; they were %s", t.name, err, excerpt(text))
	}
	args := arguments{}
	for name, raw := range given {
		i := slices.IndexFunc(t.parameters, func(p parameter) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s has no argument %s; it has %s", t.name, excerpt(name), t.parameterNames())
		}
		if string(raw) == "null" {
			continue
		}
		args[name], err = t.parameters[i].value(raw)
		if err != nil {
			return nil, err
		}
	}
	for _, p := range t.parameters {
		if _, ok := args[p.name]; p.required && !ok {
			return nil, fmt.Errorf("%s lacks the argument %s: %s", t.name, p.name, p.help)
		}
	}
	return args, nil
}

func (t tool) parameterNames() string {
	list := make([]string, 0, len(t.parameters))
	for _, p := range t.parameters {
		list = append(list, p.name)
	}
	return strings.Join(list, ", ")
}

// object reads a JSON object whose names differ, and nothing after it.
func object(text string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(text))
	first, err := d.Token()
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return nil, errors.New("they do not begin with {")
	}
	fields := map[string]json.RawMessage{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%v stands where a name should", token)
		}
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s is given twice", excerpt(name))
		}
		var raw json.RawMessage
		err = d.Decode(&raw)
		if err != nil {
			return nil, err
		}
		fields[name] = raw
	}
	_, err = d.Token()
	if err != nil {
		return nil, err
	}
	_, err = d.Token()
	if !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return fields, nil
}

func (p parameter) value(raw json.RawMessage) (any, error) {
	raw = bytes.TrimSpace(raw)
	wrong := func(want string) error {
		return fmt.Errorf("%s is %s; it must be %s", p.name, excerpt(string(raw)), want)
	}
	switch p.kind {
	case "string":
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, wrong("a string")
		}
		return s, nil
	case "boolean":
		var v bool
		if json.Unmarshal(raw, &v) != nil {
			return nil, wrong("true or false")
		}
		return v, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || int(n) < p.min {
		return nil, wrong(fmt.Sprintf("a whole number from %d to %d", p.min, 1<<31-1))
	}
	return int(n), nil
}

// excerpt quotes the beginning of a value for an error.
func excerpt(value string) string {
	const most = 120
	if len(value) <= most {
		return strconv.Quote(value)
	}
	end := most
	for end > 0 && !utf8.RuneStart(value[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(value[:end]), len(value))
}

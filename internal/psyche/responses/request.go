// Package responses says a request of OpenAI's Responses API as a chat completion, and the answer to that as a response
// with its events. What a chat completion cannot say is refused by name. It knows no HTTP and no store.
package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// Request is a request to create a response.
type Request struct {
	Model            string
	User             string
	SafetyIdentifier string
	CacheKey         string
	Previous         string // id of the response that this one goes on from; may be empty
	Stream           bool
	Store            bool // keep the response, so that a later request may go on from it
	Input            []Item
	Provider         string // that answers; empty: any
	// LeftOut are the types of the built-in tools that were offered beside the client's own, and are not passed on.
	LeftOut []string

	raw      []byte
	fields   map[string]json.RawMessage // by name; nil where it is null, which counts as absent
	names    []string                   // of the fields, in order
	tools    toolset
	choice   []byte // tool_choice of the chat completion; nil: none
	format   []byte // its response_format; nil: none
	effort   json.RawMessage
	summary  bool // the client asks for summaries of reasoning
	sealed   bool // it asks for what it needs to send reasoning back
	logprobs bool
}

// Item is one item of an input or output.
type Item struct {
	ID  string // empty: none
	Ref string // id of a stored item that stands here; Raw is then empty until it is resolved
	Raw json.RawMessage
	// Provider is whose answer a kept item belongs to: what that one sealed nobody else can read. Empty: not known.
	Provider string
}

// sealedFor reports whether another provider than this one may have sealed what an item holds.
func (i *Item) sealedFor(provider string) bool {
	return i.Provider != "" && provider != "" && i.Provider != provider
}

// Fault is an error that names a field.
func fault(code, field, format string, args ...any) error {
	return psyche.Refuse(http.StatusBadRequest, code, field, format, args...)
}

func wrong(field, format string, args ...any) error {
	return fault("invalid_value", field, format, args...)
}

func unsupported(field, format string, args ...any) error {
	return fault("unsupported_parameter", field, format, args...)
}

// unsaid is the fault of a member that a chat completion has no place for.
func unsaid(at, name string) error {
	return unsupported(at+"."+name, "%s.%s cannot be said in a chat completion: leave it out.", at, name)
}

// How a field of a request is treated. A field that stands in none of these lists is passed on as it is, as on chat
// completions.
var (
	// fields that mean the same in a chat completion
	same = set(`
		temperature top_p user safety_identifier prompt_cache_key prompt_cache_retention prompt_cache_options
		service_tier top_logprobs`)
	// fields that are read here
	own = set(`
		model input instructions tools tool_choice parallel_tool_calls text reasoning max_output_tokens metadata
		truncation include store stream stream_options previous_response_id background conversation prompt
		context_management moderation max_tool_calls client_metadata access_programs`)
	// fields of chat completions that have another name here
	others = map[string]string{
		"messages": "input", "functions": "tools", "function_call": "tool_choice", "response_format": "text.format",
		"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens",
		"reasoning_effort": "reasoning.effort", "verbosity": "text.verbosity", "n": "", "logprobs": "top_logprobs",
	}
)

func set(list string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(list) {
		all[name] = true
	}
	return all
}

// Read reads the body of a request that is translated. Errors are *psyche.Fault and name the field.
func Read(raw []byte) (*Request, error) {
	q, err := Scan(raw)
	if err != nil {
		return nil, err
	}
	return q, q.Check()
}

// Scan reads what every request says, whether it is translated or passed on. Errors are *psyche.Fault and name the
// field.
func Scan(raw []byte) (*Request, error) {
	q := &Request{raw: raw, fields: map[string]json.RawMessage{}, Store: true}
	err := jsonscan.Members(raw, func(key, value []byte) error {
		name := jsonscan.Unquoted(key)
		if _, twice := q.fields[name]; twice {
			return fault("duplicate_field", name, "%s is given twice; send it once.", name)
		}
		q.names = append(q.names, name)
		if string(value) == "null" {
			value = nil
		}
		q.fields[name] = value
		return nil
	})
	if err != nil {
		if f, ok := errors.AsType[*psyche.Fault](err); ok {
			return nil, f
		}
		return nil, fault("invalid_json", "", "The body must be one JSON object: %v.", err)
	}
	for _, read := range []func() error{q.scalars, q.unserved, q.input} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// Check reads what a request says that is translated, and refuses by name what a chat completion cannot say.
func (q *Request) Check() error {
	for _, read := range []func() error{
		q.refusals, q.reasoning, q.text, q.readTools, q.readChoice, q.includes,
	} {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// unserved names what this server does not do, whatever the provider could: it answers while the client waits, and what
// is kept of a talk is kept here, where it can be forgotten.
func (q *Request) unserved() error {
	if string(q.fields["background"]) == "true" {
		return unsupported(
			"background",
			"This server answers while the client waits: leave background out and, for long answers, "+
				"send \"stream\": true.",
		)
	}
	if q.fields["conversation"] != nil {
		return unsupported(
			"conversation",
			"This server has no conversations of its own on this path: name the response to go on from "+
				"by previous_response_id, or send the earlier items in input.",
		)
	}
	return nil
}

// scalars reads the fields that hold one value.
func (q *Request) scalars() error {
	for _, each := range []struct {
		name string
		to   *string
	}{
		{"model", &q.Model},
		{"user", &q.User},
		{"safety_identifier", &q.SafetyIdentifier},
		{"prompt_cache_key", &q.CacheKey},
		{"previous_response_id", &q.Previous},
		{"service_tier", new(string)},
		{"prompt_cache_retention", new(string)},
	} {
		v := q.fields[each.name]
		if v == nil {
			continue
		}
		if v[0] != '"' {
			return wrong(each.name, "%s must be a string.", each.name)
		}
		*each.to = jsonscan.Unquoted(v)
	}
	parallel := false
	for _, each := range []struct {
		name string
		to   *bool
	}{{"stream", &q.Stream}, {"store", &q.Store}, {"parallel_tool_calls", &parallel}, {"background", new(bool)}} {
		v := q.fields[each.name]
		if v == nil {
			continue
		}
		if string(v) != "true" && string(v) != "false" {
			return wrong(each.name, "%s must be true or false.", each.name)
		}
		*each.to = string(v) == "true"
	}
	if v := q.fields["metadata"]; v != nil {
		var texts map[string]string
		if json.Unmarshal(v, &texts) != nil || len(texts) > 16 {
			return wrong("metadata", "metadata must be an object of at most 16 members whose values are strings.")
		}
	}
	for _, name := range []string{"max_output_tokens", "top_logprobs"} {
		var n int64
		if v := q.fields[name]; v != nil && (json.Unmarshal(v, &n) != nil || n < 0 || n == 0 && name[0] == 'm') {
			return wrong(name, "%s is %s; it must be a whole number from 1, or be left out.", name, shown(v))
		}
	}
	return nil
}

// refusals names what a chat completion cannot say.
func (q *Request) refusals() error {
	for _, name := range q.names {
		v := q.fields[name]
		if v == nil {
			continue
		}
		if instead, ok := others[name]; ok {
			if instead == "" {
				return unsupported(
					name,
					"A response is one answer: leave %s out, or ask POST /v1/chat/completions.",
					name,
				)
			}
			return unsupported(name, "%s is a field of chat completions; on this path it is %s.", name, instead)
		}
		switch text := string(v[:min(len(v), 16)]); { // longer than each that is compared
		case name == "prompt":
			return unsupported(
				name,
				"This server keeps no templates of prompts: send their text as instructions and input.",
			)
		case name == "context_management" && text != "[]":
			return unsupported(
				name,
				"This server compacts no context: leave context_management out, and send less input when the "+
					"window is full.",
			)
		case name == "access_programs":
			return unsupported(name, "A chat completion names no programs of access: leave access_programs out.")
		case name == "moderation":
			return unsupported(name, "This server moderates nothing: leave moderation out.")
		case name == "truncation" && text != `"disabled"`:
			return unsupported(
				name,
				"truncation is %s; this server leaves no input out, so it must be \"disabled\" or absent.",
				shown(v),
			)
		case name == "stream_options" && v[0] != '{':
			return wrong(name, "stream_options must be an object such as {\"include_obfuscation\": false}.")
		}
	}
	return nil
}

// shown is a value as errors show it.
func shown(v []byte) string {
	const most = 60
	if len(v) > most {
		return strings.ToValidUTF8(string(v[:most]), "") + "…"
	}
	return string(v)
}

func (q *Request) reasoning() error {
	v := q.fields["reasoning"]
	if v == nil {
		return nil
	}
	return object(v, "reasoning", func(name string, value json.RawMessage) error {
		switch name {
		case "effort":
			q.effort = value
		case "summary", "generate_summary":
			switch jsonscan.Unquoted(value) {
			case "auto", "concise", "detailed":
				q.summary = true
			case "none":
			default:
				return wrong(
					"reasoning."+name,
					"reasoning.%s is %s; it must be \"auto\", \"concise\" or \"detailed\".",
					name,
					shown(value),
				)
			}
		default:
			return unsupported(
				"reasoning."+name,
				"reasoning.%s cannot be said in a chat completion: leave it out. reasoning.effort and "+
					"reasoning.summary are served.",
				name,
			)
		}
		return nil
	})
}

// text reads how the answer is to be written.
func (q *Request) text() error {
	v := q.fields["text"]
	if v == nil {
		return nil
	}
	return object(v, "text", func(name string, value json.RawMessage) error {
		switch name {
		case "verbosity":
			return nil
		case "format":
			return q.readFormat(value)
		}
		return unsaid("text", name)
	})
}

func (q *Request) readFormat(v json.RawMessage) error {
	var kind string
	schema := []byte(`{"type":"json_schema","json_schema":{`)
	err := object(v, "text.format", func(name string, value json.RawMessage) error {
		switch name {
		case "type":
			kind = jsonscan.Unquoted(value)
		case "name", "description", "schema", "strict":
			if schema[len(schema)-1] != '{' {
				schema = append(schema, ',')
			}
			schema = fmt.Appendf(schema, "%q:%s", name, value)
		default:
			return unsaid("text.format", name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch kind {
	case "text":
	case "json_object":
		q.format = []byte(`{"type":"json_object"}`)
	case "json_schema":
		q.format = append(schema, "}}"...)
	default:
		return wrong(
			"text.format.type",
			"text.format.type is %q; it must be \"text\", \"json_schema\" or \"json_object\".",
			kind,
		)
	}
	return nil
}

// includes reads which further output is asked for. What belongs to built-in tools cannot occur, and is no error.
func (q *Request) includes() error {
	v := q.fields["include"]
	if v == nil {
		return nil
	}
	var all []string
	if json.Unmarshal(v, &all) != nil {
		return wrong("include", "include must be a list of strings.")
	}
	for _, each := range all {
		switch each {
		case "reasoning.encrypted_content":
			q.sealed = true
		case "message.output_text.logprobs":
			q.logprobs = true
		case "message.input_image.image_url", "file_search_call.results", "web_search_call.results",
			"web_search_call.action.sources", "code_interpreter_call.outputs",
			"computer_call_output.output.image_url":
		default:
			return wrong(
				"include",
				"include has %q, which this server does not know; it serves \"reasoning.encrypted_content\" "+
					"and \"message.output_text.logprobs\".",
				clip(each),
			)
		}
	}
	return nil
}

func clip(s string) string { return shown([]byte(s)) }

// input reads the items of the input.
func (q *Request) input() error {
	v := q.fields["input"]
	switch {
	case v == nil:
		if q.Previous == "" {
			return wrong("input", "input is missing: send a string or a list of items.")
		}
		return nil
	case v[0] == '"':
		q.Input = []Item{
			{
				Raw: fmt.Appendf(
					nil,
					`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}`,
					v,
				),
			},
		}
		return nil
	case v[0] != '[':
		return wrong("input", "input must be a string or a list of items.")
	}
	all, ok := elements(v)
	if !ok {
		return wrong("input", "input must be a string or a list of items.")
	}
	for i, raw := range all {
		at := fmt.Sprintf("input[%d]", i)
		head, ok := headOf(raw)
		if !ok {
			return wrong(at, "%s must be an item, such as {\"role\": \"user\", \"content\": \"Hello.\"}.", at)
		}
		item := Item{ID: head.id, Raw: raw}
		if head.kind == "item_reference" {
			if head.id == "" {
				return wrong(at+".id", "%s.id is missing; it names an item of a kept response.", at)
			}
			item = Item{ID: head.id, Ref: head.id}
		}
		q.Input = append(q.Input, item)
	}
	return nil
}

// object calls each for the members of an object that are not null.
func object(v []byte, at string, each func(name string, value json.RawMessage) error) error {
	if len(v) == 0 || v[0] != '{' {
		return wrong(at, "%s must be an object.", at)
	}
	var seen jsonscan.Fields
	return jsonscan.Members(v, func(key, value []byte) error {
		name := jsonscan.Unquoted(key)
		if !seen.Add(name, value) {
			return fault("duplicate_field", at+"."+name, "%s.%s is given twice; send it once.", at, name)
		}
		if string(value) == "null" {
			return nil
		}
		return each(name, value)
	})
}

// sizeOf is the size of items in bytes.
func sizeOf(items []Item) (size int) {
	for _, item := range items {
		size += len(item.Raw)
	}
	return size
}

// Options say how the chat completion is written.
type Options struct {
	MaxTokens string // the field that bounds an answer: "max_tokens", or "max_completion_tokens" of reasoning models
}

// Chat is the body of the chat completion that asks the same. before are the items that the input goes on from.
func (q *Request) Chat(before []Item, o Options) ([]byte, error) {
	w := &writer{tools: &q.tools, provider: q.Provider}
	b := &w.body
	b.Grow(sizeOf(before) + sizeOf(q.Input) + len(q.fields["instructions"]) + len(q.fields["tools"]) + 2<<10)
	b.WriteString(`{"model":`)
	b.Write(jsonscan.Quoted(q.Model))
	b.WriteString(`,"messages":[`)
	if v := q.fields["instructions"]; v != nil {
		if v[0] != '"' {
			return nil, wrong("instructions", "instructions must be a string.")
		}
		w.message("system", v)
	}
	for i, item := range before {
		if err := w.item(item, true, fmt.Sprintf("previous_response_id[%d]", i)); err != nil {
			return nil, err
		}
	}
	for i, item := range q.Input {
		if err := w.item(item, item.Ref != "", fmt.Sprintf("input[%d]", i)); err != nil {
			return nil, err
		}
	}
	w.flush()
	if w.count == 0 {
		return nil, wrong("input", "input is empty: send a string or at least one item.")
	}
	b.WriteByte(']')
	member := func(name string, value []byte) {
		if len(value) > 0 {
			b.WriteByte(',')
			b.Write(jsonscan.Quoted(name))
			b.WriteByte(':')
			b.Write(value)
		}
	}
	for _, name := range q.names {
		if same[name] || !own[name] {
			member(name, q.fields[name])
		}
	}
	if len(q.tools.list) > 0 {
		member("tools", q.tools.chat())
		member("tool_choice", q.choice)
		member("parallel_tool_calls", q.fields["parallel_tool_calls"])
	}
	member("response_format", q.format)
	member("reasoning_effort", q.effort)
	member(o.MaxTokens, q.fields["max_output_tokens"])
	if v := q.fields["text"]; v != nil {
		_ = object(v, "text", func(name string, value json.RawMessage) error { // it was read before
			if name == "verbosity" {
				member(name, value)
			}
			return nil
		})
	}
	if q.logprobs || q.fields["top_logprobs"] != nil {
		member("logprobs", []byte("true"))
	}
	if q.Stream {
		b.WriteString(`,"stream":true,"stream_options":{"include_usage":true}`)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

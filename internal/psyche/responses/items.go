package responses

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// writer writes items as the messages of a chat completion. The thoughts, words and calls of one answer are items of
// their own here, and one message there.
type writer struct {
	tools    *toolset
	provider string       // that the messages are for: what another one sealed means nothing to it
	body     bytes.Buffer // of the chat completion, up to the messages so far
	count    int          // of the messages
	open     *assistant   // the answer whose items are being read; nil: none
}

// assistant is one message of the model being put together.
type assistant struct {
	members members // those that hold thoughts
	phase   []byte  // nil: none is named
	content []byte  // nil: no words yet
	calls   [][]byte
	proofs  map[string][]byte // extra_content of calls, by their ids
}

func (w *writer) begin() {
	if w.count > 0 {
		w.body.WriteByte(',')
	}
	w.count++
}

// message writes a message whose content is a JSON value.
func (w *writer) message(role string, content []byte) {
	w.flush()
	w.begin()
	fmt.Fprintf(&w.body, `{"role":%q,"content":`, role)
	w.body.Write(content)
	w.body.WriteByte('}')
}

// flush writes the model's message, where one is open.
func (w *writer) flush() {
	a := w.open
	if a == nil {
		return
	}
	w.open = nil
	if a.content == nil && len(a.calls) == 0 && len(a.members.names) == 0 {
		return // a proof without its call
	}
	content := a.content
	if content == nil {
		content = []byte("null")
		if len(a.calls) == 0 {
			content = []byte(`""`) // thoughts alone: a message needs words or calls
		}
	}
	w.begin()
	fmt.Fprintf(&w.body, `{"role":"assistant","content":%s%s`, content, a.members.json())
	if a.phase != nil {
		fmt.Fprintf(&w.body, `,"phase":%s`, a.phase)
	}
	if len(a.calls) > 0 {
		fmt.Fprintf(&w.body, `,"tool_calls":[%s]`, bytes.Join(a.calls, []byte{','}))
	}
	w.body.WriteByte('}')
}

// answer is the model's message that words or thoughts belong to. After words another begins, unless the message has
// calls: their outputs must follow the message with the calls.
func (w *writer) answer() *assistant {
	if a := w.open; a != nil && a.content != nil && len(a.calls) == 0 {
		w.flush()
	}
	return w.called()
}

// called is the model's message that a call belongs to.
func (w *writer) called() *assistant {
	if w.open == nil {
		w.open = &assistant{}
	}
	return w.open
}

// item writes one item. kept says that it is one of a kept response; at names it in errors.
func (w *writer) item(item Item, kept bool, at string) error {
	raw := item.Raw
	head, ok := headOf(raw)
	if !ok {
		return wrong(at, "%s must be an item with a type.", at)
	}
	if head.kind == "" && head.role != "" {
		head.kind = "message"
	}
	switch head.kind {
	case "message":
		return w.spoken(raw, head.role, at)
	case "function_call", "custom_tool_call":
		return w.call(raw, head.kind == "custom_tool_call", at)
	case "function_call_output", "custom_tool_call_output":
		return w.result(raw, at)
	case "reasoning":
		return w.thought(&item, kept, at)
	case "":
		return wrong(at+".type", "%s.type is missing, and a role as well; an item has one of them.", at)
	}
	if kept {
		return unsupported(at,
			"%s is of the type %q, the call of a tool that an earlier provider ran. The provider that answers now takes "+
				"chat completions, which have no word for it: in place of previous_response_id send the conversation as "+
				"input, without that item.",
			at, clip(head.kind))
	}
	return unsupported(
		at,
		"%s is of the type %q, which cannot be said in a chat completion: leave the item out. Messages, "+
			"function calls, custom tool calls, their outputs and reasoning are served.",
		at,
		clip(head.kind),
	)
}

// spoken writes a message.
func (w *writer) spoken(raw json.RawMessage, role, at string) error {
	var content json.RawMessage
	var phase json.RawMessage
	err := object(raw, at, func(name string, value json.RawMessage) error {
		switch name {
		case "type", "id", "status", "role":
		case "content":
			content = value
		case "phase": // of an answer; providers that know it read it, others do not
			phase = value
		default:
			return unsaid(at, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, err := w.content(content, role, at+".content")
	if err != nil {
		return err
	}
	switch role {
	case "user":
		w.message(role, text)
	case "system", "developer": // the same to a model; templates know the first alone
		w.message("system", text)
	case "assistant":
		a := w.answer()
		a.content = together(a.content, text)
		if phase != nil {
			a.phase = phase
		}
	default:
		return wrong(
			at+".role",
			"%s.role is %q; it must be \"user\", \"system\", \"developer\" or \"assistant\".",
			at,
			clip(role),
		)
	}
	return nil
}

// content is the content of a message: one text as a string, other parts as a list.
func (w *writer) content(v json.RawMessage, role, at string) ([]byte, error) {
	if v == nil {
		return nil, wrong(at, "%s is missing; it must be a string or a list of parts.", at)
	}
	if v[0] == '"' {
		return v, nil
	}
	parts, ok := elements(v)
	if !ok {
		return nil, wrong(at, "%s must be a string or a list of parts.", at)
	}
	var all []byte
	for i, part := range parts {
		each, text, err := w.part(part, role, fmt.Sprintf("%s[%d]", at, i))
		switch {
		case err != nil:
			return nil, err
		case text != nil && len(parts) == 1:
			return text, nil
		case text != nil:
			each = fmt.Appendf(nil, `{"type":"text","text":%s}`, text)
		}
		all = append(append(all, ','), each...)
	}
	if len(parts) == 0 {
		return []byte(`""`), nil
	}
	all[0] = '['
	return append(all, ']'), nil
}

// together is the content of two messages as one: texts as one text, anything else as a list of parts.
func together(a, b []byte) []byte {
	const empty = `""`
	switch {
	case a == nil || string(a) == empty:
		return b
	case string(b) == empty:
		return a
	case a[0] == '"' && b[0] == '"':
		return jsonscan.Quoted(jsonscan.Unquoted(a) + jsonscan.Unquoted(b))
	}
	return joined(asParts(a), asParts(b))
}

// asParts is content as a list of parts.
func asParts(content []byte) []byte {
	if content[0] == '[' {
		return content
	}
	return fmt.Appendf(nil, `[{"type":"text","text":%s}]`, content)
}

// part writes a part of a message, or returns its text, as a JSON string, if it is one.
func (w *writer) part(raw json.RawMessage, role, at string) (part, text []byte, err error) {
	fields := map[string]json.RawMessage{}
	err = object(raw, at, func(name string, value json.RawMessage) error {
		fields[name] = value
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	allow := func(names string) error {
		allowed := set(names)
		for name := range fields {
			if name != "type" && !allowed[name] {
				return unsaid(at, name)
			}
		}
		return nil
	}
	need := func(name string) error {
		if v := fields[name]; v == nil || v[0] != '"' {
			return wrong(at+"."+name, "%s.%s is missing or no string.", at, name)
		}
		return nil
	}
	switch kind := jsonscan.Unquoted(fields["type"]); kind {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		err = firstOf(need("text"), allow("text annotations logprobs"))
		text = fields["text"]
		return nil, text, err
	case "refusal":
		err = firstOf(need("refusal"), allow("refusal"))
		return fmt.Appendf(nil, `{"type":"refusal","refusal":%s}`, fields["refusal"]), nil, err
	case "input_image":
		if fields["file_id"] != nil {
			return nil, nil, unsupported(
				at+".file_id",
				"%s.file_id names a file elsewhere, and this server keeps no files: send the picture as a "+
					"data: address in image_url.",
				at,
			)
		}
		part = fmt.Appendf(nil, `{"type":"image_url","image_url":{"url":%s`, fields["image_url"])
		if d := fields["detail"]; d != nil {
			part = fmt.Appendf(part, `,"detail":%s`, d)
		}
		return append(part, "}}"...), nil, firstOf(need("image_url"), allow("image_url detail"))
	case "input_file":
		for _, name := range []string{"file_id", "file_url"} {
			if fields[name] != nil {
				return nil, nil, unsupported(
					at+"."+name,
					"%s.%s names a file elsewhere, and this server fetches and keeps no files: send its "+
						"bytes as file_data.",
					at,
					name,
				)
			}
		}
		part = fmt.Appendf(nil, `{"type":"file","file":{"file_data":%s`, fields["file_data"])
		if name := fields["filename"]; name != nil {
			part = fmt.Appendf(part, `,"filename":%s`, name)
		}
		return append(part, "}}"...), nil, firstOf(need("file_data"), allow("file_data filename"))
	case "input_audio":
		return fmt.Appendf(
				nil,
				`{"type":"input_audio","input_audio":%s}`,
				fields["input_audio"],
			), nil, allow(
				"input_audio",
			)
	default:
		return nil, nil, unsupported(
			at+".type",
			"%s.type is %q, which this server does not know; it serves input_text, input_image, input_file, "+
				"input_audio, output_text and refusal.",
			at,
			clip(kind),
		)
	}
}

func firstOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// call writes a call of a tool.
func (w *writer) call(raw json.RawMessage, custom bool, at string) error {
	fields, err := texts(raw, at, "call_id name namespace arguments input", "id status")
	if err != nil {
		return err
	}
	for _, name := range []string{"call_id", "name"} {
		if fields[name] == "" {
			return wrong(at+"."+name, "%s.%s is missing; a call has a name and a call_id.", at, name)
		}
	}
	arguments := fields["arguments"]
	if custom {
		arguments = string(jsonscan.Quoted(fields["input"]))
		arguments = `{"input":` + arguments + `}`
	}
	a := w.called()
	call := fmt.Appendf(
		nil,
		`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}`,
		jsonscan.Quoted(
			fields["call_id"],
		),
		jsonscan.Quoted(within(fields["namespace"], fields["name"])),
		jsonscan.Quoted(arguments),
	)
	if proof := a.proofs[fields["call_id"]]; proof != nil {
		call = fmt.Appendf(call, `,%q:%s`, proofField, proof)
	}
	a.calls = append(a.calls, append(call, '}'))
	return nil
}

// texts are those members of an item that are strings. Members that are neither named nor ignored are refused.
func texts(raw json.RawMessage, at, named, ignored string) (map[string]string, error) {
	wanted, skip := set(named), set(ignored)
	all := map[string]string{}
	return all, object(raw, at, func(name string, value json.RawMessage) error {
		switch {
		case name == "type" || skip[name]:
		case !wanted[name]:
			return unsaid(at, name)
		case value[0] != '"':
			return wrong(at+"."+name, "%s.%s must be a string.", at, name)
		default:
			all[name] = jsonscan.Unquoted(value)
		}
		return nil
	})
}

// result writes what a tool answered.
func (w *writer) result(raw json.RawMessage, at string) error {
	var id string
	var output json.RawMessage
	err := object(raw, at, func(name string, value json.RawMessage) error {
		switch name {
		case "type", "id", "status", "name", "namespace":
		case "call_id":
			id = jsonscan.Unquoted(value)
		case "output":
			output = value
		default:
			return unsaid(at, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if id == "" {
		return wrong(at+".call_id", "%s.call_id is missing; it names the call that this answers.", at)
	}
	content, err := w.content(output, "tool", at+".output")
	if err != nil {
		return err
	}
	w.flush()
	w.begin()
	fmt.Fprintf(&w.body, `{"role":"tool","tool_call_id":%s,"content":%s}`, jsonscan.Quoted(id), content)
	return nil
}

// sealPrefix begins what this server puts into encrypted_content: the members of a message that held the thoughts, so
// that they can be sent back to the provider as they came. Nothing in it is secret; the same client reads the thoughts.
const sealPrefix = "oneiros1."

// sealed is encrypted_content for the members of a message that held thoughts, of which there is one at least.
func sealed(m *members) string {
	inner := m.json()
	inner[0] = '{'
	return sealPrefix + base64.RawURLEncoding.EncodeToString(append(inner, '}'))
}

// unsealed are the members of a message that encrypted_content holds; false when it was not made by this server.
func unsealed(encrypted string) ([]byte, bool) {
	text, ours := strings.CutPrefix(encrypted, sealPrefix)
	inner, err := base64.RawURLEncoding.DecodeString(text)
	return inner, ours && err == nil && thoughtMembers(inner)
}

// thought writes a reasoning item: its thoughts become members of the model's message that follows it. Of a kept item
// that another provider sealed, what can be read is written: the client cannot leave it out.
func (w *writer) thought(item *Item, kept bool, at string) error {
	var r struct {
		Content   []textPart `json:"content"`
		Summary   []textPart `json:"summary"`
		Encrypted string     `json:"encrypted_content"`
	}
	if json.Unmarshal(item.Raw, &r) != nil {
		return wrong(at, "%s must be a reasoning item, with lists as summary and content.", at)
	}
	sealed, ours := unsealed(r.Encrypted)
	ours = ours && !item.sealedFor(w.provider)
	if r.Encrypted != "" && !ours && !kept {
		return fault("invalid_encrypted_content", at+".encrypted_content",
			"%s.encrypted_content was not made by this server, which cannot read it: leave the item out.", at)
	}
	if len(r.Content) == 0 {
		r.Content = r.Summary
	}
	if !ours && len(r.Content) == 0 {
		return nil // an item without thoughts says nothing
	}
	if ours {
		return w.unseal(sealed)
	}
	a := w.answer()
	var all []string
	for _, p := range r.Content {
		all = append(all, p.Text)
	}
	a.members.add("reasoning_content", jsonscan.Quoted(strings.Join(all, "\n\n")))
	return nil
}

// unseal gives the members that this server sealed to the model's message, and to the calls that follow what they
// prove. A proof alone belongs to the message of the words before the call.
func (w *writer) unseal(sealed []byte) error {
	var m members
	proofs := map[string][]byte{}
	err := jsonscan.Members(sealed, func(key, value []byte) error {
		name := jsonscan.Unquoted(key)
		if name != proofField {
			m.add(name, value)
			return nil
		}
		return jsonscan.Members(value, func(id, proof []byte) error {
			proofs[jsonscan.Unquoted(id)] = proof
			return nil
		})
	})
	if err != nil {
		return err
	}
	a := w.called()
	if len(m.names) > 0 {
		a = w.answer()
	}
	for _, name := range m.names {
		a.members.add(name, m.values[name])
	}
	if a.proofs == nil {
		a.proofs = map[string][]byte{}
	}
	maps.Copy(a.proofs, proofs)
	return nil
}

type textPart struct {
	Text string `json:"text"`
}

// thoughtFields are the members of messages in which providers send thoughts, and want them back.
var thoughtFields = set(
	"reasoning_content reasoning reasoning_details reasoning_text thinking thinking_blocks thought_signature",
)

// proofField is the member of a call that a provider wants back with it, as Google does that proves thoughts there.
// Sealed under this name are those of calls, by the calls' ids.
const proofField = "extra_content"

// thoughtMembers reports whether a text is an object of such members, and of proofs, alone: a client must not write
// others under the cover of encrypted_content.
func thoughtMembers(text []byte) bool {
	count := 0
	err := jsonscan.Members(text, func(key, value []byte) error {
		count++
		name := jsonscan.Unquoted(key)
		if !thoughtFields[name] && (name != proofField || value[0] != '{') || string(value) == "null" {
			return wrong("", "")
		}
		return nil
	})
	return err == nil && count > 0
}

package responses

import (
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Listed is an item of an input as it is listed: with what clients call required and a request may leave out.
func Listed(raw json.RawMessage) json.RawMessage {
	m := membersOf(raw)
	switch jsonscan.Unquoted(m.values["type"]) {
	case "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output":
		m.lack("status", `"completed"`)
	}
	for _, name := range []string{"content", "output"} {
		if v := m.values[name]; len(v) > 0 && v[0] == '[' {
			m.values[name] = listedParts(v)
		}
	}
	return m.object()
}

// listedParts are the parts of a list of content, likewise.
func listedParts(list []byte) []byte {
	parts, _ := elements(list)
	all := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			all = append(all, ',')
		}
		if head, ok := headOf(part); ok {
			m := membersOf(part)
			switch head.kind {
			case "output_text":
				m.lack("annotations", "[]")
			case "input_image":
				m.lack("detail", `"auto"`)
			}
			part = m.object()
		}
		all = append(all, part...)
	}
	return append(all, ']')
}

// membersOf are those of an object.
func membersOf(raw json.RawMessage) (m members) {
	_ = jsonscan.Members(raw, func(key, value []byte) error { // it was read before
		m.add(jsonscan.Unquoted(key), value)
		return nil
	})
	return m
}

// References are the places in the input that refer to items of kept responses.
func (q *Request) References() (places []int) {
	for i, item := range q.Input {
		if item.Ref != "" {
			places = append(places, i)
		}
	}
	return places
}

// Kept are the items of the input as they are kept with the response of an id: each has a type and an id, and the
// content of a message is a list of parts.
func (q *Request) Kept(id string) []Item {
	kept := make([]Item, len(q.Input))
	for i, item := range q.Input {
		var head struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(item.Raw, &head) // it was read before
		if item.ID == "" {
			item.ID = fmt.Sprintf("msg_%s_i%d", suffix(id), i)
		}
		raw := fmt.Appendf(nil, `{"id":%s`, jsonscan.Quoted(item.ID))
		if head.Type == "" {
			raw = append(raw, `,"type":"message"`...)
		}
		_ = jsonscan.Members(item.Raw, func(key, value []byte) error {
			switch name := jsonscan.Unquoted(key); {
			case name == "id":
				return nil
			case name == "content" && value[0] == '"':
				kind := "input_text"
				if head.Role == "assistant" {
					kind = "output_text"
				}
				value = fmt.Appendf(nil, `[{"type":%q,"text":%s}]`, kind, value)
			}
			raw = fmt.Appendf(raw, `,%s:%s`, key, value)
			return nil
		})
		item.Raw = append(raw, '}')
		kept[i] = item
	}
	return kept
}

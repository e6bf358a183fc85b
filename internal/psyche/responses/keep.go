package responses

import (
	"encoding/json"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

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

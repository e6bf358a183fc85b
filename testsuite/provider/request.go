package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// requestLimit bounds a request's body.
const requestLimit = 16 << 20

// sampling are the fields that a strict model refuses; limits are recorded beside them.
var (
	sampling = []string{
		"temperature", "top_p", "min_p", "top_k", "top_a", "typical_p", "seed", "presence_penalty",
		"frequency_penalty", "repetition_penalty",
		"repeat_penalty", "logit_bias", "logprobs", "top_logprobs",
	}
	limits = []string{"max_tokens", "max_completion_tokens", "stop"}
)

// question is one chat request.
type question struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens   *int     `json:"max_tokens"`
	MaxThinking *int     `json:"max_completion_tokens"`
	Temperature *float64 `json:"temperature"`
	Seed        *int64   `json:"seed"`
	MinP        *float64 `json:"min_p"`
	LogProbs    bool     `json:"logprobs"`
	Stop        words    `json:"stop"`
	Format      struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`

	fields    map[string]json.RawMessage
	messages  bool // it came as Messages
	responses bool // it came as a request for a response
}

// message has a content of text, or of parts.
type message struct {
	Role    string `json:"role"`
	Content words  `json:"content"`
}

// words is a string, a list of strings, or a list of parts with a text.
type words []string

// UnmarshalJSON reads any of the three.
func (w *words) UnmarshalJSON(raw []byte) error {
	*w = nil
	var one *string
	if json.Unmarshal(raw, &one) == nil {
		if one != nil {
			*w = words{*one}
		}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, item := range list {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(item, &part.Text) != nil && json.Unmarshal(item, &part) != nil {
			return fmt.Errorf("content part %s is neither text nor a part", item)
		}
		*w = append(*w, part.Text)
	}
	return nil
}

func (m message) text() string { return strings.Join(m.Content, "\n") }

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, requestLimit))
}

func readQuestion(raw []byte) (question, error) {
	var q question
	if err := json.Unmarshal(raw, &q); err != nil {
		return q, err
	}
	return q, json.Unmarshal(raw, &q.fields)
}

// CountPrompt is this provider's tokenizer: a token is four bytes of the messages' contents, the last one begun counts.
func CountPrompt(messages []inference.Message) int64 {
	n := 0
	for _, m := range messages {
		n += len(m.Content)
	}
	return int64(n+3) / 4
}

func (q question) promptTokens() int64 {
	n := 0
	for _, m := range q.Messages {
		n += len(m.text())
	}
	return int64(n+3) / 4
}

// most is the limit of tokens; 0 for none.
func (q question) most() int {
	for _, limit := range []*int{q.MaxThinking, q.MaxTokens} {
		if limit != nil {
			return *limit
		}
	}
	return 0
}

// sampled is the first sampling field that was sent; empty for none.
func (q question) sampled() string {
	for _, name := range sampling {
		if _, ok := q.fields[name]; ok {
			return name
		}
	}
	return ""
}

func (q question) sentSampling() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, name := range append(append([]string(nil), sampling...), limits...) {
		if raw, ok := q.fields[name]; ok {
			out[name] = raw
		}
	}
	return out
}

func (q question) tools() bool {
	for _, name := range []string{"tools", "functions", "tool_choice", "function_call"} {
		if raw, ok := q.fields[name]; ok && string(raw) != "null" && string(raw) != "[]" {
			return true
		}
	}
	return false
}

// prompt is the hash of the messages alone.
func (q question) prompt() uint64 {
	h := fnv.New64a()
	for _, m := range q.Messages {
		_, _ = fmt.Fprintf(h, "%s\x00%s\x00", m.Role, m.text()) // a hash never fails
	}
	return h.Sum64()
}

// shown is the hash of the bullets of the messages, which is all that a model of one answer depends on.
func (q question) shown() uint64 {
	h := fnv.New64a()
	for _, m := range q.Messages {
		for _, found := range bullet.FindAllStringSubmatch(m.text(), -1) {
			_, _ = fmt.Fprintf(h, "%s\x00", found[2]) // a hash never fails
		}
	}
	return h.Sum64()
}

// schema is the requested one, in the format or, by inference.SchemaInstruction, in the prompt; nil for none.
func (q question) schema() json.RawMessage {
	if len(q.Format.Schema.Schema) > 0 {
		return q.Format.Schema.Schema
	}
	for i := len(q.Messages) - 1; i >= 0; i-- {
		text := q.Messages[i].text()
		at := strings.LastIndex(text, inference.SchemaInstruction)
		if at < 0 {
			continue
		}
		var schema json.RawMessage
		if json.NewDecoder(bytes.NewReader([]byte(text[at+len(inference.SchemaInstruction):]))).Decode(&schema) == nil {
			return schema
		}
	}
	return nil
}

func hash(s string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // a hash never fails
	return h.Sum64()
}

// mix is the finaliser of splitmix64 over both numbers.
func mix(a, b uint64) uint64 {
	z := a ^ (b+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

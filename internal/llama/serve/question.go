package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/llama"
)

// Bounds of a request's fields.
const (
	usualTokens = 512
	mostTop     = 20 // likeliest tokens beside each, as on OpenAI's wire
	mostStops   = 16
)

// aliasMark separates the name of the model from that of a vector in the name of a steered model.
const aliasMark = "+"

// question is a request of the wire.
type question struct {
	Model       string        `json:"model"`
	Messages    []message     `json:"messages"`
	Temperature *float64      `json:"temperature"`
	TopP        *float64      `json:"top_p"`
	MinP        *float64      `json:"min_p"`
	Seed        *int64        `json:"seed"`
	Stop        texts         `json:"stop"`
	MaxTokens   *int          `json:"max_tokens"`
	MaxThinking *int          `json:"max_completion_tokens"`
	Stream      bool          `json:"stream"`
	Options     streamOptions `json:"stream_options"`
	LogProbs    bool          `json:"logprobs"`
	Top         int           `json:"top_logprobs"`
	Format      *format       `json:"response_format"`
	Steering    *request      `json:"steering"` // our own field

	N         *int              `json:"n"`
	Tools     []json.RawMessage `json:"tools"`
	Functions []json.RawMessage `json:"functions"`
	Bias      map[string]any    `json:"logit_bias"`
	Presence  float64           `json:"presence_penalty"`
	Frequency float64           `json:"frequency_penalty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// request is our extension: which vector, where, and how strongly. Missing fields are as the server was started.
type request struct {
	Vector string   `json:"vector"`
	Layers []int    `json:"layers"` // one layer, or the first and the last
	Alpha  *float64 `json:"alpha"`
}

type format struct {
	Type   string `json:"type"`
	Schema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a text, or a list of parts of which only texts can be read.
type content string

// UnmarshalJSON reads both forms.
func (c *content) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return errors.New("content must be a text or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content has a part of type %q; this model reads only text", p.Type)
		}
		texts = append(texts, p.Text)
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

// texts is one text or a list of them.
type texts []string

// UnmarshalJSON reads both forms.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var one string
	if len(raw) > 0 && raw[0] == '"' {
		err := json.Unmarshal(raw, &one)
		*t = texts{one}
		return err
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// read reads a request.
func read(w http.ResponseWriter, r *http.Request) (question, *fault) {
	var q question
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return q,
			&fault{
				http.StatusUnsupportedMediaType, "invalid_request_error", "", "unsupported_media_type",
				"the request must be sent as application/json",
			}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return q,
			&fault{
				http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large",
				fmt.Sprintf("the request has more than %d bytes", large.Limit),
			}
	}
	if err == nil {
		err = json.Unmarshal(raw, &q)
	}
	if err != nil {
		f := wrong("", "the request cannot be read: "+strings.TrimPrefix(err.Error(), "json: "))
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			f.param = kind.Field
		}
		return q, f
	}
	return q, nil
}

// ask translates a request for the engine, or says which field is wrong.
func (s *Server) ask(q question) (llama.AnswerRequest, *fault) {
	var a llama.AnswerRequest
	if f := q.refused(); f != nil {
		return a, f
	}
	for i, m := range q.Messages {
		role := m.Role
		if role == "developer" {
			role = "system"
		}
		if role != "system" && role != "user" && role != "assistant" {
			return a, wrong(fmt.Sprintf("messages[%d].role", i),
				fmt.Sprintf("role %q is none of system, developer, user, assistant", m.Role))
		}
		a.Messages = append(a.Messages, inference.Message{Role: role, Content: string(m.Content)})
	}
	a.Sampling = inference.Sampling{Temperature: q.Temperature, TopP: q.TopP, MinP: q.MinP, Seed: q.Seed}
	a.Stop, a.MaxTokens = q.Stop, usualTokens
	for _, most := range []*int{q.MaxTokens, q.MaxThinking} {
		if most != nil {
			a.MaxTokens = *most
		}
	}
	if q.LogProbs {
		a.Top = q.Top
	}
	if q.Format != nil {
		schema, f := q.Format.schema()
		if f != nil {
			return a, f
		}
		a.Schema = schema
	}
	var f *fault
	a.Steering, f = s.steering(q)
	return a, f
}

// refused names an unsupported field, rather than ignoring it silently.
func (q question) refused() *fault {
	for _, c := range []struct {
		wrong   bool
		param   string
		message string
	}{
		{len(q.Messages) == 0, "messages", "there are no messages; at least one is needed"},
		{q.N != nil && *q.N != 1, "n", "only one answer is made at a time; ask again with another seed"},
		{len(q.Tools)+len(q.Functions) > 0, "tools", "this model has no tools"},
		{len(q.Bias) > 0, "logit_bias", "logit_bias is not done here"},
		{q.Presence != 0, "presence_penalty", "penalties are not done here; 0 is accepted"},
		{q.Frequency != 0, "frequency_penalty", "penalties are not done here; 0 is accepted"},
		{
			q.Top < 0 || q.Top > mostTop, "top_logprobs",
			fmt.Sprintf("top_logprobs is %d; it must lie between 0 and %d", q.Top, mostTop),
		},
		{q.Top > 0 && !q.LogProbs, "top_logprobs", "top_logprobs needs logprobs: true"},
		{
			len(q.Stop) > mostStops, "stop",
			fmt.Sprintf("there are %d stop words; at most %d are taken", len(q.Stop), mostStops),
		},
	} {
		if c.wrong {
			return wrong(c.param, c.message)
		}
	}
	return nil
}

func (f format) schema() (*inference.Schema, *fault) {
	switch {
	case f.Type == "text":
		return nil, nil
	case f.Type == "json_schema" && f.Schema != nil && len(f.Schema.Schema) > 0:
		return &inference.Schema{Name: f.Schema.Name, JSON: f.Schema.Schema}, nil
	}
	return nil, wrong("response_format",
		fmt.Sprintf("response_format %q must be text, or json_schema with a schema that the answer is held to", f.Type))
}

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// messagesRequest is what a dream asks on the wire of Anthropic's Messages. Any other field is refused, as there.
type messagesRequest struct {
	Model       string          `json:"model"`
	MaxTokens   int             `json:"max_tokens"`
	System      words           `json:"system"`
	Messages    []message       `json:"messages"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	Stop        words           `json:"stop_sequences"`
	Stream      bool            `json:"stream"`
	Thinking    json.RawMessage `json:"thinking"`
	Output      struct {
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// message serves one generation as Messages.
func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "request_too_large", err.Error())
		return
	}
	var m messagesRequest
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	fault := ""
	switch err := d.Decode(&m); {
	case s.options.Key != "" && r.Header.Get("X-Api-Key") != s.options.Key:
		refuse(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key "+r.Header.Get("X-Api-Key"))
		return
	case err != nil:
		fault = err.Error()
	case r.Header.Get("Anthropic-Version") == "":
		fault = "anthropic-version: header is required"
	case m.MaxTokens < 1:
		fault = "max_tokens: must be at least 1"
	case m.Temperature != nil && (*m.Temperature < 0 || *m.Temperature > 1):
		fault = "temperature: range: 0..1"
	case len(m.Messages) == 0 || m.Messages[0].Role != "user":
		fault = "messages: first message must use the user role"
	}
	if fault != "" {
		refuse(w, http.StatusBadRequest, "invalid_request_error", fault)
		return
	}
	s.serve(w, r, m.question())
}

// question is the same request as it is answered here.
func (m *messagesRequest) question() question {
	q := question{
		Model:       m.Model,
		Stream:      m.Stream,
		MaxThinking: &m.MaxTokens,
		Temperature: m.Temperature,
		Stop:        m.Stop,
		messages:    true,
		fields:      map[string]json.RawMessage{},
	}
	if len(m.System) > 0 {
		q.Messages = append(q.Messages, message{"system", m.System})
	}
	q.Messages = append(q.Messages, m.Messages...)
	q.Format.Type, q.Format.Schema.Schema = m.Output.Format.Type, m.Output.Format.Schema
	for name, v := range map[string]*float64{"temperature": m.Temperature, "top_p": m.TopP} {
		if v != nil {
			q.fields[name], _ = json.Marshal(*v) // a number can be written
		}
	}
	return q
}

// stopReasons are the reasons of chat completions, by the names of Messages.
var stopReasons = map[string]string{"stop": "end_turn", "length": "max_tokens"}

// counts is the usage that an answer of Messages reports under its fault.
func (a answer) counts(completion int64) map[string]any {
	u := a.reported(completion)
	prompt, _ := u["prompt_tokens"].(int64)
	read, written := min(a.read, prompt), min(a.written, prompt)
	return map[string]any{
		"input_tokens": prompt - read - written, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
		"cache_creation": map[string]any{"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  u["completion_tokens"],
	}
}

// messageWire writes the events of Messages.
type messageWire struct {
	*wire
	open string // the type of the block under way
	at   int    // its index
}

func (o *messageWire) event(name string, data map[string]any) bool {
	data["type"] = name
	body, err := json.Marshal(data)
	return err == nil && o.raw("event: "+name+"\ndata: "+string(body)+"\n\n")
}

func (o *messageWire) begin() bool {
	m := map[string]any{
		"id": o.a.id, "type": "message", "role": "assistant", "model": o.a.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
	}
	if o.a.fault != NoUsage {
		m["usage"] = o.a.counts(1)
	}
	return o.event("message_start", map[string]any{"message": m}) && o.event("ping", map[string]any{})
}

func (o *messageWire) token(a answer, i int) bool {
	kind, piece := "text", ""
	if i < len(a.thought) {
		kind, piece = "thinking", a.thought[i]
	} else {
		piece = a.pieces[i-len(a.thought)]
	}
	if o.open != kind {
		if o.open != "" {
			if !o.event("content_block_stop", map[string]any{"index": o.at}) {
				return false
			}
			o.at++
		}
		o.open = kind
		if !o.event("content_block_start", map[string]any{
			"index": o.at, "content_block": map[string]any{"type": kind, kind: ""},
		}) {
			return false
		}
	}
	return o.event("content_block_delta", map[string]any{
		"index": o.at, "delta": map[string]any{"type": kind + "_delta", kind: piece},
	})
}

func (o *messageWire) bad() bool {
	return o.raw("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\n\n")
}

func (o *messageWire) finish(total int64) bool {
	e := map[string]any{"delta": map[string]any{"stop_reason": stopReasons[o.a.finish], "stop_sequence": nil}}
	if o.a.fault != NoUsage && o.a.fault != Lingering {
		e["usage"] = map[string]any{"output_tokens": o.a.reported(total)["completion_tokens"]}
	}
	return (o.open == "" || o.event("content_block_stop", map[string]any{"index": o.at})) && o.event("message_delta", e)
}

func (o *messageWire) end(int64) bool { return o.event("message_stop", map[string]any{}) }

// wholeMessage serves an answer of Messages in one piece.
func (s *Server) wholeMessage(w http.ResponseWriter, ctx context.Context, a answer) bool {
	content := []any{}
	if len(a.thought) > 0 {
		content = append(content, map[string]any{
			"type": "thinking", "thinking": strings.Join(a.thought, ""), "signature": "s",
		})
	}
	content = append(content, map[string]any{"type": "text", "text": strings.Join(a.pieces, "")})
	out := map[string]any{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stopReasons[a.finish], "stop_sequence": nil,
	}
	if a.fault != NoUsage {
		out["usage"] = a.counts(int64(len(a.thought) + len(a.pieces)))
	}
	return s.wholeBody(w, ctx, a, out)
}

// MessagesCatalog describes the models as a deployment would, on the wire of Messages.
func (s *Server) MessagesCatalog(provider string) inference.Table {
	t := s.Catalog(provider)
	for name, spec := range t {
		spec.MaxTemperature = min(spec.MaxTemperature, 1)
		spec.MinP, spec.Seed, spec.LogProbs = false, false, false
		if spec.JSON == inference.JSONObject {
			spec.JSON = inference.JSONPrompt
		}
		t[name] = spec
	}
	return t
}

package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// responseRequest is what a dream or a talk asks on the wire of OpenAI's Responses. Other fields are refused, as there.
type responseRequest struct {
	Model       string   `json:"model"`
	Input       []item   `json:"input"`
	MaxTokens   *int     `json:"max_output_tokens"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	TopLogProbs *int     `json:"top_logprobs"`
	Stream      bool     `json:"stream"`
	Store       *bool    `json:"store"`
	Include     words    `json:"include"`
	User        string   `json:"user"`
	Text        struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict bool            `json:"strict"`
		} `json:"format"`
		Verbosity string `json:"verbosity"`
	} `json:"text"`
	Reasoning json.RawMessage   `json:"reasoning"`
	Tools     []json.RawMessage `json:"tools"`
}

// item is a message of the input.
type item struct {
	Type string `json:"type"`
	message
}

// respond serves one generation as a response.
func (s *Server) respond(w http.ResponseWriter, r *http.Request) {
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", err.Error())
		return
	}
	var m responseRequest
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	fault := ""
	switch err := d.Decode(&m); {
	case err != nil:
		fault = err.Error()
	case m.Store == nil || *m.Store:
		fault = "store: a deployment of Oneiros lets nothing be kept"
	case m.MaxTokens != nil && *m.MaxTokens < 16:
		fault = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16."
	case len(m.Input) == 0:
		fault = "One of \"input\" or \"previous_response_id\" must be provided."
	}
	for i, each := range m.Input {
		if each.Type != "" && each.Type != "message" {
			fault = fmt.Sprintf("Invalid value: 'input[%d].type'", i)
		}
	}
	if fault != "" {
		refuse(w, http.StatusBadRequest, "invalid_request_error", fault)
		return
	}
	s.serve(w, r, m.question())
}

// question is the same request as it is answered here.
func (m *responseRequest) question() question {
	q := question{
		Model:       m.Model,
		Stream:      m.Stream,
		MaxThinking: m.MaxTokens,
		Temperature: m.Temperature,
		responses:   true,
		fields:      map[string]json.RawMessage{},
	}
	for _, each := range m.Input {
		q.Messages = append(q.Messages, each.message)
	}
	for _, each := range m.Include {
		q.LogProbs = q.LogProbs || each == "message.output_text.logprobs"
	}
	if len(m.Tools) > 0 {
		q.fields["tools"] = m.Tools[0]
	}
	format := m.Text.Format
	q.Format.Type, q.Format.Schema.Name, q.Format.Schema.Schema = format.Type, format.Name, format.Schema
	for name, v := range map[string]*float64{"temperature": m.Temperature, "top_p": m.TopP} {
		if v != nil {
			q.fields[name], _ = json.Marshal(*v) // a number can be written
		}
	}
	return q
}

// responseUsage is the usage that a response reports under its fault.
func (a answer) responseUsage(completion int64) map[string]any {
	u := a.reported(completion)
	return map[string]any{
		"input_tokens": u["prompt_tokens"], "input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens": u["completion_tokens"], "output_tokens_details": u["completion_tokens_details"],
		"total_tokens": u["total_tokens"],
	}
}

// response is a whole response, or its head.
func (a answer) response(status string, output []any, total int64) map[string]any {
	out := map[string]any{
		"id": a.id, "object": "response", "created_at": 0, "status": status, "model": a.model, "output": output,
		"error": nil, "incomplete_details": nil, "usage": nil, "store": false,
	}
	if status == "completed" && a.finish == "length" {
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	if status == "completed" && a.fault != NoUsage {
		out["usage"] = a.responseUsage(total)
	}
	return out
}

// items are the output of a response.
func (a answer) items() []any {
	out := []any{}
	if len(a.thought) > 0 {
		out = append(out, map[string]any{
			"id": "rs_1", "type": "reasoning", "summary": []any{}, "encrypted_content": "sealed",
			"content": []any{map[string]any{"type": "reasoning_text", "text": strings.Join(a.thought, "")}},
		})
	}
	tokens := []any{}
	for i, piece := range a.pieces {
		if a.sure != nil {
			tokens = append(tokens, map[string]any{"token": piece, "logprob": a.sure(i)})
		}
	}
	return append(out, map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{
			"type": "output_text", "text": strings.Join(a.pieces, ""), "annotations": []any{}, "logprobs": tokens,
		}},
	})
}

// responseWire writes the events of a response.
type responseWire struct {
	*wire
	sent int // events
}

func (o *responseWire) event(name string, data map[string]any) bool {
	data["type"], data["sequence_number"] = name, o.sent
	o.sent++
	body, err := json.Marshal(data)
	return err == nil && o.raw("event: "+name+"\ndata: "+string(body)+"\n\n")
}

func (o *responseWire) begin() bool {
	return o.event("response.created", map[string]any{"response": o.a.response("in_progress", []any{}, 0)}) &&
		o.event("response.in_progress", map[string]any{"response": o.a.response("in_progress", []any{}, 0)})
}

func (o *responseWire) token(a answer, i int) bool {
	if i < len(a.thought) {
		return o.event("response.reasoning_text.delta", map[string]any{
			"item_id": "rs_1", "output_index": 0, "content_index": 0, "delta": a.thought[i],
		})
	}
	i -= len(a.thought)
	place, sure := min(len(a.thought), 1), []any{}
	if a.sure != nil {
		sure = append(sure, map[string]any{"token": a.pieces[i], "logprob": a.sure(i)})
	}
	if i == 0 && !o.event("response.output_item.added", map[string]any{
		"output_index": place,
		"item":         map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "content": []any{}},
	}) {
		return false
	}
	return o.event("response.output_text.delta", map[string]any{
		"item_id": "msg_1", "output_index": place, "content_index": 0, "delta": a.pieces[i], "logprobs": sure,
	})
}

func (o *responseWire) bad() bool {
	return o.raw("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":{\n\n")
}

func (o *responseWire) finish(int64) bool {
	for place, each := range o.a.items() {
		if !o.event("response.output_item.done", map[string]any{"output_index": place, "item": each}) {
			return false
		}
	}
	return true
}

// end ends the stream, with the usage: a response has no end without it.
func (o *responseWire) end(total int64) bool {
	r := o.a.response("completed", o.a.items(), total)
	return o.event("response."+fmt.Sprint(r["status"]), map[string]any{"response": r})
}

// wholeResponse serves a response in one piece.
func (s *Server) wholeResponse(w http.ResponseWriter, ctx context.Context, a answer) bool {
	return s.wholeBody(w, ctx, a, a.response("completed", a.items(), int64(len(a.thought)+len(a.pieces))))
}

// ResponsesCatalog describes the models as a deployment would, on the wire of Responses alone.
func (s *Server) ResponsesCatalog(provider string) inference.Table {
	t := s.Catalog(provider)
	for name, spec := range t {
		t[name] = spec.On(inference.ResponsesWire)
	}
	return t
}

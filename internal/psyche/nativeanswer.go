package psyche

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// hear adds a piece of the answer's text.
func (e *answerReader) hear(text string) {
	if e.text.Len() < mostSaid {
		e.text.WriteString(text)
	}
}

// takeMessage reads an event of Anthropic's Messages, or a whole message.
func (e *answerReader) takeMessage(data []byte) {
	var m struct {
		Type    string
		Content []struct {
			Type string
			Text json.RawMessage
		}
		Delta struct {
			Type string
			Text json.RawMessage
			Stop string `json:"stop_reason"`
		}
		Stop string `json:"stop_reason"`
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	switch m.Type {
	case "message":
		for _, block := range m.Content {
			if block.Type == "text" {
				e.hear(jsonscan.Unquoted(block.Text))
			}
		}
		e.finish, e.ended = m.Stop, true
	case "content_block_delta":
		if m.Delta.Type == "text_delta" {
			e.hear(jsonscan.Unquoted(m.Delta.Text))
		}
	case "message_delta":
		e.finish = m.Delta.Stop
	case "message_stop":
		e.ended = true
	case "error": // it tells the client why there is no more
		e.finish, e.ended, e.failed = "", true, true
	}
}

// takeResponse reads an event of OpenAI's Responses, or a whole response.
func (e *answerReader) takeResponse(data []byte) {
	var m struct {
		Type     string
		Object   string
		Delta    json.RawMessage
		Response json.RawMessage
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	switch m.Type {
	case "response.output_text.delta":
		e.hear(jsonscan.Unquoted(m.Delta))
	case "response.completed", "response.incomplete":
		e.finish, e.ended = m.Type, true
	case "response.failed", "error":
		e.finish, e.ended, e.failed = "", true, true
	}
	if m.Object == "response" {
		e.takeWhole(data)
	}
}

func (e *answerReader) takeWhole(data []byte) {
	var r struct {
		Status string
		Error  json.RawMessage
		Output []struct {
			Type    string
			Content []struct {
				Type string
				Text json.RawMessage
			}
		}
	}
	if json.Unmarshal(data, &r) != nil {
		return
	}
	for _, item := range r.Output {
		for _, part := range item.Content {
			if item.Type == "message" && part.Type == "output_text" {
				e.hear(jsonscan.Unquoted(part.Text))
			}
		}
	}
	e.ended = true
	if r.Status == "completed" || r.Status == "incomplete" {
		e.finish = r.Status
	}
	e.failed = e.failed || r.Status == "failed" || r.Status == "cancelled" ||
		len(r.Error) > 0 && string(r.Error) != "null"
}

package serving_test

import (
	"encoding/json"
	"strings"
)

// wire is one of those on which clients talk to agents.
type wire struct {
	path     string
	messages string // the field of the conversation
	end      string // of an answer's stream
}

var wires = []wire{
	{"/v1/chat/completions", "messages", "data: [DONE]\n\n"},
	{"/v1/responses", "input", `"type":"response.completed"`},
	{"/v1/messages", "messages", `"type":"message_stop"`},
}

// body is a request that sends a conversation along, with more fields.
func (w wire) body(agent string, stream bool, messages []message, more map[string]any) string {
	fields := map[string]any{"model": agent, "stream": stream, w.messages: messages}
	for name, value := range more {
		fields[name] = value
	}
	text, _ := json.Marshal(fields)
	return string(text)
}

// ended reports whether an answer is there to its end.
func (w wire) ended(stream bool, answer string) bool {
	if !stream {
		return json.Valid([]byte(answer))
	}
	events := strings.Split(strings.TrimRight(answer, "\n"), "\n\n")
	return strings.Contains(events[len(events)-1]+"\n\n", w.end)
}

// content joins the text of an answer on any wire, whole or streamed.
func content(answer string) string {
	type content struct{ Content string }
	var text strings.Builder
	for line := range strings.Lines(answer) {
		var piece struct {
			Type    string
			Choices []struct{ Delta, Message content }
			Output  []struct{ Content []struct{ Text string } }
			Content []struct{ Text string }
			Delta   json.RawMessage
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &piece) != nil {
			continue
		}
		for _, c := range piece.Choices {
			text.WriteString(c.Delta.Content + c.Message.Content)
		}
		for _, item := range piece.Output {
			for _, part := range item.Content {
				text.WriteString(part.Text)
			}
		}
		for _, block := range piece.Content {
			text.WriteString(block.Text)
		}
		switch piece.Type {
		case "response.output_text.delta":
			var delta string
			_ = json.Unmarshal(piece.Delta, &delta)
			text.WriteString(delta)
		case "content_block_delta":
			var delta struct{ Text string }
			_ = json.Unmarshal(piece.Delta, &delta)
			text.WriteString(delta.Text)
		}
	}
	return text.String()
}

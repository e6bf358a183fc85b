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

package inference

// SchemaAsk is what a model that cannot be held to a schema is asked instead; the schema follows it.
const SchemaAsk = "Answer with exactly one JSON value that fits this JSON Schema, and with nothing else:\n"

// MessagesFor is the conversation as it is really sent to a model of the given mode: where the schema is not enforced by the
// provider it is asked for at the end of the last user message. Whoever counts a prompt counts this.
func (r Request) MessagesFor(mode JSONMode) []Message {
	if r.Schema == nil || mode == JSONSchema {
		return r.Messages
	}
	ask := SchemaAsk + string(r.Schema.JSON)
	messages := append([]Message(nil), r.Messages...)
	if last := len(messages) - 1; last >= 0 && messages[last].Role == "user" {
		messages[last].Content += "\n\n" + ask
		return messages
	}
	return append(messages, Message{Role: "user", Content: ask})
}

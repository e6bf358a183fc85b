package inference

// SchemaInstruction introduces the schema in the prompt of a model that cannot be held to a schema otherwise.
const SchemaInstruction = "Answer with exactly one JSON value that fits this JSON Schema, and with nothing else:\n"

// MessagesFor is the conversation as it is really sent to a model of this mode: where the provider does not enforce
// the schema, it is appended to the last user message. A count of the prompt must use these messages.
func (r Request) MessagesFor(mode JSONMode) []Message {
	if r.Schema == nil || mode == JSONSchema {
		return r.Messages
	}
	ask := SchemaInstruction + string(r.Schema.JSON)
	messages := append([]Message(nil), r.Messages...)
	if last := len(messages) - 1; last >= 0 && messages[last].Role == "user" {
		messages[last].Content += "\n\n" + ask
		return messages
	}
	return append(messages, Message{Role: "user", Content: ask})
}

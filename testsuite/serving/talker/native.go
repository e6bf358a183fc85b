package talker

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// speech is how an answer is said on one wire.
type speech struct {
	read   func(h http.Header, body []byte) (a Request, usage bool)
	whole  func(s *scripted) string
	pieces func(s *scripted) []string
	more   func(s *scripted) string // a further piece of text
	end    func(s *scripted) []string
}

var (
	chats = &speech{
		read:   read,
		whole:  func(s *scripted) string { return s.whole() },
		pieces: func(s *scripted) []string { return s.pieces() },
		more:   func(s *scripted) string { return s.piece(`{"content":" on"}`, "null") },
		end:    func(s *scripted) []string { return s.end() },
	}
	messages = &speech{
		read: readMessages,
		whole: func(s *scripted) string {
			return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[{"type":"text","text":%s}],`+
				`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
				quoted(s.model), quoted(s.text), s.prompt, len(s.words()))
		},
		pieces: func(s *scripted) []string {
			pieces := []string{
				event("message_start",
					`"message":{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[],`+
						`"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, quoted(s.model), s.prompt),
				event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
			}
			for _, word := range s.words() {
				pieces = append(pieces, messageText(word))
			}
			return pieces
		},
		more: func(*scripted) string { return messageText(" on") },
		end: func(s *scripted) []string {
			return []string{
				event("content_block_stop", `"index":0`),
				event("message_delta",
					`"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}`,
					len(s.words())),
				event("message_stop", `"end":true`),
			}
		},
	}
	responses = &speech{
		read: readResponses,
		whole: func(s *scripted) string {
			return s.response("completed")
		},
		pieces: func(s *scripted) []string {
			pieces := []string{
				event("response.created", `"response":%s`, s.response("in_progress")),
				event("response.output_item.added",
					`"output_index":0,"item":{"id":%q,"type":"message","status":"in_progress","role":"assistant","content":[]}`, itemID),
			}
			for _, word := range s.words() {
				pieces = append(pieces, responseText(word))
			}
			return pieces
		},
		more: func(*scripted) string { return responseText(" on") },
		end: func(s *scripted) []string {
			return []string{
				event("response.output_item.done", `"output_index":0,"item":%s`, s.item()),
				event("response.completed", `"response":%s`, s.response("completed")),
			}
		},
	}
)

// The ids of every response and of its item: no client should see them where its server keeps responses.
const (
	responseID = "resp_talkerstalkers1"
	itemID     = "msg_talkerstalkers1"
)

func event(kind, format string, args ...any) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
}

func messageText(word string) string {
	return event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":%s}`, quoted(word))
}

func responseText(word string) string {
	return event("response.output_text.delta", `"item_id":%q,"output_index":0,"content_index":0,"delta":%s`, itemID,
		quoted(word))
}

func (s *scripted) item() string {
	return fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text",`+
		`"text":%s,"annotations":[]}]}`, itemID, quoted(s.text))
}

func (s *scripted) response(status string) string {
	output, usage := "", "null"
	if status == "completed" {
		output, usage = s.item(), fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d}`, s.prompt, len(s.words()))
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","status":%q,"model":%s,"store":false,"previous_response_id":null,`+
		`"output":[%s],"usage":%s}`, responseID, status, quoted(s.model), output, usage)
}

// readMessages reads a request of Anthropic's Messages.
func readMessages(h http.Header, body []byte) (a Request, usage bool) {
	a, _ = read(h, body)
	var q struct{ System json.RawMessage }
	if json.Unmarshal(body, &q) == nil && q.System != nil {
		a.Messages = append([]Message{{Role: "system", Text: textOf(q.System)}}, a.Messages...)
	}
	return a, true
}

// readResponses reads a request of OpenAI's Responses.
func readResponses(h http.Header, body []byte) (a Request, usage bool) {
	a, _ = read(h, body)
	var q struct {
		Input []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &q)
	for _, m := range q.Input {
		a.Messages = append(a.Messages, Message{Role: m.Role, Text: textOf(m.Content)})
	}
	return a, true
}

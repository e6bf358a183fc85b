package talker

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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
			block, stop := fmt.Sprintf(`{"type":"text","text":%s}`, quoted(s.text)), "end_turn"
			if s.tool != "" {
				block, stop = s.toolUse(s.arguments), "tool_use"
			}
			if s.thought != "" {
				block = fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%s},%s`, quoted(s.thought),
					quoted(s.proof), block)
			}
			return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[%s],`+
				`"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
				quoted(s.model), block, stop, s.prompt, s.tokens())
		},
		pieces: func(s *scripted) []string {
			pieces := []string{
				event("message_start",
					`"message":{"id":"msg_1","type":"message","role":"assistant","model":%s,"content":[],`+
						`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":1}}`,
					quoted(s.model), s.prompt),
			}
			if s.thought != "" {
				pieces = append(pieces, s.thinkingBlock()...)
			}
			if s.tool != "" {
				first, second := s.halves()
				return append(pieces,
					event("content_block_start", `"index":%d,"content_block":%s`, s.place(), s.toolUse("{}")),
					s.messageArguments(first), s.messageArguments(second))
			}
			pieces = append(pieces,
				event("content_block_start", `"index":%d,"content_block":{"type":"text","text":""}`, s.place()))
			for _, word := range s.words() {
				pieces = append(pieces, s.messageText(word))
			}
			return pieces
		},
		more: func(s *scripted) string { return s.messageText(" on") },
		end: func(s *scripted) []string {
			stop := "end_turn"
			if s.tool != "" {
				stop = "tool_use"
			}
			return []string{
				event("content_block_stop", `"index":%d`, s.place()),
				event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`,
					stop, s.tokens()),
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
			pieces := []string{s.next("response.created", `"response":%s`, s.response("in_progress"))}
			if s.thought != "" {
				pieces = append(pieces, s.reasoningItem()...)
			}
			if s.tool != "" {
				first, second := s.halves()
				return append(pieces,
					s.next("response.output_item.added", `"output_index":%d,"item":%s`, s.place(),
						s.functionCall("in_progress", "")),
					s.responseArguments(first), s.responseArguments(second))
			}
			pieces = append(pieces,
				s.next("response.output_item.added",
					`"output_index":%d,"item":{"id":%q,"type":"message","status":"in_progress","role":"assistant","content":[]}`,
					s.place(), itemID),
				s.next("response.content_part.added",
					`"item_id":%q,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`,
					itemID, s.place()))
			for _, word := range s.words() {
				pieces = append(pieces, s.responseText(word))
			}
			return pieces
		},
		more: func(s *scripted) string { return s.responseText(" on") },
		end: func(s *scripted) []string {
			var done string
			if s.tool != "" {
				done = s.next("response.function_call_arguments.done", `"item_id":%q,"output_index":%d,"arguments":%s`,
					itemID, s.place(), quoted(s.arguments))
			} else {
				done = s.next("response.output_text.done",
					`"item_id":%q,"output_index":%d,"content_index":0,"text":%s`, itemID, s.place(), quoted(s.text))
			}
			return []string{
				done,
				s.next("response.output_item.done", `"output_index":%d,"item":%s`, s.place(), s.item()),
				s.next("response.completed", `"response":%s`, s.response("completed")),
			}
		},
	}
)

// The ids of every response and of its item: no client should see them where its server keeps responses.
const (
	responseID = "resp_talkerstalkers1"
	itemID     = "msg_talkerstalkers1"
	thoughtID  = "rs_talkerstalkers1"
)

func event(kind, format string, args ...any) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
}

// next is the next event of a response, with its number.
func (s *scripted) next(kind, format string, args ...any) string {
	s.sent++
	return event(kind, `"sequence_number":%d,%s`, s.sent-1, fmt.Sprintf(format, args...))
}

func (s *scripted) halves() (first, second string) {
	half := len(s.arguments) / 2
	return s.arguments[:half], s.arguments[half:]
}

// place is the index of the text or the call: a thought is before it.
func (s *scripted) place() int {
	if s.thought != "" {
		return 1
	}
	return 0
}

// thinkingBlock are the events of the thought on Messages, word by word and with its signature.
func (s *scripted) thinkingBlock() []string {
	pieces := []string{
		event("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`),
	}
	for _, word := range wordsOf(s.thought) {
		pieces = append(pieces,
			event("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":%s}`, quoted(word)))
	}
	return append(pieces,
		event("content_block_delta", `"index":0,"delta":{"type":"signature_delta","signature":%s}`, quoted(s.proof)),
		event("content_block_stop", `"index":0`))
}

// reasoningItem are the events of the thought on Responses, as a summary in parts.
func (s *scripted) reasoningItem() []string {
	const at = `"item_id":%q,"output_index":0,"summary_index":0,`
	pieces := []string{
		s.next("response.output_item.added", `"output_index":0,"item":{"id":%q,"type":"reasoning","summary":[]}`,
			thoughtID),
		s.next("response.reasoning_summary_part.added", at+`"part":{"type":"summary_text","text":""}`, thoughtID),
	}
	for _, word := range wordsOf(s.thought) {
		pieces = append(pieces,
			s.next("response.reasoning_summary_text.delta", at+`"delta":%s`, thoughtID, quoted(word)))
	}
	return append(pieces,
		s.next("response.reasoning_summary_text.done", at+`"text":%s`, thoughtID, quoted(s.thought)),
		s.next("response.reasoning_summary_part.done", at+`"part":{"type":"summary_text","text":%s}`, thoughtID,
			quoted(s.thought)),
		s.next("response.output_item.done", `"output_index":0,"item":%s`, s.reasoning()))
}

// reasoning is the item of the thought on Responses, sealed where that is wanted.
func (s *scripted) reasoning() string {
	sealed := ""
	if s.seals {
		sealed = `,"encrypted_content":` + quoted(s.proof)
	}
	return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[{"type":"summary_text","text":%s}]%s}`, thoughtID,
		quoted(s.thought), sealed)
}

func (s *scripted) messageText(word string) string {
	return event("content_block_delta", `"index":%d,"delta":{"type":"text_delta","text":%s}`, s.place(), quoted(word))
}

func (s *scripted) messageArguments(part string) string {
	return event("content_block_delta", `"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, s.place(),
		quoted(part))
}

func (s *scripted) toolUse(input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":"toolu_1","name":%s,"input":%s}`, quoted(s.tool), input)
}

func (s *scripted) responseText(word string) string {
	return s.next("response.output_text.delta", `"item_id":%q,"output_index":%d,"content_index":0,"delta":%s`, itemID,
		s.place(), quoted(word))
}

func (s *scripted) responseArguments(part string) string {
	return s.next("response.function_call_arguments.delta", `"item_id":%q,"output_index":%d,"delta":%s`, itemID,
		s.place(), quoted(part))
}

func (s *scripted) functionCall(status, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"call_id":"call_1","name":%s,"arguments":%s}`, itemID,
		status, quoted(s.tool), quoted(arguments))
}

func (s *scripted) item() string {
	if s.tool != "" {
		return s.functionCall("completed", s.arguments)
	}
	return fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text",`+
		`"text":%s,"annotations":[]}]}`, itemID, quoted(s.text))
}

func (s *scripted) response(status string) string {
	output, usage := "", "null"
	if status == "completed" {
		output = s.item()
		if s.thought != "" {
			output = s.reasoning() + "," + output
		}
		usage = fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,`+
			`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`, s.prompt, s.tokens(), s.reasoned(),
			s.prompt+s.tokens())
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","created_at":1,"status":%q,"model":%s,"store":false,`+
		`"previous_response_id":null,"error":null,"output":[%s],"usage":%s}`, responseID, status, quoted(s.model), output, usage)
}

// readMessages reads a request of Anthropic's Messages. A message with the result of a tool has the role tool.
func readMessages(h http.Header, body []byte) (a Request, usage bool) {
	a, _ = read(h, body)
	var q struct {
		System   json.RawMessage
		Messages []struct{ Content json.RawMessage }
		Tools    []struct{ Name string }
		Thinking struct{ Type string }
	}
	if json.Unmarshal(body, &q) != nil {
		return a, true
	}
	a.Thinks = q.Thinking.Type != "" && q.Thinking.Type != "disabled"
	a.Tools = nil
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	for i, m := range q.Messages {
		var blocks []struct {
			Type, Thinking, Signature string
			Content                   json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, block := range blocks {
			switch block.Type {
			case "tool_result":
				a.Messages[i] = Message{Role: "tool", Text: textOf(block.Content)}
			case "thinking":
				a.Thoughts = append(a.Thoughts, Thought{Text: block.Thinking, Proof: block.Signature})
			}
		}
	}
	if q.System != nil {
		a.Messages = append([]Message{{Role: "system", Text: textOf(q.System)}}, a.Messages...)
	}
	return a, true
}

// readResponses reads a request of OpenAI's Responses. The result of a tool has the role tool.
func readResponses(h http.Header, body []byte) (a Request, usage bool) {
	a, _ = read(h, body)
	var q struct {
		Input []struct {
			Type, Role      string
			Content, Output json.RawMessage
			Summary         json.RawMessage
			Sealed          string `json:"encrypted_content"`
		}
		Tools   []struct{ Name string }
		Include []string
	}
	_ = json.Unmarshal(body, &q)
	a.Tools = nil
	for _, tool := range q.Tools {
		a.Tools = append(a.Tools, tool.Name)
	}
	a.seals = slices.Contains(q.Include, "reasoning.encrypted_content")
	for _, m := range q.Input {
		switch {
		case m.Type == "reasoning":
			a.Thoughts = append(a.Thoughts, Thought{Text: textOf(m.Summary), Proof: m.Sealed})
		case m.Output != nil:
			a.Messages = append(a.Messages, Message{Role: "tool", Text: textOf(m.Output)})
		case m.Role != "":
			a.Messages = append(a.Messages, Message{Role: m.Role, Text: textOf(m.Content)})
		}
	}
	return a, true
}

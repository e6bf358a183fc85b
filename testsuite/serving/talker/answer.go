package talker

import (
	"encoding/json"
	"fmt"
	"strings"
)

// scripted is an answer being sent.
type scripted struct {
	model, text, tool, arguments string
	thought, proof               string // of the thought, where the wire has one; both empty: it does not think
	seals                        bool   // the proof is wanted
	usage                        bool
	prompt                       int // tokens
	sent                         int // events of a response
}

func quoted(s string) string {
	body, _ := json.Marshal(s)
	return string(body)
}

func (s scripted) words() []string { return wordsOf(s.text) }

func wordsOf(text string) []string {
	var words []string
	for i, w := range strings.SplitAfter(text, " ") {
		if w != "" || i == 0 {
			words = append(words, w)
		}
	}
	return words
}

// reasoned are the tokens of the thought.
func (s scripted) reasoned() int {
	if s.thought == "" {
		return 0
	}
	return len(wordsOf(s.thought))
}

// tokens are those of the answer, with its thought.
func (s scripted) tokens() int { return len(s.words()) + s.reasoned() }

func (s scripted) counted() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, s.prompt, s.tokens(),
		s.prompt+s.tokens())
}

// whole is the answer in one piece.
func (s scripted) whole() string {
	thought := ""
	if s.thought != "" {
		thought = `,"reasoning_content":` + quoted(s.thought)
	}
	message, finish := `{"role":"assistant"`+thought+`,"content":`+quoted(s.text)+`}`, "stop"
	if s.tool != "" {
		message, finish =
			`{"role":"assistant"`+thought+`,"content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":`+
				quoted(s.tool)+`,"arguments":`+quoted(s.arguments)+`}}]}`, "tool_calls"
	}
	return fmt.Sprintf(
		`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":%s,"choices":[{"index":0,"message":%s,"finish_reason":%q}],"usage":%s}`,
		quoted(s.model),
		message,
		finish,
		s.counted(),
	)
}

func (s scripted) piece(delta, finish string) string {
	return fmt.Sprintf(
		"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%s,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n",
		quoted(s.model),
		delta,
		finish,
	)
}

// pieces are the answer word by word, or a tool's call with its arguments in two parts, as providers send it.
func (s scripted) pieces() []string {
	pieces := []string{s.piece(`{"role":"assistant","content":""}`, "null")}
	if s.thought != "" {
		for _, w := range wordsOf(s.thought) {
			pieces = append(pieces, s.piece(`{"reasoning_content":`+quoted(w)+`}`, "null"))
		}
	}
	if s.tool == "" {
		for _, w := range s.words() {
			pieces = append(pieces, s.piece(`{"content":`+quoted(w)+`}`, "null"))
		}
		return pieces
	}
	half := len(s.arguments) / 2
	return append(
		pieces,
		s.piece(
			`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":`+quoted(s.tool)+
				`,"arguments":""}}]}`, "null"),
		s.piece(`{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(s.arguments[:half])+`}}]}`, "null"),
		s.piece(`{"tool_calls":[{"index":0,"function":{"arguments":`+quoted(s.arguments[half:])+`}}]}`, "null"),
	)
}

func (s scripted) end() []string {
	finish := `"stop"`
	if s.tool != "" {
		finish = `"tool_calls"`
	}
	end := []string{s.piece(`{}`, finish)}
	if s.usage {
		end = append(end,
			fmt.Sprintf(
				"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%s,\"choices\":[],\"usage\":%s}\n\n",
				quoted(s.model),
				s.counted(),
			))
	}
	return append(end, "data: [DONE]\n\n")
}

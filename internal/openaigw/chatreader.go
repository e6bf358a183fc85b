package openaigw

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// chatReader reads the usage of a chat completion, or of a completion of a text.
type chatReader struct {
	usage  *openai.Usage
	pieces int64
	finish string
}

// Event reads an event of a stream. It finds the few members that count and builds nothing: a stream has many events, and would keep
// the stack that parsing a whole one takes.
func (c *chatReader) Event(data []byte) {
	if string(data) == "[DONE]" { // which is no JSON
		return
	}
	var choices, usage []byte
	err := jsonscan.Members(data, func(key, value []byte) error {
		switch string(key) {
		case `"choices"`:
			choices = value
		case `"usage"`:
			usage = value
		}
		return nil
	})
	if err != nil {
		return
	}
	if len(usage) > 0 && usage[0] == '{' {
		u := new(openai.Usage)
		if json.Unmarshal(usage, u) == nil {
			c.usage = u
		}
	}
	if len(choices) == 0 || choices[0] != '[' {
		return
	}
	s := &jsonscan.Scanner{Body: choices}
	_ = s.Array(func() error { // it was scanned before
		each, err := s.Value()
		c.addChoice(each.Of(choices))
		return err
	})
}

// addChoice counts a piece that says something, and notes why an answer has ended.
func (c *chatReader) addChoice(raw []byte) {
	var delta, text, finish []byte
	_ = jsonscan.Members(raw, func(key, value []byte) error { // it was scanned before
		switch string(key) {
		case `"delta"`:
			delta = value
		case `"text"`: // of a completion of a text
			text = value
		case `"finish_reason"`:
			finish = value
		}
		return nil
	})
	says := len(text) > len(`""`) && text[0] == '"'
	_ = jsonscan.Members(delta, func(key, value []byte) error { // where there is one, it was scanned before
		switch string(key) {
		case `"content"`, `"refusal"`, `"reasoning"`, `"reasoning_content"`:
			says = says || value[0] == '"' && len(value) > len(`""`)
		}
		return nil
	})
	if says {
		c.pieces++
	}
	if reason := jsonscan.Unquoted(finish); reason != "" && reason != string(openai.FinishReasonNull) {
		c.finish = reason
	}
}

// Whole reads an answer in one piece.
func (c *chatReader) Whole(data []byte) {
	var h chunkBody
	if json.Unmarshal(data, &h) != nil {
		return
	}
	if h.Usage != nil {
		c.usage = h.Usage
	}
	for i := range h.Choices {
		each := &h.Choices[i]
		if each.Delta.Content != "" || each.Text != "" || each.Delta.hidden() {
			c.pieces++
		}
		if each.Finish != "" && each.Finish != openai.FinishReasonNull {
			c.finish = string(each.Finish)
		}
	}
}

// Read is what was read so far.
func (c *chatReader) Read() exchange.Reading {
	tokens, final := reported(c.usage)
	return exchange.Reading{Tokens: tokens, Final: final, Pieces: c.pieces, Finish: c.finish}
}

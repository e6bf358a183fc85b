package exchange

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// MessagesReader reads an answer of Anthropic's Messages.
type MessagesReader struct {
	billed messages.Billed
	pieces int64
	finish string
}

// Event reads an event of a stream.
func (m *MessagesReader) Event(data []byte) {
	var e messages.Event
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			m.billed.Begin(e.Message.Usage)
		}
	case "content_block_delta":
		if e.Delta.Shown() != "" || e.Delta.Hidden() {
			m.pieces++
		}
	case "message_delta":
		m.billed.End(e.Usage)
		if e.Delta.StopReason != "" {
			m.finish = e.Delta.StopReason
		}
	}
}

// Whole reads an answer in one piece.
func (m *MessagesReader) Whole(data []byte) {
	var answer messages.Received
	if json.Unmarshal(data, &answer) == nil {
		m.billed.End(answer.Usage)
		m.finish = answer.StopReason
	}
}

// Read is what was read so far. What writing to a cache costs is in the tokens' surcharge.
func (m *MessagesReader) Read() Reading {
	tokens, final := m.billed.Tokens()
	return Reading{
		Tokens:      tokens,
		Final:       final,
		CacheWrites: true,
		Pieces:      m.pieces,
		Finish:      m.finish,
	}
}

package openaigw

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/responses"
)

// readerOf returns the reader of the answers of a path.
func readerOf(path string) exchange.AnswerReader {
	switch path {
	case "/messages":
		return &exchange.MessagesReader{}
	case "/responses":
		return &responseUsage{}
	}
	return &chatReader{}
}

// responseUsage reads an answer of OpenAI's Responses.
type responseUsage struct {
	tokens budget.Tokens
	final  bool
	pieces int64
	finish string
}

// respond is the part of a response that is read.
type respond struct {
	Status string
	Usage  *responses.Counts
}

func (u *responseUsage) take(r *respond) {
	u.finish = r.Status
	if tokens, sound := r.Usage.Tokens(); sound {
		u.tokens, u.final = tokens, true
	}
}

// Event reads an event of a stream.
func (u *responseUsage) Event(data []byte) {
	var e struct {
		Type     string
		Delta    json.RawMessage
		Response json.RawMessage
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed":
		u.Whole(e.Response)
	default:
		if len(e.Delta) > len(`""`) && e.Delta[0] == '"' {
			u.pieces++
		}
	}
}

// Whole reads an answer in one piece.
func (u *responseUsage) Whole(data []byte) {
	var r respond
	if json.Unmarshal(data, &r) == nil {
		u.take(&r)
	}
}

// Read is what was read so far.
func (u *responseUsage) Read() exchange.Reading {
	return exchange.Reading{Tokens: u.tokens, Final: u.final, Pieces: u.pieces, Finish: u.finish}
}

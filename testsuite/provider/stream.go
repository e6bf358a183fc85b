package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// stream serves an answer token by token: written, flushed, then counted. It stops at the first sign that the caller
// hung up, and says whether the answer was served to its end.
func (s *Server) stream(w http.ResponseWriter, ctx context.Context, a answer) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	out := a.writer(&wire{w: w, flush: http.NewResponseController(w), a: a})
	if !s.pause(ctx, s.options.First) || !out.begin() {
		return false
	}
	total := len(a.thought) + len(a.pieces)
	for i := range total {
		if i > 0 && !s.pause(ctx, s.delay(a, i)) || ctx.Err() != nil {
			return false
		}
		if i == total/2 {
			switch a.fault {
			case CutMiddle:
				return false
			case HangMiddle:
				s.hang(ctx)
				return false
			case BadChunk:
				if !out.bad() {
					return false
				}
			}
		}
		if !out.token(a, i) {
			return false
		}
		s.served(a, 1)
	}
	if !out.finish(int64(total)) {
		return false
	}
	if a.fault == Lingering {
		s.hang(ctx)
		return true
	}
	return out.end(int64(total))
}

// writer writes the events of one stream.
type writer interface {
	begin() bool
	token(a answer, i int) bool
	bad() bool               // an event that is no JSON
	finish(total int64) bool // says why the answer ended
	end(total int64) bool    // what follows the reason
}

func (a answer) writer(o *wire) writer {
	switch {
	case a.messages:
		return &messageWire{wire: o}
	case a.responses:
		return &responseWire{wire: o}
	}
	return o
}

func (o *wire) begin() bool { return o.chunk(`{"role":"assistant","content":""}`, "null") }

func (o *wire) bad() bool {
	return o.raw(`data: {"id":"` + o.a.id + `","choices":[{"delta":{"content":"` + "\n\n")
}

func (o *wire) finish(int64) bool { return o.chunk(`{}`, `"`+o.a.finish+`"`) }

func (o *wire) end(total int64) bool {
	if o.a.usage && o.a.fault != NoUsage && !o.usage(total) {
		return false
	}
	return o.raw("data: [DONE]\n\n")
}

// delay is the time before token i.
func (s *Server) delay(a answer, i int) time.Duration {
	d := s.options.Each
	if i == 0 {
		d = s.options.First
	}
	if a.fault == IgnoreMax {
		d = max(d, ignoreMaxPace)
	}
	return d
}

// wire writes events of the stream.
type wire struct {
	w     http.ResponseWriter
	flush *http.ResponseController
	a     answer
}

func (o *wire) raw(text string) bool {
	if _, err := o.w.Write([]byte(text)); err != nil {
		return false
	}
	return o.flush.Flush() == nil
}

func (o *wire) chunk(delta, finish string) bool {
	return o.raw(`data: {"id":"` + o.a.id + `","object":"chat.completion.chunk","created":0,"model":"` + o.a.model +
		`","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n")
}

func (o *wire) token(a answer, i int) bool {
	field, piece, sure := "reasoning_content", "", ""
	if i < len(a.thought) {
		piece = a.thought[i]
	} else {
		field, piece = "content", a.pieces[i-len(a.thought)]
		if a.sure != nil {
			sure = fmt.Sprintf(`,"logprobs":{"content":[{"token":"","logprob":%.6f}]}`, a.sure(i-len(a.thought)))
		}
	}
	quoted, err := json.Marshal(piece)
	return err == nil && o.chunk(`{"`+field+`":`+string(quoted)+`}`, "null"+sure)
}

func (o *wire) usage(completion int64) bool {
	body, err := json.Marshal(map[string]any{
		"id": o.a.id, "object": "chat.completion.chunk", "created": 0, "model": o.a.model,
		"choices": []any{}, "usage": o.a.reported(completion),
	})
	return err == nil && o.raw("data: "+string(body)+"\n\n")
}

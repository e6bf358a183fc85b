package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/llama"
)

// serves says whether a name is the model or the model steered by one of its vectors.
func (s *Server) serves(model string) bool {
	name, vector, steered := strings.Cut(model, aliasMark)
	return name == s.options.Name && (!steered || slices.Contains(s.options.Engine.Vectors(), vector))
}

// chat answers a conversation.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	q, f := read(w, r)
	if f == nil && !s.serves(q.Model) {
		f = s.unknown(q.Model)
	}
	var ask llama.AnswerRequest
	if f == nil {
		ask, f = s.ask(q)
	}
	if f != nil {
		refuse(w, f)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	x := &exchange{
		server: s, q: q, w: w, out: http.NewResponseController(w),
		id: fmt.Sprintf("chatcmpl-%d", s.number.Add(1)), created: s.options.Now().Unix(),
	}
	_ = x.out.SetReadDeadline(time.Time{}) // the request has been read; an answer may take longer than reading it
	generation, err := s.options.Engine.Answer(ctx, ask, x.hear)
	switch {
	case err != nil && r.Context().Err() != nil: // the client has disconnected
	case err != nil:
		x.fail(faultOf(err))
	case q.Stream:
		x.finish(generation)
	default:
		x.whole(generation)
	}
}

// exchange is one answer being sent.
type exchange struct {
	server  *Server
	q       question
	w       http.ResponseWriter
	out     *http.ResponseController
	id      string
	created int64
	began   bool          // the stream's head has been sent
	tokens  []llama.Token // of an answer that is not streamed
}

// hear takes a piece of the answer; false when the client has disconnected.
func (x *exchange) hear(p llama.Piece) bool {
	if !x.q.Stream {
		x.tokens = append(x.tokens, p.Tokens...)
		return true
	}
	if !x.begin() {
		return false
	}
	choice := map[string]any{"index": 0, "delta": map[string]any{"content": p.Text}, "finish_reason": nil}
	if x.q.LogProbs {
		choice["logprobs"] = odds(p.Tokens)
	}
	return x.event(x.frame("chat.completion.chunk", []any{choice}))
}

// begin sends the head of a stream, once.
func (x *exchange) begin() bool {
	if x.began {
		return true
	}
	x.began = true
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-store")
	x.w.WriteHeader(http.StatusOK)
	return x.event(x.frame("chat.completion.chunk", []any{
		map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": ""}, "finish_reason": nil},
	}))
}

func (x *exchange) frame(object string, choices []any) map[string]any {
	return map[string]any{"id": x.id, "object": object, "created": x.created, "model": x.q.Model, "choices": choices}
}

func (x *exchange) event(v any) bool {
	raw, err := json.Marshal(v)
	return err == nil && x.line(string(raw))
}

func (x *exchange) line(text string) bool {
	_ = x.out.SetWriteDeadline(x.server.options.Now().Add(writeWait))
	_, err := fmt.Fprintf(x.w, "data: %s\n\n", text)
	return err == nil && x.out.Flush() == nil
}

// finish ends a stream.
func (x *exchange) finish(generation llama.Generation) {
	last := x.frame("chat.completion.chunk",
		[]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason(generation.Finish)}})
	if generation.Steered != "" {
		last["steered"] = generation.Steered
	}
	if !x.begin() || !x.event(last) {
		return
	}
	if x.q.Options.IncludeUsage {
		end := x.frame("chat.completion.chunk", []any{})
		end["usage"] = usage(generation)
		if !x.event(end) {
			return
		}
	}
	x.line("[DONE]")
}

// whole sends an answer at once.
func (x *exchange) whole(generation llama.Generation) {
	choice := map[string]any{
		"index": 0, "message": map[string]any{"role": "assistant", "content": generation.Text},
		"finish_reason": reason(generation.Finish), "logprobs": nil,
	}
	if x.q.LogProbs {
		choice["logprobs"] = odds(x.tokens)
	}
	answer := x.frame("chat.completion", []any{choice})
	answer["usage"] = usage(generation)
	if generation.Steered != "" {
		answer["steered"] = generation.Steered
	}
	_ = x.out.SetWriteDeadline(x.server.options.Now().Add(writeWait))
	reply(x.w, http.StatusOK, answer)
}

// fail reports a failure: as a status, or, once a stream has begun, as its last event. No [DONE] follows.
func (x *exchange) fail(f *fault) {
	if x.began {
		x.event(f.body())
		return
	}
	_ = x.out.SetWriteDeadline(x.server.options.Now().Add(writeWait))
	refuse(x.w, f)
}

func reason(f inference.Finish) string {
	if f == inference.Length {
		return "length"
	}
	return "stop"
}

func usage(t llama.Generation) map[string]any {
	return map[string]any{
		"prompt_tokens": t.Read, "completion_tokens": t.Made, "total_tokens": t.Read + t.Made,
		"prompt_tokens_details": map[string]any{"cached_tokens": t.Reused},
	}
}

// odds are the log-probabilities of tokens on the wire.
func odds(tokens []llama.Token) map[string]any {
	list := make([]any, 0, len(tokens))
	for _, t := range tokens {
		one := odd(t)
		top := make([]any, 0, len(t.Top))
		for _, other := range t.Top {
			top = append(top, odd(other))
		}
		one["top_logprobs"] = top
		list = append(list, one)
	}
	return map[string]any{"content": list}
}

func odd(t llama.Token) map[string]any {
	bytes := make([]int, len(t.Text))
	for i := range len(t.Text) {
		bytes[i] = int(t.Text[i])
	}
	return map[string]any{"token": strings.ToValidUTF8(t.Text, "\uFFFD"), "logprob": t.LogProb, "bytes": bytes}
}

package localmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

var _ inference.Relay = (*Model)(nil)

// usualAnswer is how many tokens a chat is answered with when nobody says: a few sentences.
const usualAnswer = 120

// Relay answers chat completions and embeddings as a provider on the OpenAI wire would. An answer is composed whole and
// then read, in a stream too: composing takes milliseconds.
func (m *Model) Relay(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask the built-in model: %w", context.Cause(ctx))
	}
	if r.Method != http.MethodPost {
		return refuse(http.StatusMethodNotAllowed, "", "The built-in model is asked with POST."), nil
	}
	switch r.Path {
	case "/chat/completions":
		return m.chat(ctx, r)
	case "/embeddings":
		return m.place(ctx, r)
	}
	return refuse(http.StatusNotFound, "", "The built-in model knows /chat/completions and /embeddings."), nil
}

// query is what the built-in model understands of a request; the rest does not concern it.
type query struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Stream  bool `json:"stream"`
	Options struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens     *int            `json:"max_tokens"`
	MaxCompletion *int            `json:"max_completion_tokens"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	MinP          *float64        `json:"min_p"`
	Seed          *int64          `json:"seed"`
	Stop          json.RawMessage `json:"stop"`
	N             *int            `json:"n"`
}

func (m *Model) chat(ctx context.Context, r inference.RelayRequest) (*inference.RelayResponse, error) {
	var a query
	if err := json.Unmarshal(r.Body, &a); err != nil {
		return misread(err), nil
	}
	if len(a.Messages) == 0 {
		return wrong("messages", "There are no messages."), nil
	}
	if a.N != nil && *a.N != 1 {
		return wrong("n", "The built-in model gives one answer; n must be 1."), nil
	}
	request := inference.Request{
		Model: Associative, MaxTokens: usualAnswer, Messages: a.lines(), Stop: texts(a.Stop),
		Sampling: inference.Sampling{Temperature: a.Temperature, TopP: a.TopP, MinP: a.MinP, Seed: a.Seed},
	}
	for _, most := range []*int{a.MaxTokens, a.MaxCompletion} {
		if most != nil {
			request.MaxTokens = min(*most, window/4)
		}
	}
	var pieces []string
	answer, err := m.Generate(ctx, request, func(piece string) bool { pieces = append(pieces, piece); return true })
	if f, ok := inference.AsFailure(err); ok {
		return wrong("", f.Message), nil
	} else if err != nil {
		return nil, err
	}
	body, kind := a.whole(answer), "application/json"
	if a.Stream {
		body, kind = a.streamed(answer, pieces), "text/event-stream"
	}
	return respond(http.StatusOK, kind, body, answer.Tokens, int64(len(pieces)), string(answer.Finish)), nil
}

// lines is the chat in lines to associate from. What is quoted counts, each quotation as one line; the frame around
// quotations does not.
func (a query) lines() []inference.Message {
	var system, rest []inference.Message
	for _, m := range a.Messages {
		var lines []string
		quoted := false
		for line := range strings.SplitSeq(strings.Join(texts(m.Content), "\n"), "\n") {
			line = strings.TrimSpace(line)
			quote, isQuote := strings.CutPrefix(line, "> ")
			goesOn := isQuote && quoted
			quoted = isQuote
			if goesOn {
				lines[len(lines)-1] += " " + quote
				continue
			}
			if isQuote {
				line = quote
			} else if strings.HasPrefix(line, "[") || strings.HasPrefix(line, "(") {
				continue
			}
			if line != "" {
				lines = append(lines, "- "+line)
			}
		}
		each := inference.Message{Role: "user", Content: strings.Join(lines, "\n")}
		switch m.Role {
		case "system", "developer":
			system = append(system, each)
		case "assistant":
		default:
			rest = append(rest, each)
		}
	}
	if len(rest) == 0 {
		return system
	}
	return rest
}

// texts reads a string, or the strings and the parts of text of an array.
func texts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	var out []string
	for _, each := range many {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(each, &one) == nil {
			out = append(out, one)
		} else if json.Unmarshal(each, &part) == nil {
			out = append(out, part.Text)
		}
	}
	return out
}

type counted struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func usageOf(t budget.Tokens) *counted { return &counted{t.In, t.Out, t.In + t.Out} }

type piece struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

type choice struct {
	Index   int     `json:"index"`
	Message *piece  `json:"message,omitempty"`
	Delta   *piece  `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
}

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *counted `json:"usage,omitempty"`
}

// newID is an id of its own for each answer; the same request is answered by the same words.
func newID(answer inference.Answer) string {
	return "chatcmpl-" + answer.Provider + strconv.FormatInt(time.Now().UnixNano(), 36)
}

func (a query) whole(answer inference.Answer) []byte {
	finish := string(answer.Finish)
	return written(completion{
		ID: newID(answer), Object: "chat.completion", Created: time.Now().Unix(), Model: Associative,
		Choices: []choice{{Message: &piece{"assistant", &answer.Text}, Finish: &finish}}, Usage: usageOf(answer.Tokens),
	})
}

func (a query) streamed(answer inference.Answer, pieces []string) []byte {
	var b bytes.Buffer
	c := completion{
		ID: newID(answer), Object: "chat.completion.chunk", Created: time.Now().Unix(),
		Model: Associative,
	}
	send := func(choices ...choice) {
		c.Choices = choices
		b.WriteString("data: ")
		b.Write(written(c))
		b.WriteString("\n\n")
	}
	empty := ""
	send(choice{Delta: &piece{"assistant", &empty}})
	for _, p := range pieces {
		send(choice{Delta: &piece{Content: &p}})
	}
	finish := string(answer.Finish)
	send(choice{Delta: &piece{}, Finish: &finish})
	if a.Options.Usage {
		c.Usage = usageOf(answer.Tokens)
		send([]choice{}...)
	}
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

func written(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // of these types it never fails
		return []byte("{}")
	}
	return b
}

// wrong answers a request with a wrong field, which param names.
func wrong(param, message string) *inference.RelayResponse {
	return refuse(http.StatusBadRequest, param, message)
}

// refuse answers as a provider refuses.
func refuse(status int, param, message string) *inference.RelayResponse {
	values := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if param != "" {
		values["param"] = param
	}
	return respond(status, "application/json", written(map[string]any{"error": values}), budget.Tokens{}, 0, "")
}

func respond(status int, kind string, body []byte, tokens budget.Tokens, pieces int64,
	finish string,
) *inference.RelayResponse {
	r := &reading{
		rest: body,
		seen: inference.RelayObserved{Tokens: tokens, UsageFrom: inference.ByProvider, Pieces: pieces, Finish: finish},
	}
	return &inference.RelayResponse{
		Status: status, Header: http.Header{"Content-Type": {kind}}, Body: r,
		Seen: r.observed,
	}
}

// reading is an answer that is read.
type reading struct {
	mu   sync.Mutex
	rest []byte
	seen inference.RelayObserved
}

// Read gives one event of a stream at a time, so that a relay passes it on event by event.
func (r *reading) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rest) == 0 {
		r.seen.Ended = true
		return 0, io.EOF
	}
	whole := r.rest
	if at := bytes.Index(whole, []byte("\n\n")); at >= 0 {
		whole = whole[:at+2]
	}
	n := copy(p, whole)
	r.rest = r.rest[n:]
	return n, nil
}

// Close lets go of what was not read.
func (r *reading) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = nil
	return nil
}

func (r *reading) observed() inference.RelayObserved {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.seen
	if !o.Ended {
		o.UsageFrom = inference.ByCount
	}
	return o
}

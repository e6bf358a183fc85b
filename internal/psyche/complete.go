package psyche

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Completion is the answer to a turn, read to its end.
type Completion struct {
	Text   string
	Calls  []ToolCall
	Finish string // such as "stop", "length" or "tool_calls"
	Usage  TokenUsage
}

// ToolCall is a tool that the model calls. Arguments is JSON text as the model wrote it, which may be no valid JSON.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// TokenUsage counts tokens; zero when the provider did not say.
type TokenUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Cached     int64 `json:"cached_tokens,omitempty"` // of the prompt's
}

// Question is what a body for Complete asks. Messages and Tools are JSON arrays, which are passed on byte for byte.
type Question struct {
	Model     string
	Messages  []byte
	Tools     []byte // empty: none
	MaxTokens int    // 0: the server's own bound
	Stream    bool
}

// Body is the question as a chat completion's request.
func (q *Question) Body() (*Body, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%s,"messages":%s`, jsonscan.Quoted(q.Model), q.Messages)
	if len(q.Tools) > 0 {
		fmt.Fprintf(&b, `,"tools":%s`, q.Tools)
	}
	if q.MaxTokens > 0 {
		fmt.Fprintf(&b, `,"max_tokens":%d`, q.MaxTokens)
	}
	fmt.Fprintf(&b, `,"stream":%t`, q.Stream)
	if q.Stream {
		b.WriteString(`,"stream_options":{"include_usage":true}`)
	}
	b.WriteByte('}')
	return ReadBody(b.Bytes())
}

// Complete is a Chat whose answer is read to its end. token gets the pieces of the answer's text as they come, and may
// be nil. An answer that the provider refuses is an error here.
func (s *Service) Complete(ctx context.Context, t Turn, token func(string)) (Completion, TurnReport, error) {
	reply, err := s.Chat(ctx, t)
	if err != nil {
		return Completion{}, TurnReport{}, err
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.Status/100 != 2 {
		return Completion{}, reply.Report, refusedBy(reply)
	}
	c, err := readCompletion(reply.Body, EventStream(reply.Header), token)
	if err != nil {
		return c, reply.Report, relayFault(ctx, err)
	}
	return c, reply.Report, nil
}

// mostAnswer is how many bytes of an answer Complete reads.
const mostAnswer = 8 << 20

// refusedBy is a provider's refusal, with its own words where it gives some.
func refusedBy(r *Reply) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := fmt.Sprintf("The model's provider refused the request (HTTP %d).", r.Status)
	raw, _ := io.ReadAll(io.LimitReader(r.Body, mostHeard))
	if json.Unmarshal(raw, &body) == nil && body.Error.Message != "" {
		text += " It says: " + clipped(body.Error.Message, 500)
	}
	return &Fault{Status: http.StatusBadGateway, Type: farFailure, Code: "refused", Message: text}
}

// completionEvent is an answer in one piece, or a part of one.
type completionEvent struct {
	Choices []struct {
		Index   int          `json:"index"`
		Delta   completionOf `json:"delta"`
		Message completionOf `json:"message"`
		Finish  string       `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		TokenUsage
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type completionOf struct {
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// completionReader puts an answer together. Of several choices it reads the first.
type completionReader struct {
	done  Completion
	text  strings.Builder
	calls []*callReader
	token func(string)
}

type callReader struct {
	place     int
	id, name  string
	arguments strings.Builder
}

func readCompletion(from io.Reader, events bool, token func(string)) (Completion, error) {
	r := &completionReader{token: token}
	body := &io.LimitedReader{R: from, N: mostAnswer}
	var err error
	if events {
		err = r.readEvents(body)
	} else {
		var raw []byte
		raw, err = io.ReadAll(body)
		r.event(raw)
	}
	if err == nil && body.N == 0 {
		err = Refuse(http.StatusBadGateway, "too_long", "", "The answer is longer than %d bytes.", mostAnswer)
	}
	r.done.Text = r.text.String()
	for _, c := range r.calls {
		r.done.Calls = append(r.done.Calls, ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()})
	}
	return r.done, err
}

// readEvents reads a stream of events, each as soon as it is complete.
func (r *completionReader) readEvents(from io.Reader) error {
	var wait []byte
	part := make([]byte, compactAt)
	for {
		n, err := from.Read(part)
		wait = append(wait, part[:n]...)
		if errors.Is(err, io.EOF) {
			wait = append(wait, '\n')
		}
		for {
			line, rest, found := bytes.Cut(wait, []byte("\n"))
			if !found {
				break
			}
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				r.event(data)
			}
			wait = rest
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *completionReader) event(data []byte) {
	var e completionEvent
	if json.Unmarshal(data, &e) != nil {
		return
	}
	if u := e.Usage; u != nil {
		r.done.Usage = u.TokenUsage
		r.done.Usage.Cached = u.Details.Cached
	}
	for _, c := range e.Choices {
		if c.Index != 0 {
			continue
		}
		r.part(&c.Delta, false)
		r.part(&c.Message, true)
		r.done.Finish = cmp.Or(c.Finish, r.done.Finish)
	}
}

func (r *completionReader) part(m *completionOf, whole bool) {
	if piece := jsonscan.Unquoted(m.Content); piece != "" {
		r.text.WriteString(piece)
		if r.token != nil {
			r.token(piece)
		}
	}
	for i, c := range m.Calls {
		if whole {
			c.Index = &i
		}
		call := r.call(c.Index, c.ID)
		call.id, call.name = cmp.Or(call.id, c.ID), cmp.Or(call.name, c.Function.Name)
		call.arguments.WriteString(c.Function.Arguments)
	}
}

// call finds the call that a piece belongs to, or begins one. Some providers send whole calls without an index, each
// with its id; others repeat the index 0 with a new id.
func (r *completionReader) call(index *int, id string) *callReader {
	place := len(r.calls)
	if index != nil {
		place = *index
	}
	for i := len(r.calls) - 1; i >= 0; i-- {
		c := r.calls[i]
		if sameID := id == "" || id == c.id; sameID && (c.place == place || index == nil) {
			return c
		}
	}
	c := &callReader{place: place, id: id}
	r.calls = append(r.calls, c)
	return c
}

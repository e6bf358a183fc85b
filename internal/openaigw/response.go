package openaigw

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/wire/responses"
)

// responseRequest is a generation of a provider that speaks Responses alone. The provider keeps nothing of it.
type responseRequest struct {
	Model     string         `json:"model"`
	Input     []responseItem `json:"input"`
	MaxTokens int            `json:"max_output_tokens"`
	Text      *responseText  `json:"text,omitempty"`
	Include   []string       `json:"include,omitempty"`
	Stream    bool           `json:"stream"`
	Store     bool           `json:"store"`
}

type responseItem struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type responsePart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type responseText struct {
	Format responseFormatOf `json:"format"`
}

type responseFormatOf struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// Fields of a request for a response that a model may refuse, by the names that providers give them.
const (
	textFormat = "text.format"
	include    = "include"
)

// leastOutput is the smallest maximum that OpenAI takes. The answer is cut off at its own all the same.
const leastOutput = 16

// writeResponse renders a request as one for a response: what the model or the provider refuses, and what Responses
// have no field for, is left out.
func (g *Gateway) writeResponse(spec inference.Spec, r inference.Request) (written, error) {
	if err := exchange.Check(spec, r); err != nil {
		return written{}, err
	}
	q := responseRequest{Model: spec.Wire, Stream: true, MaxTokens: max(exchange.LimitOf(spec, r), leastOutput)}
	w := written{sampling: g.accepted(spec, r.Sampling), most: int64(q.MaxTokens)}
	w.sampling.MinP, w.sampling.Seed = nil, nil
	for _, m := range r.MessagesFor(spec.JSON) {
		item := responseItem{Type: "message", Role: m.Role, Content: m.Content}
		if m.Role == "assistant" {
			item.Content = []responsePart{{"output_text", m.Content}}
		}
		q.Input = append(q.Input, item)
		w.bytes += len(m.Content)
	}
	fields := maps.Clone(g.profile.Extra)
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	g.sample(fields, w.sampling)
	if f := format(spec, r.Schema); f != nil {
		q.Text = &responseText{responseFormatOf{Type: string(f.Type)}}
		if s := f.JSONSchema; s != nil {
			q.Text.Format.Name, q.Text.Format.Schema, q.Text.Format.Strict = s.Name, r.Schema.JSON, s.Strict
		}
	}
	if r.LogProbs && spec.LogProbs && g.profile.LogProbs != Never {
		q.Include = []string{responses.LogProbs}
	}
	var err error
	q.Model, w.steered, err = g.steer(spec, r.Steering, fields)
	if err != nil {
		return written{}, err
	}
	body, err := json.Marshal(q)
	if err != nil {
		return written{}, exchange.BadRequest("request cannot be written as JSON: %v", err)
	}
	w.body, w.fields = splice(body, fields), slices.Sorted(maps.Keys(fields))
	if q.Text != nil {
		w.fields = append(w.fields, textFormat)
	}
	if q.Include != nil {
		w.fields = append(w.fields, include)
	}
	return w, nil
}

// responseReader reads one generation that comes as a response.
type responseReader struct {
	*exchange.Answer
	client *exchange.Client
	most   int64 // tokens that were asked for
	usage  *responses.Counts
	sure   logProbMean
}

// Event reads one event.
func (l *responseReader) Event(data []byte) (enough bool, err error) {
	var e responses.Event
	switch err := json.Unmarshal(data, &e); {
	case string(data) == "[DONE]": // some servers end every stream so
		return false, nil
	case err != nil:
		return false, l.Malformed(err)
	case l.Finished:
		return false, nil
	}
	if failure := e.Failure(); failure != nil {
		return false, l.failureIn(failure)
	}
	if e.Response != nil && e.Response.ID != "" {
		l.Provider, l.Model = e.Response.ID, e.Response.Model
	}
	if !e.Ends() {
		if e.Shown() != "" && !l.Full {
			l.sure.addTokens(e.LogProbs)
		}
		return l.piece(e.Shown(), e.Hidden())
	}
	if e.Response == nil {
		return false, l.Malformed(errors.New("it ended without a response"))
	}
	if enough, err := l.unsaid(e.Response); enough || err != nil {
		return enough, err
	}
	l.finish(e.Response)
	l.Done = true
	l.Tail()
	return false, nil
}

// piece adds a piece. Until the first visible one, whatever comes says that the answer is still under way.
func (l *responseReader) piece(visible string, hidden bool) (enough bool, err error) {
	l.Spoken = l.Spoken || visible != ""
	l.ResetIdle()
	enough, err = l.Piece(visible, hidden)
	if l.Full {
		l.Tail()
	}
	return enough, err
}

// unsaid adds the output of a response of which no piece has come: each part is one piece.
func (l *responseReader) unsaid(r *responses.Received) (enough bool, err error) {
	if l.Visible+l.Hidden > 0 {
		return false, nil
	}
	for i := range r.Output {
		item := &r.Output[i]
		for _, p := range item.Content {
			text := ""
			if item.Type == "message" {
				text = p.Text
				l.sure.addTokens(p.LogProbs)
			}
			if enough, err := l.Piece(text, p.Text != text || p.Refusal != ""); enough || err != nil {
				return enough, err
			}
		}
		for _, p := range item.Summary {
			if enough, err := l.Piece("", p.Text != ""); enough || err != nil {
				return enough, err
			}
		}
	}
	return false, nil
}

// finish takes the end of an answer. A content filter also ends one; what it let through is the answer.
func (l *responseReader) finish(r *responses.Received) {
	l.Finished, l.Finish = true, inference.Stopped
	if r.Length(l.most) {
		l.Finish = inference.Length
	}
	l.usage, l.Counted = r.Usage, r.Usage != nil
}

// Plain reads a response that did not come as a stream.
func (l *responseReader) Plain(body []byte) error {
	var r responses.Received
	if err := json.Unmarshal(body, &r); err != nil {
		return l.Malformed(err)
	}
	if failure := r.Failure(); failure != nil {
		return l.failureIn(failure)
	}
	if r.Status == "" && len(r.Output) == 0 {
		return l.Malformed(errors.New("it holds no output"))
	}
	l.Provider, l.Model = r.ID, r.Model
	if enough, err := l.unsaid(&r); enough || err != nil {
		return err
	}
	l.finish(&r)
	return nil
}

// conclude makes the answer from what was read.
func (l *responseReader) conclude(w written, err error) (inference.Answer, error) {
	l.Effective, l.Steered = w.sampling.String(), w.steered
	l.LogProb = l.sure.mean()
	l.Tokens, l.UsageFrom = l.tokens(w.bytes)
	return l.Conclude(err)
}

func (l *responseReader) tokens(promptBytes int) (budget.Tokens, inference.UsageFrom) {
	t, sound := l.usage.Tokens()
	return l.Usage(promptBytes, t, sound)
}

// statuses are the statuses of the codes of errors, which an error inside a stream does not have otherwise.
var statuses = map[string]int{
	"invalid_prompt":          http.StatusBadRequest,
	"context_length_exceeded": http.StatusBadRequest,
	"rate_limit_exceeded":     http.StatusTooManyRequests,
	"server_error":            http.StatusInternalServerError,
	"server_is_overloaded":    http.StatusServiceUnavailable,
}

// failureIn turns an error inside a stream, or in place of an answer, into a failure. The provider may have charged for
// it.
func (l *responseReader) failureIn(raw json.RawMessage) *inference.Failure {
	f := l.client.FailureIn(raw)
	var e struct {
		Code json.RawMessage `json:"code"`
	}
	_ = json.Unmarshal(raw, &e) // an error of another form has no code
	if status := statuses[jsonscan.Unquoted(e.Code)]; status != 0 && f.Status == 0 {
		f.Status, f.Kind = status, exchange.KindOf(status, "")
	}
	return f
}

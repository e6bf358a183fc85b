package anthropicgw

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// answerReader reads one generation.
type answerReader struct {
	*exchange.Answer
	client *exchange.Client
	billed messages.Billed
}

// Event reads one event.
func (l *answerReader) Event(data []byte) (enough bool, err error) {
	if string(data) == "[DONE]" { // some servers end every stream so
		return l.end()
	}
	var e messages.Event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, l.Malformed(err)
	}
	switch {
	case len(e.Error) > 0 && string(e.Error) != "null":
		if l.Finished {
			return false, nil
		}
		return false, failureIn(l.client, e.Error)
	case e.Type == "message_start" && e.Message != nil:
		l.Provider, l.Model = e.Message.ID, e.Message.Model
		l.billed.Begin(e.Message.Usage)
	case e.Type == "content_block_start" && e.Block != nil && e.Block.Type == "text":
		return l.piece(e.Block.Text, false)
	case e.Type == "content_block_delta":
		return l.piece(e.Delta.Shown(), e.Delta.Hidden())
	case e.Type == "message_delta":
		l.billed.End(e.Usage)
		_, l.Counted = l.billed.Tokens()
		l.finish(e.Delta.StopReason)
	case e.Type == "message_stop":
		return l.end()
	}
	return false, nil
}

// piece adds a piece. Until the first visible one, whatever comes says that the answer is still under way, such as a
// ping while the model thinks.
func (l *answerReader) piece(visible string, hidden bool) (enough bool, err error) {
	l.Spoken = l.Spoken || visible != ""
	l.ResetIdle()
	enough, err = l.Piece(visible, hidden)
	if l.Full {
		l.Tail()
	}
	return enough, err
}

// finish takes the reason for which the answer ended. A refusal also ends an answer; what came before it is the answer.
func (l *answerReader) finish(reason string) {
	if reason == "" {
		return
	}
	if !l.Finished {
		l.Finished, l.Finish = true, inference.Stopped
		if reason == "max_tokens" || reason == "model_context_window_exceeded" {
			l.Finish = inference.Length
		}
	}
	l.Tail()
}

// end reads the stream's end mark. A stream without a word and without a reason is not an answer.
func (l *answerReader) end() (bool, error) {
	if !l.Finished && l.Visible+l.Hidden == 0 {
		return false, l.Malformed(errors.New("it ended without a word"))
	}
	if !l.Finished && l.Finish == "" && !l.Full {
		l.Finish = inference.Stopped
	}
	l.Finished, l.Done = true, true
	l.Tail()
	return false, nil
}

// Plain reads a response that did not come as a stream: each of its blocks is one piece.
func (l *answerReader) Plain(body []byte) error {
	var m struct {
		messages.Received
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return l.Malformed(err)
	}
	if len(m.Error) > 0 && string(m.Error) != "null" {
		return failureIn(l.client, m.Error)
	}
	if m.StopReason == "" && len(m.Content) == 0 {
		return l.Malformed(errors.New("it holds no content"))
	}
	l.Provider, l.Model = m.ID, m.Model
	l.billed.End(m.Usage)
	for i := range m.Content {
		b := &m.Content[i]
		text := ""
		if b.Type == "text" {
			text = b.Text
		}
		if enough, err := l.Piece(text, b.Thinking != "" || len(b.Input) > 0); enough || err != nil {
			return err
		}
	}
	l.finish(m.StopReason)
	l.Finished = true
	if l.Finish == "" {
		l.Finish = inference.Stopped
	}
	return nil
}

// tokens is the usage of a generation. Of a stream that broke off the tokens of the prompt are known nevertheless,
// since the provider states them at its beginning.
func (l *answerReader) tokens(promptBytes int) (budget.Tokens, inference.UsageFrom) {
	t, final := l.billed.Tokens()
	used, by := l.Usage(promptBytes, t, final)
	if in, ok := l.billed.Prompt(); ok && by == inference.ByCount {
		used.In, used.Cached, used.Surcharge = in, t.Cached, t.Surcharge
	}
	return used, by
}

// statuses are the statuses of the types of errors, which an error inside a stream does not have otherwise.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529,
}

// failureIn turns an error inside a stream, or in place of an answer, into a failure. The provider may have charged for
// it.
func failureIn(c *exchange.Client, raw json.RawMessage) *inference.Failure {
	f := c.FailureIn(raw)
	var e struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &e) // an error of another form has no type
	if status := statuses[e.Type]; status != 0 {
		f.Status, f.Kind = status, exchange.KindOf(status, "")
	}
	return f
}

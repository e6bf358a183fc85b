package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// Wire reads what a stream says, in the form of one API.
type Wire interface {
	// Event reads the data of one event. enough: nothing that follows matters.
	Event(data []byte) (enough bool, err error)
	// Plain reads an answer that did not come as a stream.
	Plain(body []byte) error
}

// Answer is one generation that is being read. Gateways fill in the fields of the embedded inference.Answer, except for
// its text, the count of its visible pieces and its usage.
type Answer struct {
	inference.Answer
	Hidden   int  // pieces that are not part of the visible answer
	Spoken   bool // the provider has begun to answer: only what it says ends the waiting for the next token
	Full     bool // most pieces have come: only the end may follow
	Halted   bool // the caller stopped it
	Finished bool // the provider reported the end
	Done     bool // the stream's end mark has come
	Counted  bool // the provider's usage has come

	client   *Client
	caller   context.Context
	exchange context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	idle     time.Duration
	token    func(string) bool
	most     int // visible pieces
	mostAll  int // visible and hidden pieces
	text     strings.Builder
	waits    int // the number of the wait under way after the end of the answer
}

// Open begins to read the answer to a request. It must be closed.
func (c *Client) Open(ctx context.Context, spec inference.Spec, r inference.Request, token func(string) bool) *Answer {
	a := &Answer{
		client:  c,
		caller:  ctx,
		token:   token,
		idle:    r.IdleToken,
		most:    r.MaxTokens,
		mostAll: LimitOf(spec, r),
	}
	a.exchange, a.cancel = context.WithCancelCause(ctx)
	a.ResetIdle()
	return a
}

// Context is that of the exchange: it ends with the caller's, when the provider falls silent, and on Close.
func (a *Answer) Context() context.Context { return a.exchange }

// Close ends the exchange.
func (a *Answer) Close() {
	a.cancel(errClosed)
	if a.timer != nil {
		a.timer.Stop()
	}
}

// ResetIdle restarts the idle timeout.
func (a *Answer) ResetIdle() {
	switch {
	case a.idle <= 0 || a.waits > 0:
	case a.timer == nil:
		a.timer = time.AfterFunc(a.idle, func() {
			a.cancel(fmt.Errorf("%w for %s", errSilence, a.idle))
		})
	default:
		a.timer.Reset(a.idle)
	}
}

// Tail ends the exchange after a while: the answer is complete, and only the usage, then the end of the body, are
// still waited for. Nothing that comes prolongs either wait.
func (a *Answer) Tail() {
	stage, d := 1, a.client.usageWait
	if a.Done || a.Finished && a.Counted {
		stage, d = 2, drainWait
	}
	if stage <= a.waits {
		return
	}
	a.waits = stage
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(d, func() { a.cancel(errTail) })
}

// Read reads the body to its end, or to where the answer ends. A body that begins with { is a plain response.
func (a *Answer) Read(body io.Reader, w Wire) error {
	e := Events{Limit: EventLimit}
	var chunk [8 << 10]byte
	var plain []byte
	total, isPlain, found := int64(0), false, false
	for {
		n, err := body.Read(chunk[:])
		total += int64(n)
		if total > a.client.bodyLimit {
			return a.Malformed(fmt.Errorf("it is longer than %d bytes", a.client.bodyLimit))
		}
		read := chunk[:n]
		if !found {
			read = bytes.TrimLeft(read, " \t\r\n")
			found, isPlain = len(read) > 0, bytes.HasPrefix(read, []byte("{"))
		}
		if n > 0 && !a.Spoken {
			a.ResetIdle() // before the first word, what comes says that the call waits in a queue
		}
		if isPlain {
			plain = append(plain, read...)
		} else if pushed := e.Push(read); pushed != nil {
			return a.Malformed(pushed)
		}
		if errors.Is(err, io.EOF) {
			e.End()
		}
		for data, ok := e.Pop(); ok; data, ok = e.Pop() {
			if enough, err := a.event(data, w); enough || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && isPlain:
			return w.Plain(plain)
		case errors.Is(err, io.EOF) && (a.Finished || a.Full):
			return nil
		case errors.Is(err, io.EOF):
			return a.client.Lost(a.exchange, fmt.Errorf("the stream ended before its end: %w", io.ErrUnexpectedEOF),
				true)
		case err != nil:
			return a.client.Lost(a.exchange, err, true)
		}
	}
}

func (a *Answer) event(data []byte, w Wire) (enough bool, err error) {
	if a.Done {
		return false, nil
	}
	if a.caller.Err() != nil && !a.Finished {
		return false, Interrupted(a.caller)
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return false, nil
	}
	return w.Event(data)
}

// Piece adds a piece, which may have text that is part of the visible answer, text that is not, or both: at most most
// visible pieces, and mostAll pieces together. enough: nothing that follows matters.
func (a *Answer) Piece(visible string, hidden bool) (enough bool, err error) {
	if a.Finished || visible == "" && !hidden {
		return false, nil
	}
	if a.Full {
		return true, nil // it continues beyond its limit: close the stream
	}
	if hidden {
		a.Hidden++
	}
	if visible != "" {
		a.Visible++
		a.text.WriteString(visible)
		if a.token != nil && !a.token(visible) {
			a.Halted = true
			return true, nil
		}
	}
	if a.Visible >= a.most || a.Visible+a.Hidden >= a.mostAll {
		a.Full = true
	}
	if a.caller.Err() != nil && !a.Full {
		return false, Interrupted(a.caller)
	}
	return false, nil
}

// Malformed is the failure of an answer that cannot be read.
func (a *Answer) Malformed(err error) error { return a.client.malformed(err) }

// Usage is the usage of the answer: the provider's when it is plausible and the answer was read to its end, but never
// below the pieces counted here; else what was counted.
func (a *Answer) Usage(promptBytes int, provider budget.Tokens, plausible bool) (budget.Tokens, inference.UsageFrom) {
	pieces := a.Visible + a.Hidden
	if !plausible || !a.Finished {
		count := Counted(promptBytes, pieces)
		count.Reasoning = int64(a.Hidden)
		return count, inference.ByCount
	}
	provider.Out = max(provider.Out, int64(pieces))
	return provider, inference.ByProvider
}

// Conclude makes the answer from what was read. err is what Read or Send returned.
func (a *Answer) Conclude(err error) (inference.Answer, error) {
	out := a.Answer
	out.Text = a.text.String()
	var cut *interrupted
	switch {
	case a.Halted:
		out.Finish = inference.Halted
	case a.Finished || a.Full:
		if out.Finish == "" {
			out.Finish = inference.Length
		}
	case errors.As(err, &cut):
		out.Finish = inference.Cut
		return out, err
	default:
		return out, err
	}
	return out, nil
}

// bytesPerToken is a rule of thumb for English; it is used for estimates, never for reservations.
const bytesPerToken = 4

// Counted is the usage from what was sent and seen, when the provider reports none.
func Counted(promptBytes, pieces int) budget.Tokens {
	return budget.Tokens{In: int64(promptBytes+bytesPerToken-1) / bytesPerToken, Out: int64(pieces)}
}

// LimitOf is the most tokens of any sort that the provider may generate.
func LimitOf(spec inference.Spec, r inference.Request) int {
	if spec.Reasoning {
		return r.MaxTokens + r.Reasoning
	}
	return r.MaxTokens
}

// Check refuses what no provider could answer; nothing is sent then.
func Check(spec inference.Spec, r inference.Request) error {
	if spec.Embeds {
		return BadRequest("model %q is an embedding model; it cannot generate", r.Model)
	}
	if r.MaxTokens <= 0 || r.Reasoning < 0 {
		return BadRequest("max tokens is %d and reasoning %d; the first must be above 0, the second not below",
			r.MaxTokens, r.Reasoning)
	}
	if len(r.Messages) == 0 {
		return BadRequest("request has no messages; it needs at least one")
	}
	for i, m := range r.Messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return BadRequest("message %d has role %q; it must be system, user or assistant", i+1, m.Role)
		}
		if m.Content == "" {
			return BadRequest("message %d (%s) is empty", i+1, m.Role)
		}
	}
	for _, f := range []struct {
		name string
		v    *float64
	}{{"temperature", r.Sampling.Temperature}, {"min_p", r.Sampling.MinP}, {"top_p", r.Sampling.TopP}} {
		if f.v != nil && (math.IsNaN(*f.v) || math.IsInf(*f.v, 0) || *f.v < 0) {
			return BadRequest("%s is %v; it must be a number from 0 up", f.name, *f.v)
		}
	}
	if r.Schema != nil && !json.Valid(r.Schema.JSON) {
		return BadRequest("schema %q is not JSON", r.Schema.Name)
	}
	return nil
}

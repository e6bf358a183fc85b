package openaigw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// answerReader reads one generation.
type answerReader struct {
	g        *Gateway
	caller   context.Context
	exchange context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	idle     time.Duration
	token    func(string) bool
	most     int // visible pieces
	mostAll  int // visible and hidden pieces

	answer   inference.Answer
	text     strings.Builder
	hidden   int
	usage    *openai.Usage
	sure     logProbMean
	spoken   bool // an event has come
	full     bool // most pieces have come: only the end may follow
	halted   bool // the caller stopped it
	finished bool // the provider reported the end
	done     bool // the stream's end mark has come
	waits    int  // the number of the wait under way after the end of the answer
}

func (g *Gateway) openAnswer(ctx context.Context, spec inference.Spec, r inference.Request,
	token func(string) bool,
) *answerReader {
	l := &answerReader{
		g:       g,
		caller:  ctx,
		token:   token,
		idle:    r.IdleToken,
		most:    r.MaxTokens,
		mostAll: limitOf(spec, r),
	}
	l.exchange, l.cancel = context.WithCancelCause(ctx)
	l.resetIdle()
	return l
}

func (l *answerReader) close() {
	l.cancel(errClosed)
	if l.timer != nil {
		l.timer.Stop()
	}
}

// resetIdle restarts the idle timeout.
func (l *answerReader) resetIdle() {
	switch {
	case l.idle <= 0 || l.waits > 0:
	case l.timer == nil:
		l.timer = time.AfterFunc(l.idle, func() {
			l.cancel(fmt.Errorf("%w for %s", errSilence, l.idle))
		})
	default:
		l.timer.Reset(l.idle)
	}
}

// tail ends the exchange after a while: the answer is complete, and only the usage, then the end of the body, are
// still waited for. Nothing that comes prolongs either wait.
func (l *answerReader) tail() {
	stage, d := 1, l.g.usageWait
	if l.done || l.finished && l.usage != nil {
		stage, d = 2, drainWait
	}
	if stage <= l.waits {
		return
	}
	l.waits = stage
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(d, func() { l.cancel(errTail) })
}

// read reads the body to its end, or to where the answer ends. A body that begins with { is a plain response.
func (l *answerReader) read(body io.Reader) error {
	e := events{limit: eventLimit}
	var chunk [8 << 10]byte
	var plain []byte
	total, isPlain, found := int64(0), false, false
	for {
		n, err := body.Read(chunk[:])
		total += int64(n)
		if total > l.g.bodyLimit {
			return l.malformed(fmt.Errorf("it is longer than %d bytes", l.g.bodyLimit))
		}
		read := chunk[:n]
		if !found {
			read = bytes.TrimLeft(read, " \t\r\n")
			found, isPlain = len(read) > 0, bytes.HasPrefix(read, []byte("{"))
		}
		if n > 0 && !l.spoken {
			l.resetIdle() // before the first event, comments say that the call waits in a queue
		}
		if isPlain {
			plain = append(plain, read...)
		} else if pushed := e.push(read); pushed != nil {
			return l.malformed(pushed)
		}
		if errors.Is(err, io.EOF) {
			e.end()
		}
		for data, ok := e.pop(); ok; data, ok = e.pop() {
			if enough, err := l.event(data); enough || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && isPlain:
			return l.plain(plain)
		case errors.Is(err, io.EOF) && (l.finished || l.full):
			return nil
		case errors.Is(err, io.EOF):
			return l.g.lostExchange(l.exchange, fmt.Errorf("the stream ended before its end: %w", io.ErrUnexpectedEOF), true)
		case err != nil:
			return l.g.lostExchange(l.exchange, err, true)
		}
	}
}

// event reads one event. enough: nothing that follows matters.
func (l *answerReader) event(data []byte) (enough bool, err error) {
	if l.done {
		return false, nil
	}
	if l.caller.Err() != nil && !l.finished {
		return false, &interrupted{context.Cause(l.caller)}
	}
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return false, nil
	case bytes.Equal(data, []byte("[DONE]")):
		return l.end()
	}
	var h chunkBody
	if err := json.Unmarshal(data, &h); err != nil {
		return false, l.malformed(err)
	}
	l.spoken = true
	l.resetIdle()
	return l.take(h, func(c choice) speech { return c.Delta })
}

// end reads the stream's end mark. A stream without any choice is not an answer.
func (l *answerReader) end() (bool, error) {
	if !l.finished && l.answer.Visible+l.hidden == 0 {
		return false, l.malformed(errors.New("it ended without a word"))
	}
	if !l.finished && l.answer.Finish == "" && !l.full {
		l.answer.Finish = inference.Stopped
	}
	l.finished, l.done = true, true
	l.tail()
	return false, nil
}

func (l *answerReader) take(h chunkBody, part func(choice) speech) (enough bool, err error) {
	if len(h.Error) > 0 && string(h.Error) != "null" && !l.finished {
		return false, l.g.failureIn(h.Error)
	}
	if h.ID != "" {
		l.answer.Provider = h.ID
	}
	if h.Model != "" {
		l.answer.Model = h.Model
	}
	if h.Usage != nil {
		l.usage = h.Usage
	}
	for _, c := range h.Choices {
		if c.Index != 0 {
			continue
		}
		answer := part(c)
		if answer.Content != "" && !l.full && !l.finished {
			l.sure.add(c.LogProbs)
		}
		if enough, err := l.piece(answer); enough || err != nil {
			return enough, err
		}
		if c.Finish != "" && c.Finish != openai.FinishReasonNull {
			l.finished, l.answer.Finish = true, finishOf(string(c.Finish))
		}
	}
	if l.finished || l.full {
		l.tail()
	}
	return false, nil
}

// piece adds text: at most most visible pieces, and mostAll pieces together.
func (l *answerReader) piece(s speech) (enough bool, err error) {
	if l.finished || s.Content == "" && !s.hidden() {
		return false, nil
	}
	if l.full {
		return true, nil // it continues beyond its limit: close the stream
	}
	if s.hidden() {
		l.hidden++
	}
	if s.Content != "" {
		l.answer.Visible++
		l.text.WriteString(s.Content)
		if l.token != nil && !l.token(s.Content) {
			l.halted = true
			return true, nil
		}
	}
	if l.answer.Visible >= l.most || l.answer.Visible+l.hidden >= l.mostAll {
		l.full = true
	}
	if l.caller.Err() != nil && !l.full {
		return false, &interrupted{context.Cause(l.caller)}
	}
	return false, nil
}

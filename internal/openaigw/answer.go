package openaigw

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/exchange"
)

// answerReader reads one generation.
type answerReader struct {
	*exchange.Answer
	client *exchange.Client
	usage  *openai.Usage
	sure   logProbMean
}

// Event reads one event.
func (l *answerReader) Event(data []byte) (enough bool, err error) {
	if bytes.Equal(data, []byte("[DONE]")) {
		return l.end()
	}
	var h chunkBody
	if err := json.Unmarshal(data, &h); err != nil {
		return false, l.Malformed(err)
	}
	l.Spoken = true
	l.ResetIdle()
	return l.take(h, func(c choice) speech { return c.Delta })
}

// end reads the stream's end mark. A stream without any choice is not an answer.
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

func (l *answerReader) take(h chunkBody, part func(choice) speech) (enough bool, err error) {
	if len(h.Error) > 0 && string(h.Error) != "null" && !l.Finished {
		return false, l.client.FailureIn(h.Error)
	}
	if h.ID != "" {
		l.Provider = h.ID
	}
	if h.Model != "" {
		l.Model = h.Model
	}
	if h.Usage != nil {
		l.usage, l.Counted = h.Usage, true
	}
	for _, c := range h.Choices {
		if c.Index != 0 {
			continue
		}
		answer := part(c)
		if answer.Content != "" && !l.Full && !l.Finished {
			l.sure.add(c.LogProbs)
		}
		if enough, err := l.Piece(answer.Content, answer.hidden()); enough || err != nil {
			return enough, err
		}
		if c.Finish != "" && c.Finish != openai.FinishReasonNull {
			l.Finished, l.Finish = true, finishOf(string(c.Finish))
		}
	}
	if l.Finished || l.Full {
		l.Tail()
	}
	return false, nil
}

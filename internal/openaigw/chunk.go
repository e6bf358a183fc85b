package openaigw

import (
	"encoding/json"
	"errors"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// chunkBody is one chunk of a stream, or a plain response: they differ only in delta and message.
type chunkBody struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *openai.Usage   `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index   int                 `json:"index"`
	Delta   speech              `json:"delta"`
	Message speech              `json:"message"`
	Text    string              `json:"text"` // of the completion of a text
	Finish  openai.FinishReason `json:"finish_reason"`

	LogProbs json.RawMessage `json:"logprobs"` // parsed separately: servers differ, and no answer fails because of it
}

type speech struct {
	Content   string `json:"content"`
	Refusal   string `json:"refusal"`
	Reasoning string `json:"reasoning"`         // vLLM, OpenRouter
	Thinking  string `json:"reasoning_content"` // DeepSeek and others
}

// hidden reports whether there was text that is not part of the visible answer.
func (s speech) hidden() bool { return s.Reasoning != "" || s.Thinking != "" || s.Refusal != "" }

// Plain reads a response that did not come as a stream: it is one piece.
func (l *answerReader) Plain(body []byte) error {
	var h chunkBody
	if err := json.Unmarshal(body, &h); err != nil {
		return l.Malformed(err)
	}
	if len(h.Choices) == 0 && len(h.Error) == 0 {
		return l.Malformed(errors.New("it holds no choice"))
	}
	if _, err := l.take(h, func(c choice) speech { return c.Message }); err != nil {
		return err
	}
	l.Finished = true
	if l.Finish == "" {
		l.Finish = inference.Stopped
	}
	return nil
}

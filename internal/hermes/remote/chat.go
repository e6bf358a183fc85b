package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

// ErrBroken is the error of an answer that broke off before its end.
var ErrBroken = errors.New("the answer broke off")

// Chat asks the model to go on with a conversation, and hands each piece of the answer to piece as it comes. The
// request is sent once: whether a lost answer was paid for is not known. When the context ends in the middle, the reply
// has what had come, and the error is the context's. When the stream breaks off, it has what had come, and the error is
// an ErrBroken.
func (c *Client) Chat(ctx context.Context, r message.Request, piece func(string)) (message.Reply, error) {
	req, err := c.request(ctx, http.MethodPost, "/chat/completions", nil, c.completion(r))
	if err != nil {
		return message.Reply{}, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if r.Quiet && c.Kind() != Plain {
		for _, name := range []string{"Store", "Affect", "Digest"} {
			req.Header.Set("X-Oneiros-"+name, "off")
		}
	}
	if id := c.held.Load(); id != nil {
		req.Header.Set("X-Oneiros-Session", *id) // so that the agent is let go with the session, and no later
	}
	res, err := c.do(req)
	if err != nil {
		return message.Reply{}, c.chatRefused(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{piece: piece}
	if isJSON(res.Header) {
		err = a.whole(res.Body)
	} else {
		err = a.stream(res.Body)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	reply := a.reply()
	reply.Notes = notesOf(res.Header)
	return reply, err
}

// completion is a request in the form of the API. Its types are those of go-openai; its reader of streams is not used,
// because it takes a stream that was cut off for one that ended, and loses an error that follows a comment.
func (c *Client) completion(r message.Request) openai.ChatCompletionRequest {
	body := openai.ChatCompletionRequest{
		Model:         c.s.Agent,
		Stream:        true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	//lint:ignore SA1019 every server has this field; few have the one that OpenAI put in its place
	body.MaxTokens = r.MaxTokens
	for _, m := range r.Messages {
		out := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
		if m.Role == message.FromTool && m.Content == "" {
			out.Content = "(nothing)" // the library leaves an empty content out, and a tool's message must have one
		}
		for _, call := range m.Calls {
			out.ToolCalls = append(out.ToolCalls, openai.ToolCall{
				ID:       call.ID,
				Type:     openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		body.Messages = append(body.Messages, out)
	}
	for _, tool := range r.Tools {
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		body.Tools = append(body.Tools, openai.Tool{
			Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{
				Name:        tool.Name,
				Description: tool.Description,
				Parameters:  parameters,
			},
		})
	}
	return body
}

// chatRefused adds to a refusal what the server has, where it does not say so itself.
func (c *Client) chatRefused(ctx context.Context, err error) error {
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != http.StatusNotFound || strings.Contains(e.Message, "This key reaches") {
		return err
	}
	models, listed := c.Models(ctx)
	if listed != nil {
		return err
	}
	if slices.ContainsFunc(models, func(m api.Model) bool { return m.ID == c.s.Agent }) {
		return err
	}
	return fmt.Errorf("there is no model %q at %s; %s: %w", c.s.Agent, c.base, named(models), err)
}

// named lists models in a sentence.
func named(models []api.Model) string {
	const most = 12
	if len(models) == 0 {
		return "there is none"
	}
	var names []string
	for _, m := range models[:min(len(models), most)] {
		names = append(names, m.ID)
	}
	text := "there is " + strings.Join(names, ", ")
	if n := len(models) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// answer is what has come of an answer.
type answer struct {
	piece  func(string)
	text   strings.Builder
	calls  toolCalls
	finish string
	usage  message.Usage
	ended  bool
}

// stream reads the pieces until the stream's end.
func (a *answer) stream(body io.Reader) error {
	events := newSentEvents(body)
	for {
		e, err := events.next()
		if errors.Is(err, io.EOF) && (a.ended || a.finish != "") {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		if len(e.data) == 0 {
			continue
		}
		if bytes.Equal(bytes.TrimSpace(e.data), []byte("[DONE]")) {
			a.ended = true
			return nil
		}
		err = a.take(e.data)
		if err != nil {
			return err
		}
	}
}

// broken says why a stream broke off, without the words of the network's layers.
func broken(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the connection ended before the answer did", ErrBroken)
	default:
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
}

// take adds one piece.
func (a *answer) take(data []byte) error {
	_, says := fault(data)
	if says != "" {
		return fmt.Errorf("%w: %s", ErrBroken, says)
	}
	var chunk openai.ChatCompletionStreamResponse
	err := json.Unmarshal(data, &chunk)
	if err != nil {
		return fmt.Errorf("%w: a piece of it is no piece of an answer: %w", ErrBroken, err)
	}
	a.count(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.say(choice.Delta.Content + choice.Delta.Refusal)
		for _, call := range choice.Delta.ToolCalls {
			a.calls.add(call)
		}
		if choice.FinishReason != "" && choice.FinishReason != "null" {
			a.finish = string(choice.FinishReason)
		}
	}
	return nil
}

// whole reads an answer of a server that does not stream.
func (a *answer) whole(body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, largestBody))
	if err != nil {
		return broken(err)
	}
	_, says := fault(text)
	if says != "" {
		return fmt.Errorf("%w: %s", ErrBroken, says)
	}
	var complete openai.ChatCompletionResponse
	err = json.Unmarshal(text, &complete)
	if err != nil || len(complete.Choices) == 0 {
		return fmt.Errorf("the server's answer is no chat completion")
	}
	first := complete.Choices[0]
	a.count(&complete.Usage)
	a.say(first.Message.Content + first.Message.Refusal)
	for _, call := range first.Message.ToolCalls {
		a.calls.add(call)
	}
	a.finish, a.ended = string(first.FinishReason), true
	return nil
}

func (a *answer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	if a.piece != nil {
		a.piece(text)
	}
}

func (a *answer) count(u *openai.Usage) {
	if u == nil || u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return
	}
	a.usage = message.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
	if details := u.PromptTokensDetails; details != nil {
		a.usage.Cached = details.CachedTokens
	}
}

func (a *answer) reply() message.Reply {
	return message.Reply{
		Message: message.Message{
			Role:    message.Assistant,
			Content: a.text.String(),
			Calls:   a.calls.finished(),
		},
		Finish: a.finish,
		Usage:  a.usage,
	}
}

// notesOf are what the headers of an Oneiros server say.
func notesOf(h http.Header) message.Notes {
	recalled, _ := strconv.Atoi(h.Get("X-Oneiros-Recalled"))
	return message.Notes{
		Recalled: recalled,
		Skipped:  h.Get("X-Oneiros-Recall-Skipped"),
		Woke:     h.Get("X-Oneiros-Woke") == "true",
		Degraded: h.Get("X-Oneiros-Degraded"),
	}
}

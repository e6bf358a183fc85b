package messages

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Event is one event of a stream of Messages, or an answer in one piece, as far as it is read. Events of a type that is
// not known here are passed over, as Anthropic asks clients to.
type Event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *Received       `json:"message"` // of message_start
	Block   *Block          `json:"content_block"`
	Delta   Delta           `json:"delta"`
	Usage   *Counts         `json:"usage"` // of message_delta
	Error   json.RawMessage `json:"error"`
}

// Received is a message as a provider sends it: the head of a stream, or the whole answer.
type Received struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Content    []Block `json:"content"`
	StopReason string  `json:"stop_reason"`
	Usage      *Counts `json:"usage"`
}

// Block is a block of an answer. Which members it has depends on its type.
type Block struct {
	Type      string          `json:"type"` // text, thinking, redacted_thinking, tool_use, or one not known here
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"` // of a redacted thought
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// Delta is a change of a block, or of the message at its end.
type Delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	Input      string `json:"partial_json"`
	StopReason string `json:"stop_reason"`
}

// Shown is the visible text of a change.
func (d *Delta) Shown() string {
	if d.Type == "text_delta" {
		return d.Text
	}
	return ""
}

// Hidden reports whether a change has text that is no part of the visible answer.
func (d *Delta) Hidden() bool {
	return d.Type == "thinking_delta" && d.Thinking != "" || d.Type == "input_json_delta" && d.Input != ""
}

// Counts is the usage as Anthropic divides it. In a stream each number is the sum so far, and one that is absent is
// unchanged.
type Counts struct {
	Input       *int64 `json:"input_tokens"`
	CacheWrites *int64 `json:"cache_creation_input_tokens"`
	CacheReads  *int64 `json:"cache_read_input_tokens"`
	Output      *int64 `json:"output_tokens"`
	Writes      *struct {
		FiveMinutes int64 `json:"ephemeral_5m_input_tokens"`
		Hour        int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// Billed is the usage of one answer, read from its events.
type Billed struct {
	input, writes, hour, reads, output, thinking int64

	divided bool // it was said for how long what was written is kept
	started bool // the prompt was counted
	last    bool // the end of the answer was counted
}

// Begin takes the usage of message_start, whose output is only what has been generated until then.
func (b *Billed) Begin(c *Counts) { b.add(c) }

// End takes the usage of message_delta or of an answer in one piece.
func (b *Billed) End(c *Counts) {
	b.add(c)
	b.last = b.last || c != nil && c.Output != nil
}

func (b *Billed) add(c *Counts) {
	if c == nil {
		return
	}
	for _, each := range []struct{ to, from *int64 }{
		{&b.input, c.Input}, {&b.writes, c.CacheWrites}, {&b.reads, c.CacheReads}, {&b.output, c.Output},
	} {
		if each.from != nil {
			*each.to = *each.from
		}
	}
	b.started = b.started || c.Input != nil
	if c.Writes != nil {
		b.hour, b.divided = c.Writes.Hour, true
	}
	if c.Details != nil {
		b.thinking = c.Details.Thinking
	}
}

// mostTokens is more than any answer has.
const mostTokens = int64(1) << 40

// Tokens is the usage, and whether it is the provider's last word and can be true. A token that is written to a cache
// costs a quarter more than a token of the prompt, or once more where it is kept for an hour; where that is not said,
// it counts as kept for an hour.
func (b *Billed) Tokens() (t budget.Tokens, final bool) {
	sound := true
	for _, n := range []int64{b.input, b.writes, b.hour, b.reads, b.output, b.thinking} {
		sound = sound && n >= 0 && n <= mostTokens
	}
	if !sound {
		return budget.Tokens{}, false
	}
	hour := b.writes
	if b.divided {
		hour = min(b.hour, b.writes)
	}
	t = budget.Tokens{
		In:        b.input + b.writes + b.reads,
		Cached:    b.reads,
		Surcharge: hour + (b.writes-hour+3)/4,
		Out:       b.output,
		Reasoning: min(b.thinking, b.output),
	}
	return t, b.started && b.last && t.In > 0
}

// Prompt is the number of tokens of the prompt, and whether it is known.
func (b *Billed) Prompt() (int64, bool) {
	t, _ := b.Tokens()
	return t.In, b.started && t.In > 0
}

// Usage is the usage as Messages divides it.
func (b *Billed) Usage() Usage {
	return Usage{Input: b.input, CacheWrites: b.writes, CacheReads: b.reads, Output: b.output}
}

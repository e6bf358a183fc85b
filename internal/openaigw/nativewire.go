package openaigw

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// nativeReader reads the usage of an answer that is no chat completion: one piece of JSON, or event by event.
type nativeReader interface {
	event(data []byte) // of a stream
	whole(data []byte) // an answer in one piece
	// seen is what was read; final says that the usage is the answer's last and can be true.
	seen() (tokens budget.Tokens, pieces int64, finish string, final bool)
}

// nativeReaders make the readers of wires that are no chat completions, by the path of their requests.
var nativeReaders = map[string]func() nativeReader{
	"/messages":  func() nativeReader { return &messageUsage{} },
	"/responses": func() nativeReader { return &responseUsage{} },
}

// messageCounts are the tokens of Anthropic's Messages: what was written to a cache and what was read from it are not
// among the input there.
type messageCounts struct {
	In      *int64 `json:"input_tokens"`
	Written *int64 `json:"cache_creation_input_tokens"`
	Read    *int64 `json:"cache_read_input_tokens"`
	Out     *int64 `json:"output_tokens"`
}

// messageUsage reads an answer of Anthropic's Messages. The counts of a stream are sums so far.
type messageUsage struct {
	in, written, read, out int64
	begun                  bool // the counts of the prompt were stated
	last                   bool // those of the end were
	pieces                 int64
	finish                 string
}

func (u *messageUsage) add(c *messageCounts) {
	for _, each := range []struct{ to, from *int64 }{
		{&u.in, c.In}, {&u.written, c.Written}, {&u.read, c.Read}, {&u.out, c.Out},
	} {
		if each.from != nil {
			*each.to = *each.from
		}
	}
	u.begun = u.begun || c.In != nil
}

func (u *messageUsage) event(data []byte) {
	var e struct {
		Type    string
		Message struct{ Usage messageCounts }
		Usage   *messageCounts
		Delta   struct {
			Text, Thinking string
			Input          string `json:"partial_json"`
			Stop           string `json:"stop_reason"`
		}
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		u.add(&e.Message.Usage)
	case "content_block_delta":
		if e.Delta.Text != "" || e.Delta.Thinking != "" || e.Delta.Input != "" {
			u.pieces++
		}
	case "message_delta":
		if e.Usage != nil {
			u.add(e.Usage)
			u.last = u.last || e.Usage.Out != nil
		}
		u.finish = e.Delta.Stop
	}
}

func (u *messageUsage) whole(data []byte) {
	var m struct {
		Usage *messageCounts
		Stop  string `json:"stop_reason"`
	}
	if json.Unmarshal(data, &m) == nil && m.Usage != nil {
		u.add(m.Usage)
		u.last, u.finish = m.Usage.Out != nil, m.Stop
	}
}

func (u *messageUsage) seen() (tokens budget.Tokens, pieces int64, finish string, final bool) {
	sound := u.in >= 0 && u.written >= 0 && u.read >= 0 && u.out >= 0
	tokens = budget.Tokens{In: sum(u.in, u.written, u.read), Cached: u.read, Out: u.out}
	return tokens, u.pieces, u.finish, u.begun && u.last && sound && tokens.In > 0
}

// sum adds counts without overflow.
func sum(counts ...int64) int64 {
	const most = int64(1) << 40 // tokens; no answer has more
	total := int64(0)
	for _, n := range counts {
		total += min(max(n, 0), most)
	}
	return total
}

// responseUsage reads an answer of OpenAI's Responses.
type responseUsage struct {
	tokens budget.Tokens
	final  bool
	pieces int64
	finish string
}

// respond is the part of a response that is read.
type respond struct {
	Status string
	Usage  *struct {
		In       int64 `json:"input_tokens"`
		Out      int64 `json:"output_tokens"`
		InDetail struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutDetail struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
}

func (u *responseUsage) take(r *respond) {
	u.finish = r.Status
	if r.Usage == nil || r.Usage.In <= 0 || r.Usage.Out < 0 {
		return
	}
	u.final = true
	u.tokens = budget.Tokens{
		In:        r.Usage.In,
		Cached:    min(max(0, r.Usage.InDetail.Cached), r.Usage.In),
		Out:       r.Usage.Out,
		Reasoning: min(max(0, r.Usage.OutDetail.Reasoning), r.Usage.Out),
	}
}

func (u *responseUsage) event(data []byte) {
	var e struct {
		Type     string
		Delta    json.RawMessage
		Response json.RawMessage
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed":
		u.whole(e.Response)
	default:
		if len(e.Delta) > len(`""`) && e.Delta[0] == '"' {
			u.pieces++
		}
	}
}

func (u *responseUsage) whole(data []byte) {
	var r respond
	if json.Unmarshal(data, &r) == nil {
		u.take(&r)
	}
}

func (u *responseUsage) seen() (tokens budget.Tokens, pieces int64, finish string, final bool) {
	return u.tokens, u.pieces, u.finish, u.final
}

package responses

import (
	"encoding/json"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Event is one event of a stream, as far as it is read. Events of a type that is not known here are passed over.
type Event struct {
	Type     string          `json:"type"`
	Place    *int            `json:"output_index"` // nil: some servers name the item only
	ItemID   string          `json:"item_id"`
	Content  int             `json:"content_index"`
	Summary  int             `json:"summary_index"`
	Delta    json.RawMessage `json:"delta"`
	LogProbs json.RawMessage `json:"logprobs"`
	Note     json.RawMessage `json:"annotation"`
	Item     *Item           `json:"item"`
	Response *Received       `json:"response"`

	Code    json.RawMessage `json:"code"` // of an event that is an error
	Message string          `json:"message"`
	Param   json.RawMessage `json:"param"`
	Error   json.RawMessage `json:"error"` // as some servers hold it
}

// The types of events that end a stream.
const (
	completedEvent  = "response.completed"
	incompleteEvent = "response.incomplete"
	failedEvent     = "response.failed"
	errorEvent      = "error"
)

// Ends reports whether an event ends a stream.
func (e *Event) Ends() bool {
	switch e.Type {
	case completedEvent, incompleteEvent, failedEvent, errorEvent:
		return true
	}
	return false
}

// Received is a response as a provider sends it: the head of a stream, its end, or the whole answer.
type Received struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Tier       string          `json:"service_tier"`
	Output     []Item          `json:"output"`
	Usage      *Counts         `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// Item is an item of an output. Which members it has depends on its type.
type Item struct {
	Type      string `json:"type"` // message, reasoning, function_call, custom_tool_call, or one not known here
	ID        string `json:"id"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments text   `json:"arguments"`
	Input     text   `json:"input"`
	Phase     string `json:"phase"`
	Sealed    string `json:"encrypted_content"`
	Content   parts  `json:"content"`
	Summary   parts  `json:"summary"`
}

// Part is a part of a message or of a thought.
type Part struct {
	// output_text, refusal, summary_text, reasoning_text, or one not known here
	Type     string            `json:"type"`
	Text     string            `json:"text"`
	Refusal  string            `json:"refusal"`
	LogProbs json.RawMessage   `json:"logprobs"`
	Notes    []json.RawMessage `json:"annotations"`
}

// parts are those of an item. Where an item that is not known here has something else, it has none.
type parts []Part

// UnmarshalJSON reads a list of parts.
func (p *parts) UnmarshalJSON(raw []byte) error {
	var all []Part
	if json.Unmarshal(raw, &all) == nil {
		*p = all
	}
	return nil
}

// text is a string, or the text of another value, as some servers send the arguments of a call.
type text string

// UnmarshalJSON reads any value.
func (t *text) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
	case raw[0] == '"':
		*t = text(jsonscan.Unquoted(raw))
	default:
		*t = text(raw)
	}
	return nil
}

// Counts is the usage as OpenAI divides it.
type Counts struct {
	In       int64 `json:"input_tokens"`
	Out      int64 `json:"output_tokens"`
	InDetail struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutDetail struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// Tokens is the usage, and whether it can be true.
func (c *Counts) Tokens() (budget.Tokens, bool) {
	if c == nil || c.In <= 0 || c.Out < 0 {
		return budget.Tokens{}, false
	}
	return budget.Tokens{
		In:        c.In,
		Cached:    min(max(0, c.InDetail.Cached), c.In),
		Out:       c.Out,
		Reasoning: min(max(0, c.OutDetail.Reasoning), c.Out),
	}, true
}

// Text is the text of a change; empty where it has none.
func (e *Event) Text() string {
	if len(e.Delta) == 0 || e.Delta[0] != '"' {
		return ""
	}
	return jsonscan.Unquoted(e.Delta)
}

// Shown is the visible text of an event.
func (e *Event) Shown() string {
	if e.Type == "response.output_text.delta" {
		return e.Text()
	}
	return ""
}

// Hidden reports whether an event has text that is no part of the visible answer.
func (e *Event) Hidden() bool {
	return e.Type != "response.output_text.delta" && len(e.Delta) > len(`""`) && e.Delta[0] == '"'
}

// Length reports whether the answer ended because it reached its maximum of tokens; 0: none was asked for. Some servers
// say that it is complete, however it ended.
func (r *Received) Length(most int64) bool {
	return r.Incomplete.Reason == "max_output_tokens" || most > 0 && r.Usage != nil && r.Usage.Out >= most
}

// Failure is what a failed answer says of it, as an error of OpenAI's; nil for an answer that did not fail.
func (r *Received) Failure() json.RawMessage {
	switch {
	case given(r.Error):
		return r.Error
	case r.Status == "failed", r.Status == "cancelled":
		return json.RawMessage(`{"message":"the provider says that the response ` + r.Status + `",` +
			`"code":"server_error"}`)
	}
	return nil
}

// Failure is the error that an event reports, as an error of OpenAI's; nil for any other event.
func (e *Event) Failure() json.RawMessage {
	switch {
	case e.Type == failedEvent && e.Response != nil && e.Response.Failure() != nil:
		return e.Response.Failure()
	case e.Type == failedEvent:
		return json.RawMessage(`{"message":"the provider says that the response failed","code":"server_error"}`)
	case given(e.Error):
		return e.Error
	case e.Type == errorEvent:
		raw, _ := json.Marshal(map[string]any{
			"message": e.Message, "code": rawOrNull(e.Code), "param": rawOrNull(e.Param),
		})
		return raw
	}
	return nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func rawOrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

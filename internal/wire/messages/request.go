// Package messages translates between Anthropic's Messages and chat completions: a request into the body of a chat
// completion, and the pieces of its answer into a message, whole or as events. What cannot be said in a chat
// completion is an error that names the field; what has no effect there, and is left out by a stated rule, is named
// in Ignored.
package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// Error is what is wrong with a request, or what cannot be said to a provider of the other wire.
type Error = jsonobject.Error

type (
	reader = jsonobject.Reader
	object = jsonobject.Object
)

// Provider is what a request is translated for.
type Provider struct {
	Reasons bool // its model thinks before it answers: it takes reasoning_effort, and max_completion_tokens for max_tokens
	Caches  bool // it takes cache_control
}

// Thinking is how thoughts are shown.
type Thinking string

// How thoughts are shown: not at all, with their text, or with a signature alone.
const (
	ThinkingOff     Thinking = "off"
	ThinkingShown   Thinking = "shown"
	ThinkingOmitted Thinking = "omitted"
)

// Request is a request for a message.
type Request struct {
	Model    string
	Stream   bool
	Thinking Thinking

	body     object
	stops    []string // the texts that end the answer
	user     string
	ignored  []string
	pictures []int
	provider Provider
	effort   string
	budget   int64 // tokens for thinking; 0: none is named
}

// fields are those of a body. Betas that programs send in the body are among them.
var fields = strings.Fields(`
	model messages max_tokens system stream temperature top_p top_k stop_sequences tools tool_choice thinking
	metadata service_tier cache_control output_config output_format context_management diagnostics container
	mcp_servers inference_geo speed`)

// Read reads a body. Errors are *Error.
func Read(raw []byte) (*Request, error) {
	if err := jsonobject.ValidText(raw); err != nil {
		return nil, err
	}
	r := &reader{}
	q := &Request{body: r.Object("", raw, fields...), Thinking: ThinkingOff}
	b := &q.body
	q.Model, q.Stream = b.Text("model"), b.Flag("stream")
	q.user = userOf(b)
	q.thinking(b)
	for i, each := range r.List("stop_sequences", b.Raw("stop_sequences")) {
		q.stops = append(q.stops, r.String(jsonobject.Place("stop_sequences", i), each))
	}
	b.Empty("container", "a container runs code at Anthropic, which no chat completions provider does. Leave it out.")
	b.Empty("mcp_servers",
		"a chat completions provider calls no servers of tools. Let the client call them, and send their tools in tools.")
	if b.One("speed", "standard", "fast") == "fast" {
		r.Fail("speed", `it is "fast", which a chat completions provider cannot promise. Leave it out.`)
	}
	if b.One("inference_geo", "global", "us", "eu", "not_available") != "" && b.Text("inference_geo") != "global" {
		r.Fail("inference_geo", "it is %q; where a model computes cannot be chosen here. Leave it out.",
			b.Text("inference_geo"))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return q, nil
}

// Head is what is read of a body that is passed on as it is.
type Head struct {
	Model string
	User  string // as Request.User
}

// ReadHead reads the head of a body. Errors are *Error.
func ReadHead(raw []byte) (Head, error) {
	if err := jsonobject.ValidText(raw); err != nil {
		return Head{}, err
	}
	r := &reader{}
	b := r.Object("", raw)
	h := Head{Model: b.Text("model"), User: userOf(&b)}
	if r.Err != nil {
		return Head{}, r.Err
	}
	return h, nil
}

// User is the user that metadata names; empty where it names none. Claude Code writes the ids of a device and of a
// session there, which are no person: they name nobody, so that its next session remembers this one.
func (q *Request) User() string { return q.user }

func userOf(b *object) string {
	meta := b.Raw("metadata")
	if meta == nil {
		return ""
	}
	o := b.Object("metadata", meta, "user_id")
	user := o.Text("user_id")
	var ids map[string]json.RawMessage
	if json.Unmarshal([]byte(user), &ids) == nil && ids["session_id"] != nil {
		return ""
	}
	if strings.HasPrefix(user, "user_") && strings.Contains(user, "_session_") {
		return ""
	}
	return user
}

// thinking reads how the model is asked to think.
func (q *Request) thinking(b *object) {
	if raw := b.Raw("thinking"); raw != nil {
		o := b.Object("thinking", raw, "type", "budget_tokens", "display")
		switch o.One("type", "enabled", "adaptive", "disabled") {
		case "enabled":
			q.Thinking = ThinkingShown
			if o.Raw("budget_tokens") == nil || json.Unmarshal(o.Raw("budget_tokens"),
				&q.budget) != nil || q.budget < 1 {
				o.Fail("thinking.budget_tokens", "it must be a whole number from 1.")
			}
		case "adaptive":
			q.Thinking = ThinkingShown
		case "":
			o.Fail("thinking.type", "it is required.")
		}
		if o.One("display", "summarized", "omitted") == "omitted" && q.Thinking == ThinkingShown {
			q.Thinking = ThinkingOmitted
		}
	}
	if raw := b.Raw("output_config"); raw != nil {
		o := b.Object("output_config", raw, "effort", "format", "task_budget")
		q.effort = o.One("effort", "low", "medium", "high", "xhigh", "max")
		o.Empty("task_budget", "a budget of a task cannot be given to a chat completions provider. Leave it out.")
	}
}

// Budgets of thinking, in tokens, from which an effort counts as medium and as high. Anthropic's smallest budget is
// 1024, and Claude Code's largest 31,999.
const (
	mediumFrom = 4 << 10
	highFrom   = 16 << 10
)

// effortOf is the effort as chat completions name it; empty: the model's own. The two above high are high, which is
// the highest that all models that think take.
func (q *Request) effortOf() string {
	switch {
	case q.effort == "xhigh" || q.effort == "max":
		return "high"
	case q.effort != "":
		return q.effort
	case q.budget >= highFrom:
		return "high"
	case q.budget >= mediumFrom:
		return "medium"
	case q.budget > 0:
		return "low"
	}
	return ""
}

// chatBody is a chat completion's request.
type chatBody struct {
	Model         string           `json:"model"`
	Messages      []chatMessage    `json:"messages"`
	Tools         []chatTool       `json:"tools,omitempty"`
	ToolChoice    any              `json:"tool_choice,omitempty"`
	Parallel      *bool            `json:"parallel_tool_calls,omitempty"`
	MaxTokens     json.RawMessage  `json:"max_tokens,omitempty"`
	MaxCompletion json.RawMessage  `json:"max_completion_tokens,omitempty"`
	Temperature   json.RawMessage  `json:"temperature,omitempty"`
	TopP          json.RawMessage  `json:"top_p,omitempty"`
	TopK          json.RawMessage  `json:"top_k,omitempty"`
	Stop          []string         `json:"stop,omitempty"`
	Effort        string           `json:"reasoning_effort,omitempty"`
	Tier          string           `json:"service_tier,omitempty"`
	Format        *chatFormat      `json:"response_format,omitempty"`
	CacheControl  json.RawMessage  `json:"cache_control,omitempty"`
	Stream        bool             `json:"stream"`
	StreamOptions *chatStreamUsage `json:"stream_options,omitempty"`
}

type chatStreamUsage struct {
	Include bool `json:"include_usage"`
}

type chatFormat struct {
	Type   string     `json:"type"`
	Schema chatSchema `json:"json_schema"`
}

type chatSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// Chat is the request as the body of a chat completion for a provider. Errors are *Error.
func (q *Request) Chat(p Provider) ([]byte, error) {
	q.provider, q.ignored = p, nil
	b := &q.body
	c := chatBody{Model: q.Model, Stream: q.Stream, Stop: q.stops}
	if q.Stream {
		c.StreamOptions = &chatStreamUsage{Include: true}
	}
	c.Temperature, c.TopP, c.TopK = b.Raw("temperature"), b.Raw("top_p"), b.Raw("top_k")
	c.MaxTokens = b.Raw("max_tokens")
	if p.Reasons {
		c.MaxTokens, c.MaxCompletion = nil, c.MaxTokens
		c.Effort = q.effortOf()
	} else {
		q.ignore(q.Thinking != ThinkingOff, "thinking")
		q.ignore(q.effort != "", "output_config.effort")
	}
	q.ignore(p.Reasons && q.Thinking == ThinkingOff && b.Raw("thinking") != nil, "thinking")
	q.ignore(b.Raw("context_management") != nil, "context_management")
	q.ignore(b.Raw("diagnostics") != nil, "diagnostics")
	q.ignore(b.Raw("metadata") != nil && q.user == "", "metadata")
	if b.One("service_tier", "auto", "standard_only") == "standard_only" {
		c.Tier = "default"
	}
	c.CacheControl = q.cacheMark(b)
	c.Format = q.format(b)
	q.tools(b, &c)
	q.messages(b, &c)
	if b.Err != nil {
		return nil, b.Err
	}
	q.pictures = nil
	for i, m := range c.Messages {
		if m.pictures {
			q.pictures = append(q.pictures, i)
		}
	}
	return jsonobject.Marshalled(c), nil
}

// PicturesOfTools returns the places of those messages of the last Chat that hold what tools returned beside text,
// which chat completions take from users alone. Nobody has said what they say.
func (q *Request) PicturesOfTools() []int { return q.pictures }

// Ignored names the fields of the request that Chat left out because they have no effect, each once and in order.
func (q *Request) Ignored() []string {
	slices.Sort(q.ignored)
	return slices.Compact(q.ignored)
}

func (q *Request) ignore(when bool, field string) {
	if when {
		q.ignored = append(q.ignored, field)
	}
}

// cacheMark is an object's request to cache the prompt up to it; nil where there is none, or the provider takes
// none. A provider that takes none caches by itself or not at all, at no other price.
func (q *Request) cacheMark(o *object) json.RawMessage {
	mark := o.Raw("cache_control")
	if mark == nil {
		return nil
	}
	m := o.Object(o.At("cache_control"), mark, "type", "ttl")
	m.One("type", "ephemeral")
	m.One("ttl", "5m", "1h")
	if q.provider.Caches {
		return mark
	}
	q.ignore(true, "cache_control")
	return nil
}

// format is the form that the answer must have, in the field of either of two versions.
func (q *Request) format(b *object) *chatFormat {
	path, raw := "output_format", b.Raw("output_format")
	if config := b.Raw("output_config"); config != nil {
		o := b.Object("output_config", config)
		if o.Raw("format") != nil {
			path, raw = "output_config.format", o.Raw("format")
		}
	}
	if raw == nil {
		return nil
	}
	o := b.Object(path, raw, "type", "schema")
	o.One("type", "json_schema")
	if o.Raw("schema") == nil {
		o.Fail(o.At("schema"), "it is required.")
	}
	return &chatFormat{Type: "json_schema", Schema: chatSchema{Name: "answer", Schema: o.Raw("schema"), Strict: true}}
}

// Package messages translates between Anthropic's Messages and chat completions: a request into the body of a chat
// completion, and the pieces of its answer into a message, whole or as events. What cannot be said in a chat
// completion is an error that names the field; what has no effect there, and is left out by a stated rule, is named
// in Ignored.
package messages

import (
	"encoding/json"
	"slices"
	"strings"
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
	if err := validText(raw); err != nil {
		return nil, err
	}
	r := &reader{}
	q := &Request{body: r.object("", raw, fields...), Thinking: ThinkingOff}
	b := &q.body
	q.Model, q.Stream = b.text("model"), b.flag("stream")
	q.user = userOf(b)
	q.thinking(b)
	for i, each := range r.list("stop_sequences", b.raw("stop_sequences")) {
		q.stops = append(q.stops, r.string(place("stop_sequences", i), each))
	}
	b.empty("container", "a container runs code at Anthropic, which no chat completions provider does. Leave it out.")
	b.empty("mcp_servers",
		"a chat completions provider calls no servers of tools. Let the client call them, and send their tools in tools.")
	if b.one("speed", "standard", "fast") == "fast" {
		r.fail("speed", `it is "fast", which a chat completions provider cannot promise. Leave it out.`)
	}
	if b.one("inference_geo", "global", "us", "eu", "not_available") != "" && b.text("inference_geo") != "global" {
		r.fail("inference_geo", "it is %q; where a model computes cannot be chosen here. Leave it out.",
			b.text("inference_geo"))
	}
	if r.err != nil {
		return nil, r.err
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
	if err := validText(raw); err != nil {
		return Head{}, err
	}
	r := &reader{}
	b := r.object("", raw)
	h := Head{Model: b.text("model"), User: userOf(&b)}
	if r.err != nil {
		return Head{}, r.err
	}
	return h, nil
}

// User is the user that metadata names; empty where it names none. Claude Code writes the ids of a device and of a
// session there, which are no person: they name nobody, so that its next session remembers this one.
func (q *Request) User() string { return q.user }

func userOf(b *object) string {
	meta := b.raw("metadata")
	if meta == nil {
		return ""
	}
	o := b.object("metadata", meta, "user_id")
	user := o.text("user_id")
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
	if raw := b.raw("thinking"); raw != nil {
		o := b.object("thinking", raw, "type", "budget_tokens", "display")
		switch o.one("type", "enabled", "adaptive", "disabled") {
		case "enabled":
			q.Thinking = ThinkingShown
			if o.raw("budget_tokens") == nil || json.Unmarshal(o.raw("budget_tokens"),
				&q.budget) != nil || q.budget < 1 {
				o.fail("thinking.budget_tokens", "it must be a whole number from 1.")
			}
		case "adaptive":
			q.Thinking = ThinkingShown
		case "":
			o.fail("thinking.type", "it is required.")
		}
		if o.one("display", "summarized", "omitted") == "omitted" && q.Thinking == ThinkingShown {
			q.Thinking = ThinkingOmitted
		}
	}
	if raw := b.raw("output_config"); raw != nil {
		o := b.object("output_config", raw, "effort", "format", "task_budget")
		q.effort = o.one("effort", "low", "medium", "high", "xhigh", "max")
		o.empty("task_budget", "a budget of a task cannot be given to a chat completions provider. Leave it out.")
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
	c.Temperature, c.TopP, c.TopK = b.raw("temperature"), b.raw("top_p"), b.raw("top_k")
	c.MaxTokens = b.raw("max_tokens")
	if p.Reasons {
		c.MaxTokens, c.MaxCompletion = nil, c.MaxTokens
		c.Effort = q.effortOf()
	} else {
		q.ignore(q.Thinking != ThinkingOff, "thinking")
		q.ignore(q.effort != "", "output_config.effort")
	}
	q.ignore(p.Reasons && q.Thinking == ThinkingOff && b.raw("thinking") != nil, "thinking")
	q.ignore(b.raw("context_management") != nil, "context_management")
	q.ignore(b.raw("diagnostics") != nil, "diagnostics")
	q.ignore(b.raw("metadata") != nil && q.user == "", "metadata")
	if b.one("service_tier", "auto", "standard_only") == "standard_only" {
		c.Tier = "default"
	}
	c.CacheControl = q.cacheMark(b)
	c.Format = q.format(b)
	q.tools(b, &c)
	q.messages(b, &c)
	if b.err != nil {
		return nil, b.err
	}
	return marshalled(c), nil
}

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
	mark := o.raw("cache_control")
	if mark == nil {
		return nil
	}
	m := o.object(o.at("cache_control"), mark, "type", "ttl")
	m.one("type", "ephemeral")
	m.one("ttl", "5m", "1h")
	if q.provider.Caches {
		return mark
	}
	q.ignore(true, "cache_control")
	return nil
}

// format is the form that the answer must have, in the field of either of two versions.
func (q *Request) format(b *object) *chatFormat {
	path, raw := "output_format", b.raw("output_format")
	if config := b.raw("output_config"); config != nil {
		o := b.object("output_config", config)
		if o.raw("format") != nil {
			path, raw = "output_config.format", o.raw("format")
		}
	}
	if raw == nil {
		return nil
	}
	o := b.object(path, raw, "type", "schema")
	o.one("type", "json_schema")
	if o.raw("schema") == nil {
		o.fail(o.at("schema"), "it is required.")
	}
	return &chatFormat{Type: "json_schema", Schema: chatSchema{Name: "answer", Schema: o.raw("schema"), Strict: true}}
}

// Package responses translates between OpenAI's Responses and chat completions, for a provider that speaks Responses
// alone: a chat completion's request into the body of a response, and the response, whole or as events, into a chat
// completion. What Responses cannot say is an error that names the field.
package responses

import (
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// Error is what is wrong with a request, or what cannot be said to a provider of Responses.
type Error = jsonobject.Error

type object = jsonobject.Object

// Model is what is known of a model of a provider that speaks Responses.
type Model struct {
	Provider string // whose seals its thoughts have; those of others mean nothing to it
	Reasons  bool   // it thinks before it answers
}

// Chat is a chat completion's request, said as a request for a response.
type Chat struct {
	Body   []byte // for the provider
	Stream bool
	Usage  bool // a stream ends with its usage

	provider string
	model    string // as it was asked for
	most     int64  // tokens that were asked for at most; 0: none
}

// chatFields are the fields of a chat completion that are translated, or refused for a reason of their own, or have no
// effect.
var chatFields = strings.Fields(`
	model messages stream stream_options max_tokens max_completion_tokens temperature top_p top_k stop n tools
	tool_choice parallel_tool_calls response_format reasoning_effort reasoning thinking user metadata store service_tier
	seed frequency_penalty presence_penalty repetition_penalty min_p logit_bias logprobs top_logprobs prediction
	modalities audio verbosity prompt_cache_key prompt_cache_retention prompt_cache_options safety_identifier
	cache_control functions function_call web_search_options`)

// sameFields mean the same in both.
var sameFields = strings.Fields(`
	temperature top_p user metadata service_tier parallel_tool_calls prompt_cache_key prompt_cache_retention
	prompt_cache_options safety_identifier`)

// leastOutput is the smallest maximum that OpenAI takes.
const leastOutput = 16

// mostTokens is more than any answer has.
const mostTokens = int64(1) << 40

// toBody is a request for a response. The provider keeps nothing of it.
type toBody struct {
	Model       string            `json:"model"`
	Input       []json.RawMessage `json:"input"`
	MaxTokens   int64             `json:"max_output_tokens,omitempty"`
	Tools       []toTool          `json:"tools,omitempty"`
	ToolChoice  json.RawMessage   `json:"tool_choice,omitempty"`
	Text        *toText           `json:"text,omitempty"`
	Reasoning   *toReasoning      `json:"reasoning,omitempty"`
	Include     []string          `json:"include,omitempty"`
	TopLogProbs json.RawMessage   `json:"top_logprobs,omitempty"`
	Stream      bool              `json:"stream"`
	Store       bool              `json:"store"`

	same map[string]json.RawMessage
}

type toText struct {
	Format    *toFormat `json:"format,omitempty"`
	Verbosity string    `json:"verbosity,omitempty"`
}

type toFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      json.RawMessage `json:"strict,omitempty"`
}

type toReasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// toTool is a function or a custom tool. Strict is always said, since Responses take its absence for true.
type toTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
	Format      json.RawMessage `json:"format,omitempty"`
}

// What a response may include beside its output.
const (
	Sealed   = "reasoning.encrypted_content"
	LogProbs = "message.output_text.logprobs"
)

// ReadChat translates a chat completion's request. What Responses have no word for is an *Error that names it.
func ReadChat(raw []byte, m Model) (*Chat, error) {
	if err := jsonobject.ValidText(raw); err != nil {
		return nil, err
	}
	r := &jsonobject.Reader{}
	b := r.Object("", raw, chatFields...)
	c := &chatReader{object: &b, model: m, custom: map[string]bool{}}
	c.out.Model, c.out.Stream = b.Text("model"), b.Flag("stream")
	q := &Chat{Stream: c.out.Stream, provider: m.Provider}
	if o := b.Raw("stream_options"); o != nil {
		options := b.Object("stream_options", o, "include_usage", "include_obfuscation")
		q.Usage = options.Flag("include_usage")
	}
	c.refuse()
	c.limits()
	c.reasoning()
	c.logProbs()
	c.messages()
	c.tools()
	c.text()
	if c.model.Reasons && len(c.out.Tools) > 0 {
		c.out.Include = append(c.out.Include, Sealed) // the thoughts of a round of calls go back within it
	}
	c.out.same = map[string]json.RawMessage{}
	for _, name := range sameFields {
		if v := b.Raw(name); v != nil && (name != "parallel_tool_calls" || len(c.out.Tools) > 0) {
			c.out.same[name] = v
		}
	}
	if r.Err != nil {
		return nil, r.Err
	}
	q.Body, q.model, q.most = c.out.body(), c.out.Model, c.out.MaxTokens
	return q, nil
}

// body is the request as it is sent. The fields that mean the same are sent as they came.
func (b *toBody) body() []byte {
	out := jsonobject.Marshalled(b)
	out = out[:len(out)-1]
	for _, name := range sameFields {
		if v := b.same[name]; v != nil {
			out = append(append(append(append(out, `,"`...), name...), `":`...), v...)
		}
	}
	return append(out, '}')
}

// chatReader translates one request.
type chatReader struct {
	*object
	model  Model
	out    toBody
	custom map[string]bool // the ids of calls of custom tools
}

const (
	noField = "OpenAI's Responses have no such field. Leave it out, or choose a model of another provider."
	asText  = "a response answers with text alone. Leave it out."
	asTools = "Responses have tools instead. Send them as tools and tool_choice."
)

// refuse refuses what Responses cannot say. A value that changes nothing passes.
func (c *chatReader) refuse() {
	for _, name := range []string{"logit_bias", "prediction", "web_search_options", "thinking", "stop"} {
		c.Empty(name, noField)
	}
	c.Empty("audio", asText)
	c.Empty("functions", asTools)
	c.Empty("function_call", asTools)
	c.Empty("store", "this server's provider keeps nothing. Leave it out.")
	for name, neutral := range map[string]float64{
		"n": 1, "frequency_penalty": 0, "presence_penalty": 0, "repetition_penalty": 1, "min_p": 0,
	} {
		if v, given := c.Number(name); given && v != neutral {
			c.Fail(name, "it is %s; OpenAI's Responses have no such field, so that only %v can be meant.",
				c.Raw(name), neutral)
		}
	}
	for _, name := range []string{"seed", "top_k"} {
		if c.Raw(name) != nil {
			c.Fail(name, noField)
		}
	}
	for i, each := range c.List("modalities", c.Raw("modalities")) {
		if kind := c.String(jsonobject.Place("modalities", i), each); kind != "text" {
			c.Fail(jsonobject.Place("modalities", i), "%s", asText)
		}
	}
}

// limits translates the maximum of tokens, which bounds thinking and answer together: the smaller one, where both of
// the names are given.
func (c *chatReader) limits() {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		v, given := c.Number(name)
		if !given || v == -1 { // how local servers are asked for no maximum
			continue
		}
		n := int64(v)
		if v < 1 || v > float64(mostTokens) || float64(n) != v {
			c.Fail(name, "it is %s; it must be a whole number from 1.", c.Raw(name))
			return
		}
		n = max(n, leastOutput)
		if c.out.MaxTokens == 0 || n < c.out.MaxTokens {
			c.out.MaxTokens = n
		}
	}
}

// reasoning translates how the model is asked to think.
func (c *chatReader) reasoning() {
	var r toReasoning
	r.Effort = c.Text("reasoning_effort")
	if raw := c.Raw("reasoning"); raw != nil {
		o := c.object.Object("reasoning", raw, "effort", "max_tokens", "enabled", "exclude", "summary")
		if e := o.Text("effort"); e != "" {
			r.Effort = e
		}
		o.Empty("max_tokens", "Responses bound no thinking by itself. Send an effort.")
		if o.Raw("enabled") != nil && !o.Flag("enabled") {
			r.Effort = "none"
		}
		r.Summary = o.One("summary", "auto", "concise", "detailed")
		if o.Flag("exclude") {
			r.Summary = ""
		}
	}
	if r != (toReasoning{}) {
		c.out.Reasoning = &r
	}
}

// logProbs translates the wish to learn how likely each token was.
func (c *chatReader) logProbs() {
	c.out.TopLogProbs = c.Raw("top_logprobs")
	if c.Flag("logprobs") {
		c.out.Include = append(c.out.Include, LogProbs)
	} else {
		c.Empty("top_logprobs", "it is given without logprobs. Send \"logprobs\": true, or leave it out.")
		c.out.TopLogProbs = nil
	}
}

// text translates the form that the answer must have.
func (c *chatReader) text() {
	var t toText
	t.Verbosity = c.One("verbosity", "low", "medium", "high")
	if raw := c.Raw("response_format"); raw != nil {
		o := c.object.Object("response_format", raw, "type", "json_schema")
		o.Needed("type")
		t.Format = &toFormat{Type: o.One("type", "text", "json_object", "json_schema")}
		if t.Format.Type == "json_schema" {
			s := o.Object(o.At("json_schema"), o.Raw("json_schema"), "name", "description", "schema", "strict")
			s.Flag("strict")
			t.Format.Name, t.Format.Description = s.Needed("name"), s.Text("description")
			t.Format.Schema, t.Format.Strict = s.Raw("schema"), s.Raw("strict")
			if t.Format.Schema == nil {
				s.Fail(s.At("schema"), "it is required.")
			}
		}
	}
	if t != (toText{}) {
		c.out.Text = &t
	}
}

// tools translates the tools, and which of them the model must call.
func (c *chatReader) tools() {
	for i, raw := range c.List("tools", c.Raw("tools")) {
		c.out.Tools = append(c.out.Tools, c.tool(jsonobject.Place("tools", i), raw))
	}
	raw := c.Raw("tool_choice")
	switch {
	case raw == nil:
	case len(c.out.Tools) == 0:
		if string(raw) != `"none"` && string(raw) != `"auto"` {
			c.Fail("tool_choice", "it is given without tools. Send tools, or leave it out.")
		}
	case raw[0] == '"':
		c.One("tool_choice", "auto", "none", "required")
		c.out.ToolChoice = raw
	default:
		c.out.ToolChoice = jsonobject.Marshalled(c.choice("tool_choice", raw))
	}
}

// named names a tool, or those among which the model may choose.
type named struct {
	Type  string  `json:"type"`
	Name  string  `json:"name,omitempty"`
	Mode  string  `json:"mode,omitempty"`
	Tools []named `json:"tools,omitempty"`
}

// choice translates an object that names tools.
func (c *chatReader) choice(path string, raw json.RawMessage) named {
	o := c.object.Object(path, raw, "type", "function", "custom", "allowed_tools")
	o.Needed("type")
	n := named{Type: o.One("type", "function", "custom", "allowed_tools")}
	if n.Type == "allowed_tools" {
		a := o.Object(o.At(n.Type), o.Raw(n.Type), "mode", "tools")
		a.Needed("mode")
		n.Mode = a.One("mode", "auto", "required")
		for i, each := range a.List(a.At("tools"), a.Raw("tools")) {
			n.Tools = append(n.Tools, c.choice(jsonobject.Place(a.At("tools"), i), each))
		}
		return n
	}
	inner := o.Object(o.At(n.Type), o.Raw(n.Type), "name")
	n.Name = inner.Needed("name")
	return n
}

func (c *chatReader) tool(path string, raw json.RawMessage) toTool {
	o := c.object.Object(path, raw, "type", "function", "custom", "cache_control")
	t := toTool{Type: o.Needed("type")}
	switch t.Type {
	case "function":
		f := o.Object(o.At("function"), o.Raw("function"), "name", "description", "parameters", "strict")
		t.Name, t.Description, t.Parameters = f.Needed("name"), f.Text("description"), f.Raw("parameters")
		t.Strict = new(f.Flag("strict"))
		if t.Parameters == nil {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
	case "custom":
		f := o.Object(o.At("custom"), o.Raw("custom"), "name", "description", "format")
		t.Name, t.Description, t.Format = f.Needed("name"), f.Text("description"), c.grammar(&f)
	default:
		o.Fail(o.At("type"), "it is %q; it must be function or custom.", jsonobject.Clipped(t.Type))
	}
	return t
}

// grammar is the form of a custom tool's input, whose members stand beside its type.
func (c *chatReader) grammar(tool *object) json.RawMessage {
	raw := tool.Raw("format")
	if raw == nil {
		return nil
	}
	o := tool.Object(tool.At("format"), raw, "type", "grammar")
	o.Needed("type")
	if o.One("type", "text", "grammar") != "grammar" {
		return raw
	}
	g := o.Object(o.At("grammar"), o.Raw("grammar"), "syntax", "definition")
	return jsonobject.Marshalled(map[string]string{
		"type": "grammar", "syntax": g.Needed("syntax"), "definition": g.Needed("definition"),
	})
}

package messages

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// Model is what is known of the model of a provider that speaks Messages.
type Model struct {
	Structured     bool    // it is held to a schema by structured output
	Reasons        bool    // it thinks before it answers, and takes an effort
	MaxTemperature float64 // the highest that it takes; 0: none, and what the client asks for is passed on
	MaxTokens      int64   // where the request names no maximum, which Messages requires
	Caches         bool    // what the talk has said so far is marked for the cache, unless the client marks something
}

// Chat is a chat completion's request, said as Messages.
type Chat struct {
	Body   []byte // for the provider
	Stream bool
	Usage  bool // a stream ends with its usage
}

// chatFields are the fields of a chat completion that are translated, or refused for a reason of their own, or have no
// effect.
var chatFields = strings.Fields(`
	model messages stream stream_options max_tokens max_completion_tokens temperature top_p top_k stop n tools
	tool_choice parallel_tool_calls response_format reasoning_effort reasoning thinking user metadata store service_tier
	seed frequency_penalty presence_penalty repetition_penalty min_p logit_bias logprobs top_logprobs prediction
	modalities audio verbosity prompt_cache_key prompt_cache_retention safety_identifier cache_control functions
	function_call web_search_options`)

// toBody is a request of Messages.
type toBody struct {
	Model       string          `json:"model"`
	MaxTokens   int64           `json:"max_tokens"`
	System      []toBlock       `json:"system,omitempty"`
	Messages    []toMessage     `json:"messages"`
	Tools       []toTool        `json:"tools,omitempty"`
	ToolChoice  *toChoice       `json:"tool_choice,omitempty"`
	Temperature json.RawMessage `json:"temperature,omitempty"`
	TopP        json.RawMessage `json:"top_p,omitempty"`
	TopK        json.RawMessage `json:"top_k,omitempty"`
	Stop        []string        `json:"stop_sequences,omitempty"`
	Thinking    json.RawMessage `json:"thinking,omitempty"`
	Output      *toOutput       `json:"output_config,omitempty"`
	Metadata    *toMetadata     `json:"metadata,omitempty"`
	Tier        string          `json:"service_tier,omitempty"`
	Cache       json.RawMessage `json:"cache_control,omitempty"`
	Stream      bool            `json:"stream"`
}

type toMetadata struct {
	User string `json:"user_id"`
}

type toOutput struct {
	Effort string    `json:"effort,omitempty"`
	Format *toFormat `json:"format,omitempty"`
}

type toFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// ReadChat translates a chat completion's request. What Messages has no word for is an *Error that names it.
func ReadChat(raw []byte, m Model) (*Chat, error) {
	if err := jsonobject.ValidText(raw); err != nil {
		return nil, err
	}
	r := &reader{}
	b := r.Object("", raw, chatFields...)
	c := &chatReader{object: &b, model: m}
	c.out.Model, c.out.Stream = b.Text("model"), b.Flag("stream")
	q := &Chat{Stream: c.out.Stream}
	if o := b.Raw("stream_options"); o != nil {
		options := b.Object("stream_options", o, "include_usage", "include_obfuscation")
		q.Usage = options.Flag("include_usage")
	}
	c.refuse()
	c.limits()
	c.thinking()
	c.sampling()
	c.messages()
	c.signedRound()
	c.tools()
	c.format()
	if user := b.Text("user"); user != "" {
		c.out.Metadata = &toMetadata{user}
	}
	switch b.One("service_tier", "auto", "default", "standard") {
	case "auto":
		c.out.Tier = "auto"
	case "default", "standard":
		c.out.Tier = "standard_only"
	}
	c.out.Cache = c.mark(&b)
	if m.Caches && !c.marked {
		c.cacheTalk()
	}
	if r.Err != nil {
		return nil, r.Err
	}
	q.Body = jsonobject.Marshalled(c.out)
	return q, nil
}

// chatReader translates one request.
type chatReader struct {
	*object
	model  Model
	out    toBody
	unsaid string // what the prompt must say of the answer's form, since no field does
	thinks bool   // the request asks the model to think
	marked bool   // the request marks something for the cache
}

const (
	noField = "Anthropic's Messages has no such field. Leave it out, or choose a model of another provider."
	asText  = "Anthropic's models answer with text alone. Leave it out."
)

// refuse refuses what Messages cannot say. A value that changes nothing passes.
func (c *chatReader) refuse() {
	for _, name := range []string{"logit_bias", "prediction", "web_search_options", "logprobs"} {
		c.Empty(name, noField)
	}
	c.Empty("audio", asText)
	c.Empty("functions", "Messages has tools instead. Send them as tools and tool_choice.")
	if c.Raw("function_call") != nil {
		c.Fail("function_call", "Messages has tools instead. Send them as tools and tool_choice.")
	}
	c.Empty("store", "Anthropic stores no completions. Leave it out.")
	for name, neutral := range map[string]float64{
		"n": 1, "frequency_penalty": 0, "presence_penalty": 0, "repetition_penalty": 1, "min_p": 0, "top_logprobs": 0,
	} {
		if v, given := c.Number(name); given && v != neutral {
			c.Fail(name, "it is %s; Anthropic's Messages has no such field, so that only %v can be meant.",
				c.Raw(name), neutral)
		}
	}
	if c.Raw("seed") != nil {
		c.Fail("seed", noField)
	}
	if v := c.Text("verbosity"); v != "" && v != "medium" {
		c.Fail("verbosity", "it is %q; Messages has no such field. Say it in the prompt.", jsonobject.Clipped(v))
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
		if c.out.MaxTokens == 0 || n < c.out.MaxTokens {
			c.out.MaxTokens = n
		}
	}
	if c.out.MaxTokens == 0 {
		c.out.MaxTokens = c.model.MaxTokens
	}
}

// efforts are the names of efforts, as Anthropic has them.
var efforts = map[string]string{
	"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max",
}

// thinking translates how the model is asked to think. An effort has no effect on a model that does not think first.
func (c *chatReader) thinking() {
	effort := c.Text("reasoning_effort")
	budget := 0.0
	if raw := c.Raw("reasoning"); raw != nil {
		o := c.object.Object("reasoning", raw, "effort", "max_tokens", "enabled", "exclude", "summary")
		if e := o.Text("effort"); e != "" {
			effort = e
		}
		budget, _ = o.Number("max_tokens")
		if o.Raw("enabled") != nil && !o.Flag("enabled") {
			effort = "none"
		}
	}
	if effort != "" && effort != "none" && efforts[effort] == "" {
		c.Fail("reasoning_effort", "it is %q; it must be none, minimal, low, medium, high, xhigh or max.",
			jsonobject.Clipped(effort))
	}
	raw := c.Raw("thinking")
	switch {
	case raw != nil:
		o := c.object.Object("thinking", raw, "type", "budget_tokens", "display")
		kind := o.One("type", "enabled", "adaptive", "disabled")
		c.thinks, c.out.Thinking = kind != "disabled", raw
	case budget > 0:
		c.thinks = true
		c.out.Thinking = jsonobject.Marshalled(map[string]any{"type": "enabled", "budget_tokens": int64(budget)})
	case effort == "none" && c.model.Reasons:
		c.out.Thinking = json.RawMessage(`{"type":"disabled"}`)
	}
	if c.model.Reasons && efforts[effort] != "" {
		c.out.Output = &toOutput{Effort: efforts[effort]}
	}
}

// signedRound leaves out a request to think where the present round of calls began without a signed thought: Anthropic
// refuses to begin one in the middle of a round.
func (c *chatReader) signedRound() {
	all := c.out.Messages
	if !c.thinks || len(all) < 2 || all[len(all)-1].Content[0].Type != "tool_result" {
		return
	}
	if kind := all[len(all)-2].Content[0].Type; kind != "thinking" && kind != "redacted_thinking" {
		c.out.Thinking = nil
	}
}

// sampling translates the sampling. A model that is asked to think takes neither a temperature nor top_k, and none
// takes a temperature above its highest.
func (c *chatReader) sampling() {
	c.out.TopP = c.Raw("top_p")
	if t, given := c.Number("temperature"); given && !c.thinks {
		c.out.Temperature = c.Raw("temperature")
		if c.model.MaxTemperature > 0 && t > c.model.MaxTemperature {
			c.out.Temperature = json.RawMessage(strconv.FormatFloat(c.model.MaxTemperature, 'g', -1, 64))
		}
	}
	if !c.thinks {
		c.out.TopK = c.Raw("top_k")
	}
	stop := c.Raw("stop")
	if len(stop) > 0 && stop[0] == '"' {
		c.out.Stop = []string{c.String("stop", stop)}
		return
	}
	for i, each := range c.List("stop", stop) {
		c.out.Stop = append(c.out.Stop, c.String(jsonobject.Place("stop", i), each))
	}
}

// format translates the form that the answer must have. Where the model is not held to it, the prompt asks for it.
func (c *chatReader) format() {
	raw := c.Raw("response_format")
	if raw == nil {
		c.say()
		return
	}
	o := c.object.Object("response_format", raw, "type", "json_schema")
	switch o.One("type", "text", "json_object", "json_schema") {
	case "json_object":
		c.unsaid = "Answer with exactly one JSON object, and with nothing else."
	case "json_schema":
		s := o.Object("response_format.json_schema", o.Raw("json_schema"), "name", "description", "schema", "strict")
		schema := s.Raw("schema")
		if schema == nil {
			o.Fail("response_format.json_schema.schema", "it is required.")
			return
		}
		plain, err := PlainSchema(schema)
		switch {
		case err != nil:
			o.Fail("response_format.json_schema.schema", "%v.", err)
		case c.model.Structured:
			if c.out.Output == nil {
				c.out.Output = &toOutput{}
			}
			c.out.Output.Format = &toFormat{"json_schema", plain}
		default:
			c.unsaid = "Answer with exactly one JSON value that fits this JSON Schema, and with nothing else:\n" +
				jsonobject.Compact(schema)
		}
	case "":
		o.Fail("response_format.type", "it is required.")
	}
	c.say()
}

// say adds to the system prompt what no field says.
func (c *chatReader) say() {
	if c.unsaid != "" {
		c.out.System = append(c.out.System, toBlock{Type: "text", Text: &c.unsaid})
	}
}

// mark is an object's request to cache the prompt up to it; nil where there is none.
func (c *chatReader) mark(o *object) json.RawMessage {
	mark := o.Raw("cache_control")
	if mark == nil {
		return nil
	}
	m := o.Object(o.At("cache_control"), mark, "type", "ttl")
	m.One("type", "ephemeral")
	m.One("ttl", "5m", "1h")
	c.marked = true
	return mark
}

// keptMessages is how many of the user's newest messages are marked: up to the last one the next request finds what
// this one has written, and up to the one before it this one finds what the last one has.
const keptMessages = 2

// cacheTalk marks what the next request of a talk begins with, for five minutes: its tools and system prompt, and its
// messages. A request may have four marks.
func (c *chatReader) cacheTalk() {
	mark := json.RawMessage(`{"type":"ephemeral"}`)
	switch system, tools := c.out.System, c.out.Tools; {
	case len(system) > 0: // after the tools
		system[len(system)-1].Cache = mark
	case len(tools) > 0:
		tools[len(tools)-1].Cache = mark
	}
	left := keptMessages
	for _, m := range slices.Backward(c.out.Messages) {
		if m.Role == "user" && left > 0 {
			m.Content[len(m.Content)-1].Cache = mark
			left--
		}
	}
}

type toTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict,omitempty"`
	Cache       json.RawMessage `json:"cache_control,omitempty"`
}

type toChoice struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	Alone bool   `json:"disable_parallel_tool_use,omitempty"`
}

// tools translates the tools, and which of them the model must call.
func (c *chatReader) tools() {
	for i, raw := range c.List("tools", c.Raw("tools")) {
		c.out.Tools = append(c.out.Tools, c.tool(jsonobject.Place("tools", i), raw))
	}
	alone := c.Raw("parallel_tool_calls") != nil && !c.Flag("parallel_tool_calls")
	raw := c.Raw("tool_choice")
	if len(c.out.Tools) == 0 {
		if raw != nil && string(raw) != `"none"` && string(raw) != `"auto"` {
			c.Fail("tool_choice", "it is given without tools. Send tools, or leave it out.")
		}
		return
	}
	choice := toChoice{Type: "auto"}
	switch {
	case raw == nil:
	case raw[0] == '"':
		named := map[string]string{"auto": "auto", "none": "none", "required": "any"}
		choice.Type = named[c.One("tool_choice", "auto", "none", "required")]
	default:
		o := c.object.Object("tool_choice", raw, "type", "function")
		o.Needed("type")
		o.One("type", "function")
		f := o.Object("tool_choice.function", o.Raw("function"), "name")
		choice.Type, choice.Name = "tool", f.Needed("name")
	}
	choice.Alone = alone && choice.Type != "none"
	if raw != nil || choice.Alone {
		c.out.ToolChoice = &choice
	}
}

func (c *chatReader) tool(path string, raw json.RawMessage) toTool {
	loose := c.object.Object(path, raw)
	if kind := loose.Needed("type"); kind != "function" {
		loose.Fail(loose.At("type"),
			"it is %q; tools of Messages are functions. Send it as one, with a schema of its input.", jsonobject.Clipped(kind))
	}
	o := c.object.Object(path, raw, "type", "function", "cache_control")
	f := o.Object(o.At("function"), o.Raw("function"), "name", "description", "parameters", "strict")
	t := toTool{Name: f.Needed("name"), Description: f.Text("description"), Cache: c.mark(&o)}
	t.Input = f.Raw("parameters")
	var schema map[string]json.RawMessage
	if t.Input != nil && c.Err == nil && json.Unmarshal(t.Input, &schema) != nil {
		f.Fail(f.At("parameters"), "it is %s; it must be an object.", jsonobject.KindOf(t.Input))
	}
	if len(schema) == 0 {
		t.Input = json.RawMessage(`{"type":"object","properties":{}}`)
	} else if schema["type"] == nil {
		schema["type"] = json.RawMessage(`"object"`)
		t.Input = jsonobject.Marshalled(schema)
	}
	if f.Flag("strict") && c.model.Structured && c.Err == nil {
		plain, err := PlainSchema(t.Input)
		if err != nil {
			f.Fail(f.At("parameters"), "%v.", err)
		}
		t.Input, t.Strict = plain, true
	}
	return t
}

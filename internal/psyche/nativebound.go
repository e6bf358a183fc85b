package psyche

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// perProviderTool bounds the tokens that a provider puts into the prompt for a tool of its own form that the client
// runs; the most that one publishes is 735.
const perProviderTool = 1024

// nativeBound is costBound of a body that is passed on as a wire of its own. A paid model is sent only fields whose
// price is bounded here by their names and values, and those that the deployment allows.
func (b *Body) nativeBound(l *limits) (costBound, error) {
	d := costBound{choices: 1, times: 1}
	if v := b.given("stream"); v != nil && !boolean(v) {
		return d, invalidRequest(badValue, "stream", "stream is %s; it must be true or false.", kindOf(v))
	}
	if !l.free || string(b.given(b.form.most)) != "-1" {
		if _, err := b.wholeNumber(b.form.most); err != nil {
			return d, err
		}
	}
	if l.free {
		return d, nil
	}
	for _, name := range b.names {
		v := b.given(name)
		if v == nil {
			continue
		}
		bound, listed := b.form.bounds[name]
		if !listed {
			why := "its price is not known here"
			if f, found := inference.FieldBeyondTokens(name); found {
				why = f.Why
			}
			if err := l.paidField(name, why); err != nil {
				return d, err
			}
			continue
		}
		if err := bound(l, v); err != nil {
			return d, err
		}
	}
	if b.caches {
		d.times = 2 // the highest published price of caching a prompt for an hour
	}
	n, err := b.bounded(l, b.form.most)
	if err != nil {
		return d, err
	}
	if l.spec.Reasoning {
		d.thinks = l.thinking
	}
	// The maximum bounds thoughts as well, unless they have a budget of their own that is greater.
	if v := b.given("thinking"); v != nil && !thinkingOff(v) {
		d.thinks = max(d.thinks, greatest(v))
		if n > 0 {
			n = max(n, d.thinks)
		}
	}
	d.answer, d.named = n, n > 0
	d.in = times(b.providerTools(), perProviderTool)
	return d, b.prompt(l, &d)
}

// providerTools is how many tools have a form of the provider's own, which brings tokens of its own.
func (b *Body) providerTools() (n int64) {
	v := b.given("tools")
	if len(v) == 0 || v[0] != '[' {
		return 0
	}
	s := &jsonscan.Scanner{Body: v}
	_ = s.Array(func() error { // errors were reported where the field was bounded
		kind, _, err := typeOf(s, "tools")
		if kind != "" && kind != "function" && kind != "custom" {
			n++
		}
		return err
	})
	return n
}

// anything is the bound of a field whose value changes no price.
func anything(*limits, []byte) error { return nil }

// only bounds a field of a paid model to texts at the list price.
func only(name, why string, texts ...string) func(*limits, []byte) error {
	return func(l *limits, v []byte) error {
		if slices.Contains(texts, jsonscan.Unquoted(v)) {
			return nil
		}
		return l.paidField(name, why)
	}
}

// empty bounds a field of a paid model to values that ask for nothing.
func empty(name, why string) func(*limits, []byte) error {
	return func(l *limits, v []byte) error {
		switch string(v) {
		case "false", "[]", "{}":
			return nil
		}
		return l.paidField(name, why)
	}
}

const dearerService = "another tier, speed or place of service has other prices"

// messagesBounds bound the price of the fields of Anthropic's Messages.
var messagesBounds = map[string]func(*limits, []byte) error{
	"model":              anything,
	"messages":           anything,
	"max_tokens":         anything,
	"system":             anything,
	"stream":             anything,
	"temperature":        anything,
	"top_p":              anything,
	"top_k":              anything,
	"stop_sequences":     anything,
	"tool_choice":        anything,
	"thinking":           objectOf("thinking", "type budget_tokens display"),
	"metadata":           anything,
	"cache_control":      anything,
	"output_config":      objectOf("output_config", "effort format"),
	"output_format":      anything,
	"diagnostics":        anything,
	"service_tier":       only("service_tier", dearerService, "auto", "standard_only"),
	"speed":              only("speed", dearerService, "standard"),
	"inference_geo":      only("inference_geo", dearerService, "global", "not_available"),
	"container":          empty("container", "the provider runs code, billed by time"),
	"mcp_servers":        empty("mcp_servers", "the provider calls tools, billed by the call"),
	"context_management": clearing,
	"tools":              toolsOf("custom", "bash_ text_editor_ computer_ memory_"),
}

// responsesBounds bound the price of the fields of OpenAI's Responses.
var responsesBounds = map[string]func(*limits, []byte) error{
	"model":                  anything,
	"input":                  anything,
	"instructions":           textOnly,
	"tool_choice":            anything,
	"parallel_tool_calls":    anything,
	"text":                   anything,
	"reasoning":              objectOf("reasoning", "effort summary generate_summary"),
	"max_output_tokens":      anything,
	"metadata":               anything,
	"truncation":             anything,
	"include":                anything,
	"store":                  empty("store", "this server keeps responses, and no provider does"),
	"stream":                 anything,
	"stream_options":         anything,
	"temperature":            anything,
	"top_p":                  anything,
	"user":                   anything,
	"safety_identifier":      anything,
	"prompt_cache_key":       anything,
	"prompt_cache_retention": anything,
	"top_logprobs":           anything,
	"max_tool_calls":         anything,
	"client_metadata":        anything,
	"service_tier":           only("service_tier", dearerService, "default"),
	"background":             empty("background", "the answer goes on when the client has gone"),
	"tools":                  toolsOf("function custom", "local_shell apply_patch computer"),
}

// textOnly bounds a field to text, whose tokens are at most its bytes.
func textOnly(l *limits, v []byte) error {
	if v[0] == '"' {
		return nil
	}
	return l.paidField("instructions", "only text can be counted here")
}

// objectOf bounds an object to members whose price is known, and which all parsers read alike.
func objectOf(field, members string) func(*limits, []byte) error {
	priced := set(members)
	return func(l *limits, v []byte) error {
		if v[0] != '{' {
			return nil // no provider takes it
		}
		seen := once{of: field}
		return jsonscan.Members(v, func(key, value []byte) error {
			name, err := seen.name(key, priced)
			if err == nil && !priced.has(name) && string(value) != "null" {
				err = l.paidField(field+"."+name, "its price is not known here")
			}
			return err
		})
	}
}

// clearing bounds changes of the context to those that leave something out of it: another one, such as a summary, is a
// call of its own.
func clearing(l *limits, v []byte) error {
	other := l.paidField("context_management", "a change of the context other than clearing is a call of its own")
	if v[0] != '{' {
		return other
	}
	seen := once{of: "context_management"}
	return jsonscan.Members(v, func(key, value []byte) error {
		name, err := seen.name(key, set("edits"))
		if err != nil || string(value) == "null" {
			return err
		}
		if name != "edits" || value[0] != '[' {
			return other
		}
		s := &jsonscan.Scanner{Body: value}
		return s.Array(func() error {
			kind, _, err := typeOf(s, "context_management.edits")
			if err == nil && !strings.HasPrefix(kind, "clear_") {
				err = other
			}
			return err
		})
	})
}

// typeOf scans an object and returns its type, and the value of its tools; empty for what is no object or has none.
func typeOf(s *jsonscan.Scanner, of string) (kind string, tools []byte, err error) {
	if s.Peek() != '{' {
		_, err := s.Value()
		return "", nil, err
	}
	seen := once{of: of}
	err = s.Object(func(key span) error {
		v, err := s.Value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.Of(s.Body), typeMembers)
		switch name {
		case "type":
			kind = jsonscan.Unquoted(v.Of(s.Body))
		case "tools":
			tools = v.Of(s.Body)
		}
		return err
	})
	return kind, tools, err
}

var typeMembers = set("type tools")

// toolsOf bounds tools to those that clients run: of the types named, and of those whose names begin as listed. A tool
// without a type is the client's own where "custom" is one; a namespace is what its tools are.
func toolsOf(own, begins string) func(*limits, []byte) error {
	kinds, prefixes := set(own), strings.Fields(begins)
	var bound func(l *limits, v []byte) error
	bound = func(l *limits, v []byte) error {
		f, _ := inference.FieldBeyondTokens("tools")
		if len(v) == 0 || v[0] != '[' {
			return l.allows(f)
		}
		s := &jsonscan.Scanner{Body: v}
		return s.Array(func() error {
			isObject := s.Peek() == '{'
			kind, tools, err := typeOf(s, "tools")
			switch {
			case err != nil:
				return err
			case isObject && (kinds.has(kind) || kind == "" && !kinds.has("function")):
				return nil
			case kind == "namespace" && kinds.has("function"):
				return bound(l, tools)
			case slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(kind, p) }):
				return nil
			}
			return l.allowsTool(kind)
		})
	}
	return bound
}

// allowsTool refuses a tool of a type that the provider runs itself, unless the deployment allows such tools.
func (l *limits) allowsTool(kind string) error {
	f, _ := inference.FieldBeyondTokens("tools")
	err := l.allows(f)
	if refused, is := errors.AsType[*Fault](err); is && kind != "" {
		refused.Message = fmt.Sprintf("tools has one of the type %q. ", clippedText(kind)) + refused.Message
	}
	return err
}

// nativePartMembers are those of blocks and parts that are read here, or whose bytes bound their tokens.
var nativePartMembers = set(`
	type text image_url refusal thinking signature cache_control annotations id index source content data tool_use_id
	is_error input name title context citations logprobs detail summary caller encrypted_content tool_name`)

// anthropicMessage counts a message of Anthropic's Messages.
func (c *promptCount) anthropicMessage(m *message) error {
	c.ceiling.in += perMessage
	return c.blocks(m.content)
}

// blocks counts blocks of content, or a text.
func (c *promptCount) blocks(content span) error {
	raw := content.Of(c.raw)
	if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' {
		c.text(content)
		return nil
	}
	return c.eachPart(message{content: content}, c.block)
}

// countedBlocks are the types of blocks whose bytes bound their tokens.
var countedBlocks = set(`
	tool_use thinking redacted_thinking search_result tool_reference server_tool_use`)

func (c *promptCount) block(p part) error {
	if p.doubt != nil {
		return p.doubt
	}
	for _, name := range p.others {
		if err := c.other(name); err != nil {
			return err
		}
	}
	switch {
	case p.kind == "text":
		c.text(p.text)
	case p.kind == "tool_result":
		if len(p.content.Of(c.raw)) > 0 {
			return c.blocks(p.content)
		}
	case countedBlocks.has(p.kind):
	case p.kind == "image", p.kind == "document":
		return c.source(p)
	default:
		return c.other(p.kind)
	}
	return nil
}

var sourceMembers = set("type media_type data url file_id content")

// source counts a picture or a document: what stands in the body itself as a picture, or as text.
func (c *promptCount) source(p part) error {
	raw := p.source.Of(c.raw)
	if len(raw) == 0 || raw[0] != '{' {
		return c.other(p.kind)
	}
	var kind, media string
	var data, content span
	seen := once{of: "source"}
	s := &jsonscan.Scanner{Body: c.raw[:p.source.To], At: p.source.From}
	err := s.Object(func(key span) error {
		v, err := s.Value()
		if err != nil {
			return err
		}
		name, err := seen.name(key.Of(c.raw), sourceMembers)
		switch name {
		case "type":
			kind = jsonscan.Unquoted(v.Of(c.raw))
		case "media_type":
			media = jsonscan.Unquoted(v.Of(c.raw))
		case "data":
			data = v
		case "content":
			content = v
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case p.kind == "image" && kind == "base64" && bytesOfPicture(media+";"):
		c.rest -= int64(data.To - data.From)
		c.pictures++
	case p.kind == "image" && kind == "url" && c.limits.thorough: // for a client that asks how long its prompt is
		c.pictures++
	case p.kind == "image":
		return c.other("image")
	case kind == "text":
		c.text(data)
	case kind == "content":
		return c.blocks(content)
	default:
		return c.other("document")
	}
	return nil
}

// countedItems are the types of items whose bytes bound their tokens.
var countedItems = set(`
	message function_call custom_tool_call local_shell_call apply_patch_call reasoning function_call_output
	custom_tool_call_output local_shell_call_output apply_patch_call_output`)

// item counts an item of the input of a response.
func (c *promptCount) item(m *message) error {
	c.ceiling.in += perMessage
	if !countedItems.has(m.kind) {
		return c.other(m.kind)
	}
	raw := m.content.Of(c.raw)
	if len(raw) == 0 || raw[0] != '[' && raw[0] != '{' {
		c.text(m.content)
		return nil
	}
	return c.eachPart(*m, c.part)
}

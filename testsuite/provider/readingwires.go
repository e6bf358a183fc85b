package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// BillMessage is Bill for a body of Anthropic's Messages.
func (how Reading) BillMessage(raw []byte, models []Model, window int64) Bill {
	r := how.object(raw)
	b := r.nativeBill(raw, models, window, "max_tokens")
	if tier := r.text("service_tier"); tier != "" && tier != "auto" && tier != "standard_only" {
		b.Price = times(b.Price, 2)
	}
	if speed := r.text("speed"); speed != "" && speed != "standard" {
		b.Price = times(b.Price, 6)
	}
	if geo := r.text("inference_geo"); geo != "" && geo != "global" && geo != "not_available" {
		b.Price = times(b.Price, 2)
	}
	if bytes.Contains(raw, []byte(`"cache_control"`)) {
		b.Price = b.Price.Dearer(2)
	}
	thinking := how.object(r.get("thinking"))
	if n := number(thinking.get("budget_tokens")); n > 0 {
		b.Out = min(max(b.Out, n), window)
	}
	for _, name := range []string{"container", "mcp_servers"} {
		if v := string(r.get(name)); v != "" && v != "[]" && v != "{}" {
			b.Extra = extra
		}
	}
	for _, edit := range how.object(r.get("context_management")).list("edits") {
		if !strings.HasPrefix(how.object(edit).text("type"), "clear_") {
			b.Extra = extra
		}
	}
	for _, tool := range r.list("tools") {
		kind := how.object(tool).text("type")
		if kind != "" && kind != "custom" && !strings.HasPrefix(kind, "bash_") {
			b.Extra = extra
		}
	}
	c := nativePrompt{how: how}
	c.text = int64(len(r.get("tools"))+len(r.get("system"))) + 735*int64(bytes.Count(r.get("tools"), []byte(`"bash_`)))
	for _, m := range r.list("messages") {
		c.text += 10
		c.blocks(how.object(m).get("content"))
	}
	b.In = c.tokens(window)
	return b
}

// BillResponse is Bill for a body of OpenAI's Responses.
func (how Reading) BillResponse(raw []byte, models []Model, window int64) Bill {
	r := how.object(raw)
	b := r.nativeBill(raw, models, window, "max_output_tokens")
	if tier := r.text("service_tier"); tier != "" && tier != "default" {
		b.Price = times(b.Price, 2)
	}
	for _, name := range []string{
		"background", "conversation", "prompt", "previous_response_id",
		"context_management",
	} {
		if v := string(r.get(name)); v != "" && v != "false" && v != "[]" {
			b.Extra = extra
		}
	}
	if how.object(r.get("reasoning")).get("mode") != nil {
		b.Price = times(b.Price, 6)
	}
	b.Extra = max(b.Extra, how.runs(r.list("tools")))
	c := nativePrompt{how: how}
	c.text = int64(len(r.get("tools")) + len(r.get("instructions")))
	for _, item := range r.list("input") {
		c.item(how.object(item))
	}
	b.In = c.tokens(window)
	return b
}

// runs is what is billed for tools of a response that the provider runs itself.
func (how Reading) runs(tools []json.RawMessage) budget.Micros {
	for _, tool := range tools {
		o := how.object(tool)
		switch o.text("type") {
		case "function", "custom", "local_shell":
		case "namespace":
			if n := how.runs(o.list("tools")); n > 0 {
				return n
			}
		default:
			return extra
		}
	}
	return 0
}

// nativeBill is what is billed alike on both wires.
func (r reader) nativeBill(raw []byte, models []Model, window int64, most string) Bill {
	b := Bill{Model: r.text("model"), Stream: string(r.get("stream")) == "true", Usage: true}
	b.Price, _ = priceOf(models, b.Model)
	b.Out = min(number(r.get(most)), window)
	if b.Out == 0 {
		b.Out = window
	}
	return b
}

// nativePrompt counts a token for each byte of text, as reader.prompt does.
type nativePrompt struct {
	how            Reading
	text, pictures int64
	fills          bool
}

func (c *nativePrompt) tokens(window int64) int64 {
	if c.fills {
		c.text = max(c.text, window)
	}
	return min(c.text+c.pictures*picture, huge)
}

// blocks counts the content of a message of Anthropic's Messages.
func (c *nativePrompt) blocks(raw json.RawMessage) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		c.text += int64(len(raw))
		return
	}
	for _, each := range all {
		p := c.how.object(each)
		source := c.how.object(p.get("source"))
		switch p.text("type") {
		case "text", "tool_use", "thinking", "redacted_thinking":
			c.text += int64(len(each))
		case "tool_result":
			c.blocks(p.get("content"))
		case "image":
			if source.text("type") == "base64" && ofPicture.MatchString("data:"+source.text("media_type")+";") {
				c.pictures++
			} else {
				c.fills = true
			}
		case "document":
			switch source.text("type") {
			case "text":
				c.text += int64(len(source.text("data")))
			case "content":
				c.blocks(source.get("content"))
			default:
				c.fills = true
			}
		default:
			c.fills = true
		}
	}
}

// item counts an item of the input of a response.
func (c *nativePrompt) item(r reader) {
	c.text += 10
	content := r.get("content")
	switch r.text("type") {
	case "", "message":
	case "function_call_output", "custom_tool_call_output":
		content = r.get("output")
	case "function_call", "custom_tool_call", "reasoning":
		for _, v := range r.values {
			c.text += int64(len(v))
		}
		return
	default:
		c.fills = true
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		c.text += int64(len(content))
	}
	for _, each := range parts {
		p := c.how.object(each)
		switch p.text("type") {
		case "input_text", "output_text", "refusal":
			c.text += int64(len(each))
		case "input_image":
			if p.get("image_url") != nil && p.picture() {
				c.pictures++
			} else {
				c.fills = true
			}
		default:
			c.fills = true
		}
	}
}

package responses_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
)

// object is any object of JSON.
type object = map[string]any

// drawer makes a request, and notes of every text in it where it must arrive.
type drawer struct {
	*rapid.T
	count int
	item  int                 // the item of the conversation that is being made, from 1; 0: none is
	role  string              // of the message that it becomes
	sent  map[string]sentence // by the text
	calls map[int]string      // by the item of an output, the id of its call
}

// sentence is where a text must arrive.
type sentence struct {
	item int    // 0: it is of no item alone
	role string // of the messages, or several; empty: outside of messages
}

// ofText finds the texts of a drawer, which may stand beside others.
var ofText = regexp.MustCompile(`«\d+[^»]*»`)

// text is one that nothing else of the request has, and that JSON has to escape now and then.
func (d *drawer) text() string {
	d.count++
	return fmt.Sprintf("«%d%s»", d.count, rapid.StringMatching(`[a-z<>&"\\ \né]{0,6}`).Draw(d.T, "text"))
}

// word is a text that must arrive.
func (d *drawer) word() string {
	text := d.text()
	d.sent[text] = sentence{d.item, d.role}
	return text
}

// secret is a text that this server reads, and does not pass on.
func (d *drawer) secret() string {
	return d.text()
}

func (d *drawer) coin(label string) bool { return rapid.Bool().Draw(d.T, label) }

// some adds members to an object, each or not.
func (d *drawer) some(to object, members ...func() (string, any)) object {
	for _, each := range members {
		if d.coin("member") {
			name, value := each()
			to[name] = value
		}
	}
	return to
}

func (d *drawer) id() (string, any)     { return "id", d.secret() }
func (d *drawer) status() (string, any) { return "status", "completed" }

// part is one of the content of a message, or of a tool's output.
func (d *drawer) part() object {
	switch rapid.IntRange(0, 4).Draw(d.T, "part") {
	case 0:
		return d.some(object{"type": "input_image", "image_url": d.word()},
			func() (string, any) { return "detail", d.word() })
	case 1:
		return d.some(object{"type": "input_file", "file_data": d.word()},
			func() (string, any) { return "filename", d.word() })
	}
	return object{"type": "input_text", "text": d.word()}
}

// content is a text, or up to three parts.
func (d *drawer) content() any {
	if d.coin("plain") {
		return d.word()
	}
	parts := []object{}
	for range rapid.IntRange(1, 3).Draw(d.T, "parts") {
		parts = append(parts, d.part())
	}
	return parts
}

// of begins an item, which becomes a message of a role.
func (d *drawer) of(role string) *drawer {
	d.item++
	d.role = role
	return d
}

func (d *drawer) question() object {
	role := rapid.SampledFrom([]string{"user", "user", "system", "developer"}).Draw(d.T, "role")
	d.of(strings.Replace(role, "developer", "system", 1))
	return d.some(object{"role": role, "content": d.content()}, d.id, d.status,
		func() (string, any) { return "type", "message" })
}

// answer are words of the model.
func (d *drawer) answer() object {
	d.of("assistant")
	var part object
	if d.coin("refusal") {
		part = object{"type": "refusal", "refusal": d.word()}
	} else {
		part = object{
			"type": "output_text", "text": d.word(), "logprobs": []any{},
			"annotations": []object{{"type": "url_citation", "url": d.secret()}},
		}
	}
	return d.some(object{"type": "message", "role": "assistant", "content": []object{part}}, d.id, d.status,
		func() (string, any) { return "phase", "commentary" })
}

func sealedBy(members object) string {
	inner, _ := json.Marshal(members)
	return "oneiros1." + base64.RawURLEncoding.EncodeToString(inner)
}

// reasoning are thoughts: open, as a summary, or sealed by this server with a summary that need not arrive beside them.
func (d *drawer) reasoning() object {
	d.of("assistant")
	item := object{"type": "reasoning", "summary": []object{}}
	switch rapid.IntRange(0, 2).Draw(d.T, "thought") {
	case 0:
		item["content"] = []object{
			{"type": "reasoning_text", "text": d.word()}, {"type": "reasoning_text", "text": d.word()},
		}
	case 1:
		item["summary"] = []object{{"type": "summary_text", "text": d.word()}}
	default:
		item["summary"] = []object{{"type": "summary_text", "text": d.secret()}}
		item["encrypted_content"] = sealedBy(object{"reasoning_details": []object{{"data": d.word()}}})
	}
	return d.some(item, d.id, d.status)
}

// call is a call of a tool, at times after what its provider wants back with it, and its output.
func (d *drawer) call() (items []object, output object) {
	id := d.text()
	d.sent[id] = sentence{role: "assistant tool"}
	d.of("assistant")
	if d.coin("proven") {
		items = append(items, object{
			"type": "reasoning", "summary": []object{},
			"encrypted_content": sealedBy(object{"extra_content": object{id: object{"signature": d.word()}}}),
		})
		d.of("assistant")
	}
	call := object{"type": "function_call", "call_id": id, "name": d.word()}
	if d.coin("custom") {
		call["type"], call["input"] = "custom_tool_call", d.word()
	} else {
		arguments, _ := json.Marshal(object{"x": d.word()})
		call["arguments"] = string(arguments)
		d.some(call, func() (string, any) { return "namespace", d.word() })
	}
	return append(items, d.some(call, d.id, d.status)),
		object{"type": call["type"].(string) + "_output", "call_id": id}
}

// round is a question, and what the model made of it: thoughts, words and calls in any sequence, then their outputs.
func (d *drawer) round() (items []object) {
	items = append(items, d.question())
	var outputs []object
	for range rapid.IntRange(0, 5).Draw(d.T, "answer") {
		switch rapid.IntRange(0, 2).Draw(d.T, "item") {
		case 0:
			items = append(items, d.answer())
		case 1:
			items = append(items, d.reasoning())
		default:
			call, output := d.call()
			items, outputs = append(items, call...), append(outputs, output)
		}
	}
	for _, output := range outputs {
		output["output"] = d.of("tool").content()
		d.calls[d.item] = output["call_id"].(string)
		items = append(items, d.some(output, d.id, d.status))
	}
	return items
}

// tools are a function, a custom tool with a grammar, and a namespace of one function.
func (d *drawer) tools() []object {
	about := func() (string, any) { return "description", d.word() }
	return []object{
		d.some(object{
			"type": "function", "name": d.word(), "parameters": object{"title": d.word()}, "strict": true,
		}, about),
		d.some(object{
			"type": "custom", "name": d.word(),
			"format": object{"type": "grammar", "syntax": d.word(), "definition": d.word()},
		}, about),
		d.some(object{
			"type": "namespace", "name": d.word(),
			"tools": []object{d.some(object{"type": "function", "name": d.word()}, about)},
		}, about),
	}
}

// fields are those beside the conversation.
func (d *drawer) fields() object {
	d.item, d.role = 0, ""
	field := func(name string, value func() any) func() (string, any) {
		return func() (string, any) { return name, value() }
	}
	word := func() any { return d.word() }
	secret := func() any { return object{"name": d.secret()} }
	return d.some(object{"model": d.word()},
		field("user", word), field("safety_identifier", word), field("prompt_cache_key", word),
		field("service_tier", word),
		field("prompt_cache_retention", word), field("a_new_field", func() any { return object{"name": d.word()} }),
		field("metadata", secret), field("client_metadata", secret), field("tools", func() any { return d.tools() }),
		field("reasoning", func() any { return object{"effort": d.word(), "summary": "auto"} }),
		field("text", func() any {
			return object{"verbosity": d.word(), "format": object{
				"type": "json_schema", "name": d.word(), "description": d.word(), "schema": object{"title": d.word()},
			}}
		}))
}

// stringsOf are all strings of a value, and the names of the members of provider's own; arguments are read as JSON.
func stringsOf(v any, key string) (all []string) {
	switch v := v.(type) {
	case string:
		var inner any
		if key == "arguments" && json.Unmarshal([]byte(v), &inner) == nil {
			return stringsOf(inner, "")
		}
		return []string{v}
	case []any:
		for _, each := range v {
			all = append(all, stringsOf(each, key)...)
		}
	case object:
		for name, each := range v {
			all = append(all, stringsOf(each, name)...)
		}
	}
	return all
}

// added is what the translation itself may write beside texts.
var added = regexp.MustCompile(`^(|user|system|assistant|tool|text|image_url|file|refusal|function|object|string|` +
	`input|commentary|json_schema|__|\s*|\s*The member input must be written by this  grammar:\n)$`)

// TestNothingOfARequestIsLostOrInvented requires that each text of a request arrives once, in a message of its role,
// that messages keep their sequence, that outputs follow the message with their calls, and that no other text arrives.
// A part of the conversation may be that of an earlier response.
func TestNothingOfARequestIsLostOrInvented(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t, sent: map[string]sentence{}, calls: map[int]string{}}
		var items []object
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			items = append(items, d.round()...)
		}
		kept := rapid.IntRange(0, len(items)-1).Draw(t, "kept")
		body := d.fields()
		body["input"] = items[kept:]
		if d.coin("instructions") {
			d.role = "system"
			body["instructions"] = d.word()
		}
		var before []responses.Item
		for _, item := range items[:kept] {
			raw, _ := json.Marshal(item)
			before = append(before, responses.Item{Raw: raw})
		}
		raw, _ := json.Marshal(body)
		q, err := responses.Read(raw)
		require.NoError(t, err, "%s", raw)
		out, err := q.Chat(before, responses.Options{MaxTokens: "max_tokens"})
		require.NoError(t, err, "%s", raw)
		_, err = psyche.ReadBody(out)
		require.NoError(t, err, "a turn reads it")
		d.arrived(out)
	})
}

// arrived requires that all that was sent stands in a chat completion, where it must.
func (d *drawer) arrived(out []byte) {
	var c object
	require.NoError(d, json.Unmarshal(out, &c))
	count := map[string]int{}
	note := func(v any, role string) (first, last int) {
		for _, text := range stringsOf(v, "") {
			for _, word := range ofText.FindAllString(text, -1) {
				to, sent := d.sent[word]
				require.True(d, sent, "%q must not arrive: %s", word, out)
				require.Contains(d, strings.Split(to.role, " "), role, "%q: %s", word, out)
				count[word]++
				if first == 0 || to.item > 0 && to.item < first {
					first = to.item
				}
				last = max(last, to.item)
			}
			require.Regexp(d, added, ofText.ReplaceAllString(text, ""), "it is invented: %s", out)
		}
		return first, last
	}
	before, open := 0, map[string]bool{} // calls without their outputs
	for _, m := range c["messages"].([]any) {
		fields := m.(object)
		first, last := note(m, fields["role"].(string))
		if id, ok := fields["tool_call_id"]; ok {
			require.Equal(d, d.calls[first], id, "%s", out)
			require.Contains(d, open, id, "an output does not follow the message with its call: %s", out)
			delete(open, d.calls[first])
		} else {
			require.Empty(d, open, "calls have no outputs behind them: %s", out)
		}
		for _, id := range called(m) {
			open[id] = true
		}
		require.GreaterOrEqual(d, first, before, "a message is before one that was sent earlier: %s", out)
		before = last
	}
	delete(c, "messages")
	note(c, "")
	require.Empty(d, open, "calls have no outputs: %s", out)
	for text, to := range d.sent {
		require.Positive(d, count[text], "%q is lost: %s", text, out)
		require.True(d, count[text] == 1 || to.item == 0, "%q arrives twice: %s", text, out)
	}
}

// called are the ids of the calls in a message.
func called(message any) (ids []string) {
	calls, _ := message.(object)["tool_calls"].([]any)
	for _, call := range calls {
		ids = append(ids, call.(object)["id"].(string))
	}
	return ids
}

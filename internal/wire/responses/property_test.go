package responses_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	translated "github.com/seed-56a03226/oneiros/internal/psyche/responses"
	"github.com/seed-56a03226/oneiros/internal/wire/responses"
)

// object is any object of JSON.
type object = map[string]any

// drawer makes parts and notes every text in them that must arrive.
type drawer struct {
	*rapid.T
	count int
	sent  []string
}

// word is a text that nothing else has, and that JSON has to escape now and then.
func (d *drawer) word() string {
	d.count++
	text := fmt.Sprintf("w%d%s", d.count, rapid.StringMatching(`[a-z<>&"\\ é]{0,6}`).Draw(d.T, "word"))
	d.sent = append(d.sent, text)
	return text
}

func (d *drawer) content() any {
	if rapid.Bool().Draw(d.T, "text") {
		return d.word()
	}
	parts := []object{{"type": "text", "text": d.word()}}
	for range rapid.IntRange(0, 2).Draw(d.T, "parts") {
		switch rapid.IntRange(0, 2).Draw(d.T, "part") {
		case 0:
			parts = append(parts, object{"type": "image_url", "image_url": object{"url": d.word(), "detail": "low"}})
		case 1:
			parts = append(parts, object{"type": "file", "file": object{"filename": d.word(), "file_data": d.word()}})
		case 2:
			parts = append(parts, object{"type": "text", "text": d.word()})
		}
	}
	return parts
}

// conversation draws rounds of a question, and mostly calls with their results.
func (d *drawer) conversation() []object {
	all := []object{{"role": "system", "content": d.word()}}
	for range rapid.IntRange(1, 4).Draw(d.T, "rounds") {
		all = append(all, object{"role": "user", "content": d.content()})
		var calls, results []object
		for range rapid.IntRange(0, 3).Draw(d.T, "calls") {
			id := d.word()
			kind, input := "function", "arguments"
			if rapid.Bool().Draw(d.T, "custom") {
				kind, input = "custom", "input"
			}
			calls = append(calls, object{"id": id, "type": kind, kind: object{"name": d.word(), input: d.word()}})
			results = append(results, object{"role": "tool", "tool_call_id": id, "content": d.content()})
		}
		answer := object{"role": "assistant", "content": d.word()}
		if len(calls) > 0 {
			answer["tool_calls"] = calls
		}
		all = append(append(all, answer), results...)
	}
	return all
}

// stringsOf are all strings of a value.
func stringsOf(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, each := range v {
			all = append(all, stringsOf(each)...)
		}
	case object:
		for _, each := range v {
			all = append(all, stringsOf(each)...)
		}
	}
	return all
}

// added are the strings that the translation itself may write.
var added = strings.Fields(`iris system user assistant message input_text output_text input_image input_file low
	function_call function_call_output custom_tool_call custom_tool_call_output`)

// TestNothingIsLostAndNothingInvented requires that each text of a conversation arrives once, and no other; that
// OpenAI's library reads all of it; and that the translation into chat completions reads the same conversation in it.
func TestNothingIsLostAndNothingInvented(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		messages := d.conversation()
		body, _ := json.Marshal(object{"model": "iris", "messages": messages})
		q, err := responses.ReadChat(body, thinker)
		require.NoError(t, err)
		requireLibraryReads(t, q.Body)
		var c any
		require.NoError(t, json.Unmarshal(q.Body, &c))
		arrived, expected := map[string]int{}, map[string]bool{}
		for _, text := range stringsOf(c) {
			arrived[text]++
		}
		for _, text := range append(added, d.sent...) {
			expected[text] = true
		}
		for _, m := range messages {
			delete(expected, fmt.Sprint(m["tool_call_id"])) // it stands in the call and in its result
		}
		for _, text := range d.sent {
			want := 2
			if expected[text] {
				want = 1
			}
			require.Equal(t, want, arrived[text], "%q: %s", text, q.Body)
			expected[text] = true
		}
		for text := range arrived {
			require.True(t, expected[text], "%q is invented", text)
		}

		request, err := translated.Read(q.Body)
		require.NoError(t, err)
		back, err := request.Chat(nil, translated.Options{MaxTokens: "max_tokens"})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(back, &c))
		again := map[string]bool{}
		for _, text := range stringsOf(c) {
			var input struct{ Input string }
			_ = json.Unmarshal([]byte(text), &input) // as a custom tool's input is said there
			again[text], again[input.Input] = true, true
		}
		for _, text := range d.sent {
			require.True(t, again[text], "%q is lost: %s", text, back)
		}
	})
}

// TestAStreamAndAWholeResponseSayTheSame makes a stream of a drawn output, and requires that both are read as the same
// chat completion, and that all of it is.
func TestAStreamAndAWholeResponseSayTheSame(t *testing.T) {
	t.Parallel()
	q, err := responses.ReadChat([]byte(`{"messages":[{"role":"user","content":"Hi"}]}`), thinker)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		stream := responses.NewChatAnswer(q, 0)
		var sent []byte
		event := func(kind string, members object) {
			members["type"] = kind
			raw, _ := json.Marshal(members)
			require.NoError(t, stream.Event(raw))
			sent = append(sent, stream.Take()...)
		}
		response := object{"id": "resp_1", "model": "o9", "status": "completed", "output": []object{}}
		event("response.created", object{"response": response})
		begins, pieces := rapid.Bool().Draw(t, "begins"), rapid.Bool().Draw(t, "pieces")
		ends := rapid.Bool().Draw(t, "ends")
		var output []object
		for place := range rapid.IntRange(1, 6).Draw(t, "items") {
			var item object
			var deltas [][2]string
			switch rapid.IntRange(0, 4).Draw(t, "item") {
			case 0:
				first, second := d.word(), d.word()
				item = object{"type": "message", "content": []object{{"type": "output_text", "text": first + second}}}
				deltas = [][2]string{{"response.output_text.delta", first}, {"response.output_text.delta", second}}
			case 1:
				text := d.word()
				item = object{"type": "message", "content": []object{{"type": "refusal", "refusal": text}}}
				deltas = [][2]string{{"response.refusal.delta", text}}
			case 2:
				text := d.word()
				item = object{
					"type": "reasoning", "id": "rs", "encrypted_content": d.word(),
					"summary": []object{{"type": "summary_text", "text": text}},
				}
				deltas = [][2]string{{"response.reasoning_summary_text.delta", text}}
			case 3:
				text := d.word()
				item = object{"type": "function_call", "call_id": d.word(), "name": d.word(), "arguments": text}
				deltas = [][2]string{{"response.function_call_arguments.delta", text}}
			case 4:
				text := d.word()
				item = object{"type": "custom_tool_call", "call_id": d.word(), "name": d.word(), "input": text}
				deltas = [][2]string{{"response.custom_tool_call_input.delta", text}}
			}
			output = append(output, item)
			if begins {
				event("response.output_item.added", object{"output_index": place, "item": object{
					"type": item["type"], "call_id": item["call_id"], "name": item["name"],
				}})
			}
			if pieces {
				for _, each := range deltas {
					event(each[0], object{"output_index": place, "delta": each[1]})
				}
			}
			if ends {
				event("response.output_item.done", object{"output_index": place, "item": item})
			}
		}
		response["output"] = output
		event("response.completed", object{"response": response})
		raw, _ := json.Marshal(response)
		whole, err := responses.NewChatAnswer(q, 0).Whole(raw)
		require.NoError(t, err)

		streamed, complete := read(t, string(sent), true), read(t, string(whole), false)
		require.Equal(t, complete, streamed)
		for _, text := range d.sent {
			require.Contains(t, strings.Join(complete, "\n"), text)
		}
	})
}

// read is what a chat completion says, by what it is; pieces of one kind are joined.
func read(t require.TestingT, answer string, stream bool) []string {
	parts := map[string]string{}
	details := map[string]string{}
	r := completion.New(strings.NewReader(answer), stream)
	for {
		pieces, err := r.Next()
		for _, p := range pieces {
			switch p.Kind {
			case completion.Head:
			case completion.Thought:
				var all []struct {
					Type, Summary, Data, ID string
					Index                   int
				}
				require.NoError(t, json.Unmarshal(p.Raw, &all))
				for _, each := range all {
					details[fmt.Sprint(each.Index, each.Type)] += each.Summary + each.Data + each.ID
				}
			case completion.Call:
				parts[fmt.Sprint("call ", p.Place)] = fmt.Sprint(p.ID, p.Name, p.Custom)
			default:
				parts[fmt.Sprint(p.Kind, p.Place)] += p.Text
			}
		}
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return []string{fmt.Sprint(parts), fmt.Sprint(details)}
		}
	}
}

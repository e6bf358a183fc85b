package messages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/wire/messages"
)

// object is any object of JSON.
type object = map[string]any

// drawer makes blocks and notes every text in them that must arrive.
type drawer struct {
	*rapid.T
	count int
	sent  []string
}

// word is a text that no other block has, and that JSON has to escape now and then.
func (d *drawer) word() string {
	d.count++
	text := fmt.Sprintf("w%d%s", d.count, rapid.StringMatching(`[a-z<>&"\\ é]{0,6}`).Draw(d.T, "word"))
	d.sent = append(d.sent, text)
	return text
}

func (d *drawer) user() object {
	switch rapid.IntRange(0, 3).Draw(d.T, "block") {
	case 0:
		return object{"type": "image", "source": object{"type": "url", "url": d.word()}}
	case 1:
		return object{"type": "document", "source": object{"type": "text", "data": d.word()}}
	case 2:
		return object{"type": "text", "text": d.word(), "cache_control": object{"type": "ephemeral"}}
	}
	return object{"type": "text", "text": d.word()}
}

// conversation draws rounds of a question, and mostly calls with their results.
func (d *drawer) conversation() []object {
	var all []object
	for range rapid.IntRange(1, 4).Draw(d.T, "rounds") {
		question := []object{d.user()}
		for range rapid.IntRange(0, 2).Draw(d.T, "more") {
			question = append(question, d.user())
		}
		all = append(all, object{"role": "user", "content": question})
		answer, results := []object{{"type": "text", "text": d.word()}}, []object{}
		for range rapid.IntRange(0, 3).Draw(d.T, "calls") {
			id := d.word()
			answer = append(answer, object{
				"type": "tool_use", "id": id, "name": d.word(), "input": object{"x": d.word()},
			})
			results = append(results, object{"type": "tool_result", "tool_use_id": id, "content": []object{d.user()}})
		}
		all = append(all, object{"role": "assistant", "content": answer})
		if len(results) > 0 {
			all = append(all, object{"role": "user", "content": results})
		}
	}
	return all
}

// stringsOf are all strings of a value; the arguments of calls are read as JSON.
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

// added are the strings that the translation itself may write.
var added = strings.Fields(`iris user assistant tool text image_url function ephemeral <document> </document>`)

// TestNothingIsLostAndNothingInvented requires that each text of a conversation arrives, and no other.
func TestNothingIsLostAndNothingInvented(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		body, _ := json.Marshal(object{"model": "iris", "messages": d.conversation()})
		q, err := messages.Read(body)
		require.NoError(t, err)
		out, err := q.Chat(messages.Provider{Caches: rapid.Bool().Draw(t, "caches")})
		require.NoError(t, err)
		var c any
		require.NoError(t, json.Unmarshal(out, &c))
		expected := map[string]bool{"[An image, which follows these results.]": true}
		for _, text := range added {
			expected[text] = true
		}
		arrived := map[string]bool{}
		for _, text := range stringsOf(c, "") {
			arrived[text] = true
		}
		for _, text := range d.sent {
			require.True(t, arrived[text], "%q is lost: %s", text, out)
			expected[text] = true
		}
		for text := range arrived {
			require.True(t, expected[text] ||
				strings.HasPrefix(text, "From the result of the tool call "), "%q is invented", text)
		}
	})
}

// TestNothingIsLostOnTheWayBack translates what became of a conversation into Messages again, and requires that each
// text arrives, that turns alternate, and that Anthropic's library reads them.
func TestNothingIsLostOnTheWayBack(t *testing.T) {
	t.Parallel()
	const host = "https://example.org/"
	rapid.Check(t, func(t *rapid.T) {
		d := &drawer{T: t}
		body, _ := json.Marshal(object{"model": "iris", "max_tokens": 9, "messages": d.conversation()})
		q, err := messages.Read(body)
		require.NoError(t, err)
		out, err := q.Chat(messages.Provider{Caches: true})
		require.NoError(t, err)
		out = bytes.ReplaceAll(out, []byte(`{"url":"`), []byte(`{"url":"`+host))
		back, err := messages.ReadChat(out, messages.Model{MaxTokens: 9})
		require.NoError(t, err, "%s", out)
		var c struct {
			Messages []struct {
				Role    string
				Content any
			}
		}
		require.NoError(t, json.Unmarshal(back.Body, &c))
		arrived := map[string]bool{}
		for i, m := range c.Messages {
			require.Equal(t, []string{"user", "assistant"}[i%2], m.Role)
			for _, text := range stringsOf(m.Content, "") {
				arrived[strings.TrimPrefix(text, host)] = true
			}
		}
		for _, text := range d.sent {
			require.True(t, arrived[text], "%q is lost: %s", text, back.Body)
		}
		requireLibraryReads(t, back.Body)
	})
}

// blockOf is a block of an answer as a client reads it.
type blockOf struct {
	Type, Text, Thinking, Signature, ID, Name string
	Input                                     json.RawMessage
}

// accumulated reads events as a client does, and requires that each block ends before the next begins.
func accumulated(t require.TestingT, events []byte) (all []blockOf) {
	open, texts := -1, strings.Builder{}
	for event := range bytes.SplitSeq(bytes.TrimSpace(events), []byte("\n\n")) {
		_, data, _ := bytes.Cut(event, []byte("\ndata: "))
		var e struct {
			Type  string
			Index int
			Block blockOf `json:"content_block"`
			Delta struct {
				Text, Thinking, Signature string
				Partial                   string `json:"partial_json"`
			}
		}
		require.NoError(t, json.Unmarshal(data, &e))
		switch e.Type {
		case "content_block_start":
			require.Equal(t, -1, open)
			require.Equal(t, len(all), e.Index)
			open, all = e.Index, append(all, e.Block)
			texts.Reset()
		case "content_block_delta":
			require.Equal(t, open, e.Index)
			b := &all[open]
			b.Text, b.Thinking, b.Signature = b.Text+e.Delta.Text, b.Thinking+e.Delta.Thinking, b.Signature+e.Delta.Signature
			texts.WriteString(e.Delta.Partial)
		case "content_block_stop":
			require.Equal(t, open, e.Index)
			if all[open].Type == "tool_use" && texts.Len() > 0 {
				all[open].Input = json.RawMessage(texts.String())
			}
			open = -1
		}
	}
	require.Equal(t, -1, open)
	return all
}

// TestAStreamAndAMessageSayTheSame sends the same pieces, calls in turns, as a stream and in one piece.
func TestAStreamAndAMessageSayTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		display := rapid.SampledFrom([]string{`"summarized"`, `"omitted"`}).Draw(t, "display")
		begin := func(stream bool) *messages.Answer {
			thinking := `{"type":"adaptive","display":` + display + `}`
			q, err := messages.Read(fmt.Appendf(nil, `{"stream":%t,"thinking":%s}`, stream, thinking))
			require.NoError(t, err)
			return messages.NewAnswer(q, "msg_1", func() string { return "toolu_1" })
		}
		whole, stream := begin(false), begin(true)
		stream.Begin()
		both := func(do func(*messages.Answer)) { do(whole); do(stream) }
		var extras, details []any
		var text, thoughts string
		values := []int{}
		for i := range rapid.IntRange(0, 12).Draw(t, "pieces") {
			piece := fmt.Sprintf("p%d ", i)
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 4:
				details = append(details, piece)
				both(func(a *messages.Answer) { a.Proof("reasoning_details", fmt.Appendf(nil, `[%q]`, piece)) })
			case 0:
				text += piece
				both(func(a *messages.Answer) { a.Text(piece) })
			case 1:
				thoughts += piece
				both(func(a *messages.Answer) { a.Thought("reasoning", piece) })
			case 2:
				place := len(values)
				values = append(values, 0)
				var extra json.RawMessage
				extras = append(extras, nil)
				if rapid.Bool().Draw(t, "extra") {
					extras[place] = piece
					extra, _ = json.Marshal(piece)
				}
				both(func(a *messages.Answer) {
					a.Call(place, fmt.Sprintf("c%d", place), "f", extra)
					a.Arguments(place,
						"[")
				})
			case 3:
				if len(values) > 0 {
					place := rapid.IntRange(0, len(values)-1).Draw(t, "place")
					values[place]++
					both(func(a *messages.Answer) { a.Arguments(place, "1,") })
				}
			}
		}
		for place := range values {
			both(func(a *messages.Answer) { a.Arguments(place, "0]") })
		}
		stream.End()
		var m struct{ Content []blockOf }
		require.NoError(t, json.Unmarshal(whole.Whole(), &m))
		read := accumulated(t, stream.Events())
		require.Len(t, read, len(m.Content))
		var allText, allThoughts string
		calls := 0
		for i, b := range m.Content {
			if b.Type == "tool_use" {
				list := "[" + strings.Repeat("1,", values[calls]) + "0]"
				require.JSONEq(t, list, string(read[i].Input))
				require.JSONEq(t, fmt.Sprintf(`{"INVALID_JSON":%q}`, list), string(b.Input))
				require.Equal(t, fmt.Sprintf("c%d", calls), read[i].ID)
				calls++
				continue
			}
			require.Equal(t, b, read[i])
			allText, allThoughts = allText+b.Text, allThoughts+b.Thinking
		}
		require.Equal(t, text, allText)
		require.Len(t, values, calls)
		if display == `"summarized"` {
			require.Equal(t, thoughts, allThoughts)
		}
		if calls == 0 {
			return
		}
		sent, results := []any{}, []object{} // sent back, it is what the provider wants with the results of the calls
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				sent = append(sent, object{"type": b.Type, "text": b.Text})
			case "thinking":
				sent = append(sent, object{"type": b.Type, "thinking": b.Thinking, "signature": b.Signature})
			case "tool_use":
				sent = append(sent, object{"type": b.Type, "id": b.ID, "name": b.Name, "input": b.Input})
				results = append(results, object{"type": "tool_result", "tool_use_id": b.ID})
			}
		}
		body, _ := json.Marshal(object{"messages": []object{
			{"role": "user", "content": "go"},
			{"role": "assistant", "content": sent},
			{"role": "user", "content": results},
		}})
		q, err := messages.Read(body)
		require.NoError(t, err)
		back, err := q.Chat(messages.Provider{})
		require.NoError(t, err)
		var c struct {
			Messages []struct {
				Details   []any  `json:"reasoning_details"`
				Reasoning string `json:"reasoning"`
				Calls     []struct {
					Extra any `json:"extra_content"`
				} `json:"tool_calls"`
			}
		}
		require.NoError(t, json.Unmarshal(back, &c))
		answer := c.Messages[1]
		require.Equal(t, details, answer.Details)
		require.Equal(t, thoughts, answer.Reasoning)
		for i, call := range answer.Calls {
			require.Equal(t, extras[i], call.Extra)
		}
		require.Empty(t, q.Ignored())
		require.NotContains(t, string(messages.Native(body)), "oneiros:", "no provider is sent what is signed here")
	})
}

// FuzzRead requires that any body is translated into JSON, or refused with the field.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"requests.txt", "refused.txt"} {
		raw, err := os.ReadFile("testdata/" + file)
		require.NoError(f, err)
		for line := range strings.Lines(string(raw)) {
			if body, ok := strings.CutPrefix(line, "request "); ok {
				f.Add([]byte(body), true)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, all bool) {
		q, err := messages.Read(body)
		var out []byte
		if err == nil {
			out, err = q.Chat(messages.Provider{Reasons: all, Caches: all})
		}
		if err != nil {
			_, ok := errors.AsType[*messages.Error](err)
			require.True(t, ok, err)
			return
		}
		var c struct{ Messages []struct{ Role string } }
		require.NoError(t, json.Unmarshal(out, &c), string(out))
		for _, m := range c.Messages {
			require.Contains(t, []string{"system", "user", "assistant", "tool"}, m.Role)
		}
	})
}

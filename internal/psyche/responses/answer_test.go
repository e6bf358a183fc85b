package responses_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
	"github.com/seed-56a03226/oneiros/internal/psyche/responses"
	"github.com/seed-56a03226/oneiros/testsuite/conform"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	began = time.Unix(1_700_000_000, 0)
	ended = time.Unix(1_700_000_007, 0)
)

// answered is an answer to a request, from the bytes of a chat completion.
func answered(t require.TestingT, request, body string, stream bool) (*responses.Answer, string) {
	q, err := responses.Read([]byte(request))
	require.NoError(t, err)
	a := q.Answer("resp_abc", began)
	a.Begin()
	r := completion.New(strings.NewReader(body), stream)
	for {
		pieces, err := r.Next()
		for _, p := range pieces {
			a.Take(p)
		}
		if err != nil {
			break
		}
	}
	a.End(ended)
	a.Finish()
	return a, string(a.Events())
}

// streamed is a chat completion's stream of deltas, with its end.
func streamed(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", finish)
	b.WriteString(
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"total_tokens\":13,\"prompt_tokens_details\":{\"cached_tokens\":2},\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\ndata: [DONE]\n\n",
	)
	return b.String()
}

const offered = `"tools":[{"type":"function","name":"add"},{"type":"custom","name":"patch"},{"type":"namespace","name":"team","tools":[{"type":"function","name":"ask"}]}]`

// cases are requests with the answers of a provider, each with a golden file of its events.
var cases = map[string]struct{ request, body string }{
	"words": {
		request: `{"model":"iris","input":"x","stream":true,"instructions":"Be brief.","metadata":{"a":"b"}}`,
		body: streamed(
			"stop",
			`{"role":"assistant","content":""}`,
			`{"content":"One"}`,
			`{"content":" two\n\u00e9."}`,
		),
	},
	"calls": {
		request: `{"model":"iris","input":"x","stream":true,` + offered + `}`,
		body: streamed(
			"tool_calls",
			`{"content":"I add."}`,
			`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}},{"index":1,"id":"c2","function":{"name":"patch","arguments":"{\"input\":\"***"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":" \\\"x\"}"}}]}`,
			`{"tool_calls":[{"index":2,"id":"c3","function":{"name":"team__ask","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":3,"function":{"name":"unknown"}}]}`,
		),
	},
	"thoughts": {
		request: `{"model":"iris","input":"x","stream":true,"include":["reasoning.encrypted_content"]}`,
		body: streamed("stop", `{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h"}]}`,
			`{"reasoning":"m","reasoning_details":[{"signature":"s"}]}`, `{"content":"So."}`),
	},
	"proof": {
		request: `{"model":"iris","input":"x","stream":true,` + offered + `}`,
		body: streamed("tool_calls", `{"content":"I add."}`, `{"tool_calls":[{"index":0,"id":"c1","type":"function",`+
			`"function":{"name":"add","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}`),
	},
	"summaries": {
		request: `{"model":"iris","input":"x","stream":true,"reasoning":{"effort":"low","summary":"auto"}}`,
		body: streamed(
			"stop",
			`{"reasoning_content":"hm"}`,
			`{"content":"So."}`,
			`{"reasoning_content":"hm again"}`,
			`{"content":"And so."}`,
		),
	},
	"refusal": {
		request: `{"model":"iris","input":"x","stream":true}`,
		body:    streamed("content_filter", `{"content":"I"}`, `{"refusal":"No"}`, `{"refusal":"."}`),
	},
	"cut": {
		request: `{"model":"iris","input":"x","stream":true,"max_output_tokens":3}`,
		body:    streamed("length", `{"content":"One two"}`),
	},
	"failed": {
		request: `{"model":"iris","input":"x","stream":true}`,
		body: "data: {\"choices\":[{\"delta\":{\"content\":\"One\"}}]}\n\ndata: " +
			"{\"error\":{\"message\":\"overloaded \\\"now\\\"\",\"code\":529}}\n\n",
	},
	"structured": {
		request: `{"model":"iris","input":"x","stream":true,"user":"ann","include":["message.output_text.logprobs"],"top_logprobs":1,` +
			`"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":true},"verbosity":"low"}}`,
		body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{}\"},\"logprobs\":{\"content\":[{\"token\":\"{}\",\"bytes\":[123,125],\"logprob\":-0.5,\"top_logprobs\":[{\"token\":\"{}\",\"bytes\":[123,125],\"logprob\":-0.5}]}]}}]}\n\n" +
			streamed("stop", `{"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":1,"url":"https://x","title":"X"}}]}`),
	},
	"nothing": {request: `{"model":"iris","input":"x","stream":true}`, body: "data: [DONE]\n\n"},
}

func TestTheEventsOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range cases {
		_, events := answered(t, c.request, c.body, true)
		file := filepath.Join("testdata", name+".golden")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, []byte(events), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), events, name)
	}
}

// decoded are the events, as the official library reads them.
func decoded(t require.TestingT, events string) (all []sdk.ResponseStreamEventUnion) {
	for event := range strings.SplitSeq(strings.TrimSuffix(events, "\n\n"), "\n\n") {
		head, data, found := strings.Cut(event, "\ndata: ")
		require.True(t, found, event)
		var e sdk.ResponseStreamEventUnion
		require.NoError(t, json.Unmarshal([]byte(data), &e), data)
		require.Equal(t, "event: "+e.Type, head)
		require.EqualValues(t, len(all), e.SequenceNumber)
		all = append(all, e)
	}
	return all
}

// beside are members of answers beside those of the library's types: OpenAI's own answers say whether they are kept.
var beside = []string{"Response.store"}

func TestTheOfficialLibraryKnowsEveryMemberOfEveryEvent(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for name, c := range cases {
		a, events := answered(t, c.request, c.body, true)
		for _, e := range decoded(t, events) {
			kinds[e.Type] = true
			require.Empty(t, conform.Faults(e, beside...), "%s: %s", name, e.RawJSON())
		}
		var r sdk.Response
		require.NoError(t, json.Unmarshal(a.Response(), &r))
		require.Empty(t, conform.Faults(r, beside...), "%s: %s", name, r.RawJSON())
	}
	for name, c := range cases { // the same in one piece
		request := strings.Replace(c.request, `"stream":true`, `"stream":false`, 1)
		a, events := answered(t, request, c.body, true)
		require.Empty(t, events, name)
		var r sdk.Response
		require.NoError(t, json.Unmarshal(a.Response(), &r))
		require.Empty(t, conform.Faults(r, beside...), "%s: %s", name, r.RawJSON())
	}
	for kind := range strings.FieldsSeq(`response.created response.in_progress response.completed response.incomplete response.failed error
		response.output_item.added response.output_item.done response.content_part.added response.content_part.done
		response.output_text.delta response.output_text.annotation.added response.output_text.done
		response.refusal.delta response.refusal.done
		response.function_call_arguments.delta response.function_call_arguments.done
		response.custom_tool_call_input.delta response.custom_tool_call_input.done
		response.reasoning_text.delta response.reasoning_text.done response.reasoning_summary_part.added response.reasoning_summary_part.done
		response.reasoning_summary_text.delta response.reasoning_summary_text.done`) {
		require.True(t, kinds[kind], "no case has %s", kind)
	}
}

func TestAResponseInOnePieceIsWhatAStreamEndsWith(t *testing.T) {
	t.Parallel()
	for name, c := range cases {
		a, events := answered(t, c.request, c.body, true)
		all := decoded(t, events)
		require.Equal(t, string(a.Response()), all[len(all)-1].Response.RawJSON(), name)
	}
	const whole = `{"model":"iris","input":"x"}`
	a, events := answered(
		t,
		whole,
		`{"choices":[{"message":{"content":"Yes."},"logprobs":{"content":[{"token":"Yes","logprob":-1,"bytes":null,"top_logprobs":[]}]},"finish_reason":"stop"}],"service_tier":"flex"}`,
		false,
	)
	require.Empty(t, events)
	var r sdk.Response
	require.NoError(t, json.Unmarshal(a.Response(), &r))
	require.Equal(t, "Yes.", r.OutputText())
	require.EqualValues(t, "completed", r.Status)
	require.EqualValues(t, "flex", r.ServiceTier)
	require.Len(t, r.Output[0].Content[0].Logprobs, 1)
}

// TestAnnotationsAreGivenInTheFormOfTheWire draws notes in the forms in which providers send them, among the words and
// before them. Each comes once in an event and stands in the response, with every member that the wire requires.
func TestAnnotationsAreGivenInTheFormOfTheWire(t *testing.T) {
	t.Parallel()
	forms := []string{ // each of a number, and what becomes of it
		`{"type":"url_citation","url_citation":{"start_index":0,"end_index":1,"url":"https://x/%[1]d","title":"X"}}`,
		`{"type":"url_citation","start_index":0,"end_index":1,"url":"https://x/%[1]d","title":"X"}`,
		`{"start_index":0,"end_index":1,"url":"https://x/%[1]d","title":"X"}`,
		`{"type":null,"url_citation":{"start_index":0,"end_index":1,"url":"https://x/%[1]d","title":"X"}}`,
		`{"type":"url_citation","url":"https://x/%[1]d","title":null}`,
		`{"type":"file_path","file_path":{"file_id":"f%[1]d","index":0}}`,
		`{"note":"%[1]d"}`, `{"type":"url_citation","id":%[1]d}`, `%[1]d`, // say nothing that a client could read
	}
	const cited = `{"type":"url_citation","start_index":0,"end_index":1,"url":"https://x/%d","title":"X"}`
	becomes := []string{
		cited, cited, cited, cited,
		`{"type":"url_citation","url":"https://x/%d","start_index":0,"end_index":0,"title":""}`,
		`{"type":"file_path","file_id":"f%d","index":0}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		var deltas, want []string
		for i := range rapid.IntRange(0, 6).Draw(t, "deltas") {
			if rapid.Bool().Draw(t, "words") {
				deltas = append(deltas, `{"content":"Yes."}`)
				continue
			}
			form := rapid.IntRange(0, len(forms)-1).Draw(t, "form")
			deltas = append(deltas, `{"annotations":[`+fmt.Sprintf(forms[form], i)+`]}`)
			if form < len(becomes) {
				want = append(want, fmt.Sprintf(becomes[form], i))
			}
		}
		deltas = append(deltas, `{"content":"So."}`)
		a, events := answered(t, `{"model":"iris","input":"x","stream":true}`, streamed("stop", deltas...), true)
		var r sdk.Response
		require.NoError(t, json.Unmarshal(a.Response(), &r))
		require.Empty(t, conform.Faults(r, beside...), r.RawJSON())
		require.Len(t, r.Output, 1)
		var kept, added []string
		for _, note := range r.Output[0].Content[0].Annotations {
			kept = append(kept, note.RawJSON())
		}
		for _, e := range decoded(t, events) {
			require.Empty(t, conform.Faults(e, beside...), e.RawJSON())
			if note, ok := e.AsAny().(sdk.ResponseOutputTextAnnotationAddedEvent); ok {
				require.EqualValues(t, len(added), note.AnnotationIndex)
				require.Equal(t, r.Output[0].ID, note.ItemID)
				added = append(added, note.Annotation.RawJSON())
			}
		}
		require.Equal(t, want, kept)
		require.Equal(t, want, added)
	})
	a, _ := answered(t, `{"model":"iris","input":"x"}`, `{"choices":[{"message":{"annotations":[{"url":"https://x"}],
		"content":"Yes."},"finish_reason":"stop"}]}`, false)
	var r sdk.Response
	require.NoError(t, json.Unmarshal(a.Response(), &r))
	require.Equal(t, "https://x", r.Output[0].Content[0].Annotations[0].URL, "also in one piece")
	_, events := answered(t, `{"model":"iris","input":"x","stream":true}`, `{"choices":[{"message":{"content":"Yes.",
		"annotations":[{"type":"file_path","file_path":{"file_id":"f","of":[

			1]}}]},"finish_reason":"stop"}]}`, false)
	require.NotEmpty(t, decoded(t, events), "an event is one line of data")
}

// TestWhatWasAnsweredCanBeSentBack requires that the items of an answer, sent back as input, become the message that
// the provider sent.
func TestWhatWasAnsweredCanBeSentBack(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[a-z"\\é\n]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		words, thought := text.Draw(t, "words"), text.Draw(t, "thought")
		type call struct{ ID, Name, Arguments, Extra string }
		var calls []call
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			c := call{
				fmt.Sprintf("c%d", i),
				rapid.SampledFrom([]string{"add", "patch", "team__ask"}).Draw(t, "name"),
				`{"a":1}`,
				rapid.SampledFrom([]string{"", fmt.Sprintf(`,"extra_content":{"google":{"thought_signature":"s%d"}}`, i)}).
					Draw(t, "extra"),
			}
			if c.Name == "patch" {
				input, _ := json.Marshal(text.Draw(t, "input"))
				c.Arguments = `{"input":` + string(input) + `}`
			}
			calls = append(calls, c)
		}
		if words == "" && len(calls) == 0 {
			words = "."
		}
		quote := func(s string) string {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			_ = e.Encode(s)
			return strings.TrimSpace(b.String())
		}
		var deltas []string
		say := func(member, text string) {
			for _, each := range pieces(t, text) {
				deltas = append(deltas, `{"`+member+`":`+quote(each)+`}`)
			}
		}
		say("reasoning_content", thought)
		say("content", words)
		var listed []string
		for i, c := range calls {
			deltas = append(
				deltas,
				fmt.Sprintf(
					`{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":""}%s}]}`,
					i,
					c.ID,
					c.Name,
					c.Extra,
				),
			)
			for _, each := range pieces(t, c.Arguments) {
				deltas = append(
					deltas,
					fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(each)),
				)
			}
			listed = append(
				listed,
				fmt.Sprintf(
					`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}%s}`,
					c.ID,
					c.Name,
					quote(c.Arguments),
					c.Extra,
				),
			)
		}
		if len(calls) > 0 { // after a call a model may think and speak on
			more, further := text.Draw(t, "more thought"), text.Draw(t, "further words")
			say("reasoning_content", more)
			say("content", further)
			thought, words = thought+more, words+further
		}
		message := `{"role":"assistant","content":null`
		if words != "" {
			message = `{"role":"assistant","content":` + quote(words)
		}
		if thought != "" {
			message += `,"reasoning_content":` + quote(thought)
		}
		if len(calls) > 0 {
			message += `,"tool_calls":[` + strings.Join(listed, ",") + "]"
		}
		message += "}"
		request := `{"model":"iris","input":"x","stream":true,` + offered
		if rapid.Bool().Draw(t, "sealed") {
			request += `,"include":["reasoning.encrypted_content"]`
		}
		a, events := answered(t, request+"}", streamed("stop", deltas...), true)

		require.NotContains(t, events, "thought_signature", "a proof is sealed")

		// the deltas that a client adds up are the items that it gets in the end
		sum := map[string]string{}
		for _, e := range decoded(t, events) {
			switch e.Type {
			case "response.output_text.delta",
				"response.reasoning_text.delta",
				"response.function_call_arguments.delta",
				"response.custom_tool_call_input.delta":
				sum[e.ItemID] += e.Delta
			}
		}
		var r sdk.Response
		require.NoError(t, json.Unmarshal(a.Response(), &r))
		items := []string{`{"role":"user","content":"x"}`}
		for _, o := range r.Output {
			items = append(items, o.RawJSON())
			text := o.Arguments.OfString + o.Input
			for _, part := range o.Content {
				text += part.Text
			}
			require.Equal(t, text, sum[o.ID])
		}
		for _, c := range calls {
			items = append(items, fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"3"}`, c.ID))
		}
		q, err := responses.Read(
			[]byte(`{"model":"iris","input":[` + strings.Join(items, ",") + `],` + offered + `}`),
		)
		require.NoError(t, err)
		back, err := q.Chat(nil, responses.Options{})
		require.NoError(t, err)
		var again struct{ Messages []json.RawMessage }
		require.NoError(t, json.Unmarshal(back, &again))
		require.Len(t, again.Messages, 2+len(calls), "the outputs follow the message with their calls")
		require.JSONEq(t, message, string(again.Messages[1]))
		kept, err := q.Chat(a.Output(), responses.Options{})
		require.NoError(t, err)
		require.Contains(t, string(kept), `"role":"assistant"`)
	})
}

// TestKeptThoughtsOfAnotherProviderAreLeftOut goes on from what was kept while the agent's provider spoke this wire.
// Its seals mean nothing to another provider, and the client cannot leave a kept item out.
func TestKeptThoughtsOfAnotherProviderAreLeftOut(t *testing.T) {
	t.Parallel()
	const sealed = `{"type":"reasoning","id":"rs_abc_0","summary":[],"encrypted_content":"gAAA"}`
	const open = `{"type":"reasoning","id":"rs_abc_0","summary":[{"type":"summary_text","text":"hm"}],` +
		`"encrypted_content":"gAAA"}`
	const question, answer = `{"role":"user","content":"x"}`, `{"type":"message","role":"assistant","content":"So."}`
	for _, c := range []struct {
		before []string
		want   string
	}{
		{[]string{question, sealed, answer}, `[{"role":"user","content":"x"},{"role":"assistant","content":"So."},
			{"role":"user","content":"y"}]`},
		{[]string{question, sealed}, `[{"role":"user","content":"x"},{"role":"user","content":"y"}]`},
		{[]string{question, open, answer}, `[{"role":"user","content":"x"},
			{"role":"assistant","content":"So.","reasoning_content":"hm"},{"role":"user","content":"y"}]`},
	} {
		q, err := responses.Read([]byte(`{"model":"iris","input":"y"}`))
		require.NoError(t, err)
		var before []responses.Item
		for _, raw := range c.before {
			before = append(before, responses.Item{Raw: json.RawMessage(raw)})
		}
		body, err := q.Chat(before, responses.Options{})
		require.NoError(t, err)
		var out struct{ Messages json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &out))
		require.JSONEq(t, c.want, string(out.Messages))
	}
}

// pieces are a text in parts.
func pieces(t *rapid.T, text string) (parts []string) {
	letters := []rune(text)
	for len(letters) > 0 {
		n := rapid.IntRange(1, len(letters)).Draw(t, "piece")
		parts, letters = append(parts, string(letters[:n])), letters[n:]
	}
	return parts
}

func TestTheIDOfAnItemNamesItsResponse(t *testing.T) {
	t.Parallel()
	a, _ := answered(t, `{"model":"iris","input":"x"}`, `{"choices":[{"message":{"content":"Yes."}}]}`, false)
	require.Equal(t, "resp_abc", responses.ResponseOf(a.Output()[0].ID))
	require.Empty(t, responses.ResponseOf("msg_1"))
	require.Empty(t, responses.ResponseOf("other"))
}

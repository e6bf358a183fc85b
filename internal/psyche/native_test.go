package psyche

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// nativeTurn is a turn of a body that is passed on as a wire of its own.
func nativeTurn(f *form, raw []byte, spec inference.Spec) (*turn, error) {
	b, err := scanBody(f, raw)
	if err != nil {
		return nil, err
	}
	service := new(Service)
	service.o = Options{}.filled()
	t := &turn{service: service, Turn: Turn{Body: b}, spec: spec}
	t.agent.Handle, t.agent.Persona = "echo", "A keeper."
	t.ceiling, err = b.costBound(t.limits())
	return t, err
}

var paidWire = inference.Spec{
	Name:     "p/wire",
	Provider: "p",
	Wire:     "wire",
	Price:    &listPrice,
	Context:  window,
}

// nativeForms are the forms of the wires beside chat completions, by the folders of their bodies.
var nativeForms = map[string]*form{"messages": messagesForm, "responses": responsesForm}

// Each folder of testdata/messages and testdata/responses is a request as a client sends it (in.json) and as a provider
// that speaks the wire gets it (out.json): with its model, the persona, a background and a maximum.
func TestNativeBodiesAreEditedAndNotRebuilt(t *testing.T) {
	t.Parallel()
	for wire, f := range nativeForms {
		inputs, err := filepath.Glob(filepath.Join("testdata", wire, "*", "in.json"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(inputs), 4, wire)
		for _, in := range inputs {
			t.Run(wire+"/"+filepath.Base(filepath.Dir(in)), func(t *testing.T) {
				t.Parallel()
				raw, err := os.ReadFile(in)
				require.NoError(t, err)
				u, err := nativeTurn(f, raw, paidWire)
				require.NoError(t, err)
				changes := append([]splice{u.Body.model("wire")}, u.persona()...)
				if at := u.Body.lastUserMessage(); at >= 0 {
					changes = append(changes, u.Body.background(u.Body.place(at), "[background]"))
				}
				_, more := u.worst()
				got := spliced(raw, append(changes, more...))
				golden := filepath.Join(filepath.Dir(in), "out.json")
				if os.Getenv("UPDATE_GOLDEN") != "" {
					require.NoError(t, os.WriteFile(golden, got, 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got))
				require.True(t, json.Valid(got))
			})
		}
	}
}

// nativeBodies draws requests of a wire: its usual fields and messages, with odd ones among them, in any order and with
// spaces between.
func nativeBodies(list string, fields, odd, messages, oddMessages []string) *rapid.Generator[string] {
	return rapid.Custom(func(r *rapid.T) string {
		pick := func(usual, odd []string, label string) string {
			if len(odd) > 0 && rapid.IntRange(0, 11).Draw(r, "odd") == 0 {
				return rapid.SampledFrom(odd).Draw(r, label)
			}
			return rapid.SampledFrom(usual).Draw(r, label)
		}
		space := rapid.SampledFrom([]string{"", " ", "\n\t"})
		var all []string
		for range rapid.IntRange(0, 4).Draw(r, "messages") {
			all = append(all, pick(messages, oddMessages, "message"))
		}
		words := strings.Repeat("word ", rapid.IntRange(0, 2000).Draw(r, "words"))
		all = append(all, fmt.Sprintf(`{"role":"user","content":%q}`, words))
		members := []string{`"model":"echo"`, fmt.Sprintf(`"%s":[%s]`, list, strings.Join(all, space.Draw(r,
			"space")+","))}
		for range rapid.IntRange(0, 5).Draw(r, "fields") {
			members = append(members, pick(fields, odd, "field"))
		}
		if rapid.IntRange(0, 15).Draw(r, "twice") != 0 { // else a field may occur twice
			seen := map[string]bool{}
			members = slices.DeleteFunc(members, func(m string) bool {
				name, _, _ := strings.Cut(m, ":")
				twice := seen[name]
				seen[name] = true
				return twice
			})
		}
		members = rapid.Permutation(members).Draw(r, "order")
		return "{" + strings.Join(members, space.Draw(r, "between")+",") + "}"
	})
}

// messageBodies draws requests of Anthropic's Messages.
func messageBodies() *rapid.Generator[string] {
	const picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
	return nativeBodies("messages",
		[]string{
			`"max_tokens":7`, `"max_tokens":9000`, `"max_tokens":70000`, `"stream":true`, `"temperature":1`, `"top_k":5`,
			`"thinking":{"type":"enabled","budget_tokens":50000}`, `"thinking":{"type":"adaptive","display":"omitted"}`,
			`"thinking":{"type":"disabled"}`, `"output_config":{"effort":"max"}`, `"service_tier":"auto"`,
			`"service_tier":"standard_only"`, `"cache_control":{"type":"ephemeral","ttl":"1h"}`, `"metadata":{"user_id":"u"}`,
			`"system":"be brief"`, `"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]`,
			`"system":[]`, `"system":null`, `"tools":[{"name":"f","input_schema":{"type":"object"}}]`,
			`"tools":[{"type":"custom","name":"f","input_schema":{}},{"type":"bash_20250124","name":"bash"}]`,
			`"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, `"speed":"standard"`, `"mcp_servers":[]`,
		},
		[]string{
			`"max_tokens":999999`, `"max_tokens":"9000"`, `"max_tokens":null`, `"Max_tokens":99999`, `"speed":"fast"`,
			`"inference_geo":"us"`, `"mcp_servers":[{"name":"m","url":"https://example.org"}]`, `"container":"c"`,
			`"tools":[{"type":"web_search_20250305","name":"web_search"}]`, `"tools":{"type":"web_search_20250305"}`,
			`"tools":[{"type":"custom","type":"web_search_20250305","name":"web_search"}]`, `"service_tier":"priority"`,
			`"tools":[{"\u0074ype":"web_search_20250305","name":"web_search"}]`, `"n":128`, `"fallbacks":["dear"]`,
			`"context_management":{"edits":[{"type":"compact_20260112"}]}`, `"thinking":{"budget_tokens":9e9}`,
			`"thinking":{"type":"disabled","Budget_tokens":90000}`, `"models":["gpt-5-pro"]`, `"\u006dodel":"gpt-5-pro"`,
		},
		[]string{
			`{"role":"assistant","content":"so"}`, `{"role":"user","content":[` + picture + `]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},` +
				`{"type":"tool_use","id":"c","name":"f","input":{"a":[1]}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[` + picture + `]}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"done"},{"type":"text","text":"And?"}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.org/a.png"}}]}`,
			`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"so it was"}}]}`,
			`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}`,
		},
		[]string{
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}]}`,
			`{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}]}`,
			`{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA"}}]}`,
			`{"role":"user","content":[{"type":"text","type":"document","text":"x","source":{"type":"url"}}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","type":"url","media_type":"image/png","data":"A"}}]}`,
			`{"role":"user","content":[{"type":"video"}]}`, `{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}`,
			`{"role":"user","content":"a","content":[{"type":"video"}]}`, `7`, `{"role":"user","Content":"x"}`,
		})
}

// responseBodies draws requests of OpenAI's Responses.
func responseBodies() *rapid.Generator[string] {
	return nativeBodies("input",
		[]string{
			`"max_output_tokens":7`, `"max_output_tokens":9000`, `"max_output_tokens":70000`, `"stream":true`,
			`"temperature":1`, `"reasoning":{"effort":"high","summary":"auto"}`, `"service_tier":"default"`,
			`"text":{"verbosity":"high"}`, `"text":{"format":{"type":"json_object"}}`, `"top_logprobs":2`, `"store":false`,
			`"metadata":{"model":"x"}`, `"instructions":"be brief"`, `"prompt_cache_key":"k"`, `"background":false`,
			`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`, `"truncation":"auto"`,
			`"tools":[{"type":"custom","name":"p","format":{"type":"grammar","syntax":"lark","definition":"start: X"}}]`,
			`"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]`,
			`"include":["reasoning.encrypted_content"]`, `"tools":[{"type":"local_shell"}]`, `"parallel_tool_calls":true`,
		},
		[]string{
			`"max_output_tokens":999999`, `"max_output_tokens":null`, `"max_output_tokens":1e9`, `"Max_output_tokens":99999`,
			`"max_tokens":90000`, `"service_tier":"priority"`, `"service_tier":"auto"`, `"background":true`, `"store":true`,
			`"conversation":"c"`, `"prompt":{"id":"p"}`, `"previous_response_id":"resp_1"`, `"n":128`, `"models":["gpt-5-pro"]`,
			`"context_management":[{"type":"compaction"}]`, `"reasoning":{"mode":"pro"}`, `"tools":[{"type":"web_search"}]`,
			`"tools":[{"type":"function","type":"web_search"}]`, `"tools":[{"type":"mcp","server_url":"https://x"}]`,
			`"tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]`,
			`"tools":[{"name":"f"}]`, `"tools":["web_search"]`, `"\u006dodel":"gpt-5-pro"`, `"instructions":[{"type":"input_file"}]`,
		},
		[]string{
			`{"role":"developer","content":"be kind"}`, `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`,
			`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}`,
			`{"type":"function_call_output","call_id":"c","output":"done"}`,
			`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"high"}]}`,
			`{"role":"user","content":[{"type":"input_image","image_url":"https://example.org/a.png"}]}`,
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"Zm9v"}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so","annotations":[]}]}`,
			`{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}`,
		},
		[]string{
			`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}]}`,
			`{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`, `{"type":"item_reference","id":"msg_1"}`,
			`{"type":"message","type":"compaction","role":"user","content":"x"}`, `{"type":"compaction","encrypted_content":"AA"}`,
			`{"role":"user","content":"a","attachments":[{"file_id":"f"}]}`, `{"role":"user","Content":"x"}`, `"bare"`,
			`{"role":"user","content":[{"type":"input_text","type":"input_file","text":"x"}]}`,
			`{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"https://example.org/x"}}`,
		})
}

// overbilledWire is overbilled for a body that is passed on as a wire of its own.
func overbilledWire(f *form, raw []byte, percent budget.Micros) (how provider.Reading, text string, refused error) {
	thinker := paidWire
	thinker.Name, thinker.Wire, thinker.Reasoning = "p/thinker", "thinker", true
	thinker.Price = &risingPrice
	for _, spec := range []inference.Spec{paidWire, thinker} {
		t, err := nativeTurn(f, raw, spec)
		if err != nil {
			refused = err
			continue
		}
		changes := append(t.persona(), t.Body.model(spec.Wire))
		w, more := t.worst()
		price := spec.Price.Dearer(w.Times)
		reserved := price.Worst(w.In, w.Out)
		sent := spliced(raw, append(changes, more...))
		if !json.Valid(sent) {
			return "none", fmt.Sprintf("%q became %q", raw, sent), nil
		}
		for _, how := range provider.Readings() {
			bill := how.BillMessage(sent, billing, window)
			if f == responsesForm {
				bill = how.BillResponse(sent, billing, window)
			}
			if cost := bill.Cost(); cost > reserved/100*percent+reserved%100*percent/100 {
				return how, fmt.Sprintf("%s: %q as %q could cost %s (%+v), reserved was %s", spec.Name, raw, sent, cost,
					bill, reserved), nil
			}
		}
	}
	return "", "", refused
}

func nativeGenerators() map[*form]*rapid.Generator[string] {
	return map[*form]*rapid.Generator[string]{messagesForm: messageBodies(), responsesForm: responseBodies()}
}

func TestNoProviderCouldBillMoreOnAWireOfItsOwnThanWasReserved(t *testing.T) {
	t.Parallel()
	for f, all := range nativeGenerators() {
		rapid.Check(t, func(r *rapid.T) {
			how, text, _ := overbilledWire(f, []byte(all.Draw(r, "body")), 100)
			require.Empty(r, how, "%s", text)
		})
	}
}

// A long prompt leaves less room in the window than a model may think: the maximum that is set there is below the
// budget for thoughts, and a provider that bills these beside it bills all of them.
func TestABudgetForThoughtsIsReservedWhereTheWindowIsNearlyFull(t *testing.T) {
	t.Parallel()
	const picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
	body := fmt.Sprintf(`{"model":"echo","messages":[{"role":"user","content":[%s,%s]},{"role":"user","content":%q}],
		"thinking":{"type":"enabled","budget_tokens":50000}}`, picture, picture, strings.Repeat("word ", 2000))
	how, text, refused := overbilledWire(messagesForm, []byte(body), 100)
	require.NoError(t, refused)
	require.Empty(t, how, "%s", text)
}

// The control: with half the reservation the generated bodies would exceed it, and many of them are not refused.
func TestHalfOfAReservationWouldNotDoOnAWireOfItsOwn(t *testing.T) {
	t.Parallel()
	for f, all := range nativeGenerators() {
		taken, over := 0, 0
		for seed := range 1000 {
			how, _, refused := overbilledWire(f, []byte(all.Example(seed)), 50)
			if refused == nil {
				taken++
			}
			if how != "" {
				over++
			}
		}
		require.Greater(t, taken, 200, "%s: enough bodies are taken", f.list)
		require.Greater(t, over, 50, "%s: half is not enough", f.list)
	}
}

// TestAnEditOfANativeBodyChangesNothingElse takes the edits out of what a provider would be sent.
func TestAnEditOfANativeBodyChangesNothingElse(t *testing.T) {
	t.Parallel()
	for f, all := range nativeGenerators() {
		rapid.Check(t, func(r *rapid.T) {
			raw := []byte(all.Draw(r, "body"))
			u, err := nativeTurn(f, raw, inference.Spec{Name: "p/free", Wire: "wire", Price: &budget.Price{}})
			if err != nil {
				return
			}
			b := u.Body
			changes := append([]splice{b.model("wire")}, u.persona()...)
			place := b.place(b.lastUserMessage())
			changes = append(changes, b.background(place, "[background]"))
			got := spliced(raw, changes)
			before, after := decoded(r, raw), decoded(r, got)
			require.Equal(r, "wire", after["model"])
			after["model"] = before["model"]
			list := after[f.list].([]any)
			if f == responsesForm {
				require.Equal(r, map[string]any{"role": "system", "content": "You are echo. A keeper."}, list[0])
				list = list[1:]
			} else {
				require.Contains(r, fmt.Sprint(after["system"]), "You are echo. A keeper.")
				if before["system"] == nil || len(fmt.Sprint(before["system"])) <= len("[]") {
					after["system"] = before["system"]
				} else if blocks, ok := after["system"].([]any); ok {
					after["system"] = blocks[1:]
				} else {
					after["system"] = strings.TrimPrefix(after["system"].(string), "You are echo. A keeper.\n\n")
				}
				if _, stood := before["system"]; !stood {
					delete(after, "system")
				}
			}
			require.Equal(r, map[string]any{"role": "user", "content": "[background]"}, list[place])
			after[f.list] = slices.Delete(slices.Clone(list), place, place+1)
			require.Equal(r, before, after, "%s", raw)
		})
	}
}

func decoded(t require.TestingT, raw []byte) map[string]any {
	var all map[string]any
	require.NoError(t, json.Unmarshal(raw, &all))
	return all
}

// FuzzNativeBody looks for a body of either wire that is not JSON after its edits, or that some provider could charge
// beyond its reservation.
func FuzzNativeBody(f *testing.F) {
	for seed := range 50 {
		f.Add(true, []byte(messageBodies().Example(seed)))
		f.Add(false, []byte(responseBodies().Example(seed)))
	}
	f.Fuzz(func(t *testing.T, message bool, raw []byte) {
		form := responsesForm
		if message {
			form = messagesForm
		}
		if how, text, _ := overbilledWire(form, raw, 100); how != "" {
			t.Fatal(text)
		}
	})
}

// FuzzNativeAnswer reads answers of either wire, in whatever pieces they come.
func FuzzNativeAnswer(f *testing.F) {
	for wire := range nativeForms {
		f.Add([]byte(recordedStream(f, wire)), 7)
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		cut = min(max(cut, 1), 1<<20)
		for _, form := range nativeForms {
			for _, stream := range []bool{true, false} {
				whole := answerReader{stream: stream, event: form.event}
				whole.read(raw)
				parts := answerReader{stream: stream, event: form.event}
				for at := 0; at < len(raw); at += cut {
					parts.read(raw[at:min(len(raw), at+cut)])
				}
				if whole.done() != parts.done() {
					t.Fatal("the pieces in which an answer comes change what it says")
				}
			}
		}
	})
}

// recordedStream is a provider's answer in testdata.
func recordedStream(t testing.TB, wire string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "answers", wire+".events"))
	require.NoError(t, err)
	return string(raw)
}

func TestNativeAnswersAreReadHoweverTheirBytesAreCut(t *testing.T) {
	t.Parallel()
	const words = "Note that the harbour master has her at the quay of Skagen, next to the lighthouse."
	for wire, whole := range map[string]string{
		"messages": `{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"` + words +
			`"}],"stop_reason":"end_turn"}`,
		"responses": `{"object":"response","status":"completed","output":[{"type":"reasoning"},` +
			`{"type":"message","content":[{"type":"output_text","text":"` + words + `"}]}]}`,
	} {
		stream, event := recordedStream(t, wire), nativeForms[wire].event
		for cut := 1; cut < len(stream); cut += 17 {
			e := answerReader{stream: true, event: event}
			for at := 0; at < len(stream); at += cut {
				e.read([]byte(stream[at:min(len(stream), at+cut)]))
			}
			answer := e.done()
			require.Equal(t, words, answer.text)
			require.NotEmpty(t, answer.finish)
			require.True(t, e.streamEnded())
		}
		short := answerReader{stream: true, event: event}
		short.read([]byte(stream[:strings.Index(stream, "Skagen")]))
		require.False(t, short.streamEnded(), "the control: a stream that was cut has no end")
		e := answerReader{event: event}
		e.read([]byte(whole))
		answer := e.done()
		require.Equal(t, words, answer.text)
		require.NotEmpty(t, answer.finish)
	}
}

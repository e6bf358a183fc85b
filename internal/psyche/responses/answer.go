package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/internal/psyche/completion"
)

// Answer puts a response together from the pieces of a chat completion's answer, and writes the events of that.
type Answer struct {
	q       *Request
	id      string
	created time.Time
	events  bool // they are written, because the client asked for a stream

	number int             // of the next event
	out    jsonscan.Writer // events that were not taken
	items  []*output
	status string
	reason string // why the answer is incomplete
	code   string // of the failure
	broken string // what failed, in words
	usage  json.RawMessage
	finish string
	tier   json.RawMessage
	ended  time.Time

	words   *output // the message being written; nil: none
	thought *output // the reasoning being written; nil: none
	calls   map[int]*output
	notes   [][]byte // annotations that wait for the text that they belong to
}

// output is an item of the output.
type output struct {
	id, kind   string // kind is the item's type
	place      int
	parts      []*outputPart // of a message or reasoning
	call       string        // call_id
	tool       tool
	arguments  strings.Builder
	sealed     bool    // the client gets them as encrypted_content, to send them back
	field      string  // the member that held its text
	thoughts   members // others as the provider sent them, of reasoning
	done       bool
	incomplete bool
}

// outputPart is a part of a message or of reasoning.
type outputPart struct {
	kind     string // output_text, refusal, reasoning_text or summary_text
	text     strings.Builder
	logprobs []byte   // elements of a list
	notes    [][]byte // annotations
	done     bool
}

// suffix is what the ids of a response and its items have in common.
func suffix(id string) string { return strings.TrimPrefix(id, ResponsePrefix) }

// ResponsePrefix begins the ids of responses.
const ResponsePrefix = "resp_"

// ResponseOf is the id of the response whose output has an item of this id; empty when the id is none of ours.
func ResponseOf(item string) string {
	_, rest, found := strings.Cut(item, "_")
	at := strings.LastIndexByte(rest, '_')
	if !found || at < 0 {
		return ""
	}
	return ResponsePrefix + rest[:at]
}

// Answer begins the answer to a request. id is the response's, which begins with ResponsePrefix.
func (q *Request) Answer(id string, created time.Time) *Answer {
	return &Answer{
		q:       q,
		id:      id,
		created: created,
		events:  q.Stream,
		status:  "in_progress",
		calls:   map[int]*output{},
	}
}

// Events takes the events that were written since the last call. The next one to be written reuses their memory.
func (a *Answer) Events() []byte {
	out := a.out.Buf
	a.out.Buf = a.out.Buf[:0]
	return out
}

// event writes an event. members writes its members after type and sequence_number.
func (a *Answer) event(kind string, members func(w *jsonscan.Writer)) {
	if !a.events {
		return
	}
	w := &a.out
	w.Buf = append(append(append(w.Buf, "event: "...), kind...), "\ndata: "...)
	w.Begin()
	w.Text("type", kind)
	w.Number("sequence_number", int64(a.number))
	members(w)
	w.End()
	w.Buf = append(w.Buf, "\n\n"...)
	a.number++
}

// beginning is how many bytes the first events of a short request take.
const beginning = 4 << 10

// Begin writes the first events.
func (a *Answer) Begin() {
	if a.events {
		a.out.Buf = make([]byte, 0, beginning)
	}
	for _, kind := range []string{"response.created", "response.in_progress"} {
		a.event(kind, a.asMember)
	}
}

// asMember writes the response as it stands.
func (a *Answer) asMember(w *jsonscan.Writer) {
	w.Name("response")
	a.write(w)
}

// Take takes one piece.
func (a *Answer) Take(p completion.Piece) {
	switch p.Kind {
	case completion.Head:
		_ = jsonscan.Members(p.Raw, func(key, value []byte) error { // it was read before
			if string(key) == `"service_tier"` && string(value) != "null" {
				a.tier = value
			}
			return nil
		})
	case completion.Reasoning:
		a.think(p)
	case completion.Text:
		a.say("output_text", p.Text)
	case completion.Refusal:
		a.say("refusal", p.Text)
	case completion.Call:
		a.begin(p)
	case completion.Arguments:
		a.argue(p)
	case completion.LogProbs:
		a.probabilities(p.Raw)
	case completion.Thought:
		a.reasoning().thoughts.add(p.Field, p.Raw)
	case completion.Other:
		if p.Field == "annotations" {
			a.annotate(p.Raw)
		}
	case completion.Finish:
		a.finish = p.Text
	case completion.UsageCount:
		a.usage = p.Raw
	case completion.Failure:
		a.fault(p.Raw)
	}
}

// fault reads an error that the provider sent in the answer.
func (a *Answer) fault(raw json.RawMessage) {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		e.Message = shown(raw)
	}
	a.Fail("server_error", "The model's provider sent an error: "+e.Message)
}

// add adds an item to the output.
func (a *Answer) add(kind, prefix string) *output {
	o := &output{id: fmt.Sprintf("%s_%s_%d", prefix, suffix(a.id), len(a.items)), kind: kind, place: len(a.items)}
	a.items = append(a.items, o)
	return o
}

func (a *Answer) announce(o *output) { a.itemEvent("response.output_item.added", o, true) }

func (a *Answer) itemEvent(kind string, o *output, begins bool) {
	a.event(kind, func(w *jsonscan.Writer) {
		w.Number("output_index", int64(o.place))
		w.Name("item")
		o.write(w, begins)
	})
}

// partEvent writes an event about part n of an item.
func (a *Answer) partEvent(kind string, o *output, n int, members func(w *jsonscan.Writer)) {
	a.event(kind, func(w *jsonscan.Writer) {
		w.Text("item_id", o.id)
		w.Number("output_index", int64(o.place))
		index := "content_index"
		if o.parts[n].kind == "summary_text" {
			index = "summary_index"
		}
		w.Number(index, int64(n))
		members(w)
	})
}

// part is the number of the part of an item being written, which is begun if the last one is of another kind.
func (a *Answer) part(o *output, kind string) int {
	if n := len(o.parts); n > 0 && o.parts[n-1].kind == kind && !o.parts[n-1].done {
		return n - 1
	}
	a.closePart(o)
	p := &outputPart{kind: kind}
	o.parts = append(o.parts, p)
	added := "response.content_part.added"
	if kind == "summary_text" {
		added = "response.reasoning_summary_part.added"
	}
	n := len(o.parts) - 1
	a.partEvent(added, o, n, func(w *jsonscan.Writer) {
		w.Name("part")
		p.write(w, true)
	})
	return n
}

// closePart ends the last part of an item.
func (a *Answer) closePart(o *output) {
	n := len(o.parts) - 1
	if n < 0 || o.parts[n].done {
		return
	}
	p := o.parts[n]
	p.done = true
	text, over := "response."+p.kind+".done", "response.content_part.done"
	switch p.kind {
	case "summary_text":
		text, over = "response.reasoning_summary_text.done", "response.reasoning_summary_part.done"
	}
	a.partEvent(text, o, n, func(w *jsonscan.Writer) {
		w.Text(p.member(), p.text.String())
		if p.kind == "output_text" {
			w.Name("logprobs")
			w.Buf = append(append(append(w.Buf, '['), withoutBytes(p.logprobs)...), ']')
		}
	})
	a.partEvent(over, o, n, func(w *jsonscan.Writer) {
		w.Name("part")
		p.write(w, false)
	})
}

// member is the name of the text of a part.
func (p *outputPart) member() string {
	if p.kind == "refusal" {
		return "refusal"
	}
	return "text"
}

// withoutBytes are log probabilities as events have them, which do not spell their tokens out in bytes.
func withoutBytes(logprobs []byte) []byte {
	if len(logprobs) == 0 {
		return nil
	}
	type token struct {
		Token   json.RawMessage `json:"token"`
		Logprob json.RawMessage `json:"logprob"`
	}
	var all []struct {
		token
		Top []token `json:"top_logprobs"`
	}
	if json.Unmarshal(slices.Concat([]byte("["), logprobs, []byte("]")), &all) != nil {
		return nil
	}
	text, _ := json.Marshal(all)
	return text[1 : len(text)-1]
}

// close ends an item.
func (a *Answer) close(o *output) {
	if o == nil || o.done {
		return
	}
	a.closePart(o)
	o.done = true
	switch o.kind {
	case "function_call":
		a.callEvent("response.function_call_arguments.done", o, "arguments", o.arguments.String())
	case "custom_tool_call":
		a.callEvent("response.custom_tool_call_input.delta", o, "delta", o.input())
		a.callEvent("response.custom_tool_call_input.done", o, "input", o.input())
	}
	a.itemEvent("response.output_item.done", o, false)
}

// callEvent writes an event about a call of a tool, with one text.
func (a *Answer) callEvent(kind string, o *output, member, text string) {
	a.event(kind, func(w *jsonscan.Writer) {
		w.Text("item_id", o.id)
		w.Number("output_index", int64(o.place))
		w.Text(member, text)
	})
}

// seal is encrypted_content for the thoughts of an item.
func (o *output) seal() string {
	var m members
	var text strings.Builder
	for _, p := range o.parts {
		text.WriteString(p.text.String())
	}
	if o.field != "" {
		m.add(o.field, jsonscan.Quoted(text.String()))
	}
	for _, name := range o.thoughts.names {
		m.add(name, o.thoughts.values[name])
	}
	return sealed(&m)
}

// reasoning is the reasoning being written, which is begun if there is none.
func (a *Answer) reasoning() *output {
	a.close(a.words)
	a.words = nil
	if a.thought == nil {
		a.thought = a.add("reasoning", "rs")
		a.thought.sealed = a.q.sealed
		a.announce(a.thought)
	}
	return a.thought
}

func (a *Answer) think(p completion.Piece) {
	o := a.reasoning()
	o.field = p.Field
	if !thoughtFields[o.field] || o.field == "thinking" {
		o.field = "reasoning_content"
	}
	kind, event := "reasoning_text", "response.reasoning_text.delta"
	if a.q.summary {
		kind, event = "summary_text", "response.reasoning_summary_text.delta"
	}
	n := a.part(o, kind)
	o.parts[n].text.WriteString(p.Text)
	a.partEvent(event, o, n, func(w *jsonscan.Writer) { w.Text("delta", p.Text) })
}

func (a *Answer) say(kind, text string) {
	a.close(a.thought)
	a.thought = nil
	if a.words == nil {
		a.words = a.add("message", "msg")
		a.announce(a.words)
	}
	n := a.part(a.words, kind)
	a.words.parts[n].text.WriteString(text)
	a.partEvent("response."+kind+".delta", a.words, n, func(w *jsonscan.Writer) {
		w.Text("delta", text)
		if kind == "output_text" {
			w.Raw("logprobs", []byte("[]"))
		}
	})
	a.cite()
}

// probabilities adds the log-probabilities of a text, which come beside it.
func (a *Answer) probabilities(raw json.RawMessage) {
	var l struct {
		Content json.RawMessage `json:"content"`
	}
	if a.words == nil || json.Unmarshal(raw, &l) != nil || len(l.Content) < 3 || l.Content[0] != '[' {
		return
	}
	for _, p := range a.words.parts {
		if p.kind == "output_text" && !p.done {
			if len(p.logprobs) > 0 {
				p.logprobs = append(p.logprobs, ',')
			}
			p.logprobs = append(p.logprobs, l.Content[1:len(l.Content)-1]...)
		}
	}
}

func (a *Answer) begin(p completion.Piece) {
	if p.Raw != nil { // sealed in a reasoning item before the call, whether or not the client asked for seals
		a.reasoning().sealed = true
	}
	if p.ID == "" {
		p.ID = fmt.Sprintf("call_%s_%d", suffix(a.id), len(a.items))
	}
	if p.Raw != nil {
		a.thought.thoughts.add(proofField, fmt.Appendf(nil, `{%s:%s}`, jsonscan.Quoted(p.ID), p.Raw))
	}
	a.close(a.thought)
	a.close(a.words)
	a.thought, a.words = nil, nil
	t, found := a.q.tools.byFunction(p.Name)
	if !found { // a name that the model invented, which the client is told
		t = tool{name: p.Name}
	}
	kind, prefix := "function_call", "fc"
	if t.custom || p.Custom {
		kind, prefix = "custom_tool_call", "ctc"
	}
	o := a.add(kind, prefix)
	o.tool, o.call = t, p.ID
	o.tool.custom = t.custom && !p.Custom
	a.calls[p.Place] = o
	a.announce(o)
}

func (a *Answer) argue(p completion.Piece) {
	o := a.calls[p.Place]
	if o == nil {
		return
	}
	o.arguments.WriteString(p.Text)
	if o.kind == "function_call" {
		a.callEvent("response.function_call_arguments.delta", o, "delta", p.Text)
	}
}

// input is the input of a call of a custom tool. A model that wrote no object with an input wrote the input itself.
func (o *output) input() string {
	text := o.arguments.String()
	if !o.tool.custom {
		return text
	}
	var wrapped struct {
		Input *string `json:"input"`
	}
	if json.Unmarshal([]byte(text), &wrapped) != nil || wrapped.Input == nil {
		return text
	}
	return *wrapped.Input
}

// Fail notes why an answer cannot be completed. The first failure stays.
func (a *Answer) Fail(code, message string) {
	if a.code == "" {
		a.code, a.broken = code, message
	}
}

// Failed reports whether the answer failed, and why.
func (a *Answer) Failed() (message string, failed bool) { return a.broken, a.code != "" }

// End ends the items of the answer. It must be called once, after the last piece or Fail, and then Finish.
func (a *Answer) End(now time.Time) {
	a.ended = now
	switch {
	case a.code != "":
		a.status = "failed"
	case a.finish == "length":
		a.status, a.reason = "incomplete", "max_output_tokens"
	case a.finish == "content_filter":
		a.status, a.reason = "incomplete", "content_filter"
	default:
		a.status = "completed"
		a.sayNothing()
	}
	for _, o := range a.items {
		if !o.done {
			o.incomplete = a.status != "completed"
			a.close(o)
		}
	}
}

// sayNothing adds an empty message to an answer without words and calls. A response without one is taken by OpenAI's
// Agents SDK for a turn that goes on: it asks again.
func (a *Answer) sayNothing() {
	if slices.ContainsFunc(a.items, func(o *output) bool { return o.kind != "reasoning" }) {
		return
	}
	a.close(a.thought)
	a.words = a.add("message", "msg")
	a.announce(a.words)
	a.part(a.words, "output_text")
}

// Finish writes the last events.
func (a *Answer) Finish() {
	if a.status == "failed" {
		a.event("error", func(w *jsonscan.Writer) {
			w.Text("code", a.code)
			w.Text("message", a.broken)
			w.Null("param")
		})
	}
	a.event("response."+a.status, a.asMember)
}

// Output are the items of the output, for a later request that goes on from it: reasoning with what the provider needs
// of it, whether or not the client asked for that.
func (a *Answer) Output() []Item {
	var all []Item
	for _, o := range a.items {
		kept := *o
		kept.sealed = true
		var w jsonscan.Writer
		kept.write(&w, false)
		all = append(all, Item{ID: o.id, Raw: w.Buf})
	}
	return all
}

// write writes a part as clients read it. empty leaves its text out, as it is when it begins.
func (p *outputPart) write(w *jsonscan.Writer, empty bool) {
	text := p.text.String()
	if empty {
		text = ""
	}
	w.Begin()
	w.Text("type", p.kind)
	w.Text(p.member(), text)
	if p.kind == "output_text" {
		w.Name("annotations")
		w.Buf = append(append(append(w.Buf, '['), bytes.Join(p.notes, []byte{','})...), ']')
		w.Name("logprobs")
		w.Buf = append(append(append(w.Buf, '['), p.logprobs...), ']')
	}
	w.End()
}

// write writes an item as clients read it.
func (o *output) write(w *jsonscan.Writer, begins bool) {
	status := "completed"
	switch {
	case begins:
		status = "in_progress"
	case o.incomplete:
		status = "incomplete"
	}
	w.Begin()
	defer w.End()
	w.Text("type", o.kind)
	w.Text("id", o.id)
	switch o.kind {
	case "message":
		w.Text("status", status)
		w.Text("role", "assistant")
		w.List("content", len(o.parts), func(i int) { o.parts[i].write(w, false) })
		return
	case "reasoning":
		o.writeParts(w, "summary", "summary_text")
		if slices.ContainsFunc(o.parts, func(p *outputPart) bool { return p.kind == "reasoning_text" }) {
			o.writeParts(w, "content", "reasoning_text")
		}
		if o.sealed && !begins {
			w.Text("encrypted_content", o.seal())
		}
		w.Text("status", status)
		return
	case "function_call":
		w.Text("status", status)
	}
	w.Text("call_id", o.call)
	w.Text("name", o.tool.name)
	if o.tool.namespace != "" {
		w.Text("namespace", o.tool.namespace)
	}
	switch {
	case o.kind == "function_call":
		w.Text("arguments", o.arguments.String())
	case begins:
		w.Text("input", "")
	default:
		w.Text("input", o.input())
	}
}

// writeParts writes the parts of a kind as a member.
func (o *output) writeParts(w *jsonscan.Writer, name, kind string) {
	var parts []*outputPart
	for _, p := range o.parts {
		if p.kind == kind {
			parts = append(parts, p)
		}
	}
	w.List(name, len(parts), func(i int) { parts[i].write(w, false) })
}

// Response is the response as it stands.
func (a *Answer) Response() []byte {
	var w jsonscan.Writer
	a.write(&w)
	return w.Buf
}

// write writes the response as it stands.
func (a *Answer) write(w *jsonscan.Writer) {
	q := a.q
	echo := func(name, otherwise string) {
		if v := q.fields[name]; v != nil {
			w.Raw(name, v)
			return
		}
		w.Raw(name, []byte(otherwise))
	}
	w.Begin()
	w.Text("id", a.id)
	w.Text("object", "response")
	w.Number("created_at", a.created.Unix())
	w.Text("status", a.status)
	w.Null("access_programs")
	w.Flag("background", false)
	if a.status == "completed" {
		w.Number("completed_at", a.ended.Unix())
	}
	if a.status == "failed" {
		w.Object("error")
		w.Text("code", a.code)
		w.Text("message", a.broken)
		w.End()
	} else {
		w.Null("error")
	}
	if a.reason != "" {
		w.Object("incomplete_details")
		w.Text("reason", a.reason)
		w.End()
	} else {
		w.Null("incomplete_details")
	}
	echo("instructions", "null")
	echo("max_output_tokens", "null")
	echo("max_tool_calls", "null")
	w.Text("model", q.Model)
	items := a.items
	if a.status == "in_progress" {
		items = nil
	}
	w.List("output", len(items), func(i int) { items[i].write(w, false) })
	echo("parallel_tool_calls", "true")
	echo("previous_response_id", "null")
	echo("prompt_cache_key", "null")
	echo("reasoning", `{"effort":null,"summary":null}`)
	echo("safety_identifier", "null")
	if a.tier != nil {
		w.Raw("service_tier", a.tier)
	} else {
		echo("service_tier", `"default"`)
	}
	w.Flag("store", q.Store)
	echo("temperature", "null")
	echo("text", `{"format":{"type":"text"}}`)
	echo("tool_choice", `"auto"`)
	w.List("tools", len(q.tools.kept), func(i int) { w.Buf = append(w.Buf, q.tools.kept[i]...) })
	echo("top_logprobs", "0")
	echo("top_p", "null")
	w.Text("truncation", "disabled")
	w.Name("usage")
	a.writeUsage(w)
	echo("user", "null")
	echo("metadata", "{}")
	w.End()
}

// writeUsage writes the usage in the words of this wire.
func (a *Answer) writeUsage(w *jsonscan.Writer) {
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Total      int64 `json:"total_tokens"`
		In         struct {
			Cached  int64 `json:"cached_tokens"`
			Written int64 `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if a.usage == nil || a.status == "in_progress" || json.Unmarshal(a.usage, &u) != nil {
		w.Buf = append(w.Buf, "null"...)
		return
	}
	if u.Total == 0 {
		u.Total = u.Prompt + u.Completion
	}
	w.Begin()
	w.Number("input_tokens", u.Prompt)
	w.Object("input_tokens_details")
	w.Number("cached_tokens", u.In.Cached)
	w.Number("cache_write_tokens", u.In.Written)
	w.End()
	w.Number("output_tokens", u.Completion)
	w.Object("output_tokens_details")
	w.Number("reasoning_tokens", u.Out.Reasoning)
	w.End()
	w.Number("total_tokens", u.Total)
	w.End()
}

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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

	number int    // of the next event
	out    []byte // events that were not taken
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
	logprobs []byte // elements of a list
	notes    []byte // annotations, a list; nil: none
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
	out := a.out
	a.out = a.out[:0]
	return out
}

// event writes an event. members are its members after type and sequence_number, each with a comma before it.
func (a *Answer) event(kind string, members []byte) {
	if !a.events {
		return
	}
	out := append(append(a.out, "event: "...), kind...)
	out = append(append(out, "\ndata: {\"type\":\""...), kind...)
	out = strconv.AppendInt(append(out, `","sequence_number":`...), int64(a.number), 10)
	a.out = append(append(out, members...), "}\n\n"...)
	a.number++
}

// Begin writes the first events.
func (a *Answer) Begin() {
	if !a.events {
		return
	}
	response := fmt.Appendf(nil, `,"response":%s`, a.Response())
	a.event("response.created", response)
	a.event("response.in_progress", response)
}

// Take takes one piece.
func (a *Answer) Take(p completion.Piece) {
	switch p.Kind {
	case completion.Head:
		var head struct {
			Tier json.RawMessage `json:"service_tier"`
		}
		if json.Unmarshal(p.Raw, &head) == nil && string(head.Tier) != "null" {
			a.tier = head.Tier
		}
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
		if p.Field == "annotations" && a.words != nil && p.Raw[0] == '[' {
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

func (a *Answer) announce(o *output) {
	a.event("response.output_item.added", fmt.Appendf(nil, `,"output_index":%d,"item":%s`, o.place, o.json(true)))
}

// at are the members that name a part of an item.
func (o *output) at(index string, n int) []byte {
	out := append(make([]byte, 0, 256), `,"item_id":`...)
	out = append(jsonscan.AppendQuoted(out, o.id), `,"output_index":`...)
	out = append(strconv.AppendInt(out, int64(o.place), 10), ',')
	out = append(jsonscan.AppendQuoted(out, index), ':')
	return strconv.AppendInt(out, int64(n), 10)
}

// part is the part of an item being written, which is begun if the last one is of another kind.
func (a *Answer) part(o *output, kind string) (*outputPart, []byte) {
	index, name, added := "content_index", "part", "response.content_part.added"
	if kind == "summary_text" {
		index, added = "summary_index", "response.reasoning_summary_part.added"
	}
	if n := len(o.parts); n > 0 && o.parts[n-1].kind == kind && !o.parts[n-1].done {
		return o.parts[n-1], o.at(index, n-1)
	}
	a.closePart(o)
	p := &outputPart{kind: kind}
	o.parts = append(o.parts, p)
	at := o.at(index, len(o.parts)-1)
	a.event(added, fmt.Appendf(bytes.Clone(at), `,%q:%s`, name, p.json(true)))
	return p, at
}

// closePart ends the last part of an item.
func (a *Answer) closePart(o *output) {
	n := len(o.parts)
	if n == 0 || o.parts[n-1].done {
		return
	}
	p := o.parts[n-1]
	p.done = true
	text := jsonscan.Quoted(p.text.String())
	index, over := "content_index", "response.content_part.done"
	if p.kind == "summary_text" {
		index, over = "summary_index", "response.reasoning_summary_part.done"
	}
	at := o.at(index, n-1)
	switch p.kind {
	case "output_text":
		a.event(
			"response.output_text.done",
			fmt.Appendf(bytes.Clone(at), `,"text":%s,"logprobs":[%s]`, text, withoutBytes(p.logprobs)),
		)
	case "refusal":
		a.event("response.refusal.done", fmt.Appendf(bytes.Clone(at), `,"refusal":%s`, text))
	case "reasoning_text":
		a.event("response.reasoning_text.done", fmt.Appendf(bytes.Clone(at), `,"text":%s`, text))
	case "summary_text":
		a.event("response.reasoning_summary_text.done", fmt.Appendf(bytes.Clone(at), `,"text":%s`, text))
	}
	a.event(over, fmt.Appendf(bytes.Clone(at), `,"part":%s`, p.json(false)))
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
	switch {
	case o.kind == "function_call":
		a.event(
			"response.function_call_arguments.done",
			fmt.Appendf(nil, `,"item_id":%q,"output_index":%d,"arguments":%s`,
				o.id, o.place, jsonscan.Quoted(o.arguments.String())),
		)
	case o.kind == "custom_tool_call":
		input := jsonscan.Quoted(o.input())
		at := fmt.Appendf(nil, `,"item_id":%q,"output_index":%d`, o.id, o.place)
		a.event("response.custom_tool_call_input.delta", fmt.Appendf(bytes.Clone(at), `,"delta":%s`, input))
		a.event("response.custom_tool_call_input.done", fmt.Appendf(at, `,"input":%s`, input))
	}
	a.event("response.output_item.done", fmt.Appendf(nil, `,"output_index":%d,"item":%s`, o.place, o.json(false)))
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
	part, at := a.part(o, kind)
	part.text.WriteString(p.Text)
	a.event(event, fmt.Appendf(at, `,"delta":%s`, jsonscan.Quoted(p.Text)))
}

func (a *Answer) say(kind, text string) {
	a.close(a.thought)
	a.thought = nil
	if a.words == nil {
		a.words = a.add("message", "msg")
		a.announce(a.words)
	}
	part, at := a.part(a.words, kind)
	part.text.WriteString(text)
	if kind == "refusal" {
		a.event("response.refusal.delta", fmt.Appendf(at, `,"delta":%s`, jsonscan.Quoted(text)))
		return
	}
	at = jsonscan.AppendQuoted(append(at, `,"delta":`...), text)
	a.event("response.output_text.delta", append(at, `,"logprobs":[]`...))
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

// annotate adds the notes of a text, in which a chat completion has the members of a note in an object of its type.
func (a *Answer) annotate(raw json.RawMessage) {
	var all []map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return
	}
	for _, part := range a.words.parts {
		if part.kind != "output_text" || part.done {
			continue
		}
		for _, note := range all {
			flat := []byte(`{"type":`)
			flat = append(flat, note["type"]...)
			_ = jsonscan.Members(note[jsonscan.Unquoted(note["type"])], func(key, value []byte) error {
				flat = fmt.Appendf(flat, `,%s:%s`, key, value)
				return nil
			})
			flat = append(flat, '}')
			if len(part.notes) > 0 {
				part.notes = append(part.notes, ',')
			}
			part.notes = append(part.notes, flat...)
		}
	}
}

func (a *Answer) begin(p completion.Piece) {
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
	if o.call == "" {
		o.call = fmt.Sprintf("call_%s_%d", suffix(a.id), o.place)
	}
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
		a.event(
			"response.function_call_arguments.delta",
			fmt.Appendf(nil, `,"item_id":%q,"output_index":%d,"delta":%s`,
				o.id, o.place, jsonscan.Quoted(p.Text)),
		)
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
	}
	for _, o := range a.items {
		if !o.done {
			o.incomplete = a.status != "completed"
			a.close(o)
		}
	}
}

// Finish writes the last events.
func (a *Answer) Finish() {
	if a.status == "failed" {
		a.event(
			"error",
			fmt.Appendf(nil, `,"code":%q,"message":%s,"param":null`, a.code, jsonscan.Quoted(a.broken)),
		)
	}
	a.event("response."+a.status, fmt.Appendf(nil, `,"response":%s`, a.Response()))
}

// Output are the items of the output, for a later request that goes on from it: reasoning with what the provider needs
// of it, whether or not the client asked for that.
func (a *Answer) Output() []Item {
	var all []Item
	for _, o := range a.items {
		kept := *o
		kept.sealed = true
		all = append(all, Item{ID: o.id, Raw: kept.json(false)})
	}
	return all
}

// json is a part as clients read it. empty leaves its text out, as it is when it begins.
func (p *outputPart) json(empty bool) []byte {
	text := []byte(`""`)
	if !empty {
		text = jsonscan.Quoted(p.text.String())
	}
	switch p.kind {
	case "output_text":
		return fmt.Appendf(
			nil,
			`{"type":"output_text","text":%s,"annotations":[%s],"logprobs":[%s]}`,
			text,
			p.notes,
			p.logprobs,
		)
	case "refusal":
		return fmt.Appendf(nil, `{"type":"refusal","refusal":%s}`, text)
	}
	return fmt.Appendf(nil, `{"type":%q,"text":%s}`, p.kind, text)
}

// json is an item as clients read it.
func (o *output) json(begins bool) []byte {
	status := "completed"
	switch {
	case begins:
		status = "in_progress"
	case o.incomplete:
		status = "incomplete"
	}
	head := fmt.Appendf(nil, `{"type":%q,"id":%q`, o.kind, o.id)
	parts := func(kind string, same bool) []byte {
		var list [][]byte
		for _, p := range o.parts {
			if (p.kind == kind) == same {
				list = append(list, p.json(false))
			}
		}
		return bytes.Join(list, []byte{','})
	}
	switch o.kind {
	case "message":
		return fmt.Appendf(head, `,"status":%q,"role":"assistant","content":[%s]}`, status, parts("", false))
	case "reasoning":
		head = fmt.Appendf(head, `,"summary":[%s]`, parts("summary_text", true))
		if text := parts("reasoning_text", true); len(text) > 0 {
			head = fmt.Appendf(head, `,"content":[%s]`, text)
		}
		if o.sealed && !begins {
			head = fmt.Appendf(head, `,"encrypted_content":%q`, o.seal())
		}
		return fmt.Appendf(head, `,"status":%q}`, status)
	}
	if o.kind == "function_call" {
		head = fmt.Appendf(head, `,"status":%q`, status)
	}
	head = fmt.Appendf(head, `,"call_id":%s,"name":%s`, jsonscan.Quoted(o.call), jsonscan.Quoted(o.tool.name))
	if o.tool.namespace != "" {
		head = fmt.Appendf(head, `,"namespace":%s`, jsonscan.Quoted(o.tool.namespace))
	}
	if o.kind == "function_call" {
		return fmt.Appendf(head, `,"arguments":%s}`, jsonscan.Quoted(o.arguments.String()))
	}
	input := ""
	if !begins {
		input = o.input()
	}
	return fmt.Appendf(head, `,"input":%s}`, jsonscan.Quoted(input))
}

// Response is the response as it stands.
func (a *Answer) Response() []byte {
	q := a.q
	or := func(name, otherwise string) []byte {
		if v := q.fields[name]; v != nil {
			return v
		}
		return []byte(otherwise)
	}
	var b bytes.Buffer
	fmt.Fprintf(
		&b,
		`{"id":%q,"object":"response","created_at":%d,"status":%q,"access_programs":null,"background":false`,
		a.id,
		a.created.Unix(),
		a.status,
	)
	if a.status == "completed" {
		fmt.Fprintf(&b, `,"completed_at":%d`, a.ended.Unix())
	}
	if a.status == "failed" {
		fmt.Fprintf(&b, `,"error":{"code":%q,"message":%s}`, a.code, jsonscan.Quoted(a.broken))
	} else {
		b.WriteString(`,"error":null`)
	}
	if a.reason != "" {
		fmt.Fprintf(&b, `,"incomplete_details":{"reason":%q}`, a.reason)
	} else {
		b.WriteString(`,"incomplete_details":null`)
	}
	fmt.Fprintf(
		&b,
		`,"instructions":%s,"max_output_tokens":%s,"max_tool_calls":%s,"model":%s`,
		or(
			"instructions",
			"null",
		),
		or("max_output_tokens", "null"),
		or("max_tool_calls", "null"),
		jsonscan.Quoted(q.Model),
	)
	b.WriteString(`,"output":[`)
	if a.status != "in_progress" {
		for i, o := range a.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(o.json(false))
		}
	}
	fmt.Fprintf(
		&b,
		`],"parallel_tool_calls":%s,"previous_response_id":%s`,
		or("parallel_tool_calls", "true"),
		or("previous_response_id", "null"),
	)
	fmt.Fprintf(
		&b,
		`,"prompt_cache_key":%s,"reasoning":%s`,
		or("prompt_cache_key", "null"),
		or("reasoning", `{"effort":null,"summary":null}`),
	)
	fmt.Fprintf(&b, `,"safety_identifier":%s`, or("safety_identifier", "null"))
	tier := a.tier
	if tier == nil {
		tier = or("service_tier", `"default"`)
	}
	fmt.Fprintf(&b, `,"service_tier":%s,"store":%t,"temperature":%s`, tier, q.Store, or("temperature", "null"))
	fmt.Fprintf(
		&b,
		`,"text":%s,"tool_choice":%s,"tools":%s`,
		or("text", `{"format":{"type":"text"}}`),
		or("tool_choice", `"auto"`),
		q.tools.echo(),
	)
	fmt.Fprintf(&b, `,"top_logprobs":%s,"top_p":%s,"truncation":"disabled","usage":%s,"user":%s,"metadata":%s}`,
		or("top_logprobs", "0"), or("top_p", "null"), a.used(), or("user", "null"), or("metadata", "{}"))
	return b.Bytes()
}

// used is the usage in the words of this wire.
func (a *Answer) used() []byte {
	if a.usage == nil || a.status == "in_progress" {
		return []byte("null")
	}
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
	if json.Unmarshal(a.usage, &u) != nil {
		return []byte("null")
	}
	if u.Total == 0 {
		u.Total = u.Prompt + u.Completion
	}
	return fmt.Appendf(
		nil,
		`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
		u.Prompt,
		u.In.Cached,
		u.In.Written,
		u.Completion,
		u.Out.Reasoning,
		u.Total,
	)
}

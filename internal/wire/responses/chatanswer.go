package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonobject"
)

// ChatAnswer makes a chat completion of a response: of a stream, piece by piece, or of one in one piece.
type ChatAnswer struct {
	request *Chat
	created int64
	head    *Received
	begun   bool // the piece with the role was sent
	calls   int  // tools called so far
	items   map[int]*itemState
	places  map[string]int // of the items that have an id
	out     []byte
	ended   bool
}

// itemState is what was sent of an item of the output.
type itemState struct {
	begun bool
	call  int  // its place among the calls; -1: it is none, or has not begun
	spoke bool // some of its text was sent
	part  int  // of the thought under way
	done  bool
}

// NewChatAnswer begins an answer to a request. created is the time, in seconds since 1970.
func NewChatAnswer(q *Chat, created int64) *ChatAnswer {
	return &ChatAnswer{
		request: q, created: created, head: &Received{}, items: map[int]*itemState{},
		places: map[string]int{},
	}
}

// Take returns what is ready to be sent on. The next call reuses its memory.
func (a *ChatAnswer) Take() []byte {
	out := a.out
	a.out = a.out[:0]
	return out
}

// chatChunk is an answer, or a piece of one.
type chatChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Tier    string       `json:"service_tier,omitempty"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Delta    *chatDelta    `json:"delta,omitempty"`
	Message  *chatDelta    `json:"message,omitempty"`
	LogProbs *chatLogProbs `json:"logprobs,omitempty"`
	Finish   *string       `json:"finish_reason"`
}

type chatLogProbs struct {
	Content []json.RawMessage `json:"content"`
}

type chatDelta struct {
	Role      string            `json:"role,omitempty"`
	Content   *string           `json:"content,omitempty"`
	Refusal   string            `json:"refusal,omitempty"`
	Phase     string            `json:"phase,omitempty"`
	Reasoning string            `json:"reasoning,omitempty"`
	Details   []thoughtDetail   `json:"reasoning_details,omitempty"`
	Notes     []json.RawMessage `json:"annotations,omitempty"`
	Calls     []chatCall        `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    int         `json:"index"`
	ID       string      `json:"id,omitempty"`
	Type     string      `json:"type,omitempty"`
	Function *chatCallee `json:"function,omitempty"`
	Custom   *chatCustom `json:"custom,omitempty"`
}

type chatCallee struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type chatCustom struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

type chatUsage struct {
	Prompt     int64           `json:"prompt_tokens"`
	Completion int64           `json:"completion_tokens"`
	Total      int64           `json:"total_tokens"`
	Prompts    chatPromptUsage `json:"prompt_tokens_details"`
	Answers    chatAnswerUsage `json:"completion_tokens_details"`
}

type chatPromptUsage struct {
	Cached int64 `json:"cached_tokens"`
}

type chatAnswerUsage struct {
	Reasoning int64 `json:"reasoning_tokens"`
}

// counted is the usage as chat completions have it; nil where the provider reports none.
func (c *Counts) counted() *chatUsage {
	t, sound := c.Tokens()
	if !sound {
		return nil
	}
	return &chatUsage{
		Prompt:     t.In,
		Completion: t.Out,
		Total:      t.In + t.Out,
		Prompts:    chatPromptUsage{t.Cached},
		Answers:    chatAnswerUsage{t.Reasoning},
	}
}

// finish is the reason for which an answer ended, as chat completions name it.
func (r *Received) finish(calls int, most int64) *string {
	switch {
	case r.Length(most):
		return new("length")
	case r.Incomplete.Reason == "content_filter":
		return new("content_filter")
	case calls > 0:
		return new("tool_calls")
	}
	return new("stop")
}

func (a *ChatAnswer) chunk() chatChunk {
	return chatChunk{
		ID:      a.head.ID,
		Object:  "chat.completion.chunk",
		Created: a.created,
		Model:   cmp.Or(a.head.Model, a.request.model),
		Tier:    a.head.Tier,
		Choices: []chatChoice{},
	}
}

func (a *ChatAnswer) write(event any) {
	a.out = append(append(append(a.out, "data: "...), jsonobject.Marshalled(event)...), "\n\n"...)
}

// greet sends the first piece, once.
func (a *ChatAnswer) greet() {
	if !a.begun {
		a.begun = true
		a.send(chatDelta{Role: "assistant", Content: new("")}, nil, nil)
	}
}

func (a *ChatAnswer) send(delta chatDelta, logProbs []json.RawMessage, finish *string) {
	a.greet()
	choice := chatChoice{Delta: &delta, Finish: finish}
	if len(logProbs) > 0 {
		choice.LogProbs = &chatLogProbs{logProbs}
	}
	c := a.chunk()
	c.Choices = append(c.Choices, choice)
	a.write(c)
}

// Event takes the data of one event.
func (a *ChatAnswer) Event(data []byte) error {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if a.ended {
		return nil
	}
	if failure := e.Failure(); failure != nil {
		a.ended = true
		a.write(map[string]json.RawMessage{"error": failure})
		return nil
	}
	if e.Response != nil && a.head.ID == "" {
		a.head = e.Response
	}
	place := a.place(&e)
	state := a.state(place)
	switch e.Type {
	case "response.created":
		a.greet()
	case "response.output_item.added":
		if e.Item != nil {
			a.begin(state, e.Item)
		}
	case "response.output_item.done":
		if e.Item != nil {
			a.end(state, place, e.Item)
		}
	case completedEvent, incompleteEvent:
		a.finish(e.Response)
	default:
		a.change(state, place, &e)
	}
	return nil
}

// place is that of the item of an event, in the output. Where a server does not say it, items have theirs in the order
// in which they come.
func (a *ChatAnswer) place(e *Event) int {
	id := e.ItemID
	if e.Item != nil {
		id = e.Item.ID
	}
	place, seen := a.places[id]
	switch {
	case e.Place != nil:
		place = *e.Place
	case !seen:
		place = len(a.places)
	}
	if id != "" {
		a.places[id] = place
	}
	return place
}

// state is what was sent of an item.
func (a *ChatAnswer) state(place int) *itemState {
	s := a.items[place]
	if s == nil {
		s = &itemState{call: -1}
		a.items[place] = s
	}
	return s
}

// change takes a change of an item.
func (a *ChatAnswer) change(s *itemState, place int, e *Event) {
	text := e.Text()
	if e.Type == "response.output_text.annotation.added" {
		if note := noteOf(e.Note); note != nil {
			a.send(chatDelta{Notes: []json.RawMessage{note}}, nil, nil)
		}
		return
	}
	if text == "" || s.done {
		return
	}
	switch e.Type {
	case "response.output_text.delta":
		s.spoke = true
		a.send(chatDelta{Content: &text}, listOf(e.LogProbs), nil)
	case "response.refusal.delta":
		s.spoke = true
		a.send(chatDelta{Refusal: text}, nil, nil)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		kind, part := summaryDetail, e.Summary
		if e.Type == "response.reasoning_text.delta" {
			kind, part = textDetail, e.Content
		}
		if s.spoke && part != s.part {
			text = between + text
		}
		s.spoke, s.part = true, part
		a.send(chatDelta{Reasoning: text, Details: []thoughtDetail{a.detail(place, kind, text)}}, nil, nil)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if s.call >= 0 { // else it comes whole when it ends
			s.spoke = true
			a.arguments(s, e.Type == "response.custom_tool_call_input.delta", text)
		}
	}
}

// between stands between the parts of a thought, which are one text in a chat completion.
const between = "\n\n"

// begin takes the beginning of an item.
func (a *ChatAnswer) begin(s *itemState, item *Item) {
	if s.begun {
		return
	}
	s.begun = true
	switch item.Type {
	case "function_call", "custom_tool_call":
		s.call = a.calls
		a.calls++
		call := chatCall{Index: s.call, ID: item.CallID, Type: "function", Function: &chatCallee{Name: item.Name}}
		if item.Type == "custom_tool_call" {
			call.Type, call.Function, call.Custom = "custom", nil, &chatCustom{Name: item.Name}
		}
		a.send(chatDelta{Calls: []chatCall{call}}, nil, nil)
	case "message":
		if item.Phase != "" {
			a.send(chatDelta{Phase: item.Phase}, nil, nil)
		}
	}
}

// end takes an item that is complete, and sends what did not come piece by piece.
func (a *ChatAnswer) end(s *itemState, place int, item *Item) {
	if s.done {
		return
	}
	a.begin(s, item)
	switch item.Type {
	case "message":
		for _, p := range item.Content {
			switch {
			case s.spoke:
			case p.Type == "refusal":
				a.send(chatDelta{Refusal: p.Refusal}, nil, nil)
			case p.Type == "output_text":
				a.send(chatDelta{Content: &p.Text}, listOf(p.LogProbs), nil)
			}
		}
	case "reasoning":
		if text, details := a.open(place, item); text != "" && !s.spoke {
			a.send(chatDelta{Reasoning: text, Details: details}, nil, nil)
		}
		if seal := a.seal(place, item); seal != nil {
			a.send(chatDelta{Details: []thoughtDetail{*seal}}, nil, nil)
		}
	case "function_call", "custom_tool_call":
		custom := item.Type == "custom_tool_call"
		input := string(item.Arguments)
		if custom {
			input = string(item.Input)
		}
		if !s.spoke && input != "" {
			a.arguments(s, custom, input)
		}
	}
	s.done = true
}

// open is the text of a thought: all of it, or else what it says of itself in short. Both are details.
func (a *ChatAnswer) open(place int, item *Item) (text string, details []thoughtDetail) {
	if summary := joined(item.Summary); summary != "" {
		text, details = summary, append(details, a.detail(place, summaryDetail, summary))
	}
	if content := joined(item.Content); content != "" {
		text, details = content, append(details, a.detail(place, textDetail, content))
	}
	return text, details
}

func joined(all parts) string {
	texts := make([]string, len(all))
	for i, p := range all {
		texts[i] = p.Text
	}
	return strings.Join(texts, between)
}

// detail is a piece of the thought at a place.
func (a *ChatAnswer) detail(place int, kind, text string) thoughtDetail {
	d := thoughtDetail{Type: kind, Format: sealedFormat, Index: place, Provider: a.request.provider}
	switch kind {
	case summaryDetail:
		d.Summary = text
	case textDetail:
		d.Text = text
	default:
		d.Data = text
	}
	return d
}

// seal is the detail by which a thought can go back to its provider; nil where it has nothing for that.
func (a *ChatAnswer) seal(place int, item *Item) *thoughtDetail {
	kind := sealedDetail
	if item.Sealed == "" {
		kind = textDetail
	}
	d := a.detail(place, kind, item.Sealed)
	d.ID = item.ID
	if item.Sealed == "" && (item.ID == "" || len(item.Content) == 0) {
		return nil
	}
	return &d
}

func (a *ChatAnswer) arguments(s *itemState, custom bool, text string) {
	if s.call < 0 {
		return // of a call that has not begun: it comes whole when it ends
	}
	call := chatCall{Index: s.call, Function: &chatCallee{Arguments: text}}
	if custom {
		call.Function, call.Custom = nil, &chatCustom{Input: text}
	}
	a.send(chatDelta{Calls: []chatCall{call}}, nil, nil)
}

// finish takes the end of a stream.
func (a *ChatAnswer) finish(r *Received) {
	if r == nil {
		r = &Received{}
	}
	for i := range r.Output {
		place, seen := a.places[r.Output[i].ID]
		if !seen {
			place = i
		}
		a.end(a.state(place), place, &r.Output[i])
	}
	a.ended = true
	a.send(chatDelta{}, nil, r.finish(a.calls, a.request.most))
	if u := r.Usage.counted(); a.request.Usage && u != nil {
		c := a.chunk()
		c.Usage = u
		a.write(c)
	}
	a.out = append(a.out, "data: [DONE]\n\n"...)
}

// Whole is an answer that came in one piece.
func (a *ChatAnswer) Whole(body []byte) ([]byte, error) {
	var r Received
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if failure := r.Failure(); failure != nil {
		return jsonobject.Marshalled(map[string]json.RawMessage{"error": failure}), nil
	}
	if r.Status == "" && len(r.Output) == 0 {
		return nil, errors.New("it holds no output")
	}
	answered := chatDelta{Role: "assistant"}
	text := ""
	var logProbs []json.RawMessage
	for place := range r.Output {
		item := &r.Output[place]
		switch item.Type {
		case "message":
			answered.Phase = item.Phase
			for _, p := range item.Content {
				text, answered.Refusal = text+p.Text, answered.Refusal+p.Refusal
				logProbs = append(logProbs, listOf(p.LogProbs)...)
				for _, each := range p.Notes {
					if note := noteOf(each); note != nil {
						answered.Notes = append(answered.Notes, note)
					}
				}
			}
		case "reasoning":
			thought, details := a.open(place, item)
			answered.Reasoning += thought
			answered.Details = append(answered.Details, details...)
			if seal := a.seal(place, item); seal != nil {
				answered.Details = append(answered.Details, *seal)
			}
		case "function_call":
			answered.Calls = append(answered.Calls, chatCall{
				Index: len(answered.Calls), ID: item.CallID, Type: "function",
				Function: &chatCallee{item.Name, string(item.Arguments)},
			})
		case "custom_tool_call":
			answered.Calls = append(answered.Calls, chatCall{
				Index: len(answered.Calls), ID: item.CallID, Type: "custom",
				Custom: &chatCustom{item.Name, string(item.Input)},
			})
		}
	}
	answered.Content = &text
	choice := chatChoice{Message: &answered, Finish: r.finish(len(answered.Calls), a.request.most)}
	if len(logProbs) > 0 {
		choice.LogProbs = &chatLogProbs{logProbs}
	}
	return jsonobject.Marshalled(chatChunk{
		ID:      r.ID,
		Object:  "chat.completion",
		Created: a.created,
		Model:   cmp.Or(r.Model, a.request.model),
		Tier:    r.Tier,
		Choices: []chatChoice{choice},
		Usage:   r.Usage.counted(),
	}), nil
}

// Refusal is the body of a refusal, which has the same form in both.
func (a *ChatAnswer) Refusal(body []byte) []byte { return body }

func listOf(raw json.RawMessage) (all []json.RawMessage) {
	_ = json.Unmarshal(raw, &all) // what is no list says nothing
	return all
}

// noteOf is an annotation as chat completions have it: the members of a cited web address stand in an object of its
// own. It is nil for one of another type, which a chat completion has no word for.
func noteOf(raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || string(members["type"]) != `"url_citation"` {
		return nil
	}
	delete(members, "type")
	return jsonobject.Marshalled(map[string]any{"type": "url_citation", "url_citation": members})
}

package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// NativeOptions say how a request is edited for a provider that speaks this wire.
type NativeOptions struct {
	Reasons bool // its model thinks first: thoughts of kept responses come sealed, so that they can go back
	BuiltIn bool // tools that the provider runs itself are passed on
}

// Native is the body of a request for a provider that speaks this wire: the body as the client sent it, with what this
// server keeps put into its input. The provider keeps nothing. before are the items that the input goes on from.
func (q *Request) Native(before []Item, o NativeOptions) ([]byte, error) {
	e := &editor{raw: q.raw}
	e.scan()
	e.set("store", []byte("false"))
	if q.Previous != "" {
		e.set("previous_response_id", []byte("null"))
	}
	if err := e.input(before, q.Input, q.Provider); err != nil {
		return nil, err
	}
	if !o.BuiltIn {
		if err := q.leaveOut(e); err != nil {
			return nil, err
		}
	}
	if q.Store && o.Reasons {
		e.include("reasoning.encrypted_content")
	}
	return e.apply(), nil
}

// editor edits a body whose other bytes stay as they were sent.
type editor struct {
	raw     []byte
	head    int // position after the opening brace
	empty   bool
	fields  map[string]jsonscan.Span
	changes []change
}

type change struct {
	jsonscan.Span
	text []byte
}

// scan finds the outermost fields. The body was scanned before.
func (e *editor) scan() {
	s := &jsonscan.Scanner{Body: e.raw}
	s.Peek()
	e.head, e.empty, e.fields = s.At+1, true, map[string]jsonscan.Span{}
	_ = s.Object(func(key jsonscan.Span) error {
		v, err := s.Value()
		e.fields[jsonscan.Unquoted(key.Of(e.raw))], e.empty = v, false
		return err
	})
}

func (e *editor) change(at jsonscan.Span, text []byte) {
	if !bytes.Equal(at.Of(e.raw), text) {
		e.changes = append(e.changes, change{at, text})
	}
}

// set sets a field where it stands, or before all others.
func (e *editor) set(name string, value []byte) {
	if at, stands := e.fields[name]; stands {
		e.change(at, value)
		return
	}
	member := fmt.Appendf(nil, "%q:%s", name, value)
	if !e.empty {
		member = append(member, ',')
	}
	e.empty = false
	e.change(jsonscan.Span{From: e.head, To: e.head}, member)
}

func (e *editor) apply() []byte {
	slices.SortStableFunc(e.changes, func(a, b change) int { return a.From - b.From })
	var out []byte
	at := 0
	for _, c := range e.changes {
		out = append(append(out, e.raw[at:c.From]...), c.text...)
		at = c.To
	}
	return append(out, e.raw[at:]...)
}

// input puts the items that the input goes on from before it, and items of kept responses in the places that refer to
// them. A text becomes a list of one message.
func (e *editor) input(before, items []Item, provider string) error {
	var history [][]byte
	for i, item := range before {
		raw, err := portable(&item, provider, fmt.Sprintf("previous_response_id[%d]", i))
		if err != nil {
			return err
		}
		if raw != nil {
			history = append(history, raw)
		}
	}
	at, stands := e.fields["input"]
	v := at.Of(e.raw)
	switch {
	case !stands || string(v) == "null":
		e.set("input", slices.Concat([]byte{'['}, bytes.Join(history, []byte{','}), []byte{']'}))
		return nil
	case v[0] == '"':
		history = append(history, fmt.Appendf(nil, `{"role":"user","content":%s}`, v))
		e.change(at, slices.Concat([]byte{'['}, bytes.Join(history, []byte{','}), []byte{']'}))
		return nil
	}
	replaced, kept := map[int][]byte{}, 0
	for i, item := range items {
		raw, err := portable(&item, provider, fmt.Sprintf("input[%d]", i))
		if err != nil {
			return err
		}
		if raw != nil {
			kept++
		}
		replaced[i] = raw
	}
	if len(history) > 0 {
		text := bytes.Join(history, []byte{','})
		if kept > 0 {
			text = append(text, ',')
		}
		e.change(jsonscan.Span{From: at.From + 1, To: at.From + 1}, text)
	}
	return e.elements(at, func(i int, _ []byte) ([]byte, bool) { return replaced[i], replaced[i] != nil })
}

// elements replaces the elements of a list by what each returns; false leaves one out, with a comma beside it.
func (e *editor) elements(list jsonscan.Span, each func(i int, v []byte) ([]byte, bool)) error {
	s := &jsonscan.Scanner{Body: e.raw[:list.To], At: list.From}
	var spans []jsonscan.Span
	s.Peek()
	if err := s.Array(func() error {
		v, err := s.Value()
		spans = append(spans, v)
		return err
	}); err != nil {
		return err
	}
	last := list.From + 1 // the end of the last element that stays
	stays := false
	for i, at := range spans {
		text, stay := each(i, at.Of(e.raw))
		switch {
		case stay && (stays || i == 0):
			e.change(at, text)
		case stay: // all before it are left out
			e.change(jsonscan.Span{From: last, To: at.To}, text)
		case i+1 < len(spans) && !stays: // with the next that stays
		default:
			e.change(jsonscan.Span{From: last, To: at.To}, nil)
		}
		if stay {
			stays, last = true, at.To
		} else if stays {
			last = at.To
		}
	}
	return nil
}

// include asks for further output.
func (e *editor) include(name string) {
	at, stands := e.fields["include"]
	if !stands || string(at.Of(e.raw)) == "null" {
		e.set("include", fmt.Appendf(nil, "[%q]", name))
		return
	}
	all, ok := elements(at.Of(e.raw))
	quoted := fmt.Sprintf("%q", name)
	if !ok || slices.ContainsFunc(all, func(v json.RawMessage) bool { return string(v) == quoted }) {
		return
	}
	text := []byte(quoted)
	if len(all) > 0 {
		text = append(text, ',')
	}
	e.change(jsonscan.Span{From: at.From + 1, To: at.From + 1}, text)
}

// portable is an item as a provider takes it that keeps nothing: without an id that this server gave, which it does not
// know. It is nil for thoughts that the provider could not read.
func portable(item *Item, provider, at string) ([]byte, error) {
	raw := item.Raw
	head, ok := headOf(raw)
	if !ok {
		return nil, wrong(at, "%s must be an item with a type.", at)
	}
	if head.kind == "reasoning" && (item.sealedFor(provider) || !carries(raw)) {
		return nil, nil
	}
	if ResponseOf(head.id) == "" {
		return raw, nil
	}
	out := []byte{'{'}
	err := jsonscan.Members(raw, func(key, value []byte) error {
		if jsonscan.Unquoted(key) != "id" {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(append(out, key...), ':'), value...)
		}
		return nil
	})
	return append(out, '}'), err
}

// carries reports whether a reasoning item has thoughts that a provider can read: sealed by a provider, or open ones.
// An item that this server sealed is left out with its open text, which came from another provider: OpenAI takes none.
func carries(raw json.RawMessage) bool {
	var r struct {
		Content   []json.RawMessage `json:"content"`
		Encrypted string            `json:"encrypted_content"`
	}
	err := json.Unmarshal(raw, &r)
	if strings.HasPrefix(r.Encrypted, sealPrefix) {
		return false
	}
	return err != nil || r.Encrypted != "" || len(r.Content) > 0 // the provider says what is wrong with it
}

// leaveOut leaves the tools out that the provider would run itself, where there are tools of the client's beside them.
func (q *Request) leaveOut(e *editor) error {
	at, stands := e.fields["tools"]
	all, ok := elements(at.Of(e.raw))
	if !stands || !ok {
		return nil // the provider says what is wrong with it
	}
	own := 0
	for _, raw := range all {
		head, isObject := headOf(raw)
		if isObject && paidBuiltIn[head.kind] {
			q.LeftOut = append(q.LeftOut, head.kind)
		} else {
			own++
		}
	}
	var choice struct{ Type string }
	_ = json.Unmarshal(q.fields["tool_choice"], &choice)
	demands := string(q.fields["tool_choice"]) == `"required"` || paidBuiltIn[choice.Type]
	if len(q.LeftOut) == 0 || own == 0 || demands {
		q.LeftOut = nil // the turn refuses them by name
		return nil
	}
	return e.elements(at, func(_ int, v []byte) ([]byte, bool) {
		head, _ := headOf(v)
		return v, !paidBuiltIn[head.kind]
	})
}

// paidBuiltIn are the built-in tools whose calls the provider runs and bills.
var paidBuiltIn = func() map[string]bool {
	all := set("tool_search shell")
	for kind := range builtIn {
		switch kind {
		case "local_shell", "apply_patch", "computer", "computer_use_preview", "computer_use":
		default:
			all[kind] = true
		}
	}
	return all
}()

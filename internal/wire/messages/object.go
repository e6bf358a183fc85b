package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Error is what is wrong with a request, or what cannot be said to a chat completions provider.
type Error struct {
	Field   string // such as "messages.0.content.1.source"; empty: the body as a whole
	Message string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// reader reads a body and keeps the first error; after it, everything that it reads is empty.
type reader struct{ err error }

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

// object is a JSON object whose members are all known.
type object struct {
	*reader
	path    string // empty: the body
	members jsonscan.Fields
}

// object reads an object. A member that is none of names, or stands twice, is an error; null counts as absent.
func (r *reader) object(path string, raw json.RawMessage, names ...string) object {
	o := object{reader: r, path: path}
	if r.err != nil {
		return o
	}
	if begin := bytes.TrimSpace(raw); len(begin) > 0 && begin[0] != '{' && json.Valid(begin) {
		r.fail(path, "it is %s; it must be an object.", kindOf(raw))
		return o
	}
	err := jsonscan.Members(raw, func(key, value []byte) error {
		o.member(jsonscan.Unquoted(key), value, names)
		return nil
	})
	if err != nil {
		r.fail(path, "it is no JSON: %v.", err)
	}
	return o
}

func (o *object) member(name string, value json.RawMessage, names []string) {
	if !o.members.Add(name, value) {
		o.fail(o.at(name), "it is given twice; send it once.")
	}
	null := string(value) == "null"
	if len(names) > 0 && !slices.Contains(names, name) && !null {
		o.fail(o.at(clipped(name)),
			"this server does not know this field, so that it cannot be passed on. Leave it out. Known here are %s.",
			strings.Join(names, ", "))
	}
}

// at is the path of a member.
func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// raw is a member; nil when it is absent or null.
func (o *object) raw(name string) json.RawMessage {
	if m := o.members.Find(name); m != nil && string(m.Value) != "null" {
		return m.Value
	}
	return nil
}

// text is a string member; empty when it is absent.
func (o *object) text(name string) string {
	v := o.raw(name)
	if v == nil {
		return ""
	}
	return o.string(o.at(name), v)
}

// needed is a string member that must be there.
func (o *object) needed(name string) string {
	if o.raw(name) == nil {
		o.fail(o.at(name), "it is required.")
	}
	return o.text(name)
}

// flag is a boolean member; false when it is absent.
func (o *object) flag(name string) bool {
	v := o.raw(name)
	if v != nil && string(v) != "true" && string(v) != "false" {
		o.fail(o.at(name), "it is %s; it must be true or false.", kindOf(v))
	}
	return string(v) == "true"
}

func (r *reader) string(path string, raw json.RawMessage) string {
	if r.err == nil && (len(raw) == 0 || raw[0] != '"') {
		r.fail(path, "it is %s; it must be a string.", kindOf(raw))
	}
	return jsonscan.Unquoted(raw)
}

// list reads an array; empty when raw is nil.
func (r *reader) list(path string, raw json.RawMessage) []json.RawMessage {
	if raw == nil || r.err != nil {
		return nil
	}
	all, err := jsonscan.Elements(raw)
	if err != nil {
		r.fail(path, "it is %s; it must be a list.", kindOf(raw))
	}
	return all
}

// empty refuses a member that has a value, because of why.
func (o *object) empty(name, why string) {
	switch v := o.raw(name); string(bytes.Join(bytes.Fields(v), nil)) {
	case "", "[]", "{}", "false":
	default:
		o.fail(o.at(name), "%s", why)
	}
}

// one refuses a string that is none of the values.
func (o *object) one(name string, values ...string) string {
	v := o.text(name)
	if o.raw(name) != nil && !slices.Contains(values, v) {
		o.fail(o.at(name), "it is %q; it must be %s.", clipped(v), either(values))
	}
	return v
}

func either(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// kindOf names the type of a value, and shows numbers.
func kindOf(v json.RawMessage) string {
	v = bytes.TrimSpace(v)
	if len(v) == 0 {
		return "empty"
	}
	switch v[0] {
	case '"':
		return "text"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return clipped(string(v))
}

// clipped is a text as shown in an error.
func clipped(text string) string {
	const longest = 60
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// marshalled is a value as JSON that escapes no more than JSON needs.
func marshalled(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // values of this package can all be written
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// compact is JSON without the spaces between its parts.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // it was read before
		return string(raw)
	}
	return b.String()
}

func validText(raw []byte) error {
	if !utf8.Valid(raw) {
		return &Error{Message: "The body is not UTF-8."}
	}
	return nil
}

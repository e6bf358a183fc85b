// Package jsonobject reads JSON objects whose members are all known, and keeps the first error, which names the field.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Error is what is wrong with a body, or what cannot be said on another wire.
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

// Reader reads a body and keeps the first error; after it, everything that it reads is empty.
type Reader struct{ Err error }

// Fail notes what is wrong with a field, unless something was wrong before.
func (r *Reader) Fail(field, format string, args ...any) {
	if r.Err == nil {
		r.Err = &Error{Field: field, Message: fmt.Sprintf(format, args...)}
	}
}

// Object is a JSON object whose members are all known.
type Object struct {
	*Reader
	Path    string // empty: the body
	members jsonscan.Fields
}

// Object reads an object. A member that is none of names, or stands twice, is an error; null counts as absent.
func (r *Reader) Object(path string, raw json.RawMessage, names ...string) Object {
	o := Object{Reader: r, Path: path}
	if r.Err != nil {
		return o
	}
	if begin := bytes.TrimSpace(raw); len(begin) > 0 && begin[0] != '{' && json.Valid(begin) {
		subject := "it"
		if path == "" {
			subject = "The body"
		}
		r.Fail(path, "%s is %s; it must be an object.", subject, KindOf(raw))
		return o
	}
	err := jsonscan.Members(raw, func(key, value []byte) error {
		o.member(jsonscan.Unquoted(key), value, names)
		return nil
	})
	if err != nil {
		r.Fail(path, "it is no JSON: %v.", err)
	}
	return o
}

func (o *Object) member(name string, value json.RawMessage, names []string) {
	if !o.members.Add(name, value) {
		o.Fail(o.At(name), "it is given twice; send it once.")
	}
	null := string(value) == "null"
	if len(names) > 0 && !slices.Contains(names, name) && !null {
		o.Fail(o.At(Clipped(name)),
			"this server does not know this field, so that it cannot be passed on. Leave it out. Known here are %s.",
			strings.Join(names, ", "))
	}
}

// At is the path of a member.
func (o *Object) At(name string) string {
	if o.Path == "" {
		return name
	}
	return o.Path + "." + name
}

// Raw is a member; nil when it is absent or null.
func (o *Object) Raw(name string) json.RawMessage {
	if m := o.members.Find(name); m != nil && string(m.Value) != "null" {
		return m.Value
	}
	return nil
}

// Text is a string member; empty when it is absent.
func (o *Object) Text(name string) string {
	v := o.Raw(name)
	if v == nil {
		return ""
	}
	return o.String(o.At(name), v)
}

// Needed is a string member that must be there.
func (o *Object) Needed(name string) string {
	if o.Raw(name) == nil {
		o.Fail(o.At(name), "it is required.")
	}
	return o.Text(name)
}

// Flag is a boolean member; false when it is absent.
func (o *Object) Flag(name string) bool {
	v := o.Raw(name)
	if v != nil && string(v) != "true" && string(v) != "false" {
		o.Fail(o.At(name), "it is %s; it must be true or false.", KindOf(v))
	}
	return string(v) == "true"
}

// String is a string, whose path errors name.
func (r *Reader) String(path string, raw json.RawMessage) string {
	if r.Err == nil && (len(raw) == 0 || raw[0] != '"') {
		r.Fail(path, "it is %s; it must be a string.", KindOf(raw))
	}
	return jsonscan.Unquoted(raw)
}

// List reads an array; empty when raw is nil.
func (r *Reader) List(path string, raw json.RawMessage) []json.RawMessage {
	if raw == nil || r.Err != nil {
		return nil
	}
	all, err := jsonscan.Elements(raw)
	if err != nil {
		r.Fail(path, "it is %s; it must be a list.", KindOf(raw))
	}
	return all
}

// Number is a number; false where there is none.
func (o *Object) Number(name string) (float64, bool) {
	v := o.Raw(name)
	if v == nil {
		return 0, false
	}
	var n float64
	if o.Err == nil && json.Unmarshal(v, &n) != nil {
		o.Fail(o.At(name), "it is %s; it must be a number.", KindOf(v))
	}
	return n, true
}

// Empty refuses a member that has a value, because of why.
func (o *Object) Empty(name, why string) {
	switch v := o.Raw(name); string(bytes.Join(bytes.Fields(v), nil)) {
	case "", "[]", "{}", "false":
	default:
		o.Fail(o.At(name), "%s", why)
	}
}

// One refuses a string that is none of the values.
func (o *Object) One(name string, values ...string) string {
	v := o.Text(name)
	if o.Raw(name) != nil && !slices.Contains(values, v) {
		o.Fail(o.At(name), "it is %q; it must be %s.", Clipped(v), either(values))
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

// KindOf names the type of a value, and shows numbers.
func KindOf(v json.RawMessage) string {
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
	return Clipped(string(v))
}

// Clipped is a text as shown in an error.
func Clipped(text string) string {
	const longest = 60
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// Marshalled is a value as JSON that escapes no more than JSON needs.
func Marshalled(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil { // values of this package can all be written
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Compact is JSON without the spaces between its parts.
func Compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // it was read before
		return string(raw)
	}
	return b.String()
}

// ValidText refuses what is no text.
func ValidText(raw []byte) error {
	if !utf8.Valid(raw) {
		return &Error{Message: "The body is not UTF-8."}
	}
	return nil
}

// Place is the path of an element of a list.
func Place(path string, i int) string { return path + "." + strconv.Itoa(i) }

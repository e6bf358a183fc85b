// Package jsonscan finds the parts of a JSON text without building anything, so that a body is read once and the bytes
// that nobody changes stay as they were sent. It refuses what encoding/json refuses.
package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Span is a part of a body: from its first byte to the one after its last.
type Span struct{ From, To int }

// Of is the part of a body that the span marks.
func (s Span) Of(b []byte) []byte { return b[s.From:s.To] }

// deepest is how deep values may nest; no client nests half as deep.
const deepest = 512

// Scanner walks over a JSON text, one value after the other.
type Scanner struct {
	Body  []byte
	At    int            // position of the next byte
	Keys  func(key Span) // called for every name of every object; may be nil
	depth int
}

// Fault says what was found where something else is due.
func (s *Scanner) Fault(want string) error {
	if s.At >= len(s.Body) {
		return fmt.Errorf("the body ends at byte %d where %s is due", s.At, want)
	}
	return fmt.Errorf("byte %d is %q where %s is due", s.At, s.Body[s.At], want)
}

func (s *Scanner) space() {
	for s.At < len(s.Body) {
		switch s.Body[s.At] {
		case ' ', '\t', '\r', '\n':
			s.At++
		default:
			return
		}
	}
}

// Peek is the next byte that is no space; 0 at the end.
func (s *Scanner) Peek() byte {
	s.space()
	if s.At < len(s.Body) {
		return s.Body[s.At]
	}
	return 0
}

// Value scans one value.
func (s *Scanner) Value() (Span, error) {
	c := s.Peek()
	from := s.At
	var err error
	switch {
	case c == '"':
		err = s.text()
	case c == '{':
		err = s.Object(func(Span) error { _, err := s.Value(); return err })
	case c == '[':
		err = s.Array(func() error { _, err := s.Value(); return err })
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	default:
		err = s.word()
	}
	return Span{from, s.At}, err
}

func (s *Scanner) word() error {
	for _, w := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.Body[s.At:], []byte(w)) {
			s.At += len(w)
			return nil
		}
	}
	return s.Fault("a value")
}

// text scans a string with its quotes.
func (s *Scanner) text() error {
	for s.At++; s.At < len(s.Body); s.At++ {
		s.At += plain(s.Body[s.At:])
		if s.At == len(s.Body) {
			break
		}
		switch c := s.Body[s.At]; {
		case c == '"':
			s.At++
			return nil
		case c < ' ':
			return s.Fault("a character that a string may hold")
		case c == '\\':
			s.At++
			if s.At >= len(s.Body) {
				return s.Fault("the rest of an escape")
			}
			if s.Body[s.At] == 'u' {
				for range 4 {
					s.At++
					if s.At >= len(s.Body) || !hexadecimal(s.Body[s.At]) {
						return s.Fault("a hexadecimal digit")
					}
				}
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), s.Body[s.At]) < 0 {
				return s.Fault("an escape")
			}
		}
	}
	return s.Fault("the end of a string")
}

// plain counts the bytes up to the first one that a string holds only escaped: a control character, a quotation mark or
// a backslash. It looks at eight bytes at once; long texts are most of what bodies hold.
func plain(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	at := 0
	for ; len(b)-at >= 8; at += 8 {
		w := binary.LittleEndian.Uint64(b[at:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// the top bit of every byte that is below a space, and of every byte that is one of the marks; what stands
		// above the lowest such byte may be wrong
		found := ((w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(b) && b[at] >= ' ' && b[at] != '"' && b[at] != '\\' {
		at++
	}
	return at
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *Scanner) number() error {
	if s.Body[s.At] == '-' {
		s.At++
	}
	if s.At < len(s.Body) && s.Body[s.At] == '0' {
		s.At++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.At < len(s.Body) && s.Body[s.At] == '.' {
		s.At++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.At < len(s.Body) && (s.Body[s.At] == 'e' || s.Body[s.At] == 'E') {
		s.At++
		if s.At < len(s.Body) && (s.Body[s.At] == '+' || s.Body[s.At] == '-') {
			s.At++
		}
		return s.digits()
	}
	return nil
}

func (s *Scanner) digits() error {
	from := s.At
	for s.At < len(s.Body) && s.Body[s.At] >= '0' && s.Body[s.At] <= '9' {
		s.At++
	}
	if s.At == from {
		return s.Fault("a digit")
	}
	return nil
}

// Object scans an object. each is called with the key of a member, quotes included, and must scan its value.
func (s *Scanner) Object(each func(key Span) error) error {
	return s.list('}', "a member or }", func() error {
		if s.Peek() != '"' {
			return s.Fault("a key in quotation marks")
		}
		key := Span{From: s.At}
		if err := s.text(); err != nil {
			return err
		}
		key.To = s.At
		if s.Keys != nil {
			s.Keys(key)
		}
		if s.Peek() != ':' {
			return s.Fault("a colon")
		}
		s.At++
		return each(key)
	})
}

// Array scans an array. each must scan one value.
func (s *Scanner) Array(each func() error) error { return s.list(']', "a value or ]", each) }

func (s *Scanner) list(end byte, want string, each func() error) error {
	s.depth++
	if s.depth > deepest {
		return fmt.Errorf("byte %d: values lie more than %d deep", s.At, deepest)
	}
	s.At++
	if s.Peek() == end {
		s.At++
		s.depth--
		return nil
	}
	for {
		s.space()
		if s.At >= len(s.Body) {
			return s.Fault(want)
		}
		if err := each(); err != nil {
			return err
		}
		switch s.Peek() {
		case ',':
			s.At++
		case end:
			s.At++
			s.depth--
			return nil
		default:
			return s.Fault("a comma or the end")
		}
	}
}

// End checks that nothing follows the body's one value.
func (s *Scanner) End() error {
	s.Peek()
	if s.At < len(s.Body) {
		return s.Fault("nothing more")
	}
	return nil
}

// Members calls each for the members of a body that is one object, in order, with the key as it is written.
func Members(body []byte, each func(key, value []byte) error) error {
	s := &Scanner{Body: body}
	if s.Peek() != '{' {
		return s.Fault("an object")
	}
	err := s.Object(func(key Span) error {
		value, err := s.Value()
		if err != nil {
			return err
		}
		return each(key.Of(body), value.Of(body))
	})
	if err != nil {
		return err
	}
	return s.End()
}

// Valid reports whether a text is one value.
func Valid(body []byte) bool {
	s := &Scanner{Body: body}
	_, err := s.Value()
	return err == nil && s.End() == nil
}

// Elements are the elements of a text that is one list.
func Elements(body []byte) (all []json.RawMessage, err error) {
	s := &Scanner{Body: body}
	if s.Peek() != '[' {
		return nil, s.Fault("a list")
	}
	err = s.Array(func() error {
		each, err := s.Value()
		all = append(all, each.Of(body))
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, s.End()
}

// Unquoted is the value of a JSON string.
func Unquoted(b []byte) string {
	if len(b) < 2 || b[0] != '"' {
		return ""
	}
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	if json.Unmarshal(b, &text) != nil {
		return ""
	}
	return text
}

// Quoted encodes a string as JSON.
func Quoted(text string) []byte { return AppendQuoted(make([]byte, 0, len(text)+2), text) }

// AppendQuoted appends a text as Quoted writes it.
func AppendQuoted(to []byte, text string) []byte {
	from := len(to)
	to = append(append(append(to, '"'), text...), '"')
	// encoding/json escapes line separators, U+2028 and U+2029, as well
	if plain(to[from+1:]) == len(text) && utf8.ValidString(text) && !strings.Contains(text, "\xe2\x80") {
		return to
	}
	to = to[:from]
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil { // never fails for a string
		return append(to, `""`...)
	}
	return append(to, bytes.TrimRight(b.Bytes(), "\n")...)
}

package psyche

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// span is a part of a body: from its first byte to the one after its last.
type span struct{ from, to int }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

// deepest is how deep values may nest; no client nests half as deep.
const deepest = 512

// scanner walks over JSON without building anything. It refuses what encoding/json refuses.
type scanner struct {
	b     []byte
	at    int
	depth int
	keys  func(key span) // called for every name of every object; may be nil
}

func (s *scanner) fault(want string) error {
	if s.at >= len(s.b) {
		return fmt.Errorf("the body ends at byte %d where %s is due", s.at, want)
	}
	return fmt.Errorf("byte %d is %q where %s is due", s.at, s.b[s.at], want)
}

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// peek is the next byte that is no space; 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	return 0
}

// value scans one value.
func (s *scanner) value() (span, error) {
	c := s.peek()
	from := s.at
	var err error
	switch {
	case c == '"':
		err = s.text()
	case c == '{':
		err = s.object(func(span) error { _, err := s.value(); return err })
	case c == '[':
		err = s.array(func() error { _, err := s.value(); return err })
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	default:
		err = s.word()
	}
	return span{from, s.at}, err
}

func (s *scanner) word() error {
	for _, w := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.b[s.at:], []byte(w)) {
			s.at += len(w)
			return nil
		}
	}
	return s.fault("a value")
}

// text scans a string with its quotes.
func (s *scanner) text() error {
	for s.at++; s.at < len(s.b); s.at++ {
		at := s.at
		for at < len(s.b) && plain[s.b[at]] {
			at++
		}
		s.at = at
		if at == len(s.b) {
			break
		}
		switch c := s.b[at]; {
		case c == '"':
			s.at++
			return nil
		case c < ' ':
			return s.fault("a character that a string may hold")
		case c == '\\':
			s.at++
			if s.at >= len(s.b) {
				return s.fault("the rest of an escape")
			}
			if s.b[s.at] == 'u' {
				for range 4 {
					s.at++
					if s.at >= len(s.b) || !hexadecimal(s.b[s.at]) {
						return s.fault("a hexadecimal digit")
					}
				}
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), s.b[s.at]) < 0 {
				return s.fault("an escape")
			}
		}
	}
	return s.fault("the end of a string")
}

// plain are the bytes that need no escape in a string.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return p
}()

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() error {
	if s.b[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.b) && s.b[s.at] == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at < len(s.b) && s.b[s.at] == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at < len(s.b) && (s.b[s.at] == 'e' || s.b[s.at] == 'E') {
		s.at++
		if s.at < len(s.b) && (s.b[s.at] == '+' || s.b[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		return s.fault("a digit")
	}
	return nil
}

// object scans an object. each is called with the key of a member, quotes included, and must scan its value.
func (s *scanner) object(each func(key span) error) error {
	return s.list('}', "a member or }", func() error {
		if s.peek() != '"' {
			return s.fault("a key in quotation marks")
		}
		key := span{from: s.at}
		if err := s.text(); err != nil {
			return err
		}
		key.to = s.at
		if s.keys != nil {
			s.keys(key)
		}
		if s.peek() != ':' {
			return s.fault("a colon")
		}
		s.at++
		return each(key)
	})
}

// array scans an array. each must scan one value.
func (s *scanner) array(each func() error) error { return s.list(']', "a value or ]", each) }

func (s *scanner) list(end byte, want string, each func() error) error {
	s.depth++
	if s.depth > deepest {
		return fmt.Errorf("byte %d: values lie more than %d deep", s.at, deepest)
	}
	s.at++
	if s.peek() == end {
		s.at++
		s.depth--
		return nil
	}
	for {
		s.space()
		if s.at >= len(s.b) {
			return s.fault(want)
		}
		if err := each(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.at++
		case end:
			s.at++
			s.depth--
			return nil
		default:
			return s.fault("a comma or the end")
		}
	}
}

// end checks that nothing follows the body's one value.
func (s *scanner) end() error {
	s.peek()
	if s.at < len(s.b) {
		return s.fault("nothing more")
	}
	return nil
}

// unquoted is the value of a JSON string.
func unquoted(b []byte) string {
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

// quoted encodes a string as JSON.
func quoted(text string) []byte {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(make([]byte, 0, len(text)+2), '"'), text...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(text) != nil { // never fails for a string
		return []byte(`""`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

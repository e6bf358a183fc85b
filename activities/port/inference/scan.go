package inference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// errCutOff says that the text ended inside a value; the complete parts before have been kept.
var errCutOff = errors.New("the answer ends in the middle of a value")

// scanner reads one value leniently and writes it as plain JSON.
type scanner struct {
	text string
	at   int
}

// value reads the value that begins here. With errCutOff the bytes hold the value closed at its last whole part, or
// nothing when no part of it is whole.
func (s *scanner) value(depth int) ([]byte, error) {
	if depth > answerDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", answerDepth)
	}
	s.space()
	if s.at >= len(s.text) {
		return nil, errCutOff
	}
	switch r, _ := s.peek(); {
	case r == '{':
		return s.object(depth)
	case r == '[':
		return s.array(depth)
	case isQuote(r):
		return s.quoted()
	case r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
		return s.plain()
	default:
		return nil, fmt.Errorf("%q does not begin a JSON value, near %s", r, s.near())
	}
}

func (s *scanner) object(depth int) ([]byte, error) {
	s.at++
	out := []byte{'{'}
	for {
		s.space()
		if s.at >= len(s.text) {
			return append(out, '}'), errCutOff
		}
		r, _ := s.peek()
		if r == '}' {
			s.at++
			return append(out, '}'), nil
		}
		if !isQuote(r) {
			return nil,
				fmt.Errorf("%q stands where a key in double quotes or a closing brace is wanted, near %s", r, s.near())
		}
		member, err := s.member(depth)
		if member != nil {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, member...)
		}
		if errors.Is(err, errCutOff) {
			return append(out, '}'), err
		}
		if err != nil {
			return nil, err
		}
		if err := s.between('}'); err != nil {
			return nil, err
		}
	}
}

// member reads a key and its value. A value that was cut off is kept only when part of it is whole.
func (s *scanner) member(depth int) ([]byte, error) {
	key, err := s.quoted()
	if err != nil {
		return nil, err
	}
	s.space()
	if s.at >= len(s.text) {
		return nil, errCutOff
	}
	if s.text[s.at] != ':' {
		return nil, fmt.Errorf("no colon after the key %s, near %s", excerpt(string(key), 0), s.near())
	}
	s.at++
	value, err := s.value(depth + 1)
	if value == nil {
		return nil, err
	}
	return append(append(key, ':'), value...), err
}

func (s *scanner) array(depth int) ([]byte, error) {
	s.at++
	out := []byte{'['}
	for {
		s.space()
		if s.at >= len(s.text) {
			return append(out, ']'), errCutOff
		}
		if s.text[s.at] == ']' {
			s.at++
			return append(out, ']'), nil
		}
		element, err := s.value(depth + 1)
		if errors.Is(err, errCutOff) {
			return append(out, ']'), err // half an element would have another meaning
		}
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, element...)
		if err := s.between(']'); err != nil {
			return nil, err
		}
	}
}

// between reads the comma after an element; it may be missing only before the closing bracket or at a cut.
func (s *scanner) between(closing byte) error {
	s.space()
	switch {
	case s.at >= len(s.text), s.text[s.at] == closing:
		return nil
	case s.text[s.at] == ',':
		s.at++
		return nil
	}
	return fmt.Errorf("neither a comma nor %q after an element, near %s", closing, s.near())
}

// quoted reads a string. One that begins with a typographic quote may end with any double quote.
func (s *scanner) quoted() ([]byte, error) {
	first, n := s.peek()
	s.at += n
	from := s.at
	for s.at < len(s.text) {
		r, n := s.peek()
		switch {
		case r == '\\':
			s.at++
			if s.at < len(s.text) {
				_, n = s.peek()
				s.at += n
			}
			continue
		case r == '"', first != '"' && isQuote(r):
			inside := s.text[from:s.at]
			s.at += n
			out := append(append([]byte{'"'}, inside...), '"')
			if !json.Valid(out) {
				return nil, fmt.Errorf("a string with a false escape: %s", excerpt(inside, 0))
			}
			return out, nil
		case r < ' ':
			return nil, fmt.Errorf("a line break or control character inside a string, near %s", s.near())
		}
		s.at += n
	}
	return nil, errCutOff
}

// plain reads a number, true, false or null. At the very end of the text it counts as cut off: more may have followed.
func (s *scanner) plain() ([]byte, error) {
	n := strings.IndexFunc(s.text[s.at:], func(r rune) bool { return strings.ContainsRune(" \t\r\n,:]}{[\"", r) })
	if n < 0 {
		return nil, errCutOff
	}
	word := []byte(s.text[s.at : s.at+n])
	if !json.Valid(word) || bytes.ContainsAny(word, "\"") {
		return nil, fmt.Errorf("%s is neither a number nor true, false or null", excerpt(string(word), 0))
	}
	s.at += n
	return word, nil
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) peek() (rune, int) { return utf8.DecodeRuneInString(s.text[s.at:]) }

func (s *scanner) near() string { return excerpt(s.text, max(0, s.at-20)) }

func isQuote(r rune) bool { return r == '"' || r == '“' || r == '”' || r == '„' || r == '‟' }

package formats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// elements splits a JSON array into its elements without holding more than one, so that a broken element does not
// take the others with it. A file that is a single object has one element.
type elements struct {
	in    *bufio.Reader
	line  int
	buf   []byte
	array bool
	begun bool
}

// errCut marks a last element that is incomplete at the end of the file.
var errCut = errors.New("the file ends in the middle of this element")

// next returns the raw text of one element and the line where it begins, valid until the next call.
func (e *elements) next() (raw []byte, line int, err error) {
	if !e.begun {
		e.begun, e.line = true, 1
		c, err := e.skipSpace()
		if err != nil {
			return nil, e.line, err
		}
		switch c {
		case '[':
			e.array = true
		case '{':
			if err := e.in.UnreadByte(); err != nil {
				return nil, e.line, err
			}
		default:
			return nil, e.line, fmt.Errorf("a JSON array or object must begin with [ or {, not %q", c)
		}
	}
	c, err := e.skipSpace()
	for err == nil && e.array && c == ',' {
		c, err = e.skipSpace()
	}
	if err != nil || (e.array && c == ']') {
		if err == nil {
			err = io.EOF
		}
		return nil, e.line, err
	}
	line = e.line
	raw, err = e.collect(c)
	return raw, line, err
}

// collect reads one value that begins with c, up to the comma or bracket that ends it.
func (e *elements) collect(c byte) ([]byte, error) {
	e.buf = e.buf[:0]
	depth, quoted, escaped := 0, false, false
	for {
		if e.array && depth == 0 && !quoted && (c == ',' || c == ']') {
			return e.buf, e.in.UnreadByte()
		}
		if len(e.buf) == MaxValue {
			return nil, fmt.Errorf("an element is longer than %d MiB", MaxValue>>20)
		}
		e.buf = append(e.buf, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
			if depth == 0 {
				return e.buf, nil
			}
		}
		var err error
		c, err = e.read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return e.buf, errCut
			}
			return nil, err
		}
	}
}

func (e *elements) skipSpace() (byte, error) {
	for {
		c, err := e.read()
		if err != nil || (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
			return c, err
		}
	}
}

func (e *elements) read() (byte, error) {
	c, err := e.in.ReadByte()
	if c == '\n' && err == nil {
		e.line++
	}
	return c, err
}

// each calls do with every element; one that is cut off is bad.
func (e *elements) each(to *Sink, do func(raw []byte, line int) error) error {
	for {
		raw, line, err := e.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errCut):
			to.Bad(line, err.Error())
			return nil
		case err != nil:
			return fmt.Errorf("line %d: %w", line, err)
		}
		if err := do(raw, line); err != nil {
			return err
		}
	}
}

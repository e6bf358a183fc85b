package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errTooLong = errors.New("an event of the stream is longer than its bound")

// maxTries is how many data lines of one event are tried as the end of a JSON value.
const maxTries = 8

// Events cuts server-sent events out of a stream of bytes: push what was read, pop whole events. Comments and fields
// other than data are skipped. Lines end with LF or CRLF. A data line that follows a complete JSON value without a
// blank line, as some servers write, begins a new event.
type Events struct {
	Limit int
	buf   []byte // pushed and not yet cut
	start int    // of the first line not yet cut
	scan  int    // how far the search for its end has come
	data  []byte // the data lines of the event under construction
	open  bool   // there is one
	tries int    // how often its data were tried as complete
	begun bool
	ended bool
}

// Push adds bytes. The events popped before are no longer valid.
func (e *Events) Push(p []byte) error {
	if e.start > 0 {
		e.buf = append(e.buf[:0], e.buf[e.start:]...)
		e.scan -= e.start
		e.start = 0
	}
	e.buf = append(e.buf, p...)
	if !e.begun && len(e.buf) >= 3 {
		e.begun = true
		if bytes.HasPrefix(e.buf, []byte("\xef\xbb\xbf")) {
			e.start, e.scan = 3, 3
		}
	}
	if len(e.data)+len(e.buf) > e.Limit+len(p) {
		return errTooLong
	}
	return nil
}

// End says that no more bytes come. A last line without a line break counts only when it is the end mark of the
// stream; else the event is incomplete.
func (e *Events) End() {
	rest := bytes.TrimSpace(e.buf[bytes.LastIndexByte(e.buf, '\n')+1:])
	if bytes.Equal(rest, []byte("data: [DONE]")) || bytes.Equal(rest, []byte("data:[DONE]")) {
		e.buf = append(e.buf, '\n')
	}
	e.ended = true
}

// Pop returns the data of the next whole event. It is valid until the next pop or push.
func (e *Events) Pop() ([]byte, bool) {
	for {
		next := bytes.IndexByte(e.buf[e.scan:], '\n')
		if next < 0 {
			e.scan = len(e.buf)
			if e.ended && e.open {
				return e.completed()
			}
			return nil, false
		}
		line := bytes.TrimSuffix(e.buf[e.start:e.scan+next], []byte("\r"))
		after := e.scan + next + 1
		if len(line) == 0 {
			e.start, e.scan = after, after
			if e.open {
				return e.completed()
			}
			continue
		}
		value, isData := dataOf(line)
		if isData && e.open && e.complete() {
			return e.completed() // the line is cut at the next pop
		}
		e.start, e.scan = after, after
		if isData {
			e.add(value)
		}
	}
}

// complete reports whether the data are a JSON value. It soon stops trying, since each try costs as much as the data
// are long.
func (e *Events) complete() bool {
	e.tries++
	if e.tries > maxTries {
		return false
	}
	return json.Valid(e.data)
}

// dataOf parses a line as a data field.
func dataOf(line []byte) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line, []byte("data"))
	if !ok {
		return nil, false
	}
	if len(value) == 0 {
		return nil, true
	}
	if value[0] != ':' {
		return nil, false
	}
	return bytes.TrimPrefix(value[1:], []byte(" ")), true
}

func (e *Events) add(value []byte) {
	if !e.open {
		e.data, e.open, e.tries = e.data[:0], true, 0
	} else {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
}

func (e *Events) completed() ([]byte, bool) {
	e.open = false
	return e.data, true
}

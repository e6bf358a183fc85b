package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longestEvent is the most bytes of one server-sent event. Hermes reads no pictures.
const longestEvent = 16 << 20

var errLongEvent = fmt.Errorf("an event of the stream has more than %d bytes", longestEvent)

// sent is one server-sent event. A comment alone is one without data.
type sent struct {
	id, name string
	hasID    bool
	retry    string
	data     []byte
	comment  bool
}

// sentEvents reads a stream of server-sent events, as the HTML standard has them.
type sentEvents struct{ lines *bufio.Reader }

func newSentEvents(r io.Reader) *sentEvents { return &sentEvents{bufio.NewReaderSize(r, 16<<10)} }

// next returns the next event, comment or retry time. An event that the stream's end cuts off is dropped, as the
// standard has it; the error is then io.EOF.
func (s *sentEvents) next() (sent, error) {
	var e sent
	begun, size := false, 0
	for {
		line, err := s.line(longestEvent - size)
		if err != nil {
			return sent{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if begun {
				e.data = bytes.TrimSuffix(e.data, []byte("\n"))
				return e, nil
			}
			continue
		}
		begun = true
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "":
			e.comment = true
		case "data":
			e.data = append(append(e.data, value...), '\n')
		case "event":
			e.name = string(value)
		case "retry":
			e.retry = string(value)
		case "id":
			if !bytes.Contains(value, []byte{0}) {
				e.id, e.hasID = string(value), true
			}
		}
	}
}

// line reads a line of at most so many bytes, without its end. A last line without an end is dropped.
func (s *sentEvents) line(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most+2 {
			return nil, errLongEvent
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

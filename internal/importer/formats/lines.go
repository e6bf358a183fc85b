package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lines reads bounded lines and knows their numbers.
type lines struct {
	in     *bufio.Reader
	number int
	buf    []byte
}

// errLong marks a line that is longer than MaxLine; it was skipped.
var errLong = fmt.Errorf("line is longer than %d MiB", MaxLine>>20)

// next returns one line without its ending, valid until the next call. io.EOF after the last.
func (l *lines) next() ([]byte, error) {
	l.number++
	l.buf = l.buf[:0]
	long := false
	for {
		piece, err := l.in.ReadSlice('\n')
		if !long && len(l.buf)+len(piece) > MaxLine {
			long, l.buf = true, l.buf[:0]
		}
		if !long {
			l.buf = append(l.buf, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && !long && len(l.buf) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLong
		}
		return bytes.TrimRight(l.buf, "\r\n"), nil
	}
}

// each calls do with every line that is not blank; lines that are too long are bad.
func (l *lines) each(to *Sink, do func(line []byte) error) error {
	for {
		text, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			to.Bad(l.number, err.Error())
			continue
		case err != nil:
			return err
		}
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		if err := do(text); err != nil {
			return err
		}
	}
}

// SkipByteOrderMark skips a UTF-8 byte order mark and refuses UTF-16, which would be read as garbage.
func SkipByteOrderMark(in *bufio.Reader, name string) error {
	head, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case bytes.Equal(head, []byte("\xef\xbb\xbf")):
		_, err = in.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return fmt.Errorf("read %s: it is UTF-16 text; save it as UTF-8", name)
	}
	return nil
}

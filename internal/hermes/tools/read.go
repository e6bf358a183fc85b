package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
)

const (
	maxOutput = 64 << 10 // bytes of a result's text, without its note
	maxCount  = 64 << 20 // bytes after which the lines that are left are no longer counted
	maxProbe  = 8 << 10  // bytes in which a NUL makes a file binary
)

func previewRead(_ *Box, call message.Call, args arguments) (message.Preview, error) {
	title := call.Name
	for _, p := range []string{"pattern", "path", "glob"} {
		if value := args.text(p); value != "" {
			title += " " + excerpt(value)
		}
	}
	return message.Preview{Title: title}, nil
}

// open opens a regular file of the workspace to read it. It never waits, not even for a FIFO.
func open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	err = regular(info)
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	// The name may have got another file since it was looked at.
	info, err = f.Stat()
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func regular(info fs.FileInfo) error {
	kind := "a special file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a FIFO"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("it is %s; only regular files can be read and written", kind)
}

// read is the tool read_file.
func (b *Box) read(_ context.Context, _ <-chan struct{}, _ message.Call, args arguments) message.Result {
	path := args.text("path")
	name, err := b.relative("path", path)
	if err != nil {
		return failure(err)
	}
	f, info, err := open(b.root, name)
	if err != nil {
		return failure(explain("path", path, err))
	}
	defer f.Close()
	text, err := page(f, info.Size(), args.number("offset", 1), args.number("limit", 0))
	if err != nil {
		return failure(fmt.Errorf("path is %s: %w", excerpt(path), err))
	}
	return message.Result{Text: text}
}

// page returns some lines of a text and a note on what is left. A limit of 0 means as many lines as fit.
func page(r io.Reader, size int64, first, limit int) (string, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	probe, err := in.Peek(maxProbe)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.IndexByte(probe, 0) >= 0 {
		return "", fmt.Errorf("it is a binary file of %d bytes; only text can be read", size)
	}
	p := pager{first: first, limit: limit}
	for {
		// A line that is longer than the buffer comes in parts.
		part, err := in.ReadSlice('\n')
		p.add(part)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
		if p.full && p.seen > maxCount {
			p.gaveUp = true
			break
		}
	}
	return p.text(size)
}

// pager collects the lines of a page.
type pager struct {
	first, limit int

	out    bytes.Buffer
	seen   int64 // bytes
	lines  int   // lines that ended
	open   bool  // whether a line has begun that did not end
	last   int   // the last line that is in out, at least in part
	cut    bool  // whether the last line is not all there
	full   bool
	crlf   int
	gaveUp bool
}

func (p *pager) add(part []byte) {
	if len(part) == 0 {
		return
	}
	p.seen += int64(len(part))
	line := p.lines + 1
	ended := part[len(part)-1] == '\n'
	p.open = !ended
	if ended {
		p.lines++
	}
	if line < p.first || p.full {
		return
	}
	if p.limit > 0 && line >= p.first+p.limit {
		p.full = true
		return
	}
	if p.out.Len() > 0 && p.out.Len()+len(part) > maxOutput && line != p.last {
		p.full = true
		return
	}
	room := maxOutput - p.out.Len()
	if len(part) > room {
		part = part[:room]
		p.cut = true
		p.full = true
	}
	p.last = line
	if bytes.HasSuffix(part, []byte("\r\n")) {
		p.crlf++
		part = append(part[:len(part)-2:len(part)-2], '\n')
	}
	p.out.Write(part)
}

func (p *pager) text(size int64) (string, error) {
	total := p.lines
	if p.open {
		total++
	}
	if size == 0 && total == 0 {
		return "[the file is empty]", nil
	}
	if p.last == 0 {
		return "", fmt.Errorf("offset is %d, but the file has %d lines", p.first, total)
	}
	text := p.out.String()
	var notes []string
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
		notes = append(notes, "some bytes are no UTF-8 and shown as \ufffd")
	}
	switch {
	case p.crlf > 0 && p.crlf == strings.Count(text, "\n"):
		notes = append(notes, "lines end with CRLF, which edit_file keeps")
	case p.crlf > 0:
		notes = append(notes, "some lines end with CRLF, where edit_file needs \\r\\n")
	}
	if p.cut {
		notes = append(notes, fmt.Sprintf("line %d is cut, it is too long", p.last))
	}
	switch {
	case p.gaveUp:
		notes = append(notes, fmt.Sprintf("lines %d to %d of a file of %d bytes; go on with offset %d",
			p.first, p.last, size, p.last+1))
	case p.last < total:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d; %d are left, go on with offset %d",
			p.first, p.last, total, total-p.last, p.last+1))
	}
	if len(notes) == 0 {
		return text, nil
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + strings.Join(notes, "; ") + "]", nil
}

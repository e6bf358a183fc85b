// Package archive writes and reads the file format in which a store is exported: one JSON record a line, checked,
// counted, and sealed with a checksum.
package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// Version of the format. A reader accepts older versions and refuses newer ones. A new kind of record or field needs a
// new version: keys came with version 2, the record that says whether keys are required with version 3, gaps
// between revision numbers and removed agents with version 4, rooms with version 5, and what retention leaves (sums of
// attempts, and since when an agent's history is whole) with version 6.
const Version = 6

// openingOf returns the first line of an archive of a version.
func openingOf(version int) string {
	return fmt.Sprintf(`{"oneiros":"archive","version":%d}`, version) + "\n"
}

var opening = openingOf(Version)

// longest is the maximum length of a line in bytes: it holds an item with all its revisions.
const longest = 1 << 28

// Errors of reading.
var (
	ErrNone    = errors.New("not an archive")
	ErrNewer   = errors.New("a newer program's archive")
	ErrCutOff  = errors.New("cut off")
	ErrChanged = errors.New("altered")
)

// seal is the last line.
type seal struct {
	Seal *Tally `json:"seal"`
}

// Write checks records and writes an archive of them. After an error w holds no seal, and no reader accepts it.
func Write(w io.Writer, records memory.Records) (Tally, error) {
	b := bufio.NewWriterSize(w, 1<<16)
	if _, err := b.WriteString(opening); err != nil {
		return Tally{}, err
	}
	s := newEncoder()
	for r, err := range records {
		var line []byte
		if err == nil {
			line, err = s.add(r)
		}
		if err == nil {
			_, err = b.Write(line)
		}
		if err != nil {
			return Tally{}, err
		}
	}
	t, err := s.end()
	if err != nil {
		return Tally{}, err
	}
	last, err := json.Marshal(seal{&t})
	if err == nil {
		_, err = b.Write(append(last, '\n'))
	}
	return t, errors.Join(err, b.Flush())
}

// Read yields the records of an archive. The last value is an error when the archive is cut off, altered, or breaks a
// rule that every store keeps. Callers must not use the records before they have read to the end without an error.
func Read(r io.Reader) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		p := &reading{in: bufio.NewReaderSize(r, 1<<16), encoder: newEncoder()}
		err := p.open()
		for err == nil {
			var record memory.Record
			var ended bool
			record, ended, err = p.next()
			if ended {
				return
			}
			if err == nil && !yield(record, nil) {
				return
			}
		}
		yield(memory.Record{}, err)
	}
}

type reading struct {
	in      *bufio.Reader
	encoder *encoder
	number  int // number of the line
	line    []byte
	version int
}

func (p *reading) open() error {
	line, err := p.read()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	for p.version = Version; p.version > 0; p.version-- {
		if string(line) == openingOf(p.version) {
			p.encoder.reopen(string(line))
			return nil
		}
	}
	var answer struct {
		Oneiros string `json:"oneiros"`
		Version int    `json:"version"`
	}
	if json.Unmarshal(line, &answer) == nil && answer.Oneiros == "archive" && answer.Version > Version {
		return fmt.Errorf("%w: it is of version %d and this program reads up to %d", ErrNewer, answer.Version, Version)
	}
	return fmt.Errorf("%w: it does not begin with %s", ErrNone, opening[:len(opening)-1])
}

// read returns the next line with its line end.
func (p *reading) read() ([]byte, error) {
	p.number++
	p.line = p.line[:0]
	for {
		part, err := p.in.ReadSlice('\n')
		p.line = append(p.line, part...)
		switch {
		case err == nil:
			return p.line, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: it ends in line %d, before its seal", ErrCutOff, p.number)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(p.line) > longest:
			return nil, fmt.Errorf("%w: line %d is longer than %d bytes", ErrChanged, p.number, longest)
		}
	}
}

func (p *reading) next() (r memory.Record, ended bool, err error) {
	line, err := p.read()
	if err != nil {
		return r, false, err
	}
	if bytes.HasPrefix(line, []byte(`{"seal":`)) {
		err := p.close(line)
		return r, err == nil, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, false, fmt.Errorf("%w: line %d: %w", ErrChanged, p.number, err)
	}
	if p.version < 2 && r.Key != nil {
		return r, false, fmt.Errorf("%w: line %d: an archive of version 1 has no keys", ErrChanged, p.number)
	}
	if p.version < 4 && r.Counters != nil && r.Counters.Removed {
		return r, false, fmt.Errorf("%w: line %d: an archive of version %d has no removed agents",
			ErrChanged, p.number, p.version)
	}
	if p.version < 5 && r.Room != nil {
		return r, false, fmt.Errorf("%w: line %d: an archive of version %d has no rooms", ErrChanged, p.number, p.version)
	}
	if p.version < 6 && (r.Sum != nil || r.Counters != nil && !r.Counters.Whole()) {
		return r, false, fmt.Errorf("%w: line %d: an archive of version %d has no sums and no shortened history",
			ErrChanged, p.number, p.version)
	}
	if p.version < 3 && r.Access != nil {
		return r, false,
			fmt.Errorf("%w: line %d: an archive of version %d does not say whether keys are required", ErrChanged,
				p.number, p.version)
	}
	if p.version < 4 && r.Item != nil &&
		slices.ContainsFunc(r.Item.Revisions, func(k memory.KeptRevision) bool { return k.Number != 0 }) {
		return r, false,
			fmt.Errorf("%w: line %d: an archive of version %d does not number revisions", ErrChanged, p.number,
				p.version)
	}
	again, err := p.encoder.add(r)
	if err != nil {
		return r, false, fmt.Errorf("%w: line %d: %w", ErrChanged, p.number, err)
	}
	if !bytes.Equal(again, line) {
		return r, false, fmt.Errorf("%w: line %d is not written as an archive writes it", ErrChanged, p.number)
	}
	return r, false, nil
}

func (p *reading) close(line []byte) error {
	t, err := p.encoder.end()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	want, err := json.Marshal(seal{&t})
	if err != nil {
		return err
	}
	if !bytes.Equal(append(want, '\n'), line) {
		return fmt.Errorf("%w: its seal is %s, and the lines before it give %s", ErrChanged,
			bytes.TrimSpace(line), want)
	}
	if _, err := p.in.ReadByte(); err == nil {
		return fmt.Errorf("%w: something follows its seal", ErrChanged)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

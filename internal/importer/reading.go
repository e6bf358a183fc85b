package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

// read runs the reader of one file into a sink.
func (j *job) read(f File, to *formats.Sink) (err error) {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	counted := &meteredReader{in: in, meter: &j.meter, ctx: j.ctx}
	buffered := bufio.NewReaderSize(counted, 64<<10)
	if err := formats.SkipByteOrderMark(buffered, f.Name); err != nil {
		return err
	}
	format := j.opts.Format
	if format == "" {
		head, err := buffered.Peek(64 << 10)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read %s: %w", f.Name, err)
		}
		format, err = formats.Detect(f.Name, head)
		if err != nil {
			return err
		}
	}
	src := &formats.Source{
		In:       buffered,
		Name:     filepath.Base(f.Name),
		Zone:     j.zone,
		Agent:    j.agent.ID,
		Dialogue: j.opts.Dialogue,
		Due:      j.opts.Due,
	}
	j.formats = append(j.formats, format)
	if err := src.Read(format, j.guarded(to)); err != nil {
		return fmt.Errorf("read %s as %s: %w", f.Name, format, err)
	}
	return nil
}

// guarded leaves out records outside of what is to be read, and turns those with impossible times into bad lines, the
// same way in both readings.
func (j *job) guarded(to *formats.Sink) *formats.Sink {
	refuse := func(at time.Time, line, records int) bool {
		outside, reason := j.outside(at), j.impossible(at)
		if !outside && reason == "" {
			return false
		}
		to.Read(-records)
		if !outside {
			to.Bad(line, reason)
		}
		return true
	}
	out := *to
	out.Draft = func(d *derive.Draft) error {
		records := max(1, len(d.Turns))
		switch {
		case d.Undated && !j.opts.From.IsZero():
			to.Read(-records)
			return nil
		case !d.Undated && refuse(d.Episode.At, d.Line, records):
			return nil
		}
		return to.Draft(d)
	}
	out.Item = func(item dream.Item, line int) error {
		if refuse(item.Header().At, line, 1) {
			return nil
		}
		return to.Item(item, line)
	}
	return &out
}

// outside says whether a time lies outside what is to be read.
func (j *job) outside(at time.Time) bool {
	return at.Before(j.opts.From) || !j.opts.To.IsZero() && !at.Before(j.opts.To)
}

func (j *job) impossible(at time.Time) string {
	switch {
	case at.After(j.opts.Now.Add(farFuture)):
		return fmt.Sprintf("at is %s, which is after now (%s)", at.UTC().Format(time.RFC3339),
			j.opts.Now.Format(time.RFC3339))
	case at.Before(formats.Earliest):
		return fmt.Sprintf("at is %s, which is before %s", at.UTC().Format(time.RFC3339),
			formats.Earliest.Format(time.DateOnly))
	}
	return ""
}

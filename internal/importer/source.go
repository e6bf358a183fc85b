package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// sink takes what a reader finds. draft and item may return an error to stop the import.
type sink struct {
	draft func(*draft) error
	item  func(item dream.Item, line int) error
	bad   func(line int, reason string)
	read  func(records int)
}

// read runs the reader of one file into a sink.
func (j *job) read(f File, to *sink) (err error) {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	counted := &meteredReader{in: in, meter: &j.meter, ctx: j.ctx}
	buffered := bufio.NewReaderSize(counted, 64<<10)
	if err := skipMark(buffered, f.Name); err != nil {
		return err
	}
	format := j.opts.Format
	if format == "" {
		head, err := buffered.Peek(64 << 10)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read %s: %w", f.Name, err)
		}
		format, err = Detect(f.Name, head)
		if err != nil {
			return err
		}
	}
	src := &source{
		in:       buffered,
		name:     filepath.Base(f.Name),
		zone:     j.zone,
		agent:    j.agent.ID,
		dialogue: j.opts.Dialogue,
		due:      j.opts.Due,
	}
	j.formats = append(j.formats, format)
	if err := src.readAs(format, j.guarded(to)); err != nil {
		return fmt.Errorf("read %s as %s: %w", f.Name, format, err)
	}
	return nil
}

// source is an opened file with what its reader needs.
type source struct {
	in       *bufio.Reader
	name     string
	zone     *time.Location
	agent    string
	dialogue string
	due      func(time.Time, float64) time.Time
}

func (s *source) readAs(format Format, to *sink) error {
	switch format {
	case JSONL:
		return readJSONL(s, to)
	case Chat:
		return readChat(s, to)
	case ChatGPT:
		return readChatGPT(s, to)
	case Diary:
		return readDiary(s, to)
	case LoCoMo:
		return readLoCoMo(s, to)
	default:
		return fmt.Errorf("format %q is unknown; formats are %s", format, Names())
	}
}

// guarded turns records with impossible times into bad lines, the same way in both readings.
func (j *job) guarded(to *sink) *sink {
	out := *to
	out.draft = func(d *draft) error {
		if reason := j.impossible(d.ep.At, d.undated); reason != "" {
			to.read(-max(1, len(d.turns)))
			to.bad(d.line, reason)
			return nil
		}
		return to.draft(d)
	}
	out.item = func(item dream.Item, line int) error {
		if reason := j.impossible(item.Header().At, false); reason != "" {
			to.read(-1)
			to.bad(line, reason)
			return nil
		}
		return to.item(item, line)
	}
	return &out
}

func (j *job) impossible(at time.Time, undated bool) string {
	switch {
	case undated:
		return ""
	case at.After(j.opts.Now.Add(farFuture)):
		return fmt.Sprintf("at is %s, which is after now (%s)", at.UTC().Format(time.RFC3339),
			j.opts.Now.Format(time.RFC3339))
	case at.Before(earliest):
		return fmt.Sprintf("at is %s, which is before %s", at.UTC().Format(time.RFC3339),
			earliest.Format(time.DateOnly))
	}
	return ""
}

// earliest is the first time that a nanosecond count of 64 bits can say with room to spare, which stores rely on.
var earliest = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)

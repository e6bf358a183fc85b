package importer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

// job is one import under way.
type job struct {
	ctx     context.Context
	store   memory.Store
	agent   dream.Agent
	zone    *time.Location
	files   []File
	opts    Options
	report  Report
	marks   []rawMarks // one per episode of the first reading, in order
	undated []int      // per file, episodes that carry no time
	meter   meter
}

func newJob(ctx context.Context, store memory.Store, agent dream.Agent, files []File, opts Options) (*job, error) {
	if len(files) == 0 {
		return nil, errors.New("nothing to import: no file was given")
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	opts.Now = opts.Now.UTC()
	if opts.BatchSize <= 0 {
		opts.BatchSize = 500
	}
	if opts.HalfLife <= 0 {
		opts.HalfLife = 30 * 24 * time.Hour
	}
	if opts.FadeBelow <= 0 || opts.FadeBelow >= 1 {
		opts.FadeBelow = .2
	}
	zone, err := time.LoadLocation(agent.Zone)
	if err != nil {
		return nil, fmt.Errorf("import for %s: zone %q is not an IANA time zone such as Europe/Berlin", agent.Handle, agent.Zone)
	}
	j := &job{ctx: ctx, store: store, agent: agent, zone: zone, files: files, opts: opts, undated: make([]int, len(files))}
	for _, f := range files {
		j.meter.total += f.Size
	}
	j.meter.tell = opts.Progress
	return j, nil
}

// sink takes what a reader finds. draft and item may refuse to go on with an error.
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
		if format, err = Detect(f.Name, head); err != nil {
			return err
		}
	}
	src := &source{in: buffered, name: filepath.Base(f.Name), zone: j.zone, agent: j.agent.ID, dialogue: j.opts.Dialogue, due: j.opts.Due}
	if err := src.readAs(format, j.guarded(to)); err != nil {
		return fmt.Errorf("read %s as %s: %w", f.Name, format, err)
	}
	return nil
}

// source is an opened file with what its reader must know.
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
		return fmt.Errorf("format %q is unknown; formats are %v", format, Formats)
	}
}

// guarded turns records with impossible times into bad lines, the same way in both readings.
func (j *job) guarded(to *sink) *sink {
	out := *to
	out.draft = func(d *draft) error {
		if reason := j.impossible(d.ep.At, d.undated); reason != "" {
			to.read(-max(1, len(d.said)))
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
		return fmt.Sprintf("at is %s, which is after now (%s)", at.UTC().Format(time.RFC3339), j.opts.Now.Format(time.RFC3339))
	case at.Before(earliest):
		return fmt.Sprintf("at is %s, which is before %s", at.UTC().Format(time.RFC3339), earliest.Format(time.DateOnly))
	}
	return ""
}

// earliest is the first time that a nanosecond count of 64 bits can say with room to spare, which stores rely on.
var earliest = time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)

// survey is the first reading: it validates and measures, and writes nothing.
func (j *job) survey() error {
	gauge := newGauge()
	for i, f := range j.files {
		err := j.read(f, &sink{
			draft: func(d *draft) error {
				if d.undated {
					j.undated[i]++
				}
				j.marks = append(j.marks, gauge.measure(d))
				return nil
			},
			item: func(dream.Item, int) error { return nil },
			bad: func(line int, reason string) {
				j.report.BadCount++
				if len(j.report.Bad) < MaxBad {
					j.report.Bad = append(j.report.Bad, BadLine{File: f.Name, Line: line, Reason: reason})
				}
			},
			read: func(n int) { j.report.Read += int64(n) },
		})
		if err != nil {
			return err
		}
	}
	j.meter.secondReading()
	return nil
}

// write is the second reading.
func (j *job) write() error {
	w := newWriter(j)
	lore := newKnowledge(j.agent.ID)
	ranks := newRanks(j.marks)
	next := 0
	for i, f := range j.files {
		seen := 0
		line := &thread{agent: j.agent.ID, zone: j.zone, done: func(ep *dream.Episode, d *draft) error {
			lore.hear(ep, d)
			j.report.sawEpisode(ep.At)
			return w.add(ep)
		}}
		err := j.read(f, &sink{
			draft: func(d *draft) error {
				if next == len(j.marks) {
					return errors.New("it grew between the two readings; import it again when it is at rest")
				}
				if d.undated {
					d.ep.At = j.standIn(f, seen, j.undated[i])
					seen++
				}
				ranks.settle(d, j.marks[next])
				next++
				return line.take(d)
			},
			item: func(item dream.Item, _ int) error {
				if item.Header().Kind == dream.KindSemantic {
					j.report.Semantics++
				}
				return w.add(item)
			},
			bad:  func(int, string) {},
			read: func(int) {},
		})
		if err == nil {
			err = line.end()
		}
		if err != nil {
			return err
		}
	}
	if j.report.Semantics < enough {
		if err := j.derive(lore, w); err != nil {
			return err
		}
	}
	if err := w.close(); err != nil {
		return err
	}
	j.meter.finish()
	return nil
}

// derive adds knowledge that the sources do not state themselves.
func (j *job) derive(lore *knowledge, w *writer) error {
	for _, entry := range lore.entries(j.opts) {
		j.report.Semantics++
		if err := w.add(entry); err != nil {
			return err
		}
	}
	return nil
}

// standIn is the time of the i-th of n undated records of a file: a second apart, the last at the file's own time.
func (j *job) standIn(f File, i, n int) time.Time {
	end := f.ModTime.UTC()
	if end.Before(earliest) || end.After(j.opts.Now) {
		end = j.opts.Now
	}
	return end.Truncate(time.Second).Add(-time.Duration(n-1-i) * time.Second)
}

func (r *Report) sawEpisode(at time.Time) {
	r.Episodes++
	if r.First.IsZero() || at.Before(r.First) {
		r.First = at
	}
	if at.After(r.Last) {
		r.Last = at
	}
}

package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

// job is one import.
type job struct {
	ctx     context.Context
	store   memory.Store
	agent   dream.Agent
	zone    *time.Location
	files   []File
	opts    Options
	report  Report
	marks   []derive.Marks   // one per episode of the first reading, in order
	times   []time.Time      // of the episodes of the first reading that carry one
	undated []int            // per file, episodes that carry no time
	first   []time.Time      // per file, the earliest time that an episode carries; zero for none
	formats []formats.Format // per file, as the first reading found them
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
		return nil,
			fmt.Errorf("import for %s: zone %q is not an IANA time zone such as Europe/Berlin", agent.Handle,
				agent.Zone)
	}
	j := &job{
		ctx:     ctx,
		store:   store,
		agent:   agent,
		zone:    zone,
		files:   files,
		opts:    opts,
		undated: make([]int, len(files)),
		first:   make([]time.Time, len(files)),
	}
	for _, f := range files {
		j.meter.total += f.Size
	}
	j.meter.progress = opts.Progress
	return j, nil
}

// survey is the first reading: it validates and measures, and writes nothing.
func (j *job) survey() error {
	gauge, err := j.past()
	if err != nil {
		return err
	}
	for i, f := range j.files {
		err := j.read(f, &formats.Sink{
			Draft: func(d *derive.Draft) error {
				if d.Undated {
					j.undated[i]++
				} else if j.first[i].IsZero() || d.Episode.At.Before(j.first[i]) {
					j.first[i] = d.Episode.At
				}
				if !d.Undated {
					j.times = append(j.times, d.Episode.At)
				}
				j.marks = append(j.marks, gauge.Measure(d))
				return nil
			},
			Item: func(dream.Item, int) error { return nil },
			Bad: func(line int, reason string) {
				j.report.BadCount++
				if len(j.report.Bad) < MaxBad {
					j.report.Bad = append(j.report.Bad, BadLine{File: f.Name, Line: line, Reason: reason})
				}
			},
			Read: func(n int) { j.report.Read += int64(n) },
		})
		if err != nil {
			return err
		}
	}
	j.meter.secondReading()
	j.report.Formats = j.formats
	return j.checkDated()
}

// remembered is how many of the agent's newest episodes an import continues.
const remembered = 50

// past is a gauge that has read what the agent remembers already.
func (j *job) past() (*derive.Gauge, error) {
	if j.store == nil { // only the times are read
		return derive.NewGauge(), nil
	}
	items, err := j.store.Find(j.ctx,
		memory.Query{Agent: j.agent.ID, Kinds: []dream.Kind{dream.KindEpisode}, Limit: remembered})
	if err != nil {
		return nil, fmt.Errorf("read what %s remembers already: %w", j.agent.Handle, err)
	}
	var existing []*dream.Episode
	for _, e := range memory.As[*dream.Episode](items) {
		if e.Taint != dream.FromDream {
			existing = append(existing, e)
		}
	}
	slices.Reverse(existing) // oldest first, as they were lived
	gauge := derive.NewGauge()
	gauge.Recall(existing)
	return gauge, nil
}

// checkDated refuses diaries without any date, unless another time was given: their memories would be dated today.
func (j *job) checkDated() error {
	var mute []string
	for i, f := range j.files {
		if j.formats[i] == formats.Diary && j.undated[i] > 0 && j.first[i].IsZero() {
			mute = append(mute, f.Name)
		}
	}
	if len(mute) == 0 || j.opts.FileTime || !j.opts.Date.IsZero() {
		return nil
	}
	return fmt.Errorf("%w in %s", ErrUndated, strings.Join(mute, ", "))
}

// write is the second reading.
func (j *job) write() error {
	w := newWriter(j)
	lore := derive.NewKnowledge(j.agent.ID)
	ranks := derive.NewRanks(j.marks)
	next := 0
	for i, f := range j.files {
		seen := 0
		line := &derive.Thread{Agent: j.agent.ID, Zone: j.zone, Done: func(ep *dream.Episode, d *derive.Draft) error {
			lore.Add(ep, d)
			j.report.sawEpisode(ep.At)
			return w.add(ep)
		}}
		err := j.read(f, &formats.Sink{
			Draft: func(d *derive.Draft) error {
				if next == len(j.marks) {
					return errors.New("it grew between the two readings; import it again when it is at rest")
				}
				if d.Undated {
					d.Episode.At = j.standIn(i, seen)
					seen++
				}
				ranks.Settle(d, j.marks[next])
				next++
				return line.Take(d)
			},
			Item: func(item dream.Item, _ int) error {
				if item.Header().Kind == dream.KindSemantic {
					j.report.Semantics++
				}
				return w.add(item)
			},
			Bad:  func(int, string) {},
			Read: func(int) {},
		})
		if err == nil {
			err = line.End()
		}
		if err != nil {
			return err
		}
	}
	if j.report.Semantics < derive.Plenty {
		if err := j.derive(lore, w); err != nil {
			return err
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	j.meter.finish()
	return nil
}

// derive adds knowledge that the sources do not state themselves.
func (j *job) derive(lore *derive.Knowledge, w *writer) error {
	for _, entry := range lore.Entries(derive.Aging{
		Now: j.opts.Now, HalfLife: j.opts.HalfLife, FadeBelow: j.opts.FadeBelow, Due: j.opts.Due,
	}) {
		j.report.Semantics++
		if err := w.add(entry); err != nil {
			return err
		}
	}
	return nil
}

// standIn is the time of an undated record of a file, counted from 0: a second apart, the last at the time that was
// given or, in a diary, just before its first entry that has a date; else at the file's own time.
func (j *job) standIn(file, record int) time.Time {
	end := j.files[file].ModTime.UTC()
	switch {
	case !j.opts.Date.IsZero():
		end = j.opts.Date.UTC()
	case j.formats[file] == formats.Diary && !j.first[file].IsZero():
		end = j.first[file].Add(-time.Second)
	case end.Before(formats.Earliest) || end.After(j.opts.Now):
		end = j.opts.Now
	}
	return end.Truncate(time.Second).Add(-time.Duration(j.undated[file]-1-record) * time.Second)
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

// Package importer imports memories from other formats into an agent's memory, fills in by plain local rules what a
// source lacks, and exports everything again.
//
// An import reads its files twice. The first reading validates every record and measures the import as a whole,
// because salience is a rank within it; the second writes. No rule calls a model or a network. What a
// rule filled in is named in the item's Derived list:
//
//   - at: the file's own time, records of one file a second apart, when the source tells no time.
//   - context: weekday, part of day and month; who was talking or where it stands; what was said just before.
//   - action: what was said or done first, courtesies left out.
//   - outcome: the reply; else the last sentence; else what came next; else a sentence that quotes the words.
//   - salience: words that tell of a turn of events, feeling, names, numbers, questions, words never met before and
//     length, weighed and ranked; the upper tenth of an import lies at .7 and above.
//   - surprise: the share of words that the fifty episodes before lack, of this import and of what the agent
//     remembers already. It is no rank: in a life where every day is like the one before it is low throughout.
//   - affect: the mean of what the words carry in a built-in list, negation and stress heeded.
//   - knowledge: subjects and statements that come up again and again, with their sources; its strength grows with how
//     often and fades with how long ago. A source that states twenty entries of its own gets none added.
//
// Talk becomes one episode per exchange: what somebody said and what was answered.
//
// An import stores items first, so that their words are found at once, and embeds them afterwards. Memories that are
// here already are embedded anew when their agent gets another embedder.
package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer/formats"
)

// The limits of one import.
const (
	MaxBad    = 1000 // bad lines that are listed one by one; the rest are only counted
	MaxEmbed  = 64   // texts in one call of Embed
	farFuture = 24 * time.Hour
)

// ErrStrict is returned when Strict was set and a record was bad: nothing was written.
var ErrStrict = errors.New("strict import refused")

// ErrUndated is returned for a diary without any date when no other time was given: nothing was written.
var ErrUndated = errors.New("no date is told")

// File is one source. Open is called twice, once for each reading.
type File struct {
	Name    string
	Size    int64     // bytes, for progress; 0 when unknown
	ModTime time.Time // the time of records that carry none
	Open    func() (io.ReadCloser, error)
}

// Embed returns one vector per text and the name of their space.
type Embed func(ctx context.Context, texts []string) (vectors [][]float32, space string, err error)

// Options of an import. The zero value detects the format, writes 500 items at a time and makes no vectors.
type Options struct {
	Format   formats.Format // empty: detected file by file
	Dialogue string         // LoCoMo: sample id or number from 1; empty reads all
	// the time of records without one, in the place of the file's own
	Date time.Time
	// a diary without any date is taken as of its file's own time; else ErrUndated
	FileTime bool
	Strict   bool // on one bad record write nothing
	// only records from From on and before To are read, so that a life can be imported day by day; zero is no bound.
	// With From, records without a time are left out
	From, To time.Time
	// later times than a day after it are refused; zero is the clock's
	Now time.Time
	// embeds at once what was stored, at most MaxEmbed texts a call; nil: the caller embeds later
	Embed     Embed
	Storing   func(ctx context.Context) error // called before each write; nil: nothing is
	Progress  func(done, total int64)         // bytes of the sources; the last call has done == total
	BatchSize int                             // items of one transaction
	// ages the strength of derived knowledge; 30 days when zero
	HalfLife  time.Duration
	FadeBelow float64                                        // derived knowledge begins above it; .2 when zero
	Due       func(at time.Time, strength float64) time.Time // when knowledge fades; nil leaves it without a due time
}

// BadLine is a record that could not be read.
type BadLine struct {
	File   string `json:"file"`
	Line   int    `json:"line"` // from 1; where the record begins
	Reason string `json:"reason"`
}

// String is "file:line: reason".
func (b BadLine) String() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Reason) }

// Report says what an import did.
type Report struct {
	Read      int64            `json:"read"`      // records parsed: lines, turns of talk, diary passages
	Added     int              `json:"added"`     // items new to the memory, derived knowledge included
	Existing  int              `json:"known"`     // items that existed already, or twice in the source
	Bad       []BadLine        `json:"bad"`       // the first MaxBad
	BadCount  int64            `json:"bad_count"` // all of them
	Episodes  int              `json:"episodes"`  // episodes found in the sources
	Semantics int              `json:"semantics"` // knowledge found in the sources or derived from them
	First     time.Time        `json:"first"`     // the earliest episode
	Last      time.Time        `json:"last"`      // the latest
	Formats   []formats.Format `json:"formats"`   // the formats of the files, in their order
}

// Nothing says whether the files hold no item at all, neither new nor existing.
func (r Report) Nothing() bool { return r.Added == 0 && r.Existing == 0 }

// Import reads the files into the agent's memory. Bad records are reported and the rest is imported; with Strict any
// bad record ends in ErrStrict before the first write. Ids come from content, so a second import of the same files
// adds nothing, and an interrupted import is finished by repeating it. With Options.Embed, existing
// items without a vector get theirs; otherwise the process that serves the agent embeds them in the background.
func Import(ctx context.Context, store memory.Store, agent dream.Agent, files []File, opts Options) (Report, error) {
	job, err := newJob(ctx, store, agent, files, opts)
	if err != nil {
		return Report{}, err
	}
	if err := job.survey(); err != nil {
		return job.report, err
	}
	if opts.Strict && job.report.BadCount > 0 {
		return job.report, fmt.Errorf("%w: %d bad records, the first is %s; nothing was written",
			ErrStrict, job.report.BadCount, job.report.Bad[0])
	}
	if err := job.write(); err != nil || opts.Embed == nil {
		return job.report, err
	}
	_, err = Reembed(ctx, store, agent, Embedder{Embed: opts.Embed, Stay: true}, nil)
	return job.report, err
}

// Times reads the times of all episodes in the files, the earliest first, and writes nothing. Episodes that tell no
// time are left out; where none tells one, ErrUndated.
func Times(ctx context.Context, agent dream.Agent, files []File, opts Options) ([]time.Time, Report, error) {
	job, err := newJob(ctx, nil, agent, files, opts)
	if err != nil {
		return nil, Report{}, err
	}
	if err := job.survey(); err != nil {
		return nil, job.report, err
	}
	slices.SortFunc(job.times, time.Time.Compare)
	return job.times, job.report, nil
}

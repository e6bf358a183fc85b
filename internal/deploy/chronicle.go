package deploy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/journal"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/review"
	"github.com/seed-56a03226/oneiros/internal/sample"
	"github.com/seed-56a03226/oneiros/starter"
)

// ChronicleRequest is a life to be played.
type ChronicleRequest struct {
	Path string // a file or a folder of files in any format that can be imported, or the name of a sample.Chronicle
	Dir  string // where it is played; empty: "life" in the data folder
}

// Chronicle is a diary that is played day by day, in a deployment of its own with the built-in model. What an agent has
// not lived yet is not in its store.
type Chronicle struct {
	*Deployment
	Engine    Engine
	Agent     dream.Agent // lives all days, and dreams
	Sleepless dream.Agent // lives all days, and never dreams
	Novice    dream.Agent // lives and dreams the first day only
	Days      []time.Time // the beginning of each day, from the first with an entry to the last, in UTC
	Name      string

	files []importer.File
	clock *chronicleClock
}

// chronicleClock is the time in a life.
type chronicleClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *chronicleClock) get() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *chronicleClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// chronicleMark is the file that marks a folder as one in which a life was played, which the next life may replace.
const chronicleMark = "life-of-the-demo"

// Chronicle prepares a life: it reads the times of the diary, empties the folder of the life before, and starts a
// Temporal server and a worker. Of the configuration only the knobs of dreams apply.
func (d *Process) Chronicle(ctx context.Context, r ChronicleRequest, tell func(string, ...any)) (*Chronicle, error) {
	c, err := d.config()
	if err != nil {
		return nil, err
	}
	files, name, err := chronicleFiles(r.Path)
	if err != nil {
		return nil, err
	}
	l := &Chronicle{Name: name, files: files, clock: &chronicleClock{}}
	l.Agent = sample.Diarist(handleOf(name), time.Now())
	l.Sleepless, l.Novice = sample.Diarist("never-dreamt", time.Now()), sample.Diarist("first-evening", time.Now())
	times, report, err := importer.Times(ctx, l.Agent, files, importer.Options{})
	if err == nil && len(times) == 0 {
		err = importer.ErrUndated
	}
	if err := unreadable(cmp.Or(r.Path, name), report, err); err != nil {
		return nil, err
	}
	l.Days = daysOf(times)
	l.clock.set(l.Days[0])
	dir := cmp.Or(r.Dir, filepath.Join(c.DataDir, "life"))
	if err := emptyChronicle(dir); err != nil {
		return nil, err
	}
	plain, err := sampleConfig(dir, c)
	if err != nil {
		return nil, err
	}
	// The question at the end is answered from what recall finds, however busy the machine is, and not from the journal.
	plain.Serve.RecallBudget, plain.Agent.Digest = recallPatience, journal.DigestOff
	h, err := build(ctx, plain, plain.StorePath())
	if err != nil {
		return nil, err
	}
	h.Dir, h.Clock = dir, l.clock.get
	l.Deployment = h
	for _, a := range []dream.Agent{l.Agent, l.Sleepless, l.Novice} {
		if err := h.store.PutAgent(ctx, a); err != nil {
			return nil, errors.Join(err, h.store.Close())
		}
	}
	l.Engine, err = d.ForOneDream(ctx, h, tell)
	if err != nil {
		return nil, errors.Join(err, h.store.Close())
	}
	return l, nil
}

// unreadable says why a life cannot be read; nil when it can.
func unreadable(name string, report importer.Report, err error) error {
	switch {
	case errors.Is(err, importer.ErrUndated):
		return exit.Usagef("%s holds no dated entry; a life is a diary under dated headings, or another file with times",
			name)
	case err != nil:
		return fmt.Errorf("read the life %s: %w", name, err)
	case report.BadCount > 0:
		return exit.Usagef("%s: %d entries cannot be read, the first is %s", name, report.BadCount, report.Bad[0])
	}
	return nil
}

// recallPatience is how long the question at the end waits for memories.
const recallPatience = 5 * time.Second

// chronicleFiles are the files of a life and its name: one that ships, a file, or all files of a folder.
func chronicleFiles(at string) ([]importer.File, string, error) {
	for _, chronicle := range sample.Chronicles() {
		if at == chronicle.Name || at == "" {
			return []importer.File{{
				Name: chronicle.Name + ".md",
				Size: int64(len(chronicle.Text)),
				Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(chronicle.Text)), nil },
			}}, chronicle.Name, nil
		}
	}
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "",
			exit.NotFoundf("there is no life %s; name a file, a folder, or one that ships: %s", at,
				strings.Join(sample.ChronicleNames, ", "))
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the life: %w", err)
	}
	paths := []string{at}
	if info.IsDir() {
		paths = nil
		entries, err := os.ReadDir(at)
		if err != nil {
			return nil, "", fmt.Errorf("read the life: %w", err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() {
				paths = append(paths, filepath.Join(at, e.Name()))
			}
		}
	}
	if len(paths) == 0 {
		return nil, "",
			exit.Usagef("the folder %s holds no file; a life is a diary or another file that memory import reads", at)
	}
	var files []importer.File
	for _, path := range paths {
		files = append(files, importer.File{
			Name: path,
			Open: func() (io.ReadCloser, error) { return os.Open(path) },
		})
	}
	base := filepath.Base(filepath.Clean(at))
	return files, base[:len(base)-len(filepath.Ext(base))], nil
}

// longestHandle is the length of the longest handle that is made of the name of a life.
const longestHandle = 20

// handleOf makes a handle of the name of a life.
func handleOf(name string) string {
	var letters []rune
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && len(letters) > 0 {
			letters = append(letters, r)
		}
	}
	letters = letters[:min(len(letters), longestHandle)]
	if len(letters) == 0 {
		return "life"
	}
	return string(letters)
}

// daysOf are the beginnings of all days from the first time to the last.
func daysOf(times []time.Time) []time.Time {
	var days []time.Time
	last := times[len(times)-1]
	for day := times[0].UTC().Truncate(24 * time.Hour); !day.After(last); day = day.AddDate(0, 0, 1) {
		days = append(days, day)
	}
	return days
}

// emptyChronicle makes the folder of a life. What an earlier life left there is removed; a folder with anything else is
// refused, and so is one where a life is played at the moment.
func emptyChronicle(dir string) error {
	own := markedFolder{
		dir: dir, server: dir, mark: chronicleMark, of: "a life",
		says: "oneiros demo played a life here. The next one begins with an empty folder.\n",
	}
	if err := own.check(); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("empty the folder of the life before: %w", err)
	}
	return own.create()
}

// Evening is the end of a day, as of which its night is dreamt.
func (l *Chronicle) Evening(day int) time.Time { return l.Days[day].AddDate(0, 0, 1).Add(-time.Second) }

// Live lets an agent live a day: its entries are imported, and the clock moves to the evening. It returns how many
// entries the day has.
func (l *Chronicle) Live(ctx context.Context, a dream.Agent, day int) (int, error) {
	l.clock.set(l.Evening(day))
	options := l.importOptions(a)
	options.From, options.To, options.Now = l.Days[day], l.Days[day].AddDate(0, 0, 1), l.Evening(day)
	report, err := importer.Import(ctx, l.store, a, l.files, options)
	if err != nil {
		return 0, fmt.Errorf("live %s: %w", l.Days[day].Format(time.DateOnly), err)
	}
	return report.Episodes, nil
}

// LookUp compares what was foretold with what was lived until now.
func (l *Chronicle) LookUp(ctx context.Context, a dream.Agent) (review.LookedUp, error) {
	return l.ports().Resolver().LookUp(ctx, a.ID)
}

// Dream dreams the night of a day and returns its record when it has ended.
func (l *Chronicle) Dream(ctx context.Context, a dream.Agent, day int) (*dream.Record, error) {
	seed := uint64(day + 1)
	record, err := l.dreamNight(ctx, l.Engine, starter.DreamRequest{Agent: a.ID, Seed: &seed, AsOf: l.Evening(day)})
	if err != nil {
		return nil, fmt.Errorf("the dream of %s: %w", l.Days[day].Format(time.DateOnly), err)
	}
	return record, nil
}

// dreamNight dreams once and returns the record when the dream has ended.
func (h *Deployment) dreamNight(ctx context.Context, e Engine, r starter.DreamRequest) (*dream.Record, error) {
	begun, err := e.Workflows().Begin(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("begin it: %w", err)
	}
	for {
		heads, err := h.Events.Heads(ctx, r.Agent)
		if err != nil {
			return nil, err
		}
		record, err := memory.One[*dream.Record](ctx, h.store, r.Agent, begun.Dream)
		if err != nil || record.Outcome != dream.Dreaming {
			return record, err
		}
		soon, cancel := context.WithTimeout(ctx, lookAgain)
		err = h.Events.Await(soon, r.Agent, heads[r.Agent])
		cancel()
		if err != nil && soon.Err() == nil || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// lookAgain is how long the news of a dream's end may be late.
const lookAgain = 25 * time.Millisecond

// Answer is what an agent says to a question, and what it was reminded of.
type Answer struct {
	Text       string
	Background string // as it stood before the model; empty when nothing was recalled
	Recalled   int
}

// Ask asks an agent a question as a client does: it wakes, recalls, and answers.
func (l *Chronicle) Ask(ctx context.Context, a dream.Agent, question string) (Answer, error) {
	s := l.starter()
	if e, ok := l.Engine.(*engine); ok { // it knows the cluster, so that the workflows learn of the wake
		s = e.starter
	}
	being := l.service(s)
	caller := psyche.Caller{Key: access.Key{Role: access.Owner}}
	const talk = "demo"
	reply, report, err := being.Say(ctx, psyche.Turn{Caller: caller, Agent: a.ID, Conversation: talk}, question, nil)
	err = errors.Join(err, being.Close(ctx)) // afterwards the background has been stored
	if err != nil {
		return Answer{}, fmt.Errorf("ask %s: %w", a.Handle, err)
	}
	answer := Answer{Text: reply.Text, Recalled: report.Recalled}
	answer.Background, err = being.Background(ctx, caller, a.ID, talk)
	return answer, err
}

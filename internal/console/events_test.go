package console_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// listener is a fixture whose agents write events, and whose command line can be stopped with Ctrl-C.
type listener struct {
	*fixture
	n    int
	log  fabric.Log
	kept *archive.Archive
}

func newListener(t *testing.T, agents ...string) *listener {
	t.Helper()
	l := &listener{fixture: newFixture(t)}
	for _, agent := range agents {
		require.NoError(t, l.store.PutAgent(t.Context(), dream.Agent{
			ID:      "id-" + agent,
			Handle:  agent,
			Zone:    "Europe/Berlin",
			Tier:    dream.Core,
			Created: now,
		}))
	}
	return l
}

func (l *listener) announce(agent, dreamID string, payloads ...event.Payload) {
	l.Helper()
	for _, p := range payloads {
		l.n++
		e := event.New(fmt.Sprint("e", l.n), "id-"+agent, dreamID, now.Add(time.Duration(l.n)*10*time.Minute), p)
		_, err := l.store.Commit(context.Background(),
			memory.Write{Agent: e.Agent, Cause: "test", Events: []event.Event{e}})
		require.NoError(l, err)
	}
}

// commandLine runs one command line on the fixture's deployment, with another log or an archive where they are set.
func (l *listener) commandLine(ctx context.Context, out, warn io.Writer, args ...string) int {
	l.Helper()
	l.run(0, "version")
	open := l.app.Backend.Open
	app := &cli.App{
		Out:  out,
		Err:  warn,
		In:   strings.NewReader(""),
		Now:  l.app.Now,
		Zone: "UTC",
		Backend: backend{open: func(ctx context.Context) (*deploy.Deployment, error) {
			h, err := open(ctx)
			if l.log != nil {
				h.Events = l.log
			}
			if l.kept != nil {
				h.Archive = func() (*archive.Archive, error) { return l.kept, nil }
			}
			return h, err
		}},
	}
	return console.Run(ctx, app, args)
}

// following is a command line that runs until it is stopped.
type following struct {
	*testing.T
	lines *bufio.Scanner
	warn  *bufio.Scanner
	leave context.CancelFunc
	code  chan int
}

func (l *listener) follow(args ...string) *following {
	l.Helper()
	ctx, leave := context.WithCancel(context.Background())
	out, in := io.Pipe()
	warnings, warn := io.Pipe()
	f := &following{
		T:     l.T,
		lines: bufio.NewScanner(out),
		warn:  bufio.NewScanner(warnings),
		leave: leave,
		code:  make(chan int, 1),
	}
	l.Cleanup(func() { leave(); _ = out.Close(); _ = warnings.Close() })
	l.run(0, "version") // before another goroutine uses the fixture
	go func() {
		f.code <- l.commandLine(ctx, in, warn, append([]string{"events", "--follow"}, args...)...)
		_ = in.Close()
		_ = warn.Close()
	}()
	return f
}

// next is the next line with an event.
func (f *following) next() string {
	f.Helper()
	for f.lines.Scan() {
		if line := f.lines.Text(); strings.HasPrefix(line, " ") || strings.HasPrefix(line, "{") {
			return line
		}
	}
	require.Fail(f, "it ended by itself")
	return ""
}

func (f *following) end() {
	f.Helper()
	f.leave()
	require.Equal(f, exit.OK, <-f.code, "Ctrl-C is how following ends")
}

func shortDream(l *listener, agent, id string) {
	l.announce(agent, id,
		event.DreamStarted{Tier: dream.Hardened, Seed: 7, Budget: 500_000},
		event.OnsetStarted{
			Depth:    dream.Shallow,
			Budget:   50_000,
			Bias:     "broad",
			Selected: 270,
			Shown:    118,
		},
		event.DepthChanged{From: dream.Shallow, To: dream.Peak, Temperature: 1.41},
		event.FragmentCaptured{Fragment: id + "/onset/c1-p1", Novelty: .6, Distance: .7, Composite: .65},
		event.FragmentFlagged{Fragment: id + "/onset/c1-p1", By: "policy/assets", Bars: true},
		event.FragmentDiscarded{Fragment: id + "/onset/c1-p2", Reason: "below the floor", Composite: .04},
		event.DreamEnded{Outcome: dream.Completed, Spent: 21_400, Kept: 1},
	)
	l.announce(agent, "", event.AgentAwake{Epoch: 3, Cause: "connect"})
}

func TestEventsArePrintedInOrder(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	require.Equal(t, exit.OK, l.run(80, "events"))
	require.Contains(t, l.err.String(), "Nothing was announced of echo yet.")
	shortDream(l, "echo", "dream/echo/0001")
	shortDream(l, "echo", "dream/echo/0002")
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, l.run(width, "events"))
		l.golden(fmt.Sprintf("events-%d", width))
	}
	require.Equal(t, exit.OK,
		l.run(200, "events", "--from", "14", "--type", "FragmentFlagged", "--type", "dreamended,AgentAwake"))
	l.golden("events-from-200")
	require.Equal(t, exit.OK, l.run(0, "events", "--last", "2", "--type", "DreamEnded", "--json"))
	var seqs []int64
	for line := range strings.Lines(l.out.String()) {
		var e event.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		require.Equal(t, "DreamEnded", e.Type)
		seqs = append(seqs, e.Seq)
	}
	require.Equal(t, []int64{7, 15}, seqs)
}

func TestEventsOfAllAgentsArePrintedByTime(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo", "vega")
	shortDream(l, "echo", "dream/echo/0001")
	shortDream(l, "vega", "dream/vega/0001")
	l.announce("echo", "", event.AgentAsleep{Epoch: 3})
	require.Equal(t, exit.OK, l.run(200, "events"))
	l.golden("events-all-200")
	require.Equal(t, exit.OK, l.run(200, "events", "--last", "3"))
	require.Equal(t, 3, strings.Count(l.out.String(), ":"+"00  "), l.out.String())
	require.Equal(t, exit.OK, l.run(200, "events", "--agent", "vega", "--last", "1"))
	require.Contains(t, l.out.String(), "      8  ")
}

// Clocks of workers differ, and some events carry the time of their activity: each agent's events keep the order of
// its log even so.
func TestEventsOfAllAgentsKeepTheOrderOfEachWhateverTheirTimes(t *testing.T) {
	t.Parallel()
	agents := []string{"echo", "nova", "vega"}
	l := newListener(t, agents...)
	for i := range 120 {
		agent := "id-" + agents[i%3]
		e := event.New(fmt.Sprint("e", i), agent, "", now.Add(time.Duration(i*7919%97)*time.Minute),
			event.AgentAsleep{Epoch: int64(i)})
		_, err := l.store.Commit(t.Context(), memory.Write{Agent: agent, Cause: "test", Events: []event.Event{e}})
		require.NoError(t, err)
	}
	for _, last := range []string{"1000", "50", "7"} {
		l.ok(0, "events", "--json", "--last", last)
		seen := map[string]int64{}
		for line := range strings.Lines(l.out.String()) {
			var e event.Event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if before, ok := seen[e.Agent]; ok {
				require.Equal(t, before+1, e.Seq, "%s, of the last %s", e.Agent, last)
			}
			seen[e.Agent] = e.Seq
		}
		for _, newest := range seen {
			require.EqualValues(t, 40, newest)
		}
	}
}

// A store may come back without its newest events, such as a Redis that had not written them to disk: the events that
// take their numbers are printed too.
func TestFollowingAStoreThatLostItsNewestLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--agent", "echo"}, nil} {
		l := newListener(t, "echo", "vega")
		l.announce(
			"echo",
			"",
			event.AgentAwake{Epoch: 1, Cause: "connect"},
			event.AgentAwake{Epoch: 2, Cause: "connect"},
			event.AgentAwake{Epoch: 3, Cause: "connect"},
		)
		put := newListener(t, "echo", "vega")
		put.announce("echo", "", event.AgentAwake{Epoch: 1, Cause: "connect"})
		log := &replaced{}
		log.serve(l.store)
		l.log = log
		f := l.follow(args...)
		for _, epoch := range []string{"epoch 1", "epoch 2", "epoch 3"} {
			require.Contains(t, f.next(), epoch)
		}
		log.serve(nil) // the store does not answer
		require.True(t, f.warn.Scan())
		require.Contains(t, f.warn.Text(), "waiting for it")
		log.serve(put.store)
		for f.warn.Scan() && !strings.Contains(f.warn.Text(), "without the newest") {
		}
		require.Contains(t, f.warn.Text(),
			"echo: the store came back with 1 event and without the newest events; new events are shown")
		go func() {
			for f.warn.Scan() { // other warnings may come
			}
		}()
		put.announce("echo", "", event.AgentAwake{Epoch: 20, Cause: "connect"},
			event.AgentAwake{Epoch: 30, Cause: "connect"}, event.AgentAwake{Epoch: 40, Cause: "connect"})
		for _, epoch := range []string{"epoch 20", "epoch 30", "epoch 40"} {
			require.Contains(t, f.next(), epoch)
		}
		f.end()
	}
}

// replaced is a log that fails for a while and is another one afterwards.
type replaced struct{ current atomic.Pointer[servedLog] }

type servedLog struct {
	fabric.Log
	closed chan struct{} // closed when it is replaced: who waits for its events is told
}

func (r *replaced) serve(log fabric.Log) {
	var next *servedLog
	if log != nil {
		next = &servedLog{log, make(chan struct{})}
	}
	if before := r.current.Swap(next); before != nil {
		close(before.closed)
	}
}

func (r *replaced) log() (fabric.Log, error) {
	if h := r.current.Load(); h != nil {
		return h.Log, nil
	}
	return nil, fmt.Errorf("read: %w", memory.ErrAway)
}

func (r *replaced) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	log, err := r.log()
	if err != nil {
		return nil, err
	}
	return log.Events(ctx, agent, after, limit)
}

func (r *replaced) Heads(ctx context.Context, agents ...string) (map[string]int64, error) {
	log, err := r.log()
	if err != nil {
		return nil, err
	}
	return log.Heads(ctx, agents...)
}

func (r *replaced) Await(ctx context.Context, agent string, after int64) error {
	h := r.current.Load()
	if h == nil {
		return fmt.Errorf("wait: %w", memory.ErrAway)
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-h.closed:
			stop()
		case <-waiting.Done():
		}
	}()
	err := h.Await(waiting, agent, after)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("wait: %w", memory.ErrAway)
	}
	return err
}

func TestEventsFromWhereThereAreNone(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	l.announce("echo", "", event.AgentAwake{Epoch: 1, Cause: "connect"})
	require.Equal(t, exit.OK, l.run(80, "events", "--from", "5"))
	require.Empty(t, l.out.String())
	require.Contains(t, flat(l.err.String()), "echo has 1 event; there is no number 5 yet. --follow waits for it.")
	for _, wrong := range []struct {
		args []string
		why  string
	}{
		{[]string{"--from", "0"}, "--from is 0; events are numbered from 1 on"},
		{[]string{"--from", "-3"}, "--from is -3; events are numbered from 1 on"},
		{[]string{"--last", "-1"}, "--last is -1; it must be 0 or more"},
		{[]string{"--from", "1", "--last", "2"}, "keep one"},
		{[]string{"--type", "Dreamt"}, `--type is "Dreamt"; oneiros events types names what there is`},
		{
			[]string{"--type", "FragmentCapture"},
			`--type is "FragmentCapture"; did you mean FragmentCaptured? oneiros events types names what there is`,
		},
		{[]string{"frobnicate"}, "frobnicate"},
	} {
		require.Equal(t, exit.Usage, l.run(80, append([]string{"events"}, wrong.args...)...), wrong.args)
		require.Contains(t, flat(l.err.String()), wrong.why)
	}
	require.Equal(t, exit.NotFound, l.run(80, "events", "--agent", "nobody"))
	more := newListener(t, "echo", "vega")
	require.Equal(t, exit.Usage, more.run(80, "events", "--from", "1"))
	require.Contains(t, flat(more.err.String()),
		"--from counts the events of one agent; say which one with --agent (echo, vega)")
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestFollowingPrintsNewEvents(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	l.announce("echo", "", event.AgentAwake{Epoch: 1, Cause: "connect"}, event.AgentAsleep{Epoch: 1})
	f := l.follow("--from", "2")
	require.Contains(t, f.next(), "      2  ")
	l.announce("echo", "", event.AgentAwake{Epoch: 2, Cause: "operator"})
	require.Contains(t, f.next(), "epoch 2")
	f.end()
}

func TestFollowingBeyondTheEndWaits(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	l.announce("echo", "", event.AgentAwake{Epoch: 1, Cause: "connect"})
	f := l.follow("--from", "4")
	require.True(t, f.warn.Scan())
	require.Contains(t, f.warn.Text(), "echo has 1 event; waiting for number 4.")
	l.announce("echo", "", event.AgentAsleep{Epoch: 1}, event.AgentAwake{Epoch: 2, Cause: "connect"},
		event.AgentAsleep{Epoch: 2})
	require.Contains(t, f.next(), "      4  ")
	f.end()
}

func TestFollowingAllAgentsIncludesNewOnes(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo", "vega")
	l.announce("vega", "", event.AgentAwake{Epoch: 1, Cause: "connect"})
	f := l.follow("--type", "AgentAwake", "--json")
	require.Contains(t, f.next(), `"agent":"id-vega"`)
	require.NoError(t, l.store.PutAgent(t.Context(), dream.Agent{
		ID:      "id-nova",
		Handle:  "nova",
		Zone:    "UTC",
		Tier:    dream.Core,
		Created: now,
	}))
	l.announce("nova", "", event.AgentAsleep{Epoch: 1}, event.AgentAwake{Epoch: 2, Cause: "connect"})
	require.Contains(t, f.next(), `"seq":2,"schema":1,"subsystem":"hypnagogia","agent":"id-nova"`)
	f.end()
}

// leaving is a log whose store fails and comes back.
type leaving struct {
	fabric.Log
	away atomic.Bool
}

func (l *leaving) after(err error) error {
	if l.away.Load() {
		return fmt.Errorf("read: %w", memory.ErrAway)
	}
	return err
}

func (l *leaving) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	if err := l.after(nil); err != nil {
		return nil, err
	}
	return l.Log.Events(ctx, agent, after, limit)
}

func (l *leaving) Await(ctx context.Context, agent string, after int64) error {
	return l.after(l.Log.Await(ctx, agent, after))
}

func TestFollowingOutlastsAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	log := &leaving{Log: l.store}
	l.log = log
	l.announce("echo", "", event.AgentAwake{Epoch: 1, Cause: "connect"})
	f := l.follow("--from", "1")
	require.Contains(t, f.next(), "epoch 1")
	log.away.Store(true)
	l.announce(
		"echo",
		"",
		event.AgentAwake{Epoch: 2, Cause: "connect"},
		event.AgentAwake{Epoch: 3, Cause: "connect"},
	)
	require.True(t, f.warn.Scan())
	require.Contains(t, f.warn.Text(), "The store is away (read: away); waiting for it.")
	log.away.Store(false)
	require.True(t, f.warn.Scan())
	require.Contains(t, f.warn.Text(), "The store is back.")
	require.Contains(t, f.next(), "epoch 2")
	require.Contains(t, f.next(), "epoch 3")
	f.end()
}

func TestTheCatalogueAndItsSchemaArePrinted(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "events", "types"))
		for _, name := range event.Types() {
			require.Contains(t, d.out.String(), name)
		}
	}
	require.Regexp(t, `(?m)^DreamStarted +a dream begins +first, once per dream$`, d.out.String())
	require.Equal(t, exit.OK, d.run(0, "events", "types", "--json"))
	var list []map[string]string
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &list))
	require.Len(t, list, len(event.Types()))
	require.Equal(t, exit.OK, d.run(0, "events", "schema"))
	require.Equal(t, string(event.JSONSchema()), d.out.String())
}

// An archive that makes no progress is not reported as fine.
func TestHealthHoldsTheArchiveAgainstTheLog(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo")
	root := filepath.Join(t.TempDir(), "archive")
	bucket, err := archive.Open(t.Context(), root)
	require.NoError(t, err)
	look := func(want string) {
		t.Helper()
		var out, warn bytes.Buffer
		l.commandLine(t.Context(), &out, &warn, "health", "--json")
		var result struct {
			Lines []struct{ Name, State, Found string }
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &result))
		found := "absent"
		for _, line := range result.Lines {
			if line.Name == "archive" {
				found = line.State + ": " + line.Found
			}
		}
		require.Contains(t, found, want)
	}
	announce := func(id string, ago time.Duration) {
		e := event.New(id, "id-echo", "", now.Add(-ago), event.AgentAsleep{Epoch: 1})
		_, err := l.store.Commit(
			t.Context(),
			memory.Write{Agent: "id-echo", Cause: "test", Events: []event.Event{e}},
		)
		require.NoError(t, err)
	}
	look("absent")
	l.kept = &archive.Archive{Log: l.store, Bucket: bucket, Now: func() time.Time { return now }, Every: time.Hour}
	look("fine: " + root + "; 0 events wait")
	announce("a", time.Minute)
	look("fine: " + root + "; 1 event waits")
	_, err = l.kept.Once(t.Context())
	require.NoError(t, err)
	announce("b", 2*time.Hour)
	look("look: events wait longer than archive.every says: echo (1 since 2026-11-20 05:00)")
	require.NoError(t,
		bucket.Replace(t.Context(), "position/id-echo.json", []byte(`{"seq":1,"event":"of another store"}`)))
	look("wrong: it holds other events than the store of echo")
}

func TestWhereTheArchiveStands(t *testing.T) {
	t.Parallel()
	l := newListener(t, "echo", "vega", "mute")
	require.Equal(t, exit.Refused, l.run(80, "events", "archive"))
	require.Contains(t, flat(l.err.String()), "nothing is archived: archive.url is empty")
	root := filepath.Join(t.TempDir(), "archive")
	bucket, err := archive.Open(t.Context(), root)
	require.NoError(t, err)
	l.kept = &archive.Archive{Log: l.store, Bucket: bucket, Now: func() time.Time { return now }}
	shortDream(l, "echo", "dream/echo/0001")
	_, err = l.kept.Once(t.Context())
	require.NoError(t, err)
	l.announce("echo", "", event.AgentAsleep{Epoch: 3})
	l.announce("vega", "", event.AgentAsleep{Epoch: 1})
	var out, warn bytes.Buffer
	require.Equal(t, exit.OK, l.commandLine(t.Context(), &out, &warn, "events", "archive"))
	l.out = out
	l.golden("events-archive-0")
	require.Contains(t, warn.String(), "The archive is "+root)
	out.Reset()
	require.Equal(t, exit.OK,
		l.commandLine(t.Context(), &out, &warn, "events", "archive", "--agent", "echo", "--json"))
	var result struct {
		Where  string
		Agents []struct {
			Agent             string
			Head, Seq, Behind int64
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &result))
	require.Equal(t, root, result.Where)
	require.Len(t, result.Agents, 1)
	require.Equal(t, "echo", result.Agents[0].Agent)
	require.Equal(
		t,
		[]int64{9, 8, 1},
		[]int64{result.Agents[0].Head, result.Agents[0].Seq, result.Agents[0].Behind},
	)

	other := newListener(t, "echo")
	other.announce("echo", "", event.AgentAsleep{Epoch: 1})
	other.kept = &archive.Archive{Log: other.store, Bucket: bucket, Now: time.Now}
	warn.Reset()
	require.Equal(t, exit.Failure, other.commandLine(t.Context(), &out, &warn, "events", "archive"))
	require.Contains(t, warn.String(), "echo: the archive holds other events of this agent than the store")
}

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// writeLog records what the store acknowledged.
type writeLog struct {
	mu     sync.Mutex
	kept   []string
	notes  []string
	steps  int
	reads  atomic.Int64
	faults []error
}

// work writes until ctx ends: two memories, a vector and an event together, a note, and one step of a shared counter.
func (d *writeLog) work(ctx context.Context, s *redisstore.Store, f memory.Fence, hand int) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("e-%d-%d", hand, i)
		_, err := s.Commit(ctx, memory.Write{
			Agent: echo, Fence: f, Add: []dream.Item{episode(id, id), episode(id+"-twin", id)},
			Vectors: []memory.Vector{{Item: id, Space: "flat/2", V: []float32{1, float32(i)}}},
			Events:  []event.Event{event.New(id, echo, f.Dream, noon, event.PatternFound{Prediction: id})},
		})
		d.note(ctx, err, func() { d.kept = append(d.kept, id) })
		_, err = s.PutNote(ctx, echo, f, id, []byte(id))
		d.note(ctx, err, func() { d.notes = append(d.notes, id) })
		d.strengthen(ctx, s)
	}
}

func (d *writeLog) strengthen(ctx context.Context, s *redisstore.Store) {
	item, err := memory.One[*dream.Semantic](ctx, s, echo, "shared")
	if err == nil {
		d.reads.Add(1)
		item.Strength += 1. / 1024
		_, err = s.Commit(ctx, memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{item}})
	}
	if !errors.Is(err, memory.ErrStale) {
		d.note(ctx, err, func() { d.steps++ })
	}
}

// note records an acknowledged write or its error. Calls that the end of the test interrupted count as neither.
func (d *writeLog) note(ctx context.Context, err error, keep func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil:
		keep()
	case ctx.Err() == nil:
		d.faults = append(d.faults, err)
	}
}

func (d *writeLog) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.kept)
}

// The server is killed during writes again and again. It restarts from its append-only file with everything that it
// ever acknowledged, complete writes only, each once. The store continues without a new Open.
func TestAServerKilledDuringCommitsLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	const hands, kills, between = 4, 4, 40
	server := redis.Start(t, redis.Fsync("always"))
	s := open(t, server.URL, "oneiros:", redisstore.Timeout(30*time.Second))
	f := memory.Fence{Dream: "echo/0001", Run: "r"}
	_, err := s.TakeSlot(t.Context(), echo, memory.Slot{Fence: f, Since: noon}, memory.Fence{})
	require.NoError(t, err)
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{semantic("shared", "tides", 0)}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var d writeLog
	var working sync.WaitGroup
	for hand := range hands {
		working.Go(func() { d.work(ctx, s, f, hand) })
	}
	follow := func(n int) {
		for goal := d.count() + n; d.count() < goal; {
			events, err := s.Events(t.Context(), echo, 0, 0)
			require.NoError(t, err)
			require.NoError(t, s.Await(t.Context(), echo, int64(len(events))))
		}
	}
	for range kills {
		follow(between)
		server.Kill()
		server.Restart()
	}
	follow(between)
	stop()
	working.Wait()
	require.NoError(t, errors.Join(d.faults...), "every call succeeded after the server's return")
	server.Restart()
	d.holds(t, s, f)
}

func (d *writeLog) holds(t *testing.T, s *redisstore.Store, f memory.Fence) {
	t.Helper()
	events, err := s.Events(t.Context(), echo, 0, 0)
	require.NoError(t, err)
	values := map[string]bool{}
	for i, e := range events {
		require.EqualValues(t, i+1, e.Seq)
		values[e.ID] = true
	}
	items, err := s.Find(t.Context(), memory.Query{Agent: echo, Kinds: []dream.Kind{dream.KindEpisode}})
	require.NoError(t, err)
	require.Len(t, items, 2*len(events), "a write is complete or absent")
	near, err := s.Near(t.Context(), memory.Near{Agent: echo, Space: "flat/2", V: []float32{1, 0}, Limit: 1 << 20})
	require.NoError(t, err)
	require.Len(t, near, len(events))
	for _, id := range d.kept {
		require.True(t, values[id], id)
	}
	for _, id := range d.notes {
		value, err := s.Note(t.Context(), echo, f.Dream, id)
		require.NoError(t, err)
		require.Equal(t, id, string(value))
	}
	history, err := s.Revisions(t.Context(), echo, "shared")
	require.NoError(t, err)
	made := len(history) - 1
	require.GreaterOrEqual(t, made, d.steps)
	require.LessOrEqual(t, made, d.steps+4, "only calls interrupted by the end of the test may be more")
	require.InDelta(t, float64(made)/1024, history[made].Item.Marks().Score, 1e-9)
	t.Logf("%d writes and %d steps acknowledged, %d found", len(d.kept), d.steps, len(events))
}

// A change whose reply was lost is neither made twice nor reported as stale.
func TestAWriteWhoseReplyWasLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, redis.Shared(t))
	s := open(t, w.url, redis.Prefix(t), redisstore.Connections(1), redisstore.Timeout(20*time.Second))
	ctx := t.Context()
	write(t, s,
		memory.Write{Cause: "import", Add: []dream.Item{semantic("s", "tides", 0), semantic("gone", "glass", 0)}})
	_, err := s.NextDream(ctx, "warm")
	require.NoError(t, err)
	_, err = s.Forget(ctx, echo, "gone")
	require.NoError(t, err)
	for round := range int64(3) {
		item, err := memory.One[*dream.Semantic](ctx, s, echo, "s")
		require.NoError(t, err)
		item.Strength += .125
		var r memory.Receipt
		w.lose(t, round+1, func() {
			r, err = s.Commit(ctx, memory.Write{
				Agent: echo, Cause: "d1", Add: []dream.Item{episode(fmt.Sprint("e", round), "x")},
				Change: []dream.Item{item},
				Events: []event.Event{event.New(fmt.Sprint("v", round), echo, "d1", noon, event.PatternFound{})},
			})
		})
		require.NoError(t, err)
		require.Equal(t, memory.Receipt{Added: 1, Changed: 1, LastSeq: round + 1}, r)
		history, err := s.Revisions(ctx, echo, "s")
		require.NoError(t, err)
		require.Len(t, history, int(round)+2)
		var n int64
		w.lose(t, round+1, func() { n, err = s.NextDream(ctx, echo) })
		require.NoError(t, err)
		require.Equal(t, round+1, n)
	}
}

// A server that is out of memory refuses a write before any part of it is done.
func TestAWriteToAFullServerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s := open(t, server.URL, "oneiros:")
	write(t, s, memory.Write{Cause: "import", Add: []dream.Item{semantic("s", "tides", 0)}})
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	stronger := semantic("s", "tides", .5)
	stronger.Due = noon.Add(2 * time.Hour)
	full := memory.Write{
		Agent: echo, Cause: "d1", Add: []dream.Item{episode("e", "x")}, Change: []dream.Item{stronger},
		Vectors: []memory.Vector{{Item: "e", Space: "flat/2", V: []float32{1, 0}}},
		Events:  []event.Event{event.New("v", echo, "d1", noon, event.PatternFound{})},
	}
	_, err := s.Commit(t.Context(), full)
	require.ErrorContains(t, err, "OOM")
	items, err := s.Find(t.Context(), memory.Query{Agent: echo, Sort: memory.SoonestDue})
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, 1, items[0].Header().Revision)
	space, err := s.Space(t.Context(), echo)
	require.NoError(t, err)
	require.Empty(t, space)
	require.NoError(t, server.Dial(t).ConfigSet(t.Context(), "maxmemory", "0").Err())
	r, err := s.Commit(t.Context(), full)
	require.NoError(t, err)
	require.Equal(t, memory.Receipt{Added: 1, Changed: 1, LastSeq: 1}, r)
}

package retention_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/retention"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

const (
	echo  = "echo"
	month = 30 * 24 * time.Hour
)

var dawn = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

// rig is a store with a sweeper, and the time for both.
type rig struct {
	*testing.T
	store *sqlitestore.Store
	now   time.Time
	*retention.Sweeper
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, now: dawn}
	s, err := sqlitestore.Open(t.Context(), ":memory:", sqlitestore.Clock(func() time.Time { return r.now }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.PutAgent(t.Context(), dream.Agent{ID: echo, Handle: echo}))
	r.store = s
	r.Sweeper = &retention.Sweeper{
		Store:  s,
		Ledger: s.Ledger(),
		Ages:   retention.Ages{Ledger: month, Events: month, Undo: month, Dreams: month},
		Now:    func() time.Time { return r.now },
		By:     "one",
	}
	return r
}

// live announces events, revises a memory and pays for calls, one of each a day.
func (r *rig) live(days int) {
	r.Helper()
	for n := range days {
		r.now = r.now.AddDate(0, 0, 1)
		s := &dream.Semantic{
			Head: dream.Head{
				ID:    "s",
				Agent: echo,
				Kind:  dream.KindSemantic,
				At:    dawn,
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: "tides", Strength: float64(n%9) / 10, Due: dawn.AddDate(9, 0, 0),
		}
		_, err := r.store.Commit(r.Context(), memory.Write{
			Agent: echo, Cause: "import", Add: []dream.Item{s}, Change: []dream.Item{s},
			Events: []event.Event{event.New(fmt.Sprint(r.now), echo, "", r.now, event.PatternFound{})},
		})
		require.NoError(r, err)
		h, err := r.store.Ledger().Reserve(r.Context(), spend.Ask{
			Step: fmt.Sprint("step ", r.now), Agent: echo, Amount: 1, At: r.now,
		})
		require.NoError(r, err)
		require.NoError(r, r.store.Ledger().Settle(r.Context(), h, spend.Bill{State: spend.Settled, At: r.now}))
	}
}

func (r *rig) pass() memory.Removed {
	r.Helper()
	removed, err := r.Pass(r.Context())
	require.NoError(r, err)
	return removed
}

func (r *rig) events() int {
	r.Helper()
	events, err := r.store.Events(r.Context(), echo, 0, 0)
	require.NoError(r, err)
	return len(events)
}

func TestWhatIsOlderThanItsAgeGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	require.Equal(t, memory.Removed{Attempts: 9, Events: 9, Revisions: 8}, r.pass())
	require.Equal(t, 31, r.events())
	require.Zero(t, r.pass().Sum())
	state, err := r.store.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, memory.SweepState{
		Began: r.now,
		Ended: r.now,
		Total: memory.Removed{Attempts: 9, Events: 9, Revisions: 8},
	}, state)
}

func TestManyEventsGoInSeveralSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for n := range 1000 {
		_, err := r.store.Commit(t.Context(), memory.Write{
			Agent: echo, Cause: "import",
			Events: []event.Event{event.New(fmt.Sprint(n), echo, "", r.now, event.PatternFound{})},
		})
		require.NoError(t, err)
	}
	r.now = r.now.AddDate(0, 3, 0)
	require.Equal(t, 999, r.pass().Events)
	require.Equal(t, 1, r.events(), "the newest stays")
}

func TestAnAgeOfZeroKeepsForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	r.Ages = retention.Ages{}
	r.now = r.now.AddDate(9, 0, 0)
	require.Zero(t, r.pass().Sum())
	require.Equal(t, 40, r.events())
}

func TestADryRunRemovesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	r.Dry = true
	require.Equal(t, memory.Removed{Attempts: 9, Events: 9}, r.pass())
	state, err := r.store.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, memory.SweepState{}, state)
	r.Dry = false
	require.Equal(t, memory.Removed{Attempts: 9, Events: 9, Revisions: 8}, r.pass())
}

func TestEventsGoOnlyOnceTheyAreArchived(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	archived := int64(4)
	r.Archived = func(context.Context, string) (int64, error) { return archived, nil }
	require.Equal(t, 4, r.pass().Events)
	archived = 40
	require.Equal(t, 5, r.pass().Events)
	away := errors.New("the bucket is away")
	r.Archived = func(context.Context, string) (int64, error) { return 0, away }
	r.live(9)
	_, err := r.Pass(t.Context())
	require.ErrorIs(t, err, away)
	require.Equal(t, 40, r.events())
	state, err := r.store.Swept(t.Context())
	require.NoError(t, err)
	require.Contains(t, state.Failure, "the bucket is away")
	require.Equal(t, 18, state.Total.Attempts, "the rest was swept")
	r.Archived = nil
	require.Equal(t, 9, r.pass().Events)
	state, err = r.store.Swept(t.Context())
	require.NoError(t, err)
	require.Empty(t, state.Failure)
}

func TestOneProcessSweepsAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	_, err := r.store.ChangeSwept(t.Context(), func(s memory.SweepState) (memory.SweepState, error) {
		s.Holder, s.Until = "another", r.now.Add(time.Minute)
		return s, nil
	})
	require.NoError(t, err)
	_, err = r.Pass(t.Context())
	require.ErrorIs(t, err, retention.ErrBusy)
	require.Equal(t, 40, r.events())
	r.now = r.now.Add(time.Minute) // it was killed: its claim has expired
	require.Positive(t, r.pass().Sum())
}

// stopping is a ledger whose process dies before its first folding.
type stopping struct {
	retention.Ledger
	stop context.CancelFunc
}

func (s stopping) Fold(ctx context.Context, _ []spend.Row) (int, error) {
	s.stop()
	return 0, ctx.Err()
}

func TestAPassThatWasStoppedIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.live(40)
	ctx, stop := context.WithCancel(t.Context())
	r.Ledger = stopping{r.store.Ledger(), stop}
	removed, err := r.Pass(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, memory.Removed{Events: 9, Revisions: 8}, removed)
	r.Ledger = r.store.Ledger()
	require.Equal(t, memory.Removed{Attempts: 9}, r.pass())
}

// A dream that another one took over keeps what it left, because the other goes on from it.
func TestWhatAnotherDreamTookOverStays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := func(n int) string { return fmt.Sprintf("dream/echo/%04d", n) }
	head := func(name string, kind dream.Kind, n int) dream.Head {
		return dream.Head{
			ID:    name,
			Agent: echo,
			Kind:  kind,
			At:    r.now,
			State: dream.Live,
			Taint: dream.FromDream,
			Dream: id(n),
		}
	}
	for n := range 60 {
		r.now = r.now.AddDate(0, 0, 1)
		record := &dream.Record{
			Head: head(id(n), dream.KindRecord, n), Outcome: dream.Completed, Tier: dream.Core, Ended: r.now,
		}
		switch n {
		case 9, 12, 50: // the next day, while the first is not removed yet, and long after
			record.Redreams = &dream.Redream{Dream: id(map[int]int{9: 8, 12: 3, 50: 20}[n]), From: dream.REM}
		}
		_, err := r.store.Commit(t.Context(), memory.Write{
			Agent: echo, Cause: "import",
			Add: []dream.Item{record, &dream.Fragment{Head: head(id(n)+"/1", dream.KindFragment, n), Content: "tides"}},
		})
		require.NoError(t, err)
		if n > 30 {
			r.pass()
		}
	}
	left, err := r.store.Find(t.Context(), memory.Query{
		Agent: echo, Kinds: []dream.Kind{dream.KindFragment}, Sort: memory.Oldest, Limit: 4,
	})
	require.NoError(t, err)
	var dreams []string
	for _, item := range left {
		dreams = append(dreams, item.Header().Dream)
	}
	require.Equal(t, []string{id(3), id(8), id(20), id(29)}, dreams)
}

// readStore counts the dreams whose memories are read.
type readStore struct {
	retention.Store
	dreams int
}

func (s *readStore) Find(ctx context.Context, q memory.Query) ([]dream.Item, error) {
	if q.Dream != "" {
		s.dreams++
	}
	return s.Store.Find(ctx, q)
}

// A dream that waits does not make each pass read the memories of all that were dreamt since.
func TestDreamsAfterOneThatWaitsAreReadOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	count := &readStore{Store: r.Store}
	r.Store = count
	put := func(n int) *dream.Record {
		r.now = r.now.AddDate(0, 0, 1)
		id := fmt.Sprintf("dream/echo/%04d", n)
		record := &dream.Record{
			Head: dream.Head{
				ID:    id,
				Agent: echo,
				Kind:  dream.KindRecord,
				At:    r.now,
				State: dream.Live,
				Taint: dream.FromDream,
				Dream: id,
			},
			Outcome: dream.Completed, Tier: dream.Core, Ended: r.now,
		}
		if n == 0 {
			record.Outcome, record.Until = dream.Interrupted, r.now.AddDate(1, 0, 0)
		}
		_, err := r.store.Commit(t.Context(), memory.Write{Agent: echo, Cause: "import", Add: []dream.Item{record}})
		require.NoError(t, err)
		return record
	}
	waits := put(0)
	for n := range 45 {
		put(n + 1)
		r.pass()
	}
	require.Equal(t, 14, count.dreams, "each that became old, once")
	waits.Outcome, waits.Until = dream.Completed, time.Time{}
	_, err := r.store.Commit(t.Context(), memory.Write{Agent: echo, Cause: "operator", Change: []dream.Item{waits}})
	require.NoError(t, err)
	r.pass()
	aged, err := r.store.Aged(t.Context(), echo)
	require.NoError(t, err)
	require.False(t, aged.Details.Before(dawn.AddDate(0, 0, 15)), "%s", aged.Details)
	before := count.dreams
	r.pass()
	require.Equal(t, before, count.dreams)
}

package retention_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/retention"
)

// quiet is an agent's life of weeks, of one night and one turn a day, before which no dream waits.
func quiet(t *testing.T, kind string, agents int, kept time.Duration) *world {
	t.Helper()
	w := newWorld(t, kind, span{
		agents: agents,
		days:   40,
		nights: 1,
		turns:  1,
		kept:   kept,
	})
	w.noneWaits = true
	w.begin()
	return w
}

// keepsAll checks the promises two days after a dream that changed a memory.
func (w *world) keepsAll() {
	w.Helper()
	w.change("dream/iris00/9004")
	for range 2 {
		w.now = w.now.Add(day)
		w.respond()
		w.pass()
	}
	require.NoError(w, w.broken())
	state, err := w.store.Swept(w.Context())
	require.NoError(w, err)
	require.Positive(w, state.Total.Items)
	require.Positive(w, state.Total.Events)
	require.Positive(w, state.Total.Attempts)
}

func (w *world) pass() {
	w.Helper()
	_, err := w.sweeps.Pass(w.Context())
	require.NoError(w, err)
}

// The clock goes back an hour, as a host does whose clock shows local time, between two passes and before a dream.
func TestAClockThatGoesBackAnHourBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 1, 4*day)
		w.live(0, 20, true)
		w.now = w.now.Add(-time.Hour)
		w.dream(agentID(0), "dream/iris00/8001", dream.Completed)
		w.turn(agentID(0), "talk/iris00/again", "ada0")
		w.pass()
		w.live(20, 33, true)
		w.keepsAll()
		single, _, err := w.ledger.Attempts(t.Context(), 0, 10_000)
		require.NoError(t, err)
		for _, r := range single {
			require.True(t, spend.Lasting(r.Step) || w.now.Sub(r.At) < 9*day, "%s of %s was not folded", r.Step, r.At)
		}
	})
}

// The 29th of February 2028 is in the month that is swept.
func TestALeapDayBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 1, 4*day)
		w.live(0, 1, true)
		w.live(767, 800, true)
		leap := "2028-02-29"
		want := w.spent["day:"+agentID(0)+"/"+leap]
		require.Equal(t, len(w.night.Rows)+2, want.calls)
		rows, err := w.ledger.Rows(t.Context(), spend.Query{Agent: agentID(0), Day: leap})
		require.NoError(t, err)
		var sum spentSum
		for _, r := range rows {
			require.Positive(t, r.Folded, "%s", r.Step)
			sum = spentSum{sum.calls + r.Calls(), sum.sum + r.Counted}
		}
		require.Equal(t, want, sum)
		w.keepsAll()
	})
}

// A window that was shortened has removed what was older. Lengthened again, it says so of a dream of that time, and
// keeps what is young.
func TestAWindowThatChangesBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 1, 8*day)
		long := w.sweeps.Ages
		w.live(0, 20, true)
		early := "dream/iris00/8001"
		w.change(early)
		w.sweeps.Ages = retention.Ages{Ledger: 2 * day, Events: 2 * day, Undo: 2 * day, Dreams: 2 * day}
		w.live(20, 25, true)
		short, err := w.store.Aged(t.Context(), agentID(0))
		require.NoError(t, err)
		w.sweeps.Ages = long
		w.live(25, 34, true)
		w.keepsAll()
		aged, err := w.store.Aged(t.Context(), agentID(0))
		require.NoError(t, err)
		require.False(t, aged.Undo.Before(short.Undo) || aged.Details.Before(short.Details), "%v after %v", aged, short)
		_, err = w.store.Undo(t.Context(), agentID(0), early)
		require.ErrorIs(t, err, memory.ErrPast)
	})
}

// An agent is removed and added again under its name: what it spent before still counts, and its new history is swept.
func TestAnAgentThatIsAddedAgainBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 2, 4*day)
		w.live(0, 3, true)
		again := agentID(1)
		_, err := w.store.(memory.Remover).DropAgent(t.Context(), again, w.now)
		require.NoError(t, err)
		w.open = withoutAgent(w.open, again)
		w.agents = 1
		w.live(3, 4, true)
		require.NoError(t, w.store.PutAgent(t.Context(), dream.Agent{ID: again, Handle: again, Zone: "UTC"}))
		w.agents = 2
		w.live(4, 36, true)
		w.keepsAll()
		aged, err := w.store.Aged(t.Context(), again)
		require.NoError(t, err)
		require.False(t, aged.Details.Before(dawn.AddDate(0, 0, 4)), "%v", aged)
	})
}

func withoutAgent(open []foretold, agent string) (kept []foretold) {
	for _, f := range open {
		if f.agent != agent {
			kept = append(kept, f)
		}
	}
	return kept
}

// A dream waits for three months: everything it may go on from is there. Once it has ended, it is swept like others.
func TestADreamThatWaitsForThreeMonthsIsWhole(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 1, 4*day)
		before := len(w.open)
		w.dream(agentID(0), waiting, dream.Interrupted)
		w.open = w.open[:before]
		w.noneWaits = false
		w.live(0, 31, true)
		w.live(90, 92, true)
		require.NoError(t, w.waitingIsWhole(t.Context()))
		record, err := memory.One[*dream.Record](t.Context(), w.store, agentID(0), waiting)
		require.NoError(t, err)
		record.Outcome, record.Ended, record.Until = dream.Completed, w.now.UTC(), time.Time{}
		_, err = w.store.Commit(t.Context(), memory.Write{
			Agent: agentID(0), Cause: "operator", Change: []dream.Item{record},
		})
		require.NoError(t, err)
		w.noneWaits = true
		w.live(92, 100, true)
		w.keepsAll()
		_, calls, err := w.left(t.Context(), waiting)
		require.NoError(t, err)
		require.Zero(t, calls, "its calls are folded")
		events, err := w.store.Events(t.Context(), agentID(0), 0, 1)
		require.NoError(t, err)
		require.Less(t, w.now.Sub(events[0].At), 9*day, "the log begins within the window again")
	})
}

// fullBucket is a folder whose disk is full for a time.
type fullBucket struct {
	archive.Bucket
	full bool
}

func (b *fullBucket) Create(ctx context.Context, name string, body []byte) error {
	if b.full {
		return fmt.Errorf("write %s: %w", name, syscall.ENOSPC)
	}
	return b.Bucket.Create(ctx, name, body)
}

// While the archive is full nothing that it lacks is removed. Once it has room, archive and log have every event.
func TestAnArchiveThatIsFullBreaksNoPromise(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, kind string) {
		w := quiet(t, kind, 1, 4*day)
		folder, err := archive.OpenFolder(t.TempDir())
		require.NoError(t, err)
		b := &fullBucket{Bucket: folder}
		a := archive.Archive{Log: w.store, Bucket: b, Now: func() time.Time { return w.now }}
		position := func(ctx context.Context, agent string) (int64, error) {
			p, err := archive.Find(ctx, b, agent)
			return p.Seq, err
		}
		w.sweeps.Archived = position
		for today := range 33 {
			b.full = today >= 10 && today < 20
			w.live(today, today+1, false)
			_, err := a.Once(t.Context())
			if b.full {
				require.ErrorIs(t, err, syscall.ENOSPC)
			} else {
				require.NoError(t, err)
			}
			w.pass()
			archived, err := position(t.Context(), agentID(0))
			require.NoError(t, err)
			log, err := w.store.Events(t.Context(), agentID(0), 0, 0)
			require.NoError(t, err)
			require.LessOrEqual(t, log[0].Seq, archived+1, "day %d: what lies between archive and log is lost", today)
			if today == 19 {
				require.Greater(t, w.now.Sub(log[0].At), 8*day, "what the archive lacks is kept beyond its age")
			}
		}
		w.keepsAll()
		log, err := w.store.Events(t.Context(), agentID(0), 0, 1)
		require.NoError(t, err)
		require.Less(t, w.now.Sub(log[0].At), 8*day)
		names, err := b.Names(t.Context(), "events/"+agentID(0)+"/")
		require.NoError(t, err)
		lines := 0
		for _, name := range names {
			body, err := b.Read(t.Context(), name)
			require.NoError(t, err)
			lines += strings.Count(string(body), "\n")
		}
		archived, err := position(t.Context(), agentID(0))
		require.NoError(t, err)
		require.EqualValues(t, archived, lines, "every event is archived once")
	})
}

package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// watched is a deployment on a file, with a process that marks it.
func watched(t *testing.T, dataDir, path string) *storeWatch {
	t.Helper()
	c := config.Config{DataDir: dataDir}
	s, err := openFile(t.Context(), c, filepath.Join(t.TempDir(), path))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	s.name = "the store"
	h := &Deployment{config: c, store: s, Holder: "one", log: plainLogger(config.Log{}, t.Output())}
	h.guard = &spend.Guard{Ledger: s.ledger, Now: time.Now}
	e := &engine{deployment: h}
	e.writeLog(t.Output())
	return &storeWatch{engine: e, every: 0}
}

func (w *storeWatch) bought(t *testing.T, step string) {
	t.Helper()
	now := time.Now().UTC()
	w.deployment.guard.Remember([]spend.Purchase{{
		Ask: spend.Ask{
			Step:     step,
			Agent:    "iris",
			Day:      "2026-11-28",
			Amount:   70,
			At:       now,
			Accounts: []budget.Account{{Scope: "day:iris/2026-11-28", Limit: 100}},
		},
		Bill: spend.Bill{State: spend.Settled, Amount: 60, At: now},
	}})
}

func TestAStoreThatWentBackIsNoticedAndGetsItsPurchasesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := watched(t, dir, "before.db")
	for range 3 {
		require.NoError(t, before.look(t.Context()))
	}
	require.Equal(t, int64(3), before.seen.Number)
	require.Equal(t, Well, lookForLosses(t.Context(), before.deployment).State)
	before.bought(t, "talk/1")
	before.deployment.keepPurchases()

	var err error
	after := watched(t, dir, "after.db") // a copy of the time before anything was marked
	after.seen, err = readRemembered[memory.Mark](after.deployment.config, markFile, "the store")
	require.NoError(t, err)
	require.Equal(t, before.seen.Number, after.seen.Number)
	require.NoError(t, after.begin())
	require.False(t, after.pending, "none was killed")
	require.NoError(t, after.look(t.Context()))
	require.NoError(t, after.look(t.Context()))
	state, err := after.deployment.store.Swept(t.Context())
	require.NoError(t, err)
	require.Len(t, state.Continuity.Losses, 1)
	loss := state.Continuity.Newest()
	require.True(t, loss.Since.IsZero())
	require.True(t, loss.Last.Equal(before.deployment.guard.Purchases()[0].Bill.At), "the last thing known to be lost")
	require.Equal(t, memory.Reentered{Calls: 1, Amount: 60}, loss.Reentered)
	balance, err := after.deployment.store.ledger.Balance(t.Context(), "day:iris/2026-11-28")
	require.NoError(t, err)
	require.Equal(t, spend.Balance{Spent: 60}, balance)
	f := lookForLosses(t.Context(), after.deployment)
	require.Equal(t, Warning, f.State)
	require.Contains(t, f.Found, "what was written from an unknown time until "+loss.Last.Format(time.RFC3339))
	require.Contains(t, f.Found, "$0.00006 of lost purchases are in the ledger again")
}

func TestOtherProcessesOfTheDeploymentEnterWhatTheyBought(t *testing.T) {
	t.Parallel()
	first := watched(t, t.TempDir(), "shared.db")
	second := &storeWatch{engine: &engine{deployment: first.deployment, log: first.log}}
	require.NoError(t, first.look(t.Context()))
	require.NoError(t, second.look(t.Context()))
	require.False(t, second.pending)
	second.bought(t, "talk/2")
	first.seen.Number += 9
	require.NoError(t, first.look(t.Context()), "it has seen a later mark")
	require.NoError(t, second.look(t.Context()))
	rows, err := first.deployment.store.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// Another process of the data folder has noticed the loss and seen later marks since.
func TestALossThatAnotherProcessHasNoticedTakesEarlierPurchasesToo(t *testing.T) {
	t.Parallel()
	first := watched(t, t.TempDir(), "shared.db")
	require.NoError(t, first.look(t.Context()))
	first.bought(t, "talk/4")
	first.seen = memory.Mark{Number: 9, At: time.Now()}
	other := &storeWatch{engine: &engine{deployment: &Deployment{}, log: first.log}, seen: first.seen}
	*other.deployment = *first.deployment
	other.deployment.guard = &spend.Guard{Ledger: first.deployment.store.ledger, Now: time.Now}
	require.NoError(t, other.look(t.Context()), "it notices the loss")
	require.NoError(t, other.look(t.Context()), "and goes on")
	second := &storeWatch{engine: &engine{deployment: first.deployment, log: first.log}, seen: other.seen}
	require.NoError(t, second.look(t.Context()))
	rows, err := first.deployment.store.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.NoError(t, second.look(t.Context()))
	require.False(t, second.pending)

	later := &storeWatch{engine: &engine{deployment: first.deployment, log: first.log}, seen: second.seen}
	later.deployment.guard = &spend.Guard{Ledger: first.deployment.store.ledger, Now: time.Now}
	later.deployment.guard.Remember([]spend.Purchase{{Ask: attempt("old"), Bill: billOf(spend.Settled)}})
	require.NoError(t, later.look(t.Context()))
	rows, err = first.deployment.store.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 1, "it was bought long before the loss, and may be folded")
}

// A process is killed with the primary, and only its newest write is lost: no mark is missing, and no other process
// lacks anything.
func TestAKilledProcessWhosePurchaseAloneIsLost(t *testing.T) {
	t.Parallel()
	killed := watched(t, t.TempDir(), "one.db")
	require.NoError(t, killed.look(t.Context()))
	require.NoError(t, killed.begin())
	ask, bill := attempt("talk/5"), billOf(spend.Settled)
	killed.deployment.journal.Began("talk/5#1", ask)
	killed.deployment.journal.Ended("talk/5#1", bill)
	require.NoError(t, killed.deployment.journal.file.Close()) // as when its process ends
	for n := range 3 {
		next := &storeWatch{engine: &engine{deployment: killed.deployment, log: killed.log}, every: time.Second}
		require.NoError(t, next.begin())
		require.Equal(t, n == 0, next.pending)
		require.NoError(t, next.look(t.Context()))
		require.False(t, next.pending)
	}
	rows, err := killed.deployment.store.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	state, err := killed.deployment.store.Swept(t.Context())
	require.NoError(t, err)
	loss := state.Continuity.Newest()
	require.Equal(t, []time.Time{ask.At.Add(-time.Second), ask.At}, []time.Time{loss.Since, loss.Last})
	require.Equal(t, memory.Reentered{Calls: 1, Amount: 60}, loss.Reentered)
}

func TestProcessesOfADataFolderEnterPurchasesInTurn(t *testing.T) {
	t.Parallel()
	w := watched(t, t.TempDir(), "shared.db")
	w.bought(t, "talk/6")
	turn, err := openJournals(w.deployment.config, enteringFile)
	require.NoError(t, err)
	require.NoError(t, lockFile(turn))
	w.pending = true
	require.NoError(t, w.look(t.Context()))
	require.True(t, w.pending, "another one has the turn")
	require.NoError(t, turn.Close())
	require.NoError(t, w.look(t.Context()))
	require.False(t, w.pending)
	rows, err := w.deployment.store.ledger.Rows(t.Context(), spend.Query{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

func TestAnotherStoreOfTheSameFolderIsNoLoss(t *testing.T) {
	t.Parallel()
	c := config.Config{DataDir: t.TempDir()}
	require.NoError(t, remember(c, markFile, "the first", memory.Mark{Number: 7}))
	mark, err := readRemembered[memory.Mark](c, markFile, "the second")
	require.NoError(t, err)
	require.Zero(t, mark)
}

func TestOnlyALowerMarkIsALoss(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)
	now := at.Add(time.Minute)
	newest := memory.Mark{Number: 5, At: at}
	state := func(number int64) memory.SweepState {
		return memory.SweepState{Continuity: memory.Continuity{Mark: memory.Mark{Number: number, At: at}}}
	}
	for number, lost := range map[int64]bool{0: true, 4: true, 5: false, 6: false} {
		_, missed := state(number).Missed(newest, now)
		require.Equal(t, lost, missed, number)
		next := state(number).MarkedAfter(newest, now)
		require.Equal(t, max(number, newest.Number)+1, next.Continuity.Number, "above all that anyone has seen")
		require.Equal(t, lost, len(next.Continuity.Losses) == 1)
	}
	ahead := memory.SweepState{Continuity: memory.Continuity{Mark: memory.Mark{Number: 4, At: at.Add(time.Second)}}}
	loss, _ := ahead.Missed(newest, now)
	require.Zero(t, loss.Since, "a clock was ahead: since when is not known, and every dream is compared")
	earlier := memory.SweepState{Ended: at}
	_, missed := earlier.Missed(newest, now)
	require.False(t, missed, "a worker of an earlier build has swept, and left the mark out")
	many := state(1)
	for range 30 {
		now = now.Add(time.Hour)
		many = many.MarkedAfter(memory.Mark{Number: many.Continuity.Number + 1}, now)
	}
	require.Len(t, many.Continuity.Losses, 20)
}

func TestOneProcessComparesALossAtATime(t *testing.T) {
	t.Parallel()
	w := watched(t, t.TempDir(), "shared.db")
	now := time.Now().UTC()
	loss := memory.Loss{Noticed: now, Holder: "another", Until: now.Add(time.Minute)}
	_, err := w.deployment.store.ChangeSwept(t.Context(), func(s memory.SweepState) (memory.SweepState, error) {
		s.Continuity.Losses = []memory.Loss{loss}
		return s, nil
	})
	require.NoError(t, err)
	require.True(t, errors.Is(compareLoss(t.Context(), w.engine, loss), errHeld))
}

func TestOneLossThatSeveralProcessesNoticeIsOne(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)
	c := memory.Continuity{}.With(memory.Loss{Since: at, Last: at.Add(time.Second), Noticed: at.Add(2 * time.Second)})
	c = c.With(memory.Loss{
		Last: at.Add(2 * time.Second), Noticed: at.Add(4 * time.Second), Reentered: memory.Reentered{
			Calls:  2,
			Amount: 5,
		},
	})
	require.Equal(t, []memory.Loss{{
		Since: at, Last: at.Add(2 * time.Second), Noticed: at.Add(2 * time.Second),
		Reentered: memory.Reentered{Calls: 2, Amount: 5},
	}}, c.Losses)
	soon := memory.Loss{Since: at.Add(3 * time.Second), Last: at.Add(5 * time.Second), Noticed: at.Add(6 * time.Second)}
	c = c.With(soon)
	require.Equal(t, soon, c.Newest(), "it took what was written after the notice of the first")
	c = c.With(memory.Loss{Last: at.Add(4 * time.Second), Noticed: at.Add(7 * time.Second)})
	require.Len(t, c.Losses, 2)
	c = c.With(memory.Loss{Last: at.Add(time.Hour), Noticed: at.Add(time.Hour)})
	require.Len(t, c.Losses, 3)
}

func TestAnotherRunOfTheServerIsAskedForThePurchases(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	s, err := openRedis(t.Context(), config.Config{Store: config.Store{URL: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := &Deployment{config: config.Config{DataDir: t.TempDir()}, store: s, Holder: "one"}
	h.guard = &spend.Guard{Ledger: s.ledger, Now: time.Now}
	e := &engine{deployment: h}
	e.writeLog(t.Output())
	w := &storeWatch{engine: e, every: time.Hour} // no mark falls into the loss
	require.NoError(t, w.look(t.Context()))
	w.bought(t, "talk/3") // the server does not have it
	require.NoError(t, w.look(t.Context()))
	require.Equal(t, Well, lookForLosses(t.Context(), h).State, "the same run has what it took")
	server.Kill()
	server.Restart()
	require.Eventually(t, func() bool {
		return w.look(t.Context()) == nil && lookForLosses(t.Context(), h).State == Warning
	}, time.Minute, 10*time.Millisecond)
	state, err := s.Swept(t.Context())
	require.NoError(t, err)
	require.Equal(t, memory.Reentered{Calls: 1, Amount: 60}, state.Continuity.Newest().Reentered)
	require.False(t, state.Continuity.Newest().Since.IsZero())
}

// A failover between two marks takes a write and no purchase: the process that made it tells the loss, once, and what
// the other server has is none.
func TestAWriteThatAnotherRunOfTheServerLacksIsALoss(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Fsync("always"))
	s, err := openRedis(t.Context(), config.Config{Store: config.Store{URL: server.URL}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := &Deployment{config: config.Config{DataDir: t.TempDir()}, store: s, Holder: "one"}
	h.guard = &spend.Guard{Ledger: s.ledger, Now: time.Now}
	e := &engine{deployment: h}
	e.writeLog(t.Output())
	w := &storeWatch{engine: e, every: time.Hour} // no mark falls into the loss
	require.NoError(t, w.look(t.Context()))
	remember := func(id string) {
		_, err := s.Commit(t.Context(), memory.Write{Agent: "iris", Cause: "import", Add: []dream.Item{&dream.Episode{
			Head: dream.Head{
				ID:    id,
				Agent: "iris",
				Kind:  dream.KindEpisode,
				At:    time.Now(),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content: id,
		}}})
		require.NoError(t, err)
	}
	moved := func() {
		server.Restart()
		run := w.run
		require.Eventually(t, func() bool { return w.look(t.Context()) == nil && w.run != run && !w.pending },
			time.Minute, 10*time.Millisecond)
	}
	remember("kept")
	written, kept := filepath.Join(server.Dir, "appendonlydir"), t.TempDir()
	server.Kill()
	moved()
	require.Equal(t, Well, lookForLosses(t.Context(), h).State, "the next run has the write")

	require.NoError(t, os.CopyFS(kept, os.DirFS(written)))
	remember("lost")
	server.Kill()
	require.NoError(t, os.RemoveAll(written))
	require.NoError(t, os.CopyFS(written, os.DirFS(kept)))
	moved()
	require.Equal(t, Warning, lookForLosses(t.Context(), h).State)
	state, err := s.Swept(t.Context())
	require.NoError(t, err)
	require.Len(t, state.Continuity.Losses, 1)
	require.False(t, state.Continuity.Newest().Since.IsZero())
	require.Zero(t, state.Continuity.Newest().Reentered)
	again, err := s.store.(runs).MissingWrite(t.Context())
	require.NoError(t, err)
	require.Zero(t, again, "a write is missed once")
}

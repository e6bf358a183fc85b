package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

func attempt(step string) spend.Ask {
	return spend.Ask{
		Step:     step,
		Agent:    "iris",
		Dream:    "dream/iris/0001",
		Phase:    "onset",
		Model:    "talk/script",
		Day:      "2026-11-28",
		Amount:   70,
		Accounts: []budget.Account{{Scope: "day:iris/2026-11-28", Limit: 100}},
		At:       time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC),
	}
}

func billOf(state spend.State) spend.Bill {
	return spend.Bill{State: state, Amount: 60, At: time.Date(2026, 11, 28, 6, 0, 1, 0, time.UTC)}
}

// A process that is killed has written what it had bought. The next process of its data folder takes it once; another
// one that runs keeps its own.
func TestPurchasesOfAKilledProcessAreTaken(t *testing.T) {
	t.Parallel()
	killed := watched(t, t.TempDir(), "one.db").deployment
	earlier, left, err := killed.journalPurchases()
	require.NoError(t, err)
	require.False(t, left)
	require.Empty(t, earlier)
	j := killed.journal
	for _, step := range []string{"settled", "refused"} {
		j.Began(step+"#1", attempt(step))
	}
	j.Ended("settled#1", billOf(spend.Settled))
	j.Ended("refused#1", billOf(spend.Refused))
	want := []spend.Purchase{
		{Ask: attempt("running"), Bill: spend.Bill{State: spend.Lost, Amount: 70, At: attempt("").At}},
		{Ask: attempt("settled"), Bill: billOf(spend.Settled)},
	}

	beside := watched(t, killed.config.DataDir, "two.db").deployment
	earlier, left, err = beside.journalPurchases()
	require.NoError(t, err)
	require.False(t, left)
	require.Empty(t, earlier, "its process runs")

	_, err = j.file.WriteString(`{"store":"the store","key":"cut off`) // as on a full disk
	require.NoError(t, err)
	j.torn = true
	j.Began("running#1", attempt("running"))
	require.NoError(t, j.file.Close()) // as when its process ends
	next := watched(t, killed.config.DataDir, "three.db").deployment
	earlier, left, err = next.journalPurchases()
	require.NoError(t, err)
	require.True(t, left)
	require.Equal(t, want, earlier)
	require.NoFileExists(t, j.path)
	require.FileExists(t, beside.journal.path)
	again, left, err := watched(t, killed.config.DataDir, "four.db").deployment.journalPurchases()
	require.NoError(t, err)
	require.False(t, left)
	require.Equal(t, want, again, "in the file of all")

	beside.keepPurchases()
	require.NoFileExists(t, beside.journal.path, "an end takes it away")
}

func TestAJournalIsRenewedAndKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	j, err := newJournal(t.TempDir(), "the store")
	require.NoError(t, err)
	j.Began("runs#1", attempt("runs"))
	const parts = 3
	for i := range parts*spend.KeptPurchases + 5 {
		step := fmt.Sprint(i)
		j.Began(step, attempt(step))
		j.Ended(step, billOf(spend.Settled))
	}
	require.False(t, j.torn)
	var size int64
	files, err := filepath.Glob(j.path + "*")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		size += info.Size()
	}
	require.Less(t, size, int64(5<<20))
	require.NoError(t, j.file.Close())
	all, err := readJournal(j.path, "the store")
	require.NoError(t, err)
	require.Len(t, all, spend.KeptPurchases+5+1)
	require.Equal(t, fmt.Sprint(parts*spend.KeptPurchases+4), all[len(all)-2].Ask.Step)
	require.Equal(t, spend.Lost, all[len(all)-1].Bill.State)
	all, err = readJournal(j.path, "another")
	require.NoError(t, err)
	require.Empty(t, all)
}

// What a journal adds to a paid call.
func BenchmarkJournal(b *testing.B) {
	j, err := newJournal(b.TempDir(), "the store")
	require.NoError(b, err)
	ask, bill := attempt("dream/iris/0001/onset/2/partial-1"), billOf(spend.Settled)
	for b.Loop() {
		j.Began(ask.Step, ask)
		j.Ended(ask.Step, bill)
	}
	require.False(b, j.torn)
}

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/fabric/fabrictest"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

func open(t testing.TB, path string, opts ...sqlitestore.Option) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), path, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func inMemory(t *testing.T) *sqlitestore.Store { t.Helper(); return open(t, ":memory:") }

func onFile(t *testing.T) *sqlitestore.Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "oneiros.db"))
}

func onOneFile(t *testing.T) (one, other *sqlitestore.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "oneiros.db")
	return open(t, path), open(t, path)
}

func TestTheStoreInMemoryKeepsTheContractOfMemory(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) memory.Store { return inMemory(t) })
}

func TestTheStoreOnAFileKeepsTheContractOfMemory(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(t *testing.T) memory.Store { return onFile(t) })
}

func TestTheStoreKeepsTheContractOfFeeds(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memorytest.RunFeeds(t, func(t *testing.T) memorytest.FeedStore { return open(t) })
		})
	}
}

func TestTheStoreKeepsTheContractOfRemovals(t *testing.T) {
	t.Parallel()
	presencetest.RunRemovals(t, func(t *testing.T) presencetest.Removal {
		one, other := onOneFile(t)
		return presencetest.Removal{One: one, Other: other, Ledger: other.Ledger(), Empty: onFile(t)}
	})
}

func TestTheStoreKeepsTheContractOfTalks(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memorytest.RunTalks(t, func(t *testing.T) memorytest.TalkStore { return open(t) })
			memorytest.RunResponses(t, func(t *testing.T) memorytest.ResponseStore { return open(t) })
		})
	}
}

func TestTheStoreKeepsTheContractOfEmbedJobs(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) *sqlitestore.Store{"InMemory": inMemory, "OnAFile": onFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memorytest.RunEmbedJobs(t, func(t *testing.T) memory.EmbedQueue { return open(t) })
		})
	}
}

func TestTwoHandlesOnOneFileAreOneMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunShared(t, func(t *testing.T) (memory.Store, memory.Store) { return onOneFile(t) })
}

func TestTheStoreInMemoryKeepsTheContractOfTheLedger(t *testing.T) {
	t.Parallel()
	spendtest.RunLedger(t, func(t *testing.T) spend.Ledger { return inMemory(t).Ledger() })
}

func TestTheStoreOnAFileKeepsTheContractOfTheLedger(t *testing.T) {
	t.Parallel()
	spendtest.RunLedger(t, func(t *testing.T) spend.Ledger { return onFile(t).Ledger() })
}

func TestTheStoreKeepsTheContractOfFolding(t *testing.T) {
	t.Parallel()
	spendtest.RunFolding(t, func(t *testing.T) spendtest.FoldingLedger { return onFile(t).Ledger() })
}

func TestTheStoreKeepsTheContractOfAging(t *testing.T) {
	t.Parallel()
	memorytest.RunAging(t, func(t *testing.T, now func() time.Time) memorytest.AgingStore {
		return open(t, filepath.Join(t.TempDir(), "oneiros.db"), sqlitestore.Clock(now))
	})
}

func TestTwoHandlesStayUnderTheCap(t *testing.T) {
	t.Parallel()
	one, other := onOneFile(t)
	require.NoError(t, spendtest.CapHolds(t.Context(), one.Ledger(), other.Ledger()))
}

func TestTwoHandlesBuyNoStepTwice(t *testing.T) {
	t.Parallel()
	one, other := onOneFile(t)
	require.NoError(t, spendtest.BuysOnce(t.Context(), one.Ledger(), other.Ledger()))
	require.ErrorContains(t, spendtest.BuysOnce(t.Context(), spendtest.Forgetful(onFile(t).Ledger())), "bought again")
}

func TestTheCapSuiteDetectsACarelessLedger(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, spendtest.CapHolds(t.Context(), spendtest.Careless(onFile(t).Ledger())), "of a cap of")
	require.Error(t, spendtest.CapHolds(t.Context(), spendtest.Careless(inMemory(t).Ledger())))
}

func TestTheStoreKeepsTheContractOfTheLog(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (log, store *sqlitestore.Store){
		"InMemory":       func(t *testing.T) (log, store *sqlitestore.Store) { s := inMemory(t); return s, s },
		"OnAFile":        func(t *testing.T) (log, store *sqlitestore.Store) { s := onFile(t); return s, s },
		"FromAnotherOne": onOneFile,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fabrictest.Run(t, func(t *testing.T) fabrictest.Announcer {
				log, store := open(t)
				return fabrictest.Announcer{Log: log, Store: store}
			})
		})
	}
}

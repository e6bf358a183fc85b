package redisstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/presence/presencetest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// patience replaces the store's own timeout: what is tested here is not the speed of a busy machine's disk.
const patience = time.Minute

// open returns a process's handle on the keys under prefix.
func open(t testing.TB, url, prefix string, opts ...redisstore.Option) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), url,
		append([]redisstore.Option{redisstore.Prefix(prefix), redisstore.Timeout(patience)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// fresh returns a store without keys on the server that the tests share.
func fresh(t testing.TB) *redisstore.Store {
	t.Helper()
	return open(t, allowed(t), redis.Prefix(t))
}

// pair returns the stores of two processes of one new deployment.
func pair(t testing.TB) (here, there *redisstore.Store) {
	t.Helper()
	url, prefix := allowed(t), redis.Prefix(t)
	return open(t, url, prefix), open(t, url, prefix)
}

func TestTheStoreKeepsTheContractOfTheLedger(t *testing.T) {
	t.Parallel()
	spendtest.RunLedger(t, func(t *testing.T) spend.Ledger { return fresh(t).Ledger() })
}

func TestTheStoreKeepsTheContractOfFolding(t *testing.T) {
	t.Parallel()
	spendtest.RunFolding(t, func(t *testing.T) spendtest.FoldingLedger { return fresh(t).Ledger() })
}

func TestTheStoreKeepsTheContractOfAging(t *testing.T) {
	t.Parallel()
	memorytest.RunAging(t, func(t *testing.T, now func() time.Time) memorytest.AgingStore {
		return open(t, redis.Shared(t).URL, redis.Prefix(t), redisstore.Clock(now))
	})
}

func TestTwoProcessesStayUnderTheCap(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	require.NoError(t, spendtest.CapHolds(t.Context(), here.Ledger(), there.Ledger()))
}

func TestTwoProcessesBuyNoStepTwice(t *testing.T) {
	t.Parallel()
	here, there := pair(t)
	require.NoError(t, spendtest.BuysOnce(t.Context(), here.Ledger(), there.Ledger()))
	require.ErrorContains(t, spendtest.BuysOnce(t.Context(), spendtest.Forgetful(fresh(t).Ledger())), "bought again")
}

func TestTheCapSuiteDetectsACarelessLedger(t *testing.T) {
	t.Parallel()
	require.Error(t, spendtest.CapHolds(t.Context(), spendtest.Careless(fresh(t).Ledger())))
}

func TestTheStoreKeepsTheContractOfTheBus(t *testing.T) {
	t.Parallel()
	presencetest.RunWakeBus(t, func(t *testing.T) (presence.WakeBus, presence.WakeBus) {
		here, there := pair(t)
		return here, there
	})
}

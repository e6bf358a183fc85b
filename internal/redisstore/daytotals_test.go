package redisstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func TestTotalsByDayAreWhatRowsAddUpTo(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	s, client := open(t, redis.Shared(t).URL, prefix), redis.Shared(t).Dial(t)
	spendtest.RunDayTotals(t, s.Ledger())
	sound(t, s)

	imported := fresh(t)
	_, err := imported.Ledger().DayTotals(t.Context(), "", "") // which notes that the totals of nothing are whole
	require.NoError(t, err)
	_, err = imported.Import(t.Context(), s.Export(t.Context()))
	require.NoError(t, err)
	require.Equal(t, spendtest.DaysAddUp(t, s.Ledger()), spendtest.DaysAddUp(t, imported.Ledger()))
	sound(t, imported)

	require.NoError(t, client.HSet(t.Context(), prefix+"m:spent:echo", "2026-03-01", "1 2 3 4 5 6 7").Err())
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Faults, 1)
	require.Contains(t, found.Faults[0], "the total of echo on 2026-03-01")
}

// Keys of schema 6 have rows, and sums of folded ones, without totals. What calls change before they are added up counts.
func TestTotalsByDayOfOlderKeysAreAddedUp(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	s, client := open(t, redis.Shared(t).URL, prefix), redis.Shared(t).Dial(t)
	spendtest.RunDayTotals(t, s.Ledger())
	spenders, err := client.SMembers(t.Context(), prefix+"m:spenders").Result()
	require.NoError(t, err)
	require.Len(t, spenders, 3)
	older := []string{prefix + "m:spenders", prefix + "summed"}
	for _, agent := range spenders {
		older = append(older, prefix+"m:spent:"+agent)
	}
	require.NoError(t, client.Del(t.Context(), older...).Err())
	require.NoError(t, client.Set(t.Context(), prefix+"schema", 6, 0).Err())

	newer := open(t, redis.Shared(t).URL, prefix)
	spendtest.RunDayTotals(t, newer.Ledger())
	require.Zero(t, client.Exists(t.Context(), prefix+"summed").Val(), "processes of the older program may still write")
	found, err := newer.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
	require.NotContains(t, found.Checked, store.DayChecked)

	require.NoError(t, client.Del(t.Context(), prefix+"raised").Err())
	spendtest.DaysAddUp(t, newer.Ledger())
	require.EqualValues(t, 1, client.Exists(t.Context(), prefix+"summed").Val())
	sound(t, newer)
	spendtest.RunDayTotals(t, newer.Ledger())
	sound(t, newer)
}

// sound verifies a store, with its totals.
func sound(t *testing.T, s *redisstore.Store) {
	t.Helper()
	found, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Faults)
	require.Contains(t, found.Checked, store.DayChecked)
}

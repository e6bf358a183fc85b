package redisstore_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

func buy(t *testing.T, l spend.Ledger, step, dream string) spend.Hold {
	t.Helper()
	h, err := l.Reserve(t.Context(), spend.Ask{
		Step:     step,
		Agent:    "echo",
		Dream:    dream,
		Phase:    "talk",
		Model:    "m",
		Day:      "2026-03-01",
		Amount:   5,
		At:       noon,
		Accounts: []budget.Account{{Scope: "day", Limit: budget.Unlimited}},
	})
	require.NoError(t, err)
	return h
}

func paid(answer string) spend.Bill {
	return spend.Bill{State: spend.Settled, Amount: 1, At: noon, Answer: []byte(answer)}
}

// An export watches a few keys of the ledger in place of every row, so each write must change one of them.
func TestEveryWriteToTheLedgerIsSeenByAnExport(t *testing.T) {
	t.Parallel()
	prefix := redis.Prefix(t)
	s, client := open(t, redis.Shared(t).URL, prefix), redis.Shared(t).Dial(t)
	l := s.Ledger()
	var h spend.Hold
	watched := make([]string, 0, 6)
	for _, key := range []string{"rows", "folded", "unfolded", "open", "changes", "sums"} {
		watched = append(watched, prefix+"m:"+key)
	}
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"a reservation", func() error { h = buy(t, l, "one", ""); return nil }},
		{"its end", func() error { return l.Settle(t.Context(), h, paid("words")) }},
		{"a reservation of a dream", func() error { buy(t, l, "two", "dream/echo/1"); return nil }},
		{"a second one", func() error { h = buy(t, l, "three", "dream/echo/1"); return nil }},
		{"the end of one of two", func() error { return l.Settle(t.Context(), h, paid("more words")) }},
		{"the end of what a dream left open", func() error {
			_, _, err := l.Close(t.Context(), "dream/echo/1", noon)
			return err
		}},
		{"answers that are deleted", func() error { return l.Forget(t.Context(), "dream/echo/1") }},
		{"rows that are folded", func() error {
			rows, _, err := l.Attempts(t.Context(), 0, 10)
			require.NoError(t, err)
			n, err := l.Fold(t.Context(), rows)
			require.Positive(t, n)
			return err
		}},
	} {
		err := client.Watch(t.Context(), func(tx *goredis.Tx) error {
			require.NoError(t, c.do(), c.what)
			_, err := tx.TxPipelined(t.Context(), func(p goredis.Pipeliner) error {
				p.Get(t.Context(), watched[0])
				return nil
			})
			return err
		}, watched...)
		require.ErrorIs(t, err, goredis.TxFailedErr, c.what)
	}
}

var watchCalls = regexp.MustCompile(`cmdstat_watch:calls=(\d+)`)

// The server searches every watched key for each further one. An export of many rows blocked it for minutes.
func TestAnExportWatchesNoMoreKeysForMoreRows(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	client, prefix := server.Dial(t), redis.Prefix(t)
	s := open(t, server.URL, prefix)
	exported := func() int {
		require.NoError(t, client.ConfigResetStat(t.Context()).Err())
		attempts := 0
		for r, err := range s.Export(t.Context()) {
			require.NoError(t, err)
			if r.Attempt != nil {
				attempts++
			}
		}
		require.NotZero(t, attempts)
		info, err := client.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		calls := watchCalls.FindStringSubmatch(info)
		require.NotNil(t, calls, info)
		n, err := strconv.Atoi(calls[1])
		require.NoError(t, err)
		return n
	}
	more := func(name string, n int) {
		for i := range n {
			h := buy(t, s.Ledger(), fmt.Sprint(name, i), "")
			require.NoError(t, s.Ledger().Settle(t.Context(), h, paid("words")))
		}
	}
	more("a", 10)
	few := exported()
	more("b", 400)
	require.Equal(t, few, exported())

	require.NoError(t, client.Set(t.Context(), prefix+"raised", 1, 0).Err())
	require.Greater(t, exported(), few, "processes of the program before may write, and do not count what they change")
}

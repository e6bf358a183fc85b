package redisstore_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/archive"
	"github.com/seed-56a03226/oneiros/activities/port/memory/memorytest"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// ledgerOf makes a ledger of so many ended rows, 20 in each dream of a thousand agents.
func ledgerOf(rows int) []memory.Record {
	var made []memory.Record
	sums := map[string]*memory.KeptAccount{}
	for n := range rows {
		agent := fmt.Sprint("agent-", n/20%1000)
		a := memory.KeptAttempt{
			Step:     fmt.Sprint("step-", n),
			Attempt:  1,
			Agent:    agent,
			Dream:    fmt.Sprint("dream/", agent, "/", n/20000),
			Phase:    "onset",
			Model:    "m",
			Day:      "2026-03-01",
			Reserved: 10,
			Counted:  7,
			State:    string(spend.Settled),
			Tokens:   budget.Tokens{In: 1000, Out: 100},
			Finish:   "stop",
			At:       noon,
			Ended:    noon,
			Latest:   1,
		}
		for _, scope := range []string{"fleet/" + a.Day, agent + "/" + a.Day, agent + "/2026-03", a.Dream} {
			a.Accounts = append(a.Accounts, budget.Account{Scope: scope, Limit: budget.Unlimited})
			if sums[scope] == nil {
				sums[scope] = &memory.KeptAccount{Scope: scope}
			}
			sums[scope].Spent += a.Counted
		}
		made = append(made, memory.Record{Attempt: &a})
	}
	for _, scope := range slices.Sorted(maps.Keys(sums)) {
		made = append(made, memory.Record{Account: sums[scope]})
	}
	return made
}

// An export of 200,000 calls while others reserve and settle 500 calls a second, and how long the server keeps another
// command waiting meanwhile.
func BenchmarkExportWhileOthersBuy(b *testing.B) {
	server := redis.Start(b, redis.Fsync("everysec"))
	s := open(b, server.URL, "oneiros:")
	_, err := s.Import(b.Context(), memorytest.Fill(ledgerOf(200_000)))
	require.NoError(b, err)
	runtime.GC()
	ctx, stop := context.WithCancel(b.Context())
	var others sync.WaitGroup
	var bought atomic.Int64
	const buyers, each = 8, 16 * time.Millisecond
	for who := range buyers {
		others.Go(func() {
			tick := time.NewTicker(each)
			defer tick.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				<-tick.C
				h, err := s.Reserve(b.Context(), askFor(fmt.Sprint("bought-", who, "-", n)))
				if err == nil {
					err = s.Settle(b.Context(), h, spend.Bill{State: spend.Settled, Amount: 7, At: noon})
				}
				if err != nil {
					b.Error(err)
					return
				}
				bought.Add(1)
			}
		})
	}
	var waited []time.Duration
	var most uint64
	others.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		client := server.Dial(b)
		for n := 0; ctx.Err() == nil; n++ {
			<-tick.C
			began := time.Now()
			if client.Ping(ctx).Err() == nil {
				waited = append(waited, time.Since(began))
			}
			if n%100 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	})
	client := server.Dial(b)
	require.NoError(b, client.ConfigSet(b.Context(), "slowlog-log-slower-than", "500").Err())
	require.NoError(b, client.SlowLogReset(b.Context()).Err())
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	exports := 0
	for b.Loop() {
		_, err := archive.Write(io.Discard, s.Export(b.Context()))
		require.NoError(b, err)
		exports++
	}
	took := time.Since(began)
	stop()
	others.Wait()
	slow, err := client.SlowLogGet(b.Context(), 1000).Result()
	require.NoError(b, err)
	slowest := time.Duration(0)
	for _, one := range slow {
		slowest = max(slowest, one.Duration)
	}
	slices.Sort(waited)
	b.ReportMetric(took.Seconds()/float64(exports), "s/export")
	b.ReportMetric(float64(bought.Load())/took.Seconds(), "bought/s")
	b.ReportMetric(float64(waited[len(waited)*999/1000])/1e6, "wait-p99.9-ms")
	b.ReportMetric(float64(waited[len(waited)-1])/1e6, "wait-max-ms")
	b.ReportMetric(float64(slowest)/1e6, "slowest-command-ms")
	b.ReportMetric(float64(most-min(most, before.HeapAlloc))/1e6, "heap-MB")
}

//go:build unix

package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
)

// report reports the median, the 99th percentile and the maximum of some times, in milliseconds.
func report(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(.5), "p50-ms")
	b.ReportMetric(at(.99), "p99-ms")
	b.ReportMetric(at(1), "max-ms")
}

func agentOf(i int) string { return fmt.Sprint("agent-", i) }

// dreaming puts an agent to sleep with a mood and a digest for the next wake.
func dreaming(b *testing.B, s *sqlitestore.Store, agent string, turn int) {
	b.Helper()
	f := memory.Fence{Dream: fmt.Sprintf("%s/%d", agent, turn), Run: "r"}
	_, err := s.TakeSlot(b.Context(), agent, memory.Slot{Fence: f, Since: turnOf(turn)}, memory.Fence{})
	require.NoError(b, err)
	f.Epoch = int64(turn)
	_, err = s.Commit(b.Context(), memory.Write{
		Agent: agent, Fence: f,
		OnWake: &memory.OnWake{
			Mood:   &mood.PAD{Pleasure: .5, Arousal: float64(turn%2) / 2},
			Digest: []string{"a", "b", "c"},
		},
	})
	require.NoError(b, err)
}

func risen(b *testing.B, s *sqlitestore.Store, agent string, turn int) {
	b.Helper()
	require.NoError(b, s.FreeSlot(b.Context(), agent, memory.Fence{Dream: fmt.Sprintf("%s/%d", agent, turn), Run: "r"}))
}

func turnOf(turn int) time.Time { return dawn.Add(time.Duration(turn) * time.Hour) }

func connect(ctx context.Context, s *sqlitestore.Store, agent string, turn int) error {
	_, err := s.Arrive(ctx, presence.Visit{
		Agent:  agent,
		Client: "web",
		Cause:  presence.Connect,
		Now:    turnOf(turn),
		For:    time.Minute,
		Lock:   5 * time.Second,
	})
	return err
}

// BenchmarkArrive wakes one dream after another on a quiet store: goal p99 1.5 ms.
func BenchmarkArrive(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	var times []time.Duration
	for turn := 0; b.Loop(); turn++ {
		b.StopTimer()
		dreaming(b, s, echo, turn)
		b.StartTimer()
		begun := time.Now()
		require.NoError(b, connect(b.Context(), s, echo, turn))
		times = append(times, time.Since(begun))
		b.StopTimer()
		risen(b, s, echo, turn)
		b.StartTimer()
	}
	report(b, times)
}

// BenchmarkArriveAmongWriters wakes one dream after another while 64 goroutines commit ordinary writes.
func BenchmarkArriveAmongWriters(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	stop := writers(b, s, 64)
	defer stop()
	var times []time.Duration
	for turn := 0; b.Loop(); turn++ {
		begun := time.Now()
		require.NoError(b, connect(b.Context(), s, echo, turn))
		times = append(times, time.Since(begun))
	}
	report(b, times)
}

// BenchmarkArriveAmongReservations wakes one dream after another while 64 goroutines reserve and settle paid calls, as
// those of many dreams do. It also reports how many calls they pay for in a second.
func BenchmarkArriveAmongReservations(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	var paid atomic.Int64
	for i := range 64 {
		dreamID := fmt.Sprint("dream-", i)
		caps := []budget.Account{
			{Scope: "phase:" + dreamID, Limit: budget.Unlimited},
			{Scope: "dream:" + dreamID, Limit: budget.Unlimited},
			{Scope: "fleet", Limit: budget.Unlimited},
		}
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				ask := spend.Ask{
					Step:     fmt.Sprint(dreamID, "/", n),
					Agent:    dreamID,
					Dream:    dreamID,
					Amount:   100,
					Accounts: caps,
					At:       dawn,
				}
				h, err := s.Reserve(ctx, ask)
				if err == nil {
					bill := spend.Bill{State: spend.Settled, Amount: 60, Answer: []byte("an answer"), At: dawn}
					err = s.Settle(ctx, h, bill)
				}
				if err != nil && ctx.Err() == nil {
					b.Error(err)
				}
				paid.Add(1)
			}
		})
	}
	var times []time.Duration
	began := time.Now()
	for turn := 0; b.Loop(); turn++ {
		begun := time.Now()
		require.NoError(b, connect(b.Context(), s, echo, turn))
		times = append(times, time.Since(begun))
	}
	b.ReportMetric(float64(paid.Load())/time.Since(began).Seconds(), "calls/s")
	stop()
	wg.Wait()
	report(b, times)
}

// BenchmarkThousandArrivals wakes 1,000 dreams at once while 64 goroutines commit ordinary writes: goal 300 ms for all.
func BenchmarkThousandArrivals(b *testing.B) {
	const agents = 1000
	s := open(b, filepath.Join(b.TempDir(), "oneiros.db"))
	var times, alls []time.Duration
	for turn := 0; b.Loop(); turn++ {
		b.StopTimer()
		for i := range agents {
			dreaming(b, s, agentOf(i), turn)
		}
		stop := writers(b, s, 64)
		took := make([]time.Duration, agents)
		faults := make([]error, agents)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range agents {
			wg.Go(func() {
				<-start
				begun := time.Now()
				faults[i] = connect(b.Context(), s, agentOf(i), turn)
				took[i] = time.Since(begun)
			})
		}
		b.StartTimer()
		begun := time.Now()
		close(start)
		wg.Wait()
		alls = append(alls, time.Since(begun))
		b.StopTimer()
		stop()
		for i := range agents {
			require.NoError(b, faults[i])
			risen(b, s, agentOf(i), turn)
		}
		times = append(times, took...)
		b.StartTimer()
	}
	report(b, times)
	slices.Sort(alls)
	b.ReportMetric(float64(alls[len(alls)-1].Milliseconds()), "all-ms")
}

// writers commit one memory after another from n goroutines until stop is called.
func writers(b *testing.B, s *sqlitestore.Store, n int) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for i := range n {
		agent := fmt.Sprintf("writer-%d-%d", i, time.Now().UnixNano())
		wg.Go(func() {
			for j := 0; ctx.Err() == nil; j++ {
				item := episode(fmt.Sprint(j), "the tide went out over glass")
				item.Agent = agent
				_, err := s.Commit(ctx, memory.Write{Agent: agent, Cause: "import", Add: []dream.Item{item}})
				if err != nil && ctx.Err() == nil {
					b.Error(err)
				}
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// BenchmarkRing sends one notice to a listener of another process, which is another handle here.
func BenchmarkRing(b *testing.B) {
	path := filepath.Join(b.TempDir(), "oneiros.db")
	s, other := open(b, path), open(b, path)
	received := make(chan presence.WakeNotice, 16)
	stop, err := other.Listen(func(r presence.WakeNotice) { received <- r })
	require.NoError(b, err)
	defer stop()
	var times []time.Duration
	for n := int64(1); b.Loop(); n++ {
		begun := time.Now()
		require.NoError(b, s.Publish(b.Context(), noticeOf(n)))
		require.Equal(b, n, (<-received).Epoch)
		times = append(times, time.Since(begun))
	}
	report(b, times)
}

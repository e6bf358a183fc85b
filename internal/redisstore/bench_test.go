package redisstore_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/activities/port/spend/spendtest"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// scripts is the time that the server has spent in scripts, in microseconds.
func scripts(b *testing.B, server *redis.Server) (us float64) {
	b.Helper()
	info, err := server.Dial(b).Info(b.Context(), "commandstats").Result()
	require.NoError(b, err)
	found := regexp.MustCompile(`cmdstat_evalsha:calls=\d+,usec=(\d+)`).FindStringSubmatch(info)
	if found != nil {
		us, err = strconv.ParseFloat(found[1], 64)
		require.NoError(b, err)
	}
	return us
}

// everyWay measures do on a server of each durability, alone and with 16 concurrent callers. It reports p50 and p99, and
// what an operation takes of the server.
func everyWay(b *testing.B, do func(s *redisstore.Store, i int) error) {
	for _, fsync := range []string{"everysec", "always"} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", fsync, callers), func(b *testing.B) {
				server := redis.Start(b, redis.Fsync(fsync))
				s := open(b, server.URL, "oneiros:")
				require.NoError(b, do(s, -1))
				before := scripts(b, server)
				took := make([]time.Duration, b.N)
				var calls sync.WaitGroup
				b.ResetTimer()
				for c := range callers {
					calls.Go(func() {
						for i := c; i < b.N; i += callers {
							began := time.Now()
							if err := do(s, i); err != nil {
								b.Error(err)
								return
							}
							took[i] = time.Since(began)
						}
					})
				}
				calls.Wait()
				b.StopTimer()
				b.ReportMetric((scripts(b, server)-before)/float64(b.N), "server-us")
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
			})
		}
	}
}

// The two ledger steps of a paid call, under six caps (decision 1).
func BenchmarkReserveSettle(b *testing.B) {
	everyWay(b, func(s *redisstore.Store, i int) error {
		a := askFor(fmt.Sprint("step-", i))
		for _, scope := range []string{"phase", "agent", "month", "fleet"} {
			a.Accounts = append(a.Accounts, a.Accounts[0])
			a.Accounts[len(a.Accounts)-1].Scope = scope
		}
		a.Accounts[1].Limit = a.Accounts[0].Limit
		h, err := s.Reserve(b.Context(), a)
		if err != nil {
			return err
		}
		return s.Settle(b.Context(), h,
			spend.Bill{State: spend.Settled, Amount: 7, Answer: []byte(`{"text":"a short answer"}`), At: noon})
	})
}

// A visit that wakes: epoch, lease, lock and the stored wake, one agent after another.
func BenchmarkArrive(b *testing.B) {
	everyWay(b, func(s *redisstore.Store, i int) error {
		a, err := s.Arrive(b.Context(), presence.Visit{
			Agent:  fmt.Sprint("agent-", i%1000),
			Client: "web",
			Cause:  presence.Connect,
			Now:    noon.Add(time.Duration(i) * time.Hour),
			For:    time.Minute,
		})
		if err == nil && !a.Raised {
			err = fmt.Errorf("visit %d of %s did not wake", i, a.Agent)
		}
		return err
	})
}

// A thousand visits at once that wake, while 64 goroutines reserve and settle paid calls: goal 300 ms for all.
func BenchmarkThousandArrivals(b *testing.B) {
	const agents = 1000
	s := open(b, redis.Start(b, redis.Fsync("everysec")).URL, "oneiros:")
	var all, busy sync.WaitGroup
	ended := make(chan struct{})
	for i := range 64 {
		busy.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				h, err := s.Reserve(b.Context(), askFor(fmt.Sprint("step-", i, "-", n)))
				if err == nil {
					err = s.Settle(b.Context(), h, spend.Bill{State: spend.Settled, Amount: 7, At: noon})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	var times []time.Duration
	var slowest time.Duration
	for turn := 0; b.Loop(); turn++ {
		took := make([]time.Duration, agents)
		began := time.Now()
		for i := range agents {
			all.Go(func() {
				a, err := s.Arrive(b.Context(), presence.Visit{
					Agent:  fmt.Sprint("agent-", i),
					Client: "web",
					Cause:  presence.Connect,
					Now:    noon.Add(time.Duration(turn) * time.Hour),
					For:    time.Minute,
				})
				if err != nil || !a.Raised {
					b.Errorf("visit %d of turn %d: raised %t, %v", i, turn, a.Raised, err)
				}
				took[i] = time.Since(began)
			})
		}
		all.Wait()
		slowest = max(slowest, time.Since(began))
		times = append(times, took...)
	}
	close(ended)
	busy.Wait()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(slowest)/1e6, "all-ms")
}

// A visit of a client that already holds a lease.
func BenchmarkRenew(b *testing.B) {
	everyWay(b, func(s *redisstore.Store, i int) error {
		v := visitNow()
		v.Now = noon.Add(time.Duration(i) * time.Millisecond)
		_, err := s.Arrive(b.Context(), v)
		return err
	})
}

// Notices for a thousand agents, received by a thousand activities of another process.
func BenchmarkThousandRings(b *testing.B) {
	here, there := pair(b)
	var slowest []time.Duration
	for b.Loop() {
		_, late := thousandNotices(b, here, there)
		slowest = append(slowest, late)
	}
	slices.Sort(slowest)
	b.ReportMetric(float64(slowest[len(slowest)/2])/1e6, "slowest-p50-ms")
	b.ReportMetric(float64(slowest[len(slowest)-1])/1e6, "slowest-max-ms")
}

func BenchmarkFolding(b *testing.B) {
	spendtest.BenchmarkFolding(b, open(b, redis.Start(b, redis.Fsync("everysec")).URL, "oneiros:").Ledger())
}

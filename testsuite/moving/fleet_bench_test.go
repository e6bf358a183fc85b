package moving

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/program"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// An agent of the fleet: what it remembers, the dreams that it has dreamt, and the calls of its newest days.
const (
	fleetMemories = 20
	fleetDreams   = 3
	fleetCalls    = 40
)

// BenchmarkMoveFleet saves, restores and verifies the store of 10,000 agents with 400,000 calls by the commands of
// docs/backup.md, and reports how long each takes and how much memory its process needs at most. ONEIROS_SIZING_AGENTS
// names another number of agents.
func BenchmarkMoveFleet(b *testing.B) {
	agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_SIZING_AGENTS"), "10000"))
	require.NoError(b, err, "ONEIROS_SIZING_AGENTS")
	oneiros := program.Oneiros(b)
	server := redis.Start(b)
	for b.Loop() {
		require.NoError(b, server.Dial(b).FlushAll(b.Context()).Err())
		one, two, three := b.TempDir(), b.TempDir(), b.TempDir()
		populate(b, filepath.Join(one, "oneiros.db"), agents)
		file := filepath.Join(b.TempDir(), "fleet.oneiros")
		run := func(what, dir string, args ...string) {
			cmd := exec.Command(oneiros, append(args, "--data-dir", dir)...)
			cmd.Dir = dir
			began := time.Now()
			out, err := cmd.CombinedOutput()
			require.NoError(b, err, "%v: %s", args, out)
			b.ReportMetric(time.Since(began).Seconds(), what+"-s")
			most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
			b.ReportMetric(float64(most)/1e3, what+"-MB")
		}
		on := "store.url=" + server.URL
		run("sqlite-verify", one, "store", "verify")
		run("sqlite-export", one, "store", "export", file)
		run("archive-verify", one, "store", "verify", file)
		run("redis-import", two, "store", "import", file, "--set", on)
		run("redis-verify", two, "store", "verify", "--set", on)
		run("redis-export", two, "store", "export", file+".2", "--set", on)
		run("sqlite-import", three, "store", "import", file+".2")
		info, err := os.Stat(file)
		require.NoError(b, err)
		b.ReportMetric(float64(info.Size())/1e6, "archive-MB")
	}
}

// populate fills a file with agents.
func populate(t testing.TB, path string, agents int) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path)
	require.NoError(t, err)
	const together = 32
	var all sync.WaitGroup
	faults := make(chan error, together)
	for first := range together {
		all.Go(func() {
			var err error
			for n := first; n < agents && err == nil; n += together {
				err = populateAgent(t, s, n)
			}
			faults <- err
		})
	}
	all.Wait()
	for range together {
		require.NoError(t, <-faults)
	}
	require.NoError(t, s.Close())
}

func populateAgent(t testing.TB, s *sqlitestore.Store, n int) error {
	a := dream.Agent{
		ID:      fmt.Sprintf("agent-%05d", n),
		Handle:  fmt.Sprintf("agent-%05d", n),
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.Caps{Day: budget.Unlimited, Month: budget.Unlimited},
		Created: noon,
	}
	if err := s.PutAgent(t.Context(), a); err != nil {
		return err
	}
	write := memory.Write{Agent: a.ID, Cause: "import"}
	head := func(kind dream.Kind, id string, ago time.Duration) dream.Head {
		return dream.Head{
			ID:    id,
			Agent: a.ID,
			Kind:  kind,
			At:    noon.Add(-ago),
			State: dream.Live,
			Taint: dream.FromHuman,
		}
	}
	for i := range fleetMemories {
		write.Add = append(write.Add, &dream.Episode{
			Head:     head(dream.KindEpisode, fmt.Sprint("e", i), time.Duration(i+1)*time.Hour),
			Content:  fmt.Sprintf("what agent %d heard in hour %d: %0200d", n, i, i),
			Salience: .5,
		})
	}
	for i := range fleetDreams {
		ago := time.Duration(fleetDreams-i) * 24 * time.Hour
		h := head(dream.KindRecord, fmt.Sprintf("dream/%s/%04d", a.ID, i+1), ago)
		r := &dream.Record{
			Head:    h,
			Tier:    dream.Hardened,
			Outcome: dream.Completed,
			Ended:   h.At.Add(time.Minute),
			Run:     "run",
		}
		for _, phase := range dream.Phases {
			r.Phases = append(r.Phases, dream.Tally{Phase: phase, Calls: 3, Kept: 2, Spent: 2469})
		}
		write.Add = append(write.Add, r)
	}
	if _, err := s.Commit(t.Context(), write); err != nil {
		return err
	}
	for i := range fleetCalls {
		day := noon.AddDate(0, 0, -i/10).Format(time.DateOnly)
		hold, err := s.Ledger().Reserve(t.Context(), spend.Ask{
			Step:     fmt.Sprint("talk/", a.ID, "/", i),
			Agent:    a.ID,
			Phase:    "talk",
			Model:    "house/small",
			Day:      day,
			Amount:   4000,
			Accounts: activities.DayAccounts(a, day, budget.Unlimited),
			At:       noon,
		})
		if err != nil {
			return err
		}
		bill := spend.Bill{
			State:  spend.Settled,
			Amount: budget.Micros(1000 + i),
			At:     noon,
			Finish: "stop",
			Answer: fmt.Appendf(nil, `{"content": "answer %d of agent %d: %0300d"}`, i, n, i),
		}
		if err := s.Ledger().Settle(t.Context(), hold, bill); err != nil {
			return err
		}
	}
	return nil
}

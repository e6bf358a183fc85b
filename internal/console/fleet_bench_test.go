package console_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/fabric"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// fleetOf is a deployment of very many agents.
type fleetOf struct {
	store interface {
		memory.Store
		memory.Fleet
		memory.Feeds
	}
	deployment *deploy.Deployment
	serverUsed func() time.Duration // processor time of a Redis server; nil: the store has none
}

// fleetAgent is one agent of a fleet. Every five-hundredth has a problem: its newest dream failed.
func fleetAgent(n int) dream.Agent {
	handle := fmt.Sprintf("agent-%05d", n)
	zones := []string{"UTC", "Europe/Berlin", "Asia/Tokyo"}
	return dream.Agent{
		ID:      handle,
		Handle:  handle,
		Persona: "a quiet research companion",
		Zone:    zones[n%3],
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: now.AddDate(0, -1, 0),
	}
}

// fill writes the agent's memories: 20 events and the records of three dreams, and four calls in the ledger.
func (f fleetOf) fill(ctx context.Context, n int) error {
	a := fleetAgent(n)
	if err := f.store.PutAgent(ctx, a); err != nil {
		return err
	}
	var items []dream.Item
	for i := range 20 {
		h := head(dream.KindEpisode, fmt.Sprint("e", i), now.Add(-time.Duration(i+1)*time.Hour), false)
		h.Agent = a.ID
		content := fmt.Sprint("the kettle and the vane, day ", i)
		items = append(items, &dream.Episode{Head: h, Content: content, Salience: .5})
	}
	for i := range 3 {
		h := head(dream.KindRecord, fmt.Sprintf("dream/%s/%04d", a.Handle, i+1),
			now.Add(-time.Duration(3-i)*24*time.Hour+time.Duration(n)*time.Second), false)
		h.Agent = a.ID
		r := &dream.Record{
			Head:     h,
			Tier:     dream.Hardened,
			Outcome:  dream.Completed,
			Ended:    h.At.Add(time.Minute),
			Run:      "run",
			Theme:    "kettles and vanes",
			Workflow: h.ID,
			Budget:   500_000,
			Spent:    12_345,
		}
		for _, phase := range dream.Phases {
			r.Phases = append(r.Phases, dream.Tally{Phase: phase, Calls: 3, Kept: 2, Spent: 2469})
		}
		if n%500 == 0 && i == 2 {
			r.Outcome, r.Reason = dream.Aborted, "the model did not answer"
		}
		items = append(items, r)
	}
	if _, err := f.store.Commit(ctx, memory.Write{Agent: a.ID, Cause: "import", Add: items}); err != nil {
		return err
	}
	for i := range 4 {
		day := now.AddDate(0, 0, -i).Format(time.DateOnly)
		hold, err := f.deployment.Ledger.Reserve(ctx, spend.Ask{
			Step:     fmt.Sprint(a.ID, "/", i),
			Agent:    a.ID,
			Phase:    "talk",
			Model:    "house/small",
			Day:      day,
			Amount:   4000,
			Accounts: activities.DayAccounts(a, day, budget.Unlimited),
			At:       now,
		})
		if err != nil {
			return err
		}
		bill := spend.Bill{State: spend.Settled, Amount: budget.Micros(1000 + n), At: now}
		if err := f.deployment.Ledger.Settle(ctx, hold, bill); err != nil {
			return err
		}
	}
	return nil
}

// fillAll fills a deployment with 10,000 agents, or with fewer for a short run.
func (f fleetOf) fillAll(b *testing.B) {
	b.Helper()
	agents := 10_000
	if testing.Short() {
		agents = 500
	}
	const together = 32
	faults := make(chan error, together)
	for first := range together {
		go func() {
			var err error
			for n := first; n < agents && err == nil; n += together {
				err = f.fill(b.Context(), n)
			}
			faults <- err
		}()
	}
	for range together {
		require.NoError(b, <-faults)
	}
}

// BenchmarkFleet shows 10,000 agents by the commands and the operation that show all of them: goal 200 ms each.
func BenchmarkFleet(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) fleetOf{
		"SQLite": func(b *testing.B) fleetOf {
			b.Helper()
			s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "oneiros.db"))
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, s.Close()) })
			return fleetOf{s, deploymentOf(s, s.Ledger()), nil}
		},
		"Redis": func(b *testing.B) fleetOf {
			b.Helper()
			server := redis.Shared(b)
			s, err := redisstore.Open(b.Context(), server.URL, redisstore.Prefix(redis.Prefix(b)),
				redisstore.Timeout(time.Minute))
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, s.Close()) })
			client := server.Dial(b)
			return fleetOf{
				s,
				deploymentOf(s, s.Ledger()),
				func() time.Duration { return redisUsed(b, client) },
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			f := open(b)
			f.fillAll(b)
			f.lines(b)
		})
	}
}

// deploymentOf is a deployment on a store and its ledger.
func deploymentOf(
	s interface {
		memory.Store
		memory.Fleet
		memory.Feeds
		fabric.Log
		presence.Store
	},
	ledger interface {
		spend.Ledger
		spend.Balances
		spend.DayTotals
	},
) *deploy.Deployment {
	return &deploy.Deployment{
		Store:    s,
		Fleet:    s,
		Feeds:    s,
		Ledger:   ledger,
		Balances: ledger,
		Days:     ledger,
		Events:   s,
		Wakes:    s,
		Catalog:  models,
		Knobs:    dream.DefaultKnobs(),
	}
}

// lines runs the commands and the operation that show all agents.
func (f fleetOf) lines(b *testing.B) {
	for _, line := range []string{
		"agents list", "agents list --limit 0", "agents list --json", "dreams list --all",
		"dreams list --all --status aborted", "spend --all", "spend --all --limit 0", "spend",
		"health --problems",
	} {
		b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
			f.command(b, line) // on Redis the first reading completes what an older program has not kept
			f.measured(b, func() {
				for b.Loop() {
					f.command(b, line)
				}
			})
		})
	}
	b.Run("GET_v1_dreams", func(b *testing.B) { f.measured(b, func() { f.listed(b) }) })
}

// measured reports the processor time of a benchmark beside the time that it took: other work on the machine does not
// change it. It is that of this process and of the store's server.
func (f fleetOf) measured(b *testing.B, run func()) {
	used := func() time.Duration {
		var all syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &all))
		sum := time.Duration(all.Utime.Nano() + all.Stime.Nano())
		if f.serverUsed != nil {
			sum += f.serverUsed()
		}
		return sum
	}
	before := used()
	run()
	b.ReportMetric(1000*(used()-before).Seconds()/float64(b.N), "cpu-ms")
}

// redisUsed is the processor time that a Redis server has used.
func redisUsed(b *testing.B, client *goredis.Client) time.Duration {
	b.Helper()
	text, err := client.Info(b.Context(), "cpu").Result()
	require.NoError(b, err)
	sum := 0.
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(b, err, line)
			sum += seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// command runs a command line.
func (f fleetOf) command(b *testing.B, line string) {
	b.Helper()
	var out, err bytes.Buffer
	app := &cli.App{
		Out:      &out,
		Err:      &err,
		Now:      func() time.Time { return now },
		Width:    120,
		Zone:     "Europe/Berlin",
		Patience: 20 * time.Millisecond,
		Backend: backend{
			open: func(context.Context) (*deploy.Deployment, error) { h := *f.deployment; return &h, nil },
		},
	}
	code := console.Run(b.Context(), app, strings.Fields(line))
	require.Contains(b, []int{0, exit.Unwell}, code, "%s%s", out.String(), err.String())
	require.NotEmpty(b, out.String())
}

// listed lists the dreams of all agents by the API's own code.
func (f fleetOf) listed(b *testing.B) {
	d := &psyche.Dreams{Memory: f.store, Fleet: f.store, Now: func() time.Time { return now }}
	c := psyche.Caller{Key: access.Key{Role: access.Owner}}
	after := ""
	for b.Loop() {
		page, err := d.List(b.Context(), c, psyche.ListRequest{After: after, Limit: psyche.LargestPage})
		require.NoError(b, err)
		require.Len(b, page.Data, psyche.LargestPage)
		after = page.Last
	}
}

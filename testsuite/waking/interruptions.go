package waking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Interruptions are many dreams that are woken at random moments, in random ways, while workers are killed and calls
// fail. Everything random follows from the seed, except the order in which concurrent things happen.
type Interruptions struct {
	Seed    uint64
	AtLeast int // stretches that are woken
	Lanes   int // agents, each with one dream at a time
	Workers int // processes
	Kill    int // one kill in about so many calls; 0 for none
	Share   float64
	Redis   string // URL of the server that keeps everything; empty: a file
	Prefix  string // of its keys
}

// lock is the wake lock of these agents: short, so that many dreams fit into a run.
const lock = 30 * time.Millisecond

// faults that calls meet: temporary ones.
var faults = []provider.Fault{
	provider.Limit, provider.LimitDelay, provider.ServerError, provider.CutMiddle, provider.BadChunk,
	provider.BadJSON, provider.NoUsage,
	provider.LowUsage, provider.HighUsage, provider.Lingering, provider.Plain,
}

// execution is the state of a run.
type execution struct {
	run        Interruptions
	upstream   *provider.Server
	deployment *testdeploy.Deployment
	crew       *chaos.Workers
	moments    chaos.Moments
	counted    counter

	mu     sync.Mutex
	faults []error
	tally  Tally
}

// Tally counts what was done to the dreams of a run, and what became of them.
type Tally struct {
	Dreams   int
	Woken    int // stretches
	Ways     map[Way]int
	After    map[After]int // interruptions, by what was done next
	Missed   int           // wakes that found the dream ended
	Blind    int           // connects that were answered although the store was too slow
	Kills    int
	Windows  int      // times in which no dream may begin
	Replayed int      // histories
	Again    []string // queries that had to be repeated
	Wall     time.Duration
}

// String is the counts in one line.
func (t Tally) String() string {
	return fmt.Sprintf(
		"%d dreams, %d stretches woken in %s (%v), then %v; %d wakes came too late, %d were answered before the store had; %d workers killed, %d times without a dream checked, %d histories replayed, %d queries repeated",
		t.Dreams,
		t.Woken,
		t.Wall.Round(time.Second),
		t.Ways,
		t.After,
		t.Missed,
		t.Blind,
		t.Kills,
		t.Windows,
		t.Replayed,
		len(t.Again),
	)
}

// Execute runs it on a server of its own and returns the evidence. The error has what went wrong during the run.
func (r Interruptions) Execute(ctx context.Context, t testing.TB) (chaos.Evidence, chaos.Wakes, Tally, error) {
	t.Helper()
	began := time.Now()
	server := temporal.Start(t, temporal.InMemory())
	d := &execution{run: r, tally: Tally{Ways: map[Way]int{}, After: map[After]int{}}}
	var err error
	d.upstream, err = provider.Start(provider.Options{
		Seed: r.Seed, First: 2 * time.Millisecond, Each: time.Millisecond, RetryAfter: 100 * time.Millisecond,
		Plan: d.moments.Plan(d.counted.plan(provider.Seeded(r.Seed, r.Share, faults...))),
	})
	if err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.upstream.Close()
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:    server.TaskQueue,
		Provider: d.upstream.URL, Model: "script", Knobs: knobs(), ResumeTTL: time.Hour,
		Settings: workflows.Settings{
			WakeLock: lock, ClientTimeout: time.Hour, AlarmHold: time.Hour,
			ResumeAfter: 24 * time.Hour,
		},
	}
	config.Redis, config.Prefix = r.Redis, r.Prefix
	d.deployment, err = testdeploy.Open(ctx, config, server.Dial(t))
	if err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.deployment.Close()
	defer d.deployment.Starter.Close()
	d.crew, err = chaos.StartWorkers(config, r.Workers)
	if err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.crew.KillAll()
	defer func() {
		if t.Failed() {
			t.Logf("standard error of the workers: %s", d.crew.Stderr())
		}
	}()
	d.disturb(ctx)
	d.tally.Kills, d.tally.Wall = d.crew.Killed(), time.Since(began)
	e, err := chaos.Gather(ctx, d.deployment, d.upstream.Billing)
	if err != nil {
		return e, chaos.Wakes{}, d.tally, errors.Join(append(d.faults, err)...)
	}
	w, err := e.Wakes(ctx, d.deployment)
	d.tally.Woken = w.Total
	d.crew.KillAll()
	return e, w, d.tally, errors.Join(append(d.faults, err, d.unexpectedErrors(), d.replay(ctx, e))...)
}

// knobs make the silence timeout and the dreams short.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.IdleToken = time.Second
	k.CallTimeout = 8 * time.Second
	k.Cycles = 1
	k.Partials = 3
	return k
}

// disturb lets all lanes dream and be woken until enough stretches were, while workers are killed.
func (d *execution) disturb(ctx context.Context) {
	around, stop := context.WithCancel(ctx)
	defer stop()
	all := make([]*lane, d.run.Lanes)
	for i := range all {
		all[i] = &lane{execution: d, dice: rand.New(rand.NewPCG(d.run.Seed, uint64(i)+1))}
		if err := all[i].addAgent(ctx, i); err != nil {
			d.fault(err)
			return
		}
	}
	var beside, lanes sync.WaitGroup
	beside.Go(func() { d.kill(around) })
	for i, l := range all {
		lanes.Go(func() {
			if err := l.run(ctx); err != nil {
				d.fault(fmt.Errorf("lane %d: %w", i, err))
			}
		})
	}
	lanes.Wait()
	stop()
	beside.Wait()
}

// kill ends workers, one in about so many calls, and starts others in their place.
func (d *execution) kill(ctx context.Context) {
	if d.run.Kill == 0 {
		return
	}
	dice := rand.New(rand.NewPCG(d.run.Seed, 0))
	for at := 0; ; at = max(at, d.counted.all()) {
		at += d.run.Kill/2 + dice.IntN(d.run.Kill)
		select {
		case <-ctx.Done():
			return
		case <-d.moments.Count(at):
		}
		victim := dice.IntN(d.run.Workers)
		d.crew.Kill(victim)
		d.fault(d.crew.Replace(victim))
	}
}

func (d *execution) fault(err error) {
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.faults = append(d.faults, err)
	}
}

func (d *execution) note(do func(*Tally)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do(&d.tally)
}

// enough says whether as many stretches were woken as were wanted.
func (d *execution) enough() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	woken := 0
	for _, n := range d.tally.After {
		woken += n
	}
	// some wake a dream that has not resumed yet
	return woken >= d.run.AtLeast+d.run.AtLeast/20+2 || len(d.faults) > 0
}

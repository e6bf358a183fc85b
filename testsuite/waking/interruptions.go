package waking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Interruptions are many dreams that are woken at random moments, in random ways, while workers are killed and calls go
// wrong. Everything random follows from the seed, but for the order in which concurrent things happen.
type Interruptions struct {
	Seed    uint64
	AtLeast int // sittings that are woken
	Lanes   int // agents, each with one dream at a time
	Workers int // processes
	Kill    int // one about every so many calls; 0 for none
	Share   float64
	Redis   string // URL of the server that keeps everything; empty: a file
	Prefix  string // of its keys
}

// lock is the wake lock of these agents: short, so that many dreams fit into a run.
const lock = 30 * time.Millisecond

// faults that calls meet: those that pass.
var faults = []provider.Fault{
	provider.Limit, provider.LimitDelay, provider.ServerError, provider.CutMiddle, provider.BadChunk, provider.BadJSON, provider.NoUsage,
	provider.LowUsage, provider.HighUsage, provider.Lingering, provider.Plain,
}

// disturbance is a run that is on.
type disturbance struct {
	run     Interruptions
	till    *provider.Server
	company *stage.Company
	crew    *chaos.Crew
	moments chaos.Moments
	counted counter

	mu     sync.Mutex
	faults []error
	tally  Tally
}

// Tally says what was done to the dreams of a run, and what became of them.
type Tally struct {
	Dreams   int
	Woken    int // sittings
	Ways     map[Way]int
	After    map[After]int // interruptions, by what was done next
	Missed   int           // wakes that found the dream ended
	Blind    int           // knocks that were answered although the store was too slow
	Kills    int
	Windows  int // times in which no dream may begin
	Replayed int // histories
	Again    int // workflow tasks that the SDK tried again from the history
	Wall     time.Duration
}

func (t Tally) String() string {
	return fmt.Sprintf("%d dreams, %d sittings woken in %s (%v), then %v; %d wakes came too late, %d were answered before the store had; %d workers killed, %d stretches without a dream checked, %d histories replayed, %d tasks tried again",
		t.Dreams, t.Woken, t.Wall.Round(time.Second), t.Ways, t.After, t.Missed, t.Blind, t.Kills, t.Windows, t.Replayed, t.Again)
}

// Perform plays the run on a server of its own and gives the evidence. What went wrong while it was on is in the error.
func (r Interruptions) Perform(ctx context.Context, t testing.TB) (chaos.Evidence, chaos.Wakes, Tally, error) {
	t.Helper()
	began := time.Now()
	server := temporal.Start(t, temporal.InMemory())
	d := &disturbance{run: r, tally: Tally{Ways: map[Way]int{}, After: map[After]int{}}}
	var err error
	d.till, err = provider.Start(provider.Options{
		Seed: r.Seed, First: 2 * time.Millisecond, Each: time.Millisecond, RetryAfter: 100 * time.Millisecond,
		Plan: d.moments.Plan(d.counted.plan(provider.Seeded(r.Seed, r.Share, faults...))),
	})
	if err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.till.Close()
	play := stage.Play{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace, Queue: server.TaskQueue,
		Provider: d.till.URL, Model: "script", Knobs: knobs(), ResumeTTL: time.Hour,
		Settings: workflows.Settings{WakeLock: lock, ClientTimeout: time.Hour, AlarmHold: time.Hour, ResumeAfter: 24 * time.Hour},
	}
	play.Redis, play.Prefix = r.Redis, r.Prefix
	if d.company, err = stage.Open(ctx, play, server.Dial(t)); err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.company.Close()
	defer d.company.Starter.Close()
	if d.crew, err = chaos.Muster(play, r.Workers); err != nil {
		return chaos.Evidence{}, chaos.Wakes{}, d.tally, err
	}
	defer d.crew.End()
	defer func() {
		if t.Failed() {
			t.Logf("the workers said: %s", d.crew.Said())
		}
	}()
	d.disturb(ctx)
	d.tally.Kills, d.tally.Wall = d.crew.Killed(), time.Since(began)
	e, err := chaos.Gather(ctx, d.company, d.till.Till)
	if err != nil {
		return e, chaos.Wakes{}, d.tally, errors.Join(append(d.faults, err)...)
	}
	w, err := e.Wakes(ctx, d.company)
	d.tally.Woken = w.Total
	d.crew.End()
	return e, w, d.tally, errors.Join(append(d.faults, err, d.trouble(), d.replay(ctx, e))...)
}

// trouble says what workers may not say. A task that the SDK could not fit to what it had in its cache is tried again from
// the history; that is counted, and the histories tell whether the fault was ours.
func (d *disturbance) trouble() error {
	var faults []error
	for _, said := range d.crew.Said() {
		for line := range strings.Lines(said) {
			switch {
			case strings.Contains(line, "Workflow panic") && strings.Contains(line, "[TMPRL1100]"):
				d.tally.Again++
			case strings.Contains(line, "panic:"), strings.Contains(line, "[panic]"), strings.Contains(line, "DATA RACE"):
				faults = append(faults, errors.New("a worker said: "+line))
			}
		}
	}
	return errors.Join(faults...)
}

// replay runs what Temporal recorded of every dream and every life against the code that made it: whatever happened to the
// workers, a story can be told again as it was.
func (d *disturbance) replay(ctx context.Context, e chaos.Evidence) error {
	var ids []string
	for _, one := range e.Dreams {
		if one.Begun {
			ids = append(ids, one.Night.ID)
		}
	}
	agents, err := d.company.Store.Agents(ctx)
	for _, agent := range agents {
		ids = append(ids, workflows.AgentID(agent.Handle))
	}
	faults := []error{err}
	folder, err := os.MkdirTemp("", "oneiros-replay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for i, id := range ids {
		name := fmt.Sprint(i)
		err := histories.Save(ctx, d.company.Client, id, "", folder, name)
		if err == nil {
			err = histories.Replay(filepath.Join(folder, name+".json.gz"), workflows.Register)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("replay %s: %w", id, err))
		}
	}
	d.tally.Replayed = len(ids)
	return errors.Join(faults...)
}

// knobs keep a provider's silence short, and nights too.
func knobs() dream.Knobs {
	k := dream.DefaultKnobs()
	k.IdleToken, k.CallTimeout, k.Cycles, k.Partials = time.Second, 8*time.Second, 1, 3
	return k
}

// disturb lets all lanes dream and be woken until enough sittings were, while workers are killed.
func (d *disturbance) disturb(ctx context.Context) {
	around, stop := context.WithCancel(ctx)
	defer stop()
	all := make([]*lane, d.run.Lanes)
	for i := range all {
		all[i] = &lane{disturbance: d, dice: rand.New(rand.NewPCG(d.run.Seed, uint64(i)+1))}
		if err := all[i].hire(ctx, i); err != nil {
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

// kill ends workers, one about every so many calls, and starts others in their place.
func (d *disturbance) kill(ctx context.Context) {
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

func (d *disturbance) fault(err error) {
	if err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.faults = append(d.faults, err)
	}
}

func (d *disturbance) note(do func(*Tally)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do(&d.tally)
}

// enough says whether as many sittings were woken as were wanted.
func (d *disturbance) enough() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	woken := 0
	for _, n := range d.tally.After {
		woken += n
	}
	return woken >= d.run.AtLeast || len(d.faults) > 0
}

// counter counts the calls of each dream as they arrive.
type counter struct {
	mu      sync.Mutex
	calls   map[string]int
	sum     int
	changed chan struct{}
}

func (c *counter) plan(rest provider.Plan) provider.Plan {
	return func(a provider.Arrival) provider.Fault {
		c.mu.Lock()
		if key, ok := chaos.ReadKey(a.Key); ok {
			if c.calls == nil {
				c.calls = map[string]int{}
			}
			c.calls[key.Dream]++
		}
		c.sum++
		if c.changed != nil {
			close(c.changed)
			c.changed = nil
		}
		c.mu.Unlock()
		return rest(a)
	}
}

func (c *counter) all() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

// reach waits for the n-th call of a dream; false when over comes first.
func (c *counter) reach(ctx context.Context, id string, n int, over <-chan struct{}) bool {
	for {
		c.mu.Lock()
		if c.calls[id] >= n {
			c.mu.Unlock()
			return true
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-over:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// of counts the calls of a dream so far.
func (c *counter) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

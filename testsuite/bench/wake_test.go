package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// dreamingFleet is a deployment in which many agents dream at a slow provider. The worker and the connecting clients
// share a process, as in oneiros up; with Redis there are two more worker processes.
type dreamingFleet struct {
	deployment *testdeploy.Deployment
	upstream   *billedServer
	server     *temporal.Server
	agents     []dream.Agent
	eventsRead []int64 // events read so far, by agent
	bare       *bareWakes
}

// scenario is one row of the wake suite.
type scenario struct {
	redis      bool
	fsync      string // of Redis: everysec or always
	dreaming   int
	connecting int  // at once; 0: all that dream
	wakes      int  // to measure; with connecting 0 the rounds of all
	noWakeBus  bool // no wake bus: only Temporal's own cancellation
	// mean time that a client stays connected, and then leaves the agent in peace; 0 for neither
	stay time.Duration
	// tokens of the first answer of a dream, so that a thousand dreams that take minutes to begin are all generating;
	// 0: the default
	long  int
	each  time.Duration
	limit time.Duration // of the row, without its setting-up; 0: rowMost. What was measured by then is reported
}

const (
	// rowMost bounds a row, promisedMost one with a stated goal, and thousandMost one of a thousand dreams, most of
	// which is spent beginning them. On two idle cores all rows together take a quarter of an hour.
	rowMost      = 25 * time.Second
	promisedMost = time.Minute
	thousandMost = 200 * time.Second
	// bedtime is the share of a row's limit in which its dreams must have begun; agents that do not dream by then are
	// left out.
	bedtime = .6
)

// BenchmarkWake measures a wake from the call until (a) generation has stopped, (b) the partial answer is saved in
// the store, (c) the caller may go on: the epoch is durable, affect and digest are fixed, (d) the agent's workflow
// has recorded it: the dream is interrupted and the agent awake. Wakes between two calls to a model count for (c) and
// (d) only. Where one client connects at a time, a bare workflow on the same server is woken after each wake: bare is
// what its update and its one cancelled activity take. Goals, p99, on two cores: (a) 3 ms, (b) 5 ms, (c) 5 ms, (d)
// twice the bare wake (d-to-bare-p99) for one of 20 agents; (c) also for 100 dreaming and 16 clients; 1,000 at once:
// (c) 300 ms.
func BenchmarkWake(b *testing.B) {
	const token, slow = 20 * time.Millisecond, 200 * time.Millisecond
	const paced = 600 * time.Millisecond
	for _, row := range []struct {
		name string
		scenario
	}{
		{"embedded/one-of-1", scenario{dreaming: 1, connecting: 1, wakes: 200, each: token}},
		{"embedded/one-of-20", scenario{
			dreaming:   20,
			connecting: 1,
			wakes:      400,
			each:       token,
			limit:      promisedMost,
		}},
		{"embedded/one-of-20-without-bell", scenario{
			dreaming:   20,
			connecting: 1,
			wakes:      200,
			each:       token,
			noWakeBus:  true,
		}},
		{"embedded/100-dreaming-16-connecting", scenario{
			dreaming:   100,
			connecting: 16,
			wakes:      480,
			each:       token,
			stay:       paced,
			limit:      promisedMost,
		}},
		{
			"embedded/100-dreaming-16-connecting-saturated",
			scenario{dreaming: 100, connecting: 16, wakes: 800, each: token},
		},
		{"embedded/20-at-once", scenario{dreaming: 20, wakes: 10, each: token}},
		{"embedded/100-at-once", scenario{dreaming: 100, wakes: 4, each: token}},
		{"embedded/100-at-once-without-bell", scenario{dreaming: 100, wakes: 2, each: token, noWakeBus: true}},
		{"embedded/1000-at-once", scenario{
			dreaming: 1000,
			wakes:    1,
			each:     slow,
			long:     3000,
			limit:    thousandMost,
		}},
		{"redis/one-of-1", scenario{
			redis:      true,
			dreaming:   1,
			connecting: 1,
			wakes:      200,
			each:       token,
		}},
		{"redis/one-of-20", scenario{
			redis:      true,
			dreaming:   20,
			connecting: 1,
			wakes:      400,
			each:       token,
			limit:      promisedMost,
		}},
		{"redis/one-of-20-fsync-always", scenario{
			redis:      true,
			fsync:      "always",
			dreaming:   20,
			connecting: 1,
			wakes:      400,
			each:       token,
		}},
		{"redis/100-dreaming-16-connecting", scenario{
			redis:      true,
			dreaming:   100,
			connecting: 16,
			wakes:      480,
			each:       token,
			stay:       paced,
			limit:      promisedMost,
		}},
		{"redis/100-dreaming-16-connecting-saturated", scenario{
			redis:      true,
			dreaming:   100,
			connecting: 16,
			wakes:      800,
			each:       token,
		}},
		{"redis/100-at-once", scenario{redis: true, dreaming: 100, wakes: 4, each: token}},
		{"redis/1000-at-once", scenario{
			redis:    true,
			dreaming: 1000,
			wakes:    1,
			each:     slow,
			long:     3000,
			limit:    thousandMost,
		}},
	} {
		b.Run(row.name, func(b *testing.B) {
			room := newDreamingFleet(b, row.scenario)
			var taken []wake
			b.ResetTimer()
			for range b.N {
				taken = append(taken, room.measure(b, row.scenario)...)
			}
			b.StopTimer()
			room.report(b, taken)
		})
	}
}

func newDreamingFleet(b *testing.B, s scenario) *dreamingFleet {
	b.Helper()
	ctx := context.Background()
	server := temporal.Start(b)
	k := dream.DefaultKnobs()
	k.CallTimeout, k.IdleToken = 10*time.Minute, 5*time.Minute
	if s.long > 0 {
		k.AnswerTokens = s.long
	}
	upstream := openBilledServer(b, providerSpeed{Each: s.each, AtLeast: k.AnswerTokens})
	config := testdeploy.Config{
		Store:      filepath.Join(b.TempDir(), "memory.db"),
		Address:    server.Address,
		Namespace:  server.Namespace,
		Queue:      "bench",
		Provider:   upstream.URL,
		Model:      "script",
		Knobs:      k,
		Activities: 16 + 4*s.dreaming,
		Cache:      100 + 3*s.dreaming,
		NoWakeBus:  s.noWakeBus,
		Settings:   workflows.Settings{WakeLock: time.Microsecond, ClientTimeout: time.Hour, ResumeAfter: time.Hour},
		ResumeTTL:  time.Hour,
	}
	if s.redis {
		fsync := s.fsync
		if fsync == "" {
			fsync = "everysec"
		}
		config.Redis, config.Prefix = redis.Start(b, redis.Fsync(fsync)).URL, "bench:"
	}
	c := server.Dial(b, func(o *client.Options) { o.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{} })
	deployment, err := testdeploy.Open(ctx, config, c)
	require.NoError(b, err)
	b.Cleanup(func() { _ = deployment.Close() })
	if s.noWakeBus {
		deployment.Starter.WakeBus = nil
	}
	if s.redis {
		startWorkers(b, config, 2)
	} else {
		w, err := deployment.StartWorker()
		require.NoError(b, err)
		b.Cleanup(w.Stop)
	}
	fleet := &dreamingFleet{
		deployment: deployment,
		upstream:   upstream,
		server:     server,
		eventsRead: make([]int64, s.dreaming),
	}
	if s.connecting == 1 {
		fleet.bare = startBareWakes(b, c, s.wakes)
	}
	for i := range s.dreaming {
		agent := addAgent(b, deployment, i)
		agent.Caps = dream.Caps{Dream: agent.Caps.Dream, Day: 10_000 * agent.Caps.Day, Month: 10_000 * agent.Caps.Month}
		require.NoError(b, deployment.Store.PutAgent(ctx, agent))
		fleet.agents = append(fleet.agents, agent)
	}
	return fleet
}

// addAgent makes an agent with few memories: a thousand full diaries would take longer to import than to wake.
func addAgent(b *testing.B, deployment *testdeploy.Deployment, i int) dream.Agent {
	b.Helper()
	name := fmt.Sprintf("sleeper-%04d", i)
	agent := dream.Agent{
		ID:      "id-" + name,
		Handle:  name,
		Persona: "a sleeper",
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: testdeploy.Night,
	}
	require.NoError(b, deployment.Store.PutAgent(context.Background(), agent))
	w := memory.Write{Agent: agent.ID, Cause: "bench"}
	for n := range 12 {
		e := &dream.Episode{
			Head: dream.Head{
				ID:    fmt.Sprintf("%s-%d", name, n),
				Agent: agent.ID,
				Kind:  dream.KindEpisode,
				At:    testdeploy.Night.Add(-time.Duration(n+1) * time.Hour),
				State: dream.Live,
				Taint: dream.FromHuman,
			},
			Content:  fmt.Sprintf("On evening %d the keeper counted %d lanterns and wrote the number down.", n, n*7%5),
			Salience: .5, Surprise: float64(n%4) / 4,
		}
		w.Add = append(w.Add, e)
		w.Vectors = append(w.Vectors,
			memory.Vector{Item: e.ID, Space: "scripted/vectors/64", V: provider.Vector(e.Content, 64)})
	}
	_, err := deployment.Store.Commit(context.Background(), w)
	require.NoError(b, err)
	return agent
}

// startWorkers starts worker processes of the deployment.
func startWorkers(b *testing.B, config testdeploy.Config, n int) {
	b.Helper()
	for range n {
		actor, err := testdeploy.StartWorkerProcess(config)
		require.NoError(b, err)
		b.Cleanup(func() { _ = actor.Stop() })
	}
}

// wake is one measured wake, in milliseconds. What was not measured is negative: a and b of a wake between calls, d
// of one that was not recorded before the row had to end.
type wake struct {
	a, b, c, d float64
	bare       float64 // of a bare workflow on the same server, a moment later
	degraded   bool    // the store did not answer in time: the wake is completed later
}

// pause waits; it returns false when the row ends meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// sideBySide runs do n times, some at once, and returns the first error, which ends the others. Running out of time
// is no error.
func sideBySide(ctx context.Context, n, some int, do func(context.Context, int) error) error {
	doing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	room := make(chan struct{}, some)
	var all sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			if err := do(doing, i); err != nil && doing.Err() == nil {
				stop(err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(doing)
}

// ensureDreaming makes sure that an agent dreams.
func (r *dreamingFleet) ensureDreaming(ctx context.Context, i int) error {
	agent, seed := r.agents[i], uint64(i)
	for {
		_, err := r.deployment.Starter.Resume(ctx, agent.Handle)
		if err != nil && strings.Contains(err.Error(), starter.ErrNothing.Error()) {
			_, err = r.deployment.Starter.Begin(ctx,
				starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
		}
		if err == nil || errors.Is(err, starter.ErrDreaming) { // it began, although no answer said so in time
			return nil
		}
		if !pause(ctx, 2*time.Millisecond) { // the agent is about to fall asleep
			return fmt.Errorf("put %s to sleep: %w", agent.Handle, err)
		}
	}
}

// startAll starts a dream of every agent, waits until each is being served, and returns which agents dream.
func (r *dreamingFleet) startAll(ctx context.Context, b *testing.B, s scenario) []int {
	b.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(bedtime*float64(s.most())))
	defer cancel()
	lies := make([]bool, len(r.agents))
	require.NoError(b, sideBySide(ctx, len(r.agents), 32, func(ctx context.Context, i int) error {
		err := r.ensureDreaming(ctx, i)
		lies[i] = err == nil
		return err
	}))
	var dreaming []int
	for i, so := range lies {
		if so {
			dreaming = append(dreaming, i)
		}
	}
	for r.upstream.served(b) < len(dreaming) && pause(ctx, s.each) {
	}
	return dreaming
}

func (s scenario) most() time.Duration {
	if s.limit > 0 {
		return s.limit
	}
	return rowMost
}

func (r *dreamingFleet) measure(b *testing.B, s scenario) []wake {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), s.most())
	defer cancel()
	began := time.Now()
	dreaming := r.startAll(ctx, b, s)
	require.NotEmpty(b, dreaming)
	b.ReportMetric(float64(len(dreaming))/time.Since(began).Seconds(), "begun/s")
	b.ReportMetric(float64(len(dreaming)), "dreaming")
	before := readLoad(b)
	defer func() {
		readLoad(b).report(b, before,
			map[string]int{
				"temporal": r.server.PID(), "provider": r.upstream.child.Process.Pid,
				"connecting": os.Getpid(),
			})
		b.ReportMetric(time.Since(began).Seconds(), "row-s")
	}()
	if s.connecting > 0 {
		return r.oneByOne(ctx, b, s)
	}
	var taken []wake
	for round := range s.wakes {
		if round > 0 {
			r.releaseAll(ctx, b, dreaming)
			dreaming = r.startAll(ctx, b, s)
		}
		if !pause(ctx, 10*s.each) { // until streams run
			break
		}
		taken = append(taken, r.atOnce(ctx, b, dreaming)...)
	}
	return taken
}

// oneByOne lets some clients connect, each to agents of its own, while the others dream on; a woken agent is put to
// sleep again.
func (r *dreamingFleet) oneByOne(ctx context.Context, b *testing.B, s scenario) []wake {
	b.Helper()
	var mu sync.Mutex
	var taken []wake
	require.NoError(b, sideBySide(ctx, s.connecting, s.connecting, func(ctx context.Context, k int) error {
		dice := rand.New(rand.NewPCG(7, uint64(k)))
		for range s.wakes / s.connecting {
			i := k + s.connecting*dice.IntN((len(r.agents)-k-1)/s.connecting+1)
			if !pause(ctx, randomDuration(dice, 3*s.each/2)) {
				return nil
			}
			w, err := r.connect(ctx, i)
			if err != nil {
				return err
			}
			if r.bare != nil {
				w.bare, err = r.bare.wake(ctx)
				if err != nil {
					return err
				}
			}
			mu.Lock()
			taken = append(taken, w)
			mu.Unlock()
			if !pause(ctx, randomDuration(dice, s.stay)) {
				return nil
			}
			if err := r.release(ctx, i); err != nil {
				return err
			}
			if err := r.ensureDreaming(ctx, i); err != nil {
				return err
			}
			if !pause(ctx, randomDuration(dice, s.stay)) {
				return nil
			}
		}
		return nil
	}))
	return taken
}

// randomDuration is a random duration with this mean.
func randomDuration(dice *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(dice.Int64N(int64(2*mean) + 1))
}

func (r *dreamingFleet) atOnce(ctx context.Context, b *testing.B, dreaming []int) []wake {
	b.Helper()
	taken := make([]wake, len(dreaming))
	start := make(chan struct{})
	faults := make(chan error, 1)
	go func() {
		faults <- sideBySide(ctx, len(dreaming), len(dreaming), func(ctx context.Context, n int) error {
			<-start
			w, err := r.connect(ctx, dreaming[n])
			if err == nil {
				taken[n] = w
			}
			return err
		})
	}()
	close(start)
	require.NoError(b, <-faults)
	return slices.DeleteFunc(taken, func(w wake) bool { return w == wake{} })
}

// releaseAll disconnects all clients.
func (r *dreamingFleet) releaseAll(ctx context.Context, b *testing.B, woken []int) {
	b.Helper()
	require.NoError(b,
		sideBySide(ctx, len(woken), 16, func(ctx context.Context, n int) error { return r.release(ctx, woken[n]) }))
}

func (r *dreamingFleet) release(ctx context.Context, i int) error {
	return r.deployment.Starter.Leave(ctx, r.agents[i].Handle, "guest")
}

// connect wakes one agent and times it.
func (r *dreamingFleet) connect(ctx context.Context, i int) (wake, error) {
	began := time.Now()
	woken, err := r.deployment.Starter.Wake(ctx, starter.Connection{Agent: r.agents[i].Handle, Client: "guest"})
	w := wake{
		a:        -1,
		b:        -1,
		c:        since(began),
		d:        -1,
		bare:     -1,
		degraded: woken.Degraded != "",
	}
	if err != nil {
		return w, err
	}
	if !woken.Raised && !w.degraded {
		return w, fmt.Errorf("%s was awake already", r.agents[i].Handle)
	}
	_, err = r.deployment.Starter.Recorded(ctx, woken.Agent, woken.Epoch)
	if err == nil {
		w.d = since(began)
	} else if ctx.Err() == nil {
		return w, err
	}
	events, err := r.deployment.Store.Events(context.WithoutCancel(ctx), r.agents[i].ID, r.eventsRead[i], 0)
	if err != nil {
		return w, err
	}
	for _, e := range events {
		r.eventsRead[i] = e.Seq
		var result event.DreamInterrupted
		if e.Type != result.EventType() {
			continue
		}
		if err := json.Unmarshal(e.Data, &result); err != nil {
			return w, err
		}
		if result.Epoch == woken.Epoch && !result.Light && !result.Forced {
			w.a, w.b = result.Receipt+result.Stop, result.Receipt+result.Stop+result.Preserve
		}
	}
	return w, nil
}

// since is the time since then in milliseconds.
func since(began time.Time) float64 { return float64(time.Since(began).Microseconds()) / 1000 }

func (r *dreamingFleet) report(b *testing.B, taken []wake) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(taken)), "wakes")
	unrecorded, degraded := 0, 0
	for _, w := range taken {
		if w.d < 0 {
			unrecorded++
		}
		if w.degraded {
			degraded++
		}
	}
	b.ReportMetric(float64(unrecorded), "unrecorded") // before the row had to end
	b.ReportMetric(float64(degraded), "degraded")
	p99 := map[string]float64{}
	for _, m := range []struct {
		name string
		of   func(wake) float64
	}{
		{"a-stopped", func(w wake) float64 { return w.a }},
		{"b-safe", func(w wake) float64 { return w.b }},
		{"c-goes-on", func(w wake) float64 { return w.c }},
		{"d-recorded", func(w wake) float64 { return w.d }},
		{"bare", func(w wake) float64 { return w.bare }},
	} {
		var times []float64
		for _, w := range taken {
			if v := m.of(w); v >= 0 {
				times = append(times, v)
			}
		}
		slices.Sort(times)
		if len(times) == 0 {
			continue
		}
		p99[m.name] = times[int(.99*float64(len(times)-1))]
		b.ReportMetric(times[len(times)/2], m.name+"-p50-ms")
		b.ReportMetric(p99[m.name], m.name+"-p99-ms")
		b.ReportMetric(times[len(times)-1], m.name+"-max-ms")
	}
	if p99["bare"] > 0 {
		b.ReportMetric(p99["d-recorded"]/p99["bare"], "d-to-bare-p99")
	}
	if os.Getenv("ONEIROS_BENCH_VERBOSE") != "" {
		b.Logf("%v", taken)
	}
}

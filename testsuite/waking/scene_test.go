package waking_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/waking"
	"github.com/seed-56a03226/oneiros/workflows"
)

// answered is how soon a connecting client must have an answer, whatever fails.
const answered = time.Second

// scene is a deployment: worker processes, a provider that counts what it sells, a Temporal server, and a starter in
// the test program.
type scene struct {
	t          *testing.T
	ctx        context.Context
	server     *temporal.Server
	upstream   *provider.Server
	moments    *chaos.Moments
	deployment *testdeploy.Deployment
	crew       *chaos.Workers
	named      *atomic.Int64
	twins      int // calls that may be made twice at once: those that a worker was making when it was frozen
}

// withT is the same scene for a subtest, with its own deadline.
func (r *scene) withT(t *testing.T) *scene {
	t.Helper()
	own := *r
	var cancel context.CancelFunc
	own.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	own.t = t
	return &own
}

// options are what a test changes.
type options struct {
	own     bool             // a Temporal server that the test may kill
	server  *temporal.Server // one that the test has; nil: the shared one
	workers int              // processes; 0: 1, and none below
	plan    provider.Plan
	token   time.Duration // 0: 2 ms
	retry   time.Duration // what a 429 with a delay asks for; 0: 100 ms
	edit    func(*testdeploy.Config)
	redis   *redis.Server // stores everything instead of a file; nil: a file
	say     func(provider.Request) string
}

func openScene(t *testing.T, f options) *scene {
	t.Helper()
	if testing.Short() {
		t.Skip("plays on a real Temporal server; make test runs it")
	}
	r := &scene{t: t, moments: new(chaos.Moments), named: new(atomic.Int64)}
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(context.Background(), waiting+patience)
	t.Cleanup(cancel)
	switch r.server = f.server; {
	case f.own:
		r.server = temporal.Start(t)
	case r.server == nil:
		r.server = temporal.Shared(t)
	}
	if f.token == 0 {
		f.token = 2 * time.Millisecond
	}
	if f.retry == 0 {
		f.retry = 100 * time.Millisecond
	}
	var err error
	r.upstream, err = provider.Start(provider.Options{
		Seed:       seed,
		First:      5 * time.Millisecond,
		Each:       f.token,
		RetryAfter: f.retry,
		Plan:       r.moments.Plan(f.plan),
		Say:        f.say,
	})
	require.NoError(t, err)
	t.Cleanup(r.upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: r.server.Address, Namespace: r.server.Namespace,
		Queue:    r.server.TaskQueue,
		Provider: r.upstream.URL, Model: "script", Knobs: dream.DefaultKnobs(), ResumeTTL: time.Hour,
		Settings: workflows.Settings{
			WakeLock: time.Millisecond, ClientTimeout: time.Hour, AlarmHold: time.Hour,
			ResumeAfter: 24 * time.Hour,
		},
	}
	config.Knobs.Cycles, config.Knobs.Depth = 2, dream.DepthFixed // so that the moments of a second cycle occur
	if f.redis != nil {
		config.Redis, config.Prefix = f.redis.URL, redis.Prefix(t)
	}
	if f.edit != nil {
		f.edit(&config)
	}
	r.deployment, err = testdeploy.Open(r.ctx, config, r.server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.deployment.Close()) })
	t.Cleanup(r.deployment.Starter.Close)
	if f.workers >= 0 {
		r.crew, err = chaos.StartWorkers(r.deployment.Config, max(1, f.workers))
		require.NoError(t, err)
		t.Cleanup(func() {
			r.crew.KillAll()
			require.NoError(t, r.crew.Panics())
			if t.Failed() {
				t.Logf("standard error of the workers: %s", r.crew.Stderr())
			}
		})
	}
	return r
}

// addAgent makes one more agent, with a handle that no other test of the server has.
func (r *scene) addAgent() dream.Agent {
	r.t.Helper()
	name := strings.ToLower(strings.Map(letters, r.t.Name()))
	agent, err := r.deployment.AddAgent(r.ctx, 1,
		fmt.Sprintf("%s-%d-%d", name[max(0, len(name)-30):], os.Getpid()%10000, r.named.Add(1)))
	require.NoError(r.t, err)
	return agent
}

func letters(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return c
	}
	return -1
}

func (r *scene) request(agent dream.Agent) starter.DreamRequest {
	n := seed
	return starter.DreamRequest{Agent: agent.Handle, Tier: dream.Hardened, Seed: &n, AsOf: testdeploy.Night}
}

func (r *scene) begin(agent dream.Agent) string {
	r.t.Helper()
	begun, err := r.deployment.Starter.Begin(r.ctx, r.request(agent))
	require.NoError(r.t, err)
	return begun.Dream
}

// freeze freezes a worker that writes nothing at that moment: one that is stopped within a transaction keeps the file
// of the store locked for everybody, and that is not what these tests are about.
func (r *scene) freeze(i int, agent dream.Agent) {
	r.t.Helper()
	for range 50 {
		r.crew.Freeze(i)
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		err := r.deployment.Store.PutAgent(ctx, agent)
		cancel()
		if err == nil {
			return
		}
		r.crew.Thaw(i)
	}
	require.FailNow(r.t, "whenever the worker is frozen, it holds the store")
}

// connect wakes the agent; it must be answered in time, by a context that ends.
func (r *scene) connect(agent dream.Agent) starter.WakeResult {
	return r.visit(agent, starter.Connection{Client: "guest"})
}

func (r *scene) visit(agent dream.Agent, k starter.Connection) starter.WakeResult {
	r.t.Helper()
	k.Agent = agent.Handle
	for range 10 {
		woken, _ := r.call(k)
		if woken.Degraded == "" {
			return woken
		}
		r.t.Log("on a busy machine:", woken.Degraded) // answered in time, but degraded
	}
	require.FailNow(r.t, "the store never answers")
	return starter.WakeResult{}
}

// call connects once; a client must be answered in time. It returns for how long this process was kept from running
// meanwhile.
func (r *scene) call(k starter.Connection) (woken starter.WakeResult, stalled time.Duration) {
	r.t.Helper()
	stalled, err := waking.Within(r.ctx, answered, func(ctx context.Context) (err error) {
		woken, err = r.deployment.Starter.Wake(ctx, k)
		return err
	})
	require.NoError(r.t, err)
	return woken, stalled
}

// recorded waits until the agent's workflow has recorded the wake.
func (r *scene) recorded(w starter.WakeResult) workflows.WakeAnswer {
	r.t.Helper()
	awoken, err := r.deployment.Starter.Recorded(r.ctx, w.Agent, w.Epoch)
	require.NoError(r.t, err)
	return awoken
}

// release ends the visit and waits until the agent sleeps.
func (r *scene) release(agent dream.Agent) {
	r.t.Helper()
	require.NoError(r.t, r.deployment.Starter.Sleep(r.ctx, agent.Handle))
	r.state(agent, workflows.Sleeping)
}

func (r *scene) state(agent dream.Agent, want string) {
	r.t.Helper()
	r.until(func() bool { return r.agentState(agent).State == want }, "life of %s is never %s", agent.Handle, want)
}

func (r *scene) agentState(agent dream.Agent) workflows.AgentState {
	agentState, err := r.deployment.Starter.AgentState(r.ctx, agent.Handle)
	if err != nil {
		return workflows.AgentState{}
	}
	return agentState
}

func (r *scene) until(holds func() bool, what string, args ...any) {
	r.t.Helper()
	require.Eventuallyf(r.t, holds, patience, 10*time.Millisecond, what, args...)
}

// resume resumes the interrupted dream.
func (r *scene) resume(agent dream.Agent) workflows.StartedDream {
	r.t.Helper()
	begun, err := r.deployment.Starter.Resume(r.ctx, agent.Handle)
	require.NoError(r.t, err)
	return begun
}

func (r *scene) result(id string) workflows.Result {
	r.t.Helper()
	result, err := r.deployment.Result(r.ctx, id)
	require.NoError(r.t, err)
	return result
}

// requireOutcome waits for a dream to end with this outcome.
func (r *scene) requireOutcome(id string, want dream.Outcome) workflows.Result {
	r.t.Helper()
	result := r.result(id)
	require.Equal(r.t, want, result.Outcome, result.Reason)
	return result
}

// receive waits for a moment.
func (r *scene) receive(moment <-chan provider.Arrival) {
	r.t.Helper()
	select {
	case <-moment:
	case <-r.ctx.Done():
		require.FailNow(r.t, "the awaited call never came", "%v", r.ctx.Err())
	}
}

// await waits for the first call of one activity, in any attempt.
func (r *scene) await(fault provider.Fault, id string, phase dream.Phase, name string) <-chan provider.Arrival {
	return r.moments.Await(fault, func(_ int, a provider.Arrival) bool {
		c, ok := chaos.ReadKey(a.Key)
		return ok && c.Dream == id && c.Phase == phase &&
			(c.Activity == name || strings.HasPrefix(c.Activity, name+"-"))
	})
}

// first is the id of an agent's first dream.
func first(agent dream.Agent) string { return workflows.DreamID(agent.Handle, 1) }

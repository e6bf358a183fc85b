package chaos_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// scene is a deployment whose worker and server a test may kill.
type scene struct {
	t          *testing.T
	ctx        context.Context
	server     *temporal.Server
	upstream   *provider.Server
	moments    *chaos.Moments
	deployment *testdeploy.Deployment
	crew       *chaos.Workers
}

// openScene opens a scene with one worker process. The server is the test's own when it may be killed.
func openScene(t *testing.T, own bool, plan provider.Plan, edit func(*testdeploy.Config)) *scene {
	t.Helper()
	return openSlowScene(t, own, plan, edit, 2*time.Millisecond)
}

// openSlowScene opens a scene whose provider takes so long for each token.
func openSlowScene(
	t *testing.T,
	own bool,
	plan provider.Plan,
	edit func(*testdeploy.Config),
	token time.Duration,
) *scene {
	t.Helper()
	s := &scene{t: t, moments: new(chaos.Moments)}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	if own {
		s.server = temporal.Start(t)
	} else {
		s.server = temporal.Shared(t)
	}
	var err error
	s.upstream, err = provider.Start(provider.Options{
		Seed:       seed,
		First:      5 * time.Millisecond,
		Each:       token,
		RetryAfter: 100 * time.Millisecond,
		Plan:       s.moments.Plan(plan),
	})
	require.NoError(t, err)
	t.Cleanup(s.upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: s.server.Address, Namespace: s.server.Namespace,
		Queue:    s.server.TaskQueue,
		Provider: s.upstream.URL, Model: "script", Knobs: dream.DefaultKnobs(),
	}
	config.Knobs.Depth = dream.DepthFixed // so that the moments of every cycle occur
	if edit != nil {
		edit(&config)
	}
	s.deployment, err = testdeploy.Open(s.ctx, config, s.server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.deployment.Close()) })
	s.crew, err = chaos.StartWorkers(s.deployment.Config, 1)
	require.NoError(t, err)
	t.Cleanup(func() {
		s.crew.KillAll()
		require.NoError(t, s.crew.Panics())
		if t.Failed() {
			t.Logf("standard error of the workers: %s", s.crew.Stderr())
		}
	})
	return s
}

func (s *scene) addAgent() dream.Agent {
	s.t.Helper()
	agent, err := s.deployment.AddAgent(s.ctx, 0, "")
	require.NoError(s.t, err)
	return agent
}

func (s *scene) begin(agent dream.Agent) workflows.StartedDream {
	s.t.Helper()
	n := seed
	begun, err := s.deployment.Starter.Begin(s.ctx,
		starter.DreamRequest{Agent: agent.Handle, Tier: dream.Hardened, Seed: &n, AsOf: testdeploy.Night})
	require.NoError(s.t, err)
	return begun
}

// await waits for a moment.
func (s *scene) await(moment <-chan provider.Arrival) {
	s.t.Helper()
	select {
	case <-moment:
	case <-s.ctx.Done():
		require.FailNow(s.t, "the awaited call never came", "%v", s.ctx.Err())
	}
}

func (s *scene) result(id string) workflows.Result {
	s.t.Helper()
	result, err := s.deployment.Result(s.ctx, id)
	require.NoError(s.t, err)
	return result
}

// audit gathers the evidence and checks what must hold after any test.
func (s *scene) audit() chaos.Evidence {
	s.t.Helper()
	e, err := chaos.Gather(s.ctx, s.deployment, s.upstream.Billing)
	require.NoError(s.t, err)
	require.NoError(s.t, e.Audit())
	require.NoError(s.t, e.AuditOnce())
	caught, err := e.AuditPartials()
	require.NoError(s.t, err)
	s.t.Logf("%d captured, %d discarded, %d cuts; %d attempts, provider %s", caught.Captured, caught.Discarded,
		caught.Cuts, len(e.Rows), e.Book.Total)
	return e
}

// activity is true of the calls of one step, in any attempt. The name of a step that embeds ends in a hash of its
// texts, which is left out here.
func activity(dreamID string, phase dream.Phase, name string) func(int, provider.Arrival) bool {
	return func(_ int, a provider.Arrival) bool {
		c, ok := chaos.ReadKey(a.Key)
		return ok && c.Dream == dreamID && c.Phase == phase &&
			(c.Activity == name || strings.HasPrefix(c.Activity, name+"-"))
	}
}

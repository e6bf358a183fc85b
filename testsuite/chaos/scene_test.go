package chaos_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// scene is a company whose worker and server a test may kill.
type scene struct {
	t          *testing.T
	ctx        context.Context
	server     *temporal.Server
	upstream   *provider.Server
	moments    *chaos.Moments
	deployment *testdeploy.Deployment
	crew       *chaos.Crew
}

// set opens a scene with one worker process. The server is the test's own when it may be killed.
func set(t *testing.T, own bool, plan provider.Plan, edit func(*testdeploy.Config)) *scene {
	t.Helper()
	return setSlow(t, own, plan, edit, 2*time.Millisecond)
}

// setSlow opens a scene whose provider takes so long for each token.
func setSlow(t *testing.T, own bool, plan provider.Plan, edit func(*testdeploy.Config), token time.Duration) *scene {
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
	config.Knobs.Depth = dream.DepthFixed // the moments of every cycle come
	if edit != nil {
		edit(&config)
	}
	s.deployment, err = testdeploy.Open(s.ctx, config, s.server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.deployment.Close()) })
	s.crew, err = chaos.Muster(s.deployment.Config, 1)
	require.NoError(t, err)
	t.Cleanup(func() {
		s.crew.End()
		require.NoError(t, s.crew.Trouble())
		if t.Failed() {
			t.Logf("the workers said: %s", s.crew.Said())
		}
	})
	return s
}

func (s *scene) hire() dream.Agent {
	s.t.Helper()
	agent, err := s.deployment.AddAgent(s.ctx, 0, "")
	require.NoError(s.t, err)
	return agent
}

func (s *scene) begin(agent dream.Agent) workflows.Begun {
	s.t.Helper()
	n := seed
	begun, err := s.deployment.Starter.Begin(s.ctx,
		starter.DreamRequest{Agent: agent.Handle, Tier: dream.Hardened, Seed: &n, AsOf: testdeploy.Night})
	require.NoError(s.t, err)
	return begun
}

// come waits for a moment.
func (s *scene) come(moment <-chan provider.Arrival) {
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

// sound gathers the evidence and checks what must hold after any story.
func (s *scene) sound() chaos.Evidence {
	s.t.Helper()
	e, err := chaos.Gather(s.ctx, s.deployment, s.upstream.Billing)
	require.NoError(s.t, err)
	require.NoError(s.t, e.Audit())
	require.NoError(s.t, e.Once())
	caught, err := e.Partials()
	require.NoError(s.t, err)
	s.t.Logf("%d captured, %d discarded, %d cuts; %d attempts, till %s", caught.Captured, caught.Discarded,
		caught.Cuts, len(e.Rows), e.Book.Total)
	return e
}

// activity is true of the calls of one step, in any attempt; a step that embeds ends in a mark of its texts, left out
// here.
func activity(dreamID string, phase dream.Phase, name string) func(int, provider.Arrival) bool {
	return func(_ int, a provider.Arrival) bool {
		c, ok := chaos.ReadKey(a.Key)
		return ok && c.Dream == dreamID && c.Phase == phase &&
			(c.Activity == name || strings.HasPrefix(c.Activity, name+"-"))
	}
}

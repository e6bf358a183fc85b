package tools_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/testsuite/tools"
)

const (
	patience = 3 * time.Minute
	night    = "dream/echo/0001"
)

// scene is an agent whose dream hangs in the middle of a call, and an operator beside it.
type scene struct {
	*testing.T
	ctx        context.Context
	server     *temporal.Server
	deployment *testdeploy.Deployment
	shell      tools.Shell
	agent      dream.Agent
}

// dreaming opens the scene: the dream of echo has completed its onset and waits for a model in NREM.
func dreaming(t *testing.T, edits ...func(*client.Options)) *scene {
	t.Helper()
	if testing.Short() {
		t.Skip("runs Temporal's own tools against a real server; make test runs it")
	}
	folder, err := tools.Folder()
	require.NoError(t, err)
	server := temporal.Shared(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &scene{
		T: t, ctx: ctx, server: server,
		shell: tools.Shell{Folder: folder, Home: t.TempDir(), Address: server.Address, Namespace: server.Namespace},
	}
	moments := new(chaos.Moments)
	upstream, err := provider.Start(provider.Options{Seed: 1, Plan: moments.Plan(nil)})
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	s.deployment, err = testdeploy.Open(ctx, testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue:    server.TaskQueue,
		Provider: upstream.URL, Model: "script", Knobs: deep(), ResumeTTL: time.Hour,
	}, server.Dial(t, edits...))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.deployment.Close()) })
	w, err := s.deployment.StartWorker()
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	s.agent, err = s.deployment.AddAgent(ctx, 0, "")
	require.NoError(t, err)
	held := moments.Await(provider.HangMiddle, chaos.In(night, dream.NREM))
	seed := uint64(7)
	begun, err := s.deployment.Starter.Begin(ctx,
		starter.DreamRequest{Agent: s.agent.Handle, Tier: dream.Hardened, Seed: &seed, AsOf: testdeploy.Night})
	require.NoError(t, err)
	require.Equal(t, night, begun.Dream)
	select {
	case <-held:
	case <-ctx.Done():
		require.FailNow(t, "the dream never came to NREM")
	}
	return s
}

// run runs a line that must succeed.
func (s *scene) run(line string) string {
	s.Helper()
	text, err := s.shell.Run(line)
	require.NoError(s, err)
	return text
}

// shows repeats a line until its output has what it should: search attributes follow the workflow by some
// milliseconds.
func (s *scene) shows(line, want string) {
	s.Helper()
	var text string
	require.Eventually(s, func() bool {
		text = s.run(line)
		return strings.Contains(text, want)
	}, patience, 50*time.Millisecond, "%s does not show %q", line, want)
}

// outcome waits for the record of the dream to have the outcome.
func (s *scene) outcome(want dream.Outcome) {
	s.Helper()
	require.Eventually(s, func() bool {
		found, err := s.deployment.Store.Find(s.ctx,
			memory.Query{Agent: s.agent.ID, Kinds: []dream.Kind{dream.KindRecord}})
		require.NoError(s, err)
		records := memory.As[*dream.Record](found)
		return len(records) == 1 && records[0].Outcome == want
	}, patience, 20*time.Millisecond, "the night does not end %s", want)
}

// free waits until nothing is reserved and the agent may dream again.
func (s *scene) free() {
	s.Helper()
	require.Eventually(s, func() bool {
		slots, err := s.deployment.Store.Slots(s.ctx)
		require.NoError(s, err)
		open, err := s.deployment.Store.Ledger().OpenDreams(s.ctx)
		require.NoError(s, err)
		return len(slots)+len(open) == 0
	}, patience, 20*time.Millisecond, "something is still reserved")
}

// deep lets every dream go as deep as it can.
func deep() dream.Knobs {
	k := dream.DefaultKnobs()
	k.Depth = dream.DepthFixed
	return k
}

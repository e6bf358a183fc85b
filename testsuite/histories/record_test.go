package histories_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// recording skips unless RECORD names the folder for new histories; an existing file is never overwritten. Histories
// are recorded from released code, not from the change under test.
func recording(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("RECORD")
	if folder == "" {
		t.Skip("set RECORD to the folder that new histories go to")
	}
	return folder
}

type scene struct {
	t          *testing.T
	ctx        context.Context
	folder     string
	deployment *testdeploy.Deployment
	upstream   *provider.Server
}

func newScene(t *testing.T, o provider.Options, edit func(*testdeploy.Config)) *scene {
	t.Helper()
	folder := recording(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	server := temporal.Shared(t)
	upstream, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script", Provider: upstream.URL,
	}
	if edit != nil {
		edit(&config)
	}
	deployment, err := testdeploy.Open(ctx, config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	return &scene{
		t:          t,
		ctx:        ctx,
		folder:     folder,
		deployment: deployment,
		upstream:   upstream,
	}
}

func (s *scene) startWorker() *scene {
	w, err := s.deployment.StartWorker()
	require.NoError(s.t, err)
	s.t.Cleanup(w.Stop)
	return s
}

// addAgent makes an agent with a handle of the scene's own, so that workflow ids on the shared server never collide.
func (s *scene) addAgent(name string) dream.Agent {
	agent, err := s.deployment.AddAgent(s.ctx, 1, name)
	require.NoError(s.t, err)
	return agent
}

func (s *scene) request(agent dream.Agent) starter.DreamRequest {
	seed := uint64(11)
	return starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night}
}

func (s *scene) night(name string, w starter.DreamRequest, want dream.Outcome) workflows.Result {
	begun, err := s.deployment.Starter.Begin(s.ctx, w)
	require.NoError(s.t, err)
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(s.t, err)
	require.Equal(s.t, want, result.Outcome, result.Reason)
	s.save(begun.Dream, name)
	return result
}

func (s *scene) save(workflow, name string) {
	file := filepath.Join(s.folder, name+".json.gz")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		s.t.Logf("%s exists; a recorded history is never written over", file)
		return
	}
	require.NoError(s.t, histories.Save(s.ctx, s.deployment.Client, workflow, "", s.folder, name))
}

func TestRecordCompletedNights(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 1}, nil).startWorker()
	agent := s.addAgent("recorded-paid")
	s.night("dream-completed-hardened", s.request(agent), dream.Completed)
	core := s.request(agent)
	core.Tier = dream.Core
	s.night("dream-completed-core", core, dream.Completed)
	s.save(workflows.AgentID(agent.Handle), "agent-two-dreams")
}

func TestRecordAFreeNight(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{}, func(p *testdeploy.Config) { p.Provider = "" }).startWorker()
	s.night("dream-completed-free", s.request(s.addAgent("recorded-free")), dream.Completed)
}

func TestRecordASkippedOnset(t *testing.T) {
	t.Parallel()
	s := newScene(
		t,
		provider.Options{Seed: 2},
		func(p *testdeploy.Config) { p.Knobs.OnsetEnabled = false },
	).startWorker()
	s.night("dream-onset-skipped", s.request(s.addAgent("recorded-skip")), dream.Completed)
}

func TestRecordAnEmptyNight(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 3}, nil).startWorker()
	agent := s.addAgent("recorded-empty")
	agent.ID, agent.Handle = "id-recorded-void", "recorded-void"
	require.NoError(t, s.deployment.Store.PutAgent(s.ctx, agent))
	s.night("dream-empty", s.request(agent), dream.Empty)
}

func TestRecordAnExhaustedNight(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 4}, nil).startWorker()
	w := s.request(s.addAgent("recorded-poor"))
	little := budget.Micros(9_000)
	w.Budget = &little
	s.night("dream-exhausted", w, dream.Exhausted)
}

func TestRecordAnAbortedNight(t *testing.T) {
	t.Parallel()
	partials := func(a provider.Arrival) provider.Fault {
		if !a.Schema && a.Path == "/v1/chat/completions" {
			return provider.CutMiddle
		}
		return provider.None
	}
	s := newScene(
		t,
		provider.Options{Seed: 5, Plan: partials},
		func(p *testdeploy.Config) { p.Knobs.Attempts = 1 },
	).startWorker()
	s.night("dream-aborted", s.request(s.addAgent("recorded-broken")), dream.Aborted)
}

func TestRecordACanceledNight(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 6, Each: 20 * time.Millisecond}, nil).startWorker()
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(s.addAgent("recorded-cancel")))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.upstream.Billing.Calls()) > 4 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, begun.Dream))
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Canceled, result.Outcome)
	s.save(begun.Dream, "dream-canceled")
}

func TestRecordADreamWithoutASlot(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 7, Each: 20 * time.Millisecond}, nil).startWorker()
	agent := s.addAgent("recorded-slot")
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(agent))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.upstream.Billing.Calls()) > 1 }, time.Minute, 5*time.Millisecond)
	spec, err := s.deployment.Starter.Freeze(s.ctx, s.request(agent))
	require.NoError(t, err)
	_, err = s.deployment.Client.ExecuteWorkflow(s.ctx,
		client.StartWorkflowOptions{ID: spec.Dream, TaskQueue: s.deployment.Config.Queue}, workflows.DreamType, spec)
	require.NoError(t, err)
	result, err := s.deployment.Result(s.ctx, spec.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Canceled, result.Outcome)
	s.save(spec.Dream, "dream-canceled-slot")
	require.NoError(t, s.deployment.Starter.Cancel(s.ctx, begun.Dream))
}

func TestRecordADreamThatBeganByItself(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{}, func(p *testdeploy.Config) { p.Provider = "" }).startWorker()
	agent := s.addAgent("recorded-idle")
	s.deployment.Starter.Options.Settings = workflows.Settings{
		Auto: true, IdleTimeout: time.Millisecond,
		MinGap: 24 * time.Hour,
	}
	require.NoError(t, s.deployment.Starter.EnsureWorkflow(s.ctx, agent))
	var record *dream.Record
	require.Eventually(t, func() bool {
		nights, err := s.deployment.Store.Find(
			s.ctx,
			memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}},
		)
		require.NoError(t, err)
		for _, record = range memory.As[*dream.Record](nights) {
			return record.Outcome != dream.Dreaming
		}
		return false
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, dream.Completed, record.Outcome, record.Reason)
	require.NoError(t, s.deployment.Starter.Active(s.ctx, agent.Handle, time.Now()))
	s.save(workflows.AgentID(agent.Handle), "agent-by-itself")
}

func TestRecordANightWhoseWorkerStopped(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{Seed: 8, Each: 10 * time.Millisecond}, nil)
	first, err := s.deployment.StartWorker()
	require.NoError(t, err)
	begun, err := s.deployment.Starter.Begin(s.ctx, s.request(s.addAgent("recorded-stopped")))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.upstream.Billing.Calls()) > 8 }, time.Minute, 5*time.Millisecond)
	first.Stop()
	s.startWorker()
	result, err := s.deployment.Result(s.ctx, begun.Dream)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	s.save(begun.Dream, "dream-worker-stopped")
}

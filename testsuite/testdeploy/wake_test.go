package testdeploy_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// sleeper is a deployment with one agent that dreams at a slow provider.
type sleeper struct {
	*testdeploy.Deployment
	t        *testing.T
	ctx      context.Context
	agent    dream.Agent
	upstream *provider.Server
}

func newSleeper(t *testing.T, o provider.Options, edit func(*testdeploy.Config)) *sleeper {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	upstream, err := provider.Start(o)
	require.NoError(t, err)
	t.Cleanup(upstream.Close)
	deployment := open(t, func(p *testdeploy.Config) {
		p.Provider, p.Model = upstream.URL, "script"
		p.Settings = workflows.Settings{
			WakeLock: time.Millisecond, ClientTimeout: time.Minute,
			ResumeAfter: 24 * time.Hour,
		}
		p.ResumeTTL = time.Hour
		if edit != nil {
			edit(p)
		}
	})
	agent, err := deployment.AddAgent(ctx, 1, "sleeper")
	require.NoError(t, err)
	return &sleeper{
		Deployment: deployment,
		t:          t,
		ctx:        ctx,
		agent:      agent,
		upstream:   upstream,
	}
}

func (s *sleeper) begin() string {
	seed := uint64(7)
	begun, err := s.Starter.Begin(
		s.ctx,
		starter.DreamRequest{Agent: s.agent.Handle, Seed: &seed, AsOf: testdeploy.Night},
	)
	require.NoError(s.t, err)
	return begun.Dream
}

// served waits until the provider has served so many tokens.
func (s *sleeper) served(tokens int64) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.upstream.Billing.Streamed() >= tokens }, patience, time.Millisecond)
}

func (s *sleeper) connect() starter.WakeResult {
	s.t.Helper()
	w, err := s.Starter.Wake(s.ctx, starter.Connection{Agent: s.agent.Handle, Client: "guest"})
	require.NoError(s.t, err)
	require.Empty(s.t, w.Degraded)
	return w
}

func (s *sleeper) night(id string) *dream.Record {
	n, err := memory.One[*dream.Record](s.ctx, s.Store, s.agent.ID, id)
	require.NoError(s.t, err)
	return n
}

func (s *sleeper) events(kind string) []event.Event {
	all, err := s.Store.Events(s.ctx, s.agent.ID, 0, 0)
	require.NoError(s.t, err)
	var found []event.Event
	for _, e := range all {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

func TestAConnectingClientInterruptsADreamThatResumesLater(t *testing.T) {
	t.Parallel()
	s := newSleeper(t, provider.Options{Seed: 1, Each: 20 * time.Millisecond}, nil)
	id := s.begin()
	s.served(10)
	woken := s.connect()
	require.True(t, woken.Raised)
	require.Equal(t, int64(1), woken.Epoch)
	require.Equal(t, id, woken.Dream)
	awoken, err := s.Starter.Recorded(s.ctx, s.agent.ID, woken.Epoch)
	require.NoError(t, err)
	require.Equal(t, workflows.Awake, awoken.State)
	require.Equal(t, id, awoken.Dream)
	require.NotZero(t, awoken.Until)

	record := s.night(id)
	require.Equal(t, dream.Interrupted, record.Outcome)
	require.True(t, record.Resumable())
	slots, err := s.Store.Slots(s.ctx)
	require.NoError(t, err)
	require.NotContains(t, slots, s.agent.ID)
	events := s.events("DreamInterrupted")
	require.Len(t, events, 1)
	var interrupted event.DreamInterrupted
	require.NoError(t, json.Unmarshal(events[0].Data, &interrupted))
	require.Equal(t, string(presence.Connect), interrupted.Cause)
	require.False(t, interrupted.Forced)
	require.Equal(t, 1, interrupted.Partials)
	t.Logf("receipt %.2f stop %.2f preserve %.2f switch %.2f ms, took %s", interrupted.Receipt, interrupted.Stop,
		interrupted.Preserve, interrupted.Switch, woken.Took)

	seed := uint64(8)
	_, err = s.Starter.Begin(s.ctx, starter.DreamRequest{Agent: s.agent.Handle, Seed: &seed, AsOf: testdeploy.Night})
	require.ErrorIs(t, err, starter.ErrAwake)
	_, err = s.Starter.Resume(s.ctx, s.agent.Handle)
	require.ErrorIs(t, err, starter.ErrAwake)

	require.NoError(t, s.Starter.Leave(s.ctx, s.agent.Handle, "guest"))
	require.Eventually(t, func() bool {
		agentState, err := s.Starter.AgentState(s.ctx, s.agent.Handle)
		return err == nil && agentState.State == workflows.Sleeping
	}, patience, 5*time.Millisecond)
	begun, err := s.Starter.Resume(s.ctx, s.agent.Handle)
	require.NoError(t, err)
	require.Equal(t, id, begun.Dream)
	result, err := s.Result(s.ctx, id)
	require.NoError(t, err)
	require.Equal(t, dream.Completed, result.Outcome, result.Reason)
	record = s.night(id)
	require.Equal(t, dream.Completed, record.Outcome)
	require.Equal(t, 2, record.Stretches)
	require.Len(t, s.events("DreamResumed"), 1)
	require.Len(t, s.events("DreamEnded"), 1)
}

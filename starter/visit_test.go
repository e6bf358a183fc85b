package starter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// signalled is a Temporal client that takes signals to one life.
type signalled struct {
	client.Client
	agentState string
	mu         sync.Mutex
	signals    []string
}

func (s *signalled) heard() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.signals)
}

func (s *signalled) SignalWorkflow(_ context.Context, workflow, _, name string, _ any) error {
	if workflow != s.agentState {
		return serviceerror.NewNotFound("no such workflow")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signals = append(s.signals, name)
	return nil
}

func TestAConnectThatJoinsWhatLeftASleeperAsleepIsToldToItsAgentState(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Presence = s.Memory.(presence.Store)
	agentState := &signalled{agentState: "agent/echo"}
	ctx := context.Background()
	wake := func(client string, cause presence.Cause) Woken {
		w, err := s.Wake(ctx, Connection{Agent: agent.ID, Client: client, Cause: cause})
		require.NoError(t, err)
		return w
	}
	require.False(t, wake("alarm/harbour", presence.Alarm).Joined(presence.Alarm), "it raised the epoch")
	require.False(t, wake("alarm/harbour", presence.Alarm).Joined(presence.Alarm), "it wakes nobody")
	require.True(t, wake("mara", "").Joined(""), "a knock is the cause where none is named")
	require.True(t, wake("mara", presence.Connect).Joined(presence.Connect))
	_, err := s.Presence.Dismiss(ctx, agent.ID, tonight)
	require.NoError(t, err)
	require.False(t, wake("mara", presence.Connect).Joined(presence.Connect), "it raised the epoch")
	require.False(t, wake("ivo", presence.Connect).Joined(presence.Connect), "another knock has woken it")

	s.Client = agentState
	require.NoError(t, s.Visited(ctx, "echo"))
	require.NoError(t, s.Visited(ctx, "nobody"))
	require.Equal(t, []string{workflows.SignalVisited}, agentState.signals)
	_, err = s.Presence.Dismiss(ctx, agent.ID, tonight)
	require.NoError(t, err)
	s.Client = nil
	wake("alarm/harbour", presence.Alarm)
	s.Client = agentState
	for range 3 {
		require.True(t, wake("mara", presence.Connect).Joined(presence.Connect))
	}
	require.Eventually(t, func() bool { return agentState.heard() == 2 }, time.Minute, time.Millisecond,
		"told once for each epoch")
	s.Close()
	require.Equal(t, 2, agentState.heard())
}

// A session that is ended early leaves a life waiting for as long as it would have lasted, unless it is told.
func TestAAgentStateIsToldWhenTheLongestClientLeavesThoughOthersStay(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Presence = s.Memory.(presence.Store)
	agentState := &signalled{agentState: "agent/echo"}
	s.Client = agentState
	ctx := context.Background()
	for client, stays := range map[string]time.Duration{
		"session": time.Hour, "request": time.Minute,
		"other": time.Minute,
	} {
		_, err := s.Presence.Arrive(ctx, presence.Visit{
			Agent:  agent.ID,
			Client: client,
			Cause:  presence.Connect,
			Now:    tonight,
			For:    stays,
		})
		require.NoError(t, err)
	}
	require.NoError(t, s.Leave(ctx, "echo", "other"))
	require.Zero(t, agentState.heard(), "it waits for the session all the same")
	require.NoError(t, s.Leave(ctx, "echo", "session"))
	require.Equal(t, 1, agentState.heard())
	require.NoError(t, s.Leave(ctx, "echo", "nobody"))
	require.Equal(t, 1, agentState.heard())
	require.NoError(t, s.Leave(ctx, "echo", "request"))
	require.Equal(t, 2, agentState.heard())
}

// Its wake is told when it has left: the lease that it takes then would hold the agent awake for a guest who is gone.
func TestWhoeverLeftBeforeItsWakeWasToldHoldsNobodyAwake(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, leave := range map[string]func(*Starter) error{
		"it leaves":                func(s *Starter) error { return s.Leave(ctx, "echo", "mara") },
		"everybody is sent away":   func(s *Starter) error { return s.Sleep(ctx, "echo") },
		"another leaves":           func(s *Starter) error { return s.Leave(ctx, "echo", "ivo") },
		"it leaves and comes back": nil,
		"it leaves and comes back to a store that answers": func(s *Starter) error {
			if err := s.Leave(ctx, "echo", "mara"); err != nil {
				return err
			}
			_, err := s.Wake(ctx, Connection{Agent: "echo", Client: "mara", Cause: presence.Connect})
			return err
		},
		"it leaves while the store is away": func(s *Starter) error {
			if _, err := s.Wake(ctx, Connection{Agent: "echo", Client: "ivo", Cause: presence.Connect}); err != nil {
				return err
			}
			if err := s.Leave(ctx, "echo", "ivo"); err != nil {
				return err
			}
			store := s.Memory
			s.Memory = &away{Store: store}
			defer func() { s.Memory = store }()
			if err := s.Leave(ctx, "echo", "mara"); err == nil {
				return errors.New("the store was away, and nobody was told so")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, agent := build(t)
			s.Presence = s.Memory.(presence.Store)
			h := &letting{hearer: newHearer(), store: s.Presence, agentState: signalled{agentState: "agent/echo"}}
			s.Client = h
			connect := workflows.Wake{Client: "mara", Cause: presence.Connect, At: tonight}
			s.recording.add(t.Context(), s, agent, connect)
			<-h.came
			stays := name == "another leaves" || strings.Contains(name, "comes back")
			if leave == nil {
				require.NoError(t, s.Leave(ctx, "echo", "mara"))
				s.recording.add(t.Context(), s, agent, connect)
			} else {
				require.NoError(t, leave(s))
			}
			close(h.hold)
			_, err := s.Recorded(ctx, agent.ID, 0)
			require.NoError(t, err)
			if !stays {
				require.Eventually(t, func() bool {
					status, err := s.Presence.Status(ctx, agent.ID, tonight)
					return err == nil && len(status.Leases) == 0 && h.agentState.heard() > 1
				}, time.Minute, time.Millisecond, "its lease is ended, and the life told so")
			}
			s.recording.gone.Wait() // and not Close, which would cut a departure that nobody owes
			s.Close()
			status, err := s.Presence.Status(ctx, agent.ID, tonight)
			require.NoError(t, err)
			require.Equal(t, stays, len(status.Leases) == 1, status.Leases)
		})
	}
}

// letting is a life that lets in whoever could not be.
type letting struct {
	*hearer
	agentState signalled
	store      presence.Store
}

func (l *letting) SignalWorkflow(ctx context.Context, workflow, run, name string, arg any) error {
	return l.agentState.SignalWorkflow(ctx, workflow, run, name, arg)
}

func (l *letting) UpdateWorkflow(ctx context.Context,
	o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	handle, err := l.hearer.UpdateWorkflow(ctx, o)
	if err != nil {
		return nil, err
	}
	w := o.Args[0].(workflows.Wake)
	_, err = l.store.Arrive(ctx, presence.Visit{
		Agent:  "a1",
		Client: w.Client,
		Cause:  w.Cause,
		Now:    tonight,
		For:    time.Hour,
	})
	return handle, err
}

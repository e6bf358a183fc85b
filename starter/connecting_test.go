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

	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// signalled is a Temporal client that counts the signals of one agent.
type signalled struct {
	client.Client
	agentState string
	mu         sync.Mutex
	signals    []string
}

func (s *signalled) count() int {
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

func TestAClientThatJoinsAnAlarmIsReportedToTheWorkflow(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Presence = s.Memory.(presence.Store)
	agentState := &signalled{agentState: "agent/echo"}
	ctx := context.Background()
	wake := func(client string, cause presence.Cause) WakeResult {
		w, err := s.Wake(ctx, Connection{Agent: agent.ID, Client: client, Cause: cause})
		require.NoError(t, err)
		return w
	}
	require.False(t, wake("alarm/harbour", presence.Alarm).Joined(presence.Alarm), "it raised the epoch")
	require.False(t, wake("alarm/harbour", presence.Alarm).Joined(presence.Alarm), "an alarm wakes no sleeping agent")
	require.True(t, wake("mara", "").Joined(""), "the default cause is a connection")
	require.True(t, wake("mara", presence.Connect).Joined(presence.Connect))
	_, err := s.Presence.Dismiss(ctx, agent.ID, tonight)
	require.NoError(t, err)
	require.False(t, wake("mara", presence.Connect).Joined(presence.Connect), "it raised the epoch")
	require.False(t, wake("ivo", presence.Connect).Joined(presence.Connect), "another client has woken it")

	s.Client = agentState
	require.NoError(t, s.Connected(ctx, "echo"))
	require.NoError(t, s.Connected(ctx, "nobody"))
	require.Equal(t, []string{workflows.SignalConnected}, agentState.signals)
	_, err = s.Presence.Dismiss(ctx, agent.ID, tonight)
	require.NoError(t, err)
	s.Client = nil
	wake("alarm/harbour", presence.Alarm)
	s.Client = agentState
	for range 3 {
		require.True(t, wake("mara", presence.Connect).Joined(presence.Connect))
	}
	require.Eventually(t, func() bool { return agentState.count() == 2 }, time.Minute, time.Millisecond,
		"reported once per epoch")
	s.Close()
	require.Equal(t, 2, agentState.count())
}

// When a long session ends early, the workflow would wait for its planned end unless it is informed.
func TestTheWorkflowIsInformedWhenTheLongestLeaseEnds(t *testing.T) {
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
	require.Zero(t, agentState.count(), "the session still holds it awake")
	require.NoError(t, s.Leave(ctx, "echo", "session"))
	require.Equal(t, 1, agentState.count())
	require.NoError(t, s.Leave(ctx, "echo", "nobody"))
	require.Equal(t, 1, agentState.count())
	require.NoError(t, s.Leave(ctx, "echo", "request"))
	require.Equal(t, 2, agentState.count())
}

// The wake is reported after the client has left: the lease that is granted then must not hold the agent awake.
func TestAClientThatLeftBeforeItsWakeIsReportedHoldsNothingAwake(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, leave := range map[string]func(*Starter) error{
		"it leaves":                 func(s *Starter) error { return s.Leave(ctx, "echo", "mara") },
		"all clients are dismissed": func(s *Starter) error { return s.Sleep(ctx, "echo") },
		"another leaves":            func(s *Starter) error { return s.Leave(ctx, "echo", "ivo") },
		"it leaves and comes back":  nil,
		"it leaves and comes back to a store that answers": func(s *Starter) error {
			if err := s.Leave(ctx, "echo", "mara"); err != nil {
				return err
			}
			_, err := s.Wake(ctx, Connection{Agent: "echo", Client: "mara", Cause: presence.Connect})
			return err
		},
		"it leaves while the store is unreachable": func(s *Starter) error {
			if _, err := s.Wake(ctx, Connection{Agent: "echo", Client: "ivo", Cause: presence.Connect}); err != nil {
				return err
			}
			if err := s.Leave(ctx, "echo", "ivo"); err != nil {
				return err
			}
			store := s.Memory
			s.Memory = &away{DreamStore: store}
			defer func() { s.Memory = store }()
			if err := s.Leave(ctx, "echo", "mara"); err == nil {
				return errors.New("the store was unreachable, but the wake is not degraded")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, agent := build(t)
			s.Presence = s.Memory.(presence.Store)
			h := &letting{wakeClient: newWakeClient(), store: s.Presence, agentState: signalled{agentState: "agent/echo"}}
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
					return err == nil && len(status.Leases) == 0 && h.agentState.count() > 1
				}, time.Minute, time.Millisecond, "its lease is ended, and the workflow informed")
			}
			s.recording.running.Wait() // not Close, which would cancel departures
			s.Close()
			status, err := s.Presence.Status(ctx, agent.ID, tonight)
			require.NoError(t, err)
			require.Equal(t, stays, len(status.Leases) == 1, status.Leases)
		})
	}
}

// letting is a workflow that grants the leases that the store could not.
type letting struct {
	*wakeClient
	agentState signalled
	store      presence.Store
}

func (l *letting) SignalWorkflow(ctx context.Context, workflow, run, name string, arg any) error {
	return l.agentState.SignalWorkflow(ctx, workflow, run, name, arg)
}

func (l *letting) UpdateWorkflow(ctx context.Context,
	o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	handle, err := l.wakeClient.UpdateWorkflow(ctx, o)
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

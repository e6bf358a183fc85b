package starter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// wakeClient is a Temporal client that collects wakes; hold delays its answers.
type wakeClient struct {
	knows
	mu    sync.Mutex
	wakes []workflows.Wake
	by    []any // the caller's context value of each wake
	came  chan struct{}
	hold  chan struct{}
}

func newWakeClient() *wakeClient {
	return &wakeClient{came: make(chan struct{}, 64), hold: make(chan struct{})}
}

func (h *wakeClient) UpdateWorkflow(ctx context.Context,
	o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	h.mu.Lock()
	w := o.Args[0].(workflows.Wake)
	h.wakes, h.by = append(h.wakes, w), append(h.by, ctx.Value(callerKey{}))
	h.mu.Unlock()
	h.came <- struct{}{}
	select {
	case <-h.hold:
		return wakeAnswer{epoch: max(w.Epoch, 5)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type callerKey struct{}

type wakeAnswer struct {
	client.WorkflowUpdateHandle
	epoch int64
}

func (d wakeAnswer) Get(_ context.Context, into any) error {
	*into.(*workflows.WakeAnswer) = workflows.WakeAnswer{Epoch: d.epoch, State: workflows.Awake}
	return nil
}

var echo = dream.Agent{ID: "a1", Handle: "echo"}

func TestOnlyTheNewestWakeOfAnAgentIsReportedOneAtATime(t *testing.T) {
	t.Parallel()
	h := newWakeClient()
	s := &Starter{Client: h, Now: time.Now}
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 5})
	<-h.came
	for epoch := int64(6); epoch <= 9; epoch++ {
		s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: epoch})
	}
	close(h.hold)
	answer, err := s.Recorded(context.Background(), echo.ID, 9)
	require.NoError(t, err)
	require.Equal(t, int64(9), answer.Epoch)
	s.Close()
	require.Len(t, h.wakes, 2)
	require.Equal(t, int64(9), h.wakes[1].Epoch)
}

// dreamClient is a wakeClient that also collects the dreams that are signalled.
type dreamClient struct {
	*wakeClient
	signalled chan string
}

func (c dreamClient) SignalWorkflow(_ context.Context, workflow, _, _ string, _ any) error {
	c.signalled <- workflow
	return nil
}

func TestADreamIsSignalledOnlyWhereTheWakeBusDoesNotStopItSoon(t *testing.T) {
	t.Parallel()
	wake := workflows.Wake{Epoch: 5, SignalledDream: "dream/echo/0001"}
	for name, c := range map[string]struct {
		bus  presence.WakeBus
		held bool // the agent's workflow does not answer before the dream is signalled
	}{
		"there is no wake bus":         {held: true},
		"the wake is recorded at once": {bus: &struct{ presence.WakeBus }{}},
		"the wake takes long":          {bus: &struct{ presence.WakeBus }{}, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := dreamClient{newWakeClient(), make(chan string, 1)}
			s := &Starter{Client: h, Now: time.Now}
			s.WakeBus = c.bus
			if !c.held {
				close(h.hold)
			}
			s.recording.add(t.Context(), s, echo, wake)
			if c.held {
				require.Equal(t, wake.SignalledDream, <-h.signalled)
				close(h.hold)
			}
			_, err := s.Recorded(context.Background(), echo.ID, 5)
			require.NoError(t, err)
			s.Close()
			require.Empty(t, h.signalled)
		})
	}
}

// The caller may be gone, but the values of its context, such as its trace, are used for the report.
func TestAWakeIsReportedWithTheCallersContextValues(t *testing.T) {
	t.Parallel()
	h := newWakeClient()
	s := &Starter{Client: h, Now: time.Now}
	for i, who := range []string{"first", "second", "third"} {
		ctx, removed := context.WithCancel(context.WithValue(t.Context(), callerKey{}, who))
		s.recording.add(ctx, s, echo, workflows.Wake{Epoch: int64(5 + i)})
		removed()
		if i == 0 {
			<-h.came
		}
	}
	close(h.hold)
	_, err := s.Recorded(t.Context(), echo.ID, 7)
	require.NoError(t, err)
	s.Close()
	require.Equal(t, []any{"first", "third"}, h.by)
}

// A wake without an epoch cannot be compared with others, so it is reported as well.
func TestAWakeWithoutAnEpochIsReportedInAddition(t *testing.T) {
	t.Parallel()
	h := newWakeClient()
	s := &Starter{Client: h, Now: time.Now}
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 5, Client: "first"})
	<-h.came
	s.recording.add(t.Context(), s, echo, workflows.Wake{Client: "blind", Cause: presence.Connect})
	close(h.hold)
	<-h.came
	s.Close()
	require.Equal(t, "blind", h.wakes[1].Client)
}

// A request that is reported after its client has left would wake the agent again.
func TestRepeatedConnectionsWithoutAStoreAreReportedOnce(t *testing.T) {
	t.Parallel()
	h := newWakeClient()
	s := &Starter{Client: h, Now: time.Now}
	connect := workflows.Wake{Client: "guest", Cause: presence.Connect, At: time.Unix(1, 0)}
	s.recording.add(t.Context(), s, echo, connect)
	<-h.came
	for i := range 5 {
		connect.At = time.Unix(int64(2+i), 0)
		s.recording.add(t.Context(), s, echo, connect)
	}
	close(h.hold)
	answer, err := s.Recorded(context.Background(), echo.ID, 0)
	require.NoError(t, err)
	require.Equal(t, int64(5), answer.Epoch)
	s.Close()
	require.Len(t, h.wakes, 1)
}

// away is a store that is unreachable at first and then has no such agent.
type away struct {
	memory.DreamStore
	mu   sync.Mutex
	back bool
}

func (a *away) Agent(_ context.Context, name string) (dream.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.back {
		return dream.Agent{}, fmt.Errorf("agent %s: %w", name, memory.ErrNotFound)
	}
	return dream.Agent{}, errors.New("the store is away")
}

func TestTheWakeOfAnUnknownAgentIsDropped(t *testing.T) {
	t.Parallel()
	store := &away{}
	s := &Starter{Client: newWakeClient(), Memory: store, Now: time.Now}
	t.Cleanup(s.Close)
	for i := range 100 {
		w, err := s.Wake(context.Background(), Connection{Agent: fmt.Sprintf("nobody-%d", i), Client: "x"})
		require.NoError(t, err)
		require.Contains(t, w.Degraded, "the store is away")
	}
	store.mu.Lock()
	store.back = true
	store.mu.Unlock()
	require.Eventually(t, func() bool {
		s.recording.mu.Lock()
		defer s.recording.mu.Unlock()
		return len(s.recording.agents) == 0
	}, time.Minute, 10*time.Millisecond)
}

// full is a store that can be read and takes no visit.
type full struct{ presence.Store }

func (full) Arrive(context.Context, presence.Visit) (presence.Arrival, error) {
	return presence.Arrival{}, &memory.UnwritableError{Why: memory.Full, Err: errors.New("OOM")}
}

func TestAWakeThatAFullStoreDoesNotTakeIsNotSaidToMeetNoAnswer(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Presence = full{s.Memory.(presence.Store)}
	t.Cleanup(s.Close)
	w, err := s.Wake(t.Context(), Connection{Agent: agent.ID, Client: "web"})
	require.NoError(t, err)
	require.ErrorIs(t, w.Unstored, memory.ErrUnwritable)
	require.Contains(t, w.Degraded, "the store takes no writes (full): OOM; nothing is recorded yet")
	require.NotContains(t, w.Degraded, "does not answer")
}

func TestAClosedRecorderRefusesWakes(t *testing.T) {
	t.Parallel()
	s := &Starter{Client: newWakeClient(), Now: time.Now}
	s.Close()
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 1})
	_, err := s.Recorded(context.Background(), echo.ID, 1)
	require.ErrorIs(t, err, memory.ErrNotFound)
}

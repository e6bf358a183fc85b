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

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/workflows"
)

// hearer is a Temporal client that hears of wakes; hold keeps it from answering.
type hearer struct {
	client.Client
	mu    sync.Mutex
	heard []workflows.Wake
	by    []any // whose knock each was, as its context says
	came  chan struct{}
	hold  chan struct{}
}

func newHearer() *hearer { return &hearer{came: make(chan struct{}, 64), hold: make(chan struct{})} }

func (h *hearer) UpdateWorkflow(ctx context.Context,
	o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	h.mu.Lock()
	w := o.Args[0].(workflows.Wake)
	h.heard, h.by = append(h.heard, w), append(h.by, ctx.Value(knocker{}))
	h.mu.Unlock()
	h.came <- struct{}{}
	select {
	case <-h.hold:
		return told{epoch: max(w.Epoch, 5)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type knocker struct{}

type told struct {
	client.WorkflowUpdateHandle
	epoch int64
}

func (d told) Get(_ context.Context, into any) error {
	*into.(*workflows.Awoken) = workflows.Awoken{Epoch: d.epoch, State: workflows.Awake}
	return nil
}

var echo = dream.Agent{ID: "a1", Handle: "echo"}

func TestWakesOfOneAgentAreToldOneAtATimeAndTheNewestOnly(t *testing.T) {
	t.Parallel()
	h := newHearer()
	s := &Starter{Client: h, Now: time.Now}
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 5})
	<-h.came
	for epoch := int64(6); epoch <= 9; epoch++ {
		s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: epoch})
	}
	close(h.hold)
	awoken, err := s.Recorded(context.Background(), echo.ID, 9)
	require.NoError(t, err)
	require.Equal(t, int64(9), awoken.Epoch)
	s.Close()
	require.Len(t, h.heard, 2)
	require.Equal(t, int64(9), h.heard[1].Epoch)
}

// Whoever knocked has gone by then; what its context holds, such as its trace, is the wake's.
func TestAWakeIsToldInTheNameOfWhoeverConnected(t *testing.T) {
	t.Parallel()
	h := newHearer()
	s := &Starter{Client: h, Now: time.Now}
	for i, who := range []string{"first", "second", "third"} {
		ctx, removed := context.WithCancel(context.WithValue(t.Context(), knocker{}, who))
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

// Of a wake without an epoch nobody knows whether it is older than another: it is told too.
func TestAWakeWithoutAnEpochIsNotSwallowedByTheOneBeingTold(t *testing.T) {
	t.Parallel()
	h := newHearer()
	s := &Starter{Client: h, Now: time.Now}
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 5, Client: "first"})
	<-h.came
	s.recording.add(t.Context(), s, echo, workflows.Wake{Client: "blind", Cause: presence.Connect})
	close(h.hold)
	<-h.came
	s.Close()
	require.Equal(t, "blind", h.heard[1].Client)
}

// A knock that is told after its guest had left would wake the agent again.
func TestWhoeverConnectionsManyTimesAtAStoreThatIsAwayIsToldOnce(t *testing.T) {
	t.Parallel()
	h := newHearer()
	s := &Starter{Client: h, Now: time.Now}
	connect := workflows.Wake{Client: "guest", Cause: presence.Connect, At: time.Unix(1, 0)}
	s.recording.add(t.Context(), s, echo, connect)
	<-h.came
	for i := range 5 {
		connect.At = time.Unix(int64(2+i), 0)
		s.recording.add(t.Context(), s, echo, connect)
	}
	close(h.hold)
	awoken, err := s.Recorded(context.Background(), echo.ID, 0)
	require.NoError(t, err)
	require.Equal(t, int64(5), awoken.Epoch)
	s.Close()
	require.Len(t, h.heard, 1)
}

// away is a store that does not answer, and then knows nobody.
type away struct {
	memory.Store
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

func TestANameThatTurnsOutToBeNobodysIsForgotten(t *testing.T) {
	t.Parallel()
	store := &away{}
	s := &Starter{Client: newHearer(), Memory: store, Now: time.Now}
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

func TestAClosedRecorderTakesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	s := &Starter{Client: newHearer(), Now: time.Now}
	s.Close()
	s.recording.add(t.Context(), s, echo, workflows.Wake{Epoch: 1})
	_, err := s.Recorded(context.Background(), echo.ID, 1)
	require.ErrorIs(t, err, memory.ErrNotFound)
}

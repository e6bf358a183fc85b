package starter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/workflows"
)

const thinker, embedder = "house/thinker", "house/embedder"

var tonight = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

func build(t *testing.T) (*Starter, dream.Agent) {
	t.Helper()
	store, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	agent := dream.Agent{
		ID:     "a1",
		Handle: "echo",
		Zone:   "UTC",
		Tier:   dream.Hardened,
		Caps:   dream.DefaultCaps,
	}
	require.NoError(t, store.PutAgent(context.Background(), agent))
	models := map[dream.Role]string{}
	for _, role := range dream.Roles {
		models[role] = thinker
	}
	models[dream.Embedder] = embedder
	return &Starter{
		Memory: store, Remover: store, Now: func() time.Time { return tonight },
		Catalog: inference.Table{
			thinker:  {Name: thinker, Price: &budget.Price{}},
			embedder: {Name: embedder, Embeds: true, Price: &budget.Price{}},
		},
		Options: Options{Models: models, Knobs: dream.DefaultKnobs(), FleetDay: budget.Unlimited},
	}, agent
}

func nights(t *testing.T, s *Starter, agent dream.Agent) []*dream.Record {
	t.Helper()
	items, err := s.Memory.Find(context.Background(),
		memory.Query{Agent: agent.ID, Kinds: []dream.Kind{dream.KindRecord}, Sort: memory.Oldest})
	require.NoError(t, err)
	return memory.As[*dream.Record](items)
}

func TestARepeatedPlanWritesNothing(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	for range 2 {
		spec, reason, err := s.Plan(context.Background(), agent.ID, tonight)
		require.NoError(t, err)
		require.Empty(t, reason)
		require.True(t, spec.Alone)
		require.NoError(t, spec.Validate())
		require.NoError(t, spec.Within(agent, budget.Unlimited, s.Catalog))
	}
	require.Empty(t, nights(t, s, agent))
}

// distant is an unreachable store.
type distant struct{ memory.DreamStore }

func (distant) Agent(context.Context, string) (dream.Agent, error) {
	return dream.Agent{}, fmt.Errorf("read: %w", memory.ErrAway)
}

func TestAnUnreachableStoreIsNoReasonAgainstADream(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	s.Memory = distant{s.Memory}
	_, reason, err := s.Plan(t.Context(), agent.ID, tonight)
	require.ErrorIs(t, err, memory.ErrAway)
	require.Empty(t, reason, "a reason would delay the dream by the whole gap")
	require.Equal(t, time.Minute, s.Options.settings(agent).TryAgain)
}

func TestAFrozenDreamSkipsNumbersThatAreTaken(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	_, err := s.Memory.Commit(context.Background(),
		memory.Write{Agent: agent.ID, Cause: "hand", Add: []dream.Item{&dream.Record{
			Head: dream.Head{
				ID:    "dream/echo/0001",
				Agent: agent.ID,
				Kind:  dream.KindRecord,
				At:    tonight,
				State: dream.Live,
				Taint: dream.FromDream,
			},
		}}})
	require.NoError(t, err)
	spec, err := s.Freeze(context.Background(), DreamRequest{Agent: "echo", Theme: "rope"})
	require.NoError(t, err)
	require.Equal(t, "dream/echo/0002", spec.Dream)
	require.False(t, spec.Alone)
	found := nights(t, s, agent)
	require.Len(t, found, 2)
	require.Equal(t, "rope", found[1].Theme+found[0].Theme)
}

func TestASpecContainsTheHoldTimesOfWakes(t *testing.T) {
	t.Parallel()
	s, _ := build(t)
	s.Options.Settings = workflows.Settings{
		AlarmHold: 7 * time.Minute, ClientTimeout: 3 * time.Minute,
		WakeLock: 9 * time.Second,
	}
	spec, err := s.Freeze(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	require.Equal(t, &activities.Holds{Alarm: 7 * time.Minute, Client: 3 * time.Minute, Lock: 9 * time.Second},
		spec.Holds)
}

// racing is a store in which the dream begins between the reading of its record and its withdrawal.
type racing struct {
	memory.DreamStore
	liesDown func()
}

func (r *racing) Commit(ctx context.Context, w memory.Write) (memory.Receipt, error) {
	if liesDown := r.liesDown; liesDown != nil {
		r.liesDown = nil
		liesDown()
	}
	return r.DreamStore.Commit(ctx, w)
}

func TestADreamThatBeganMeanwhileIsNotWithdrawn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, agent := build(t)
	spec, err := s.Freeze(ctx, DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	store := s.Memory
	s.Memory = &racing{DreamStore: store, liesDown: func() {
		n := nights(t, s, agent)[0]
		n.Run = "r1"
		_, err := store.Commit(ctx, memory.Write{Agent: agent.ID, Cause: spec.Dream, Change: []dream.Item{n}})
		require.NoError(t, err)
	}}
	require.NoError(t, drafter{s}.withdraw(ctx, spec, ErrUnreachable))
	n := nights(t, s, agent)[0]
	require.Equal(t, "r1", n.Run)
	require.Equal(t, dream.Dreaming, n.Outcome)
}

func TestADreamThatDidNotBeginIsWithdrawnWithItsReason(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	spec, err := s.Freeze(context.Background(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, drafter{s}.withdraw(ctx, spec, errors.New("nobody answered")), "the caller may have gone")
	n := nights(t, s, agent)[0]
	require.Equal(t, dream.Canceled, n.Outcome)
	require.Equal(t, "it was never begun: nobody answered", n.Reason)
	require.Equal(t, tonight, n.Ended)
}

func TestADreamOnAnotherClusterIsReportedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, agent := build(t)
	s.Options.Cluster = "default/two"
	held := memory.Slot{
		Fence: memory.Fence{Dream: "dream/echo/0001", Run: "r1"}, Workflow: "dream/echo/0001",
		Cluster: "default/one", Since: tonight,
	}
	_, err := s.Memory.TakeSlot(ctx, agent.ID, held, memory.Fence{})
	require.NoError(t, err)
	_, err = s.Begin(ctx, DreamRequest{Agent: "echo"})
	require.ErrorIs(t, err, ErrDreaming)
	require.ErrorContains(t, err, "dream/echo/0001 on another Temporal cluster, default/one; if that one is gone for "+
		"good, end the dream with oneiros dreams cancel dream/echo/0001 --abandon")
	require.Empty(t, nights(t, s, agent))
}

// stalling is a cluster whose workflow is not ready for so many updates.
type stalling struct {
	emptyCluster
	stalls int
}

func (c *stalling) UpdateWithStartWorkflow(
	_ context.Context, o client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	c.started++
	if c.started <= c.stalls {
		return nil, fmt.Errorf("failed workflow update: %w", serviceerror.NewWorkflowNotReady("Workflow Task in failed state"))
	}
	return recordedWake{}, nil
}

func TestADreamIsRequestedAgainWhileTheWorkflowIsNotReady(t *testing.T) {
	t.Parallel()
	s, agent := build(t)
	spec, err := s.Freeze(t.Context(), DreamRequest{Agent: "echo"})
	require.NoError(t, err)
	cluster := &stalling{stalls: 2}
	s.Client = cluster
	_, err = drafter{s}.send(t.Context(), agent, spec)
	require.NoError(t, err)
	require.Equal(t, 3, cluster.started)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Client = &stalling{stalls: 100}
	_, err = drafter{s}.send(ctx, agent, spec)
	require.ErrorIs(t, err, ErrUnreachable, "not for longer than the caller waits")
}

package console_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func TestACommandThatChangesAnAgentNotifiesItsWorkflowWithoutWaiting(t *testing.T) {
	t.Parallel()
	s := &sleeper{outcome: dream.Completed}
	d := newFixture(t).furnish().asleep(s, 0)
	used := make(chan string, 2)
	d.dream.Active = func(ctx context.Context, _ *deploy.Deployment, handle string) {
		used <- handle
		<-ctx.Done() // a cluster that never answers
	}
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--interest", "ropes"), d.err.String())
	require.Equal(t, "echo", <-used)
	d.in = `{"kind":"episode","content":"Something happened.","at":"2026-03-01T10:00:00Z"}`
	require.Equal(t, exit.OK, d.run(0, "memory", "import", "-a", "echo", "-"), d.err.String())
	require.Equal(t, "echo", <-used)
	require.Equal(t, exit.OK, d.run(0, "memory", "list", "-a", "echo"), d.err.String())
	require.Empty(t, used, "looking is not using")
}

func TestADreamIsAbandonedWithoutAskingTemporal(t *testing.T) {
	t.Parallel()
	s := &sleeper{dead: true}
	d := newFixture(t).furnish().asleep(s, 0)
	require.Equal(t, exit.OK, d.run(0, "dream", "-a", "echo"), d.err.String())
	var abandoned []string
	d.dream.Abandon = func(_ context.Context, _ *deploy.Deployment, agent, id string) error {
		abandoned = append(abandoned, agent+" "+id)
		if len(abandoned) > 1 {
			return fmt.Errorf("dream %s has ended: %w", id, memory.ErrNotFound)
		}
		return nil
	}
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return nil, deploy.ErrNoServer }
	require.Equal(t, exit.OK, d.run(0, "dreams", "cancel", "-a", "echo", "last", "--abandon", "--yes"),
		d.err.String())
	require.Equal(t, []string{"echo dream/echo/0002"}, abandoned)
	require.Contains(t, d.out.String(), "its agent may dream again")
	require.Equal(t, exit.NotFound, d.run(0, "dreams", "cancel", "-a", "echo", "last", "--abandon", "--yes"))
}

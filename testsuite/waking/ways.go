package waking

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// answered is how soon a connecting client must have an answer.
const answered = time.Second

// Way is how an agent is woken.
type Way string

// The ways: through the starter, and directly through Temporal.
const (
	ByConnect     Way = "connect"
	ByTwo         Way = "two at once"
	ByAlarm       Way = "alarm"
	ByOperator    Way = "operator"
	BySignal      Way = "signal to the agent"
	ByDreamSignal Way = "signal to the dream"
	ByUpdate      Way = "update of the agent"
)

// ways with their weights.
var ways = []Way{
	ByConnect, ByConnect, ByConnect, ByConnect, ByConnect, ByConnect, ByTwo, ByTwo, ByAlarm, ByAlarm,
	ByOperator, BySignal, ByDreamSignal, ByUpdate,
}

func draw[T any](dice *rand.Rand, from []T) T { return from[dice.IntN(len(from))] }

// errDegraded says that the store was too slow: the client was answered, and the epoch is raised later.
var errDegraded = errors.New("the store did not answer in time")

// wake wakes the agent in one way. A client of the starter must be answered in time.
func (w Way) wake(ctx context.Context, c *testdeploy.Deployment, agent dream.Agent, id string) error {
	agentState := workflows.AgentID(agent.Handle)
	switch w {
	case BySignal:
		return c.Client.SignalWorkflow(ctx, agentState, "", workflows.SignalWake, nil)
	case ByDreamSignal:
		return c.Client.SignalWorkflow(ctx, id, "", workflows.SignalWake, nil)
	case ByUpdate:
		_, err := c.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: agentState, UpdateName: workflows.UpdateWake, WaitForStage: client.WorkflowUpdateStageAccepted,
		})
		return err
	case ByTwo:
		other := make(chan error, 1)
		go func() { other <- connect(ctx, c, starter.Connection{Agent: agent.ID, Client: "another"}) }()
		err := connect(ctx, c, starter.Connection{Agent: agent.Handle, Client: "guest"})
		if fault := <-other; err == nil {
			err = fault
		}
		return err
	case ByAlarm:
		return connect(ctx, c,
			starter.Connection{
				Agent: agent.Handle, Client: "alarm/feed/rule", Cause: presence.Alarm,
				Trigger: "feed/rule",
			})
	case ByOperator:
		return connect(ctx, c, starter.Connection{Agent: agent.Handle, Client: "operator", Cause: presence.Operator})
	case ByConnect:
	}
	return connect(ctx, c, starter.Connection{Agent: agent.Handle, Client: "guest"})
}

func connect(ctx context.Context, c *testdeploy.Deployment, k starter.Connection) error {
	var woken starter.WakeResult
	_, err := Within(ctx, answered, func(ctx context.Context) (err error) {
		woken, err = c.Starter.Wake(ctx, k)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("connect of %s: %w", k.Client, err)
	case woken.Degraded != "":
		return errDegraded
	}
	return nil
}

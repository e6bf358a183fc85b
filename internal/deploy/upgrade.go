package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// takeOver looks at what earlier builds left open, before the worker starts. What this build can replay goes on. Of the
// rest, dreams are closed with the reason, agents are begun anew from the store, and probes of feeds are ended: they
// begin again with the next look at the feeds. What fails is logged, and looked at again with the next start.
func (e *engine) takeOver(ctx context.Context) {
	found, err := workers.UpgradeCheck{
		Client:           e.client,
		Namespace:        e.namespace,
		TaskQueue:        e.deployment.config.Temporal.TaskQueue,
		DataConverter:    e.converters.DataConverter,
		FailureConverter: e.converters.FailureConverter,
	}.Find(ctx)
	if err != nil {
		e.log.Warn("not every workflow of earlier builds could be looked at", "error", err)
	}
	// dreams before agents: an agent is begun anew with the dreams that go on
	for _, kind := range []string{
		workflows.DreamType, workflows.FeedType, workflows.AttendType, workflows.AgentType,
	} {
		for _, one := range found {
			if one.Type != kind || one.Fault == nil {
				continue
			}
			switch err := (successor{e}).succeed(ctx, one); {
			case err != nil:
				e.log.Warn("a workflow that this build cannot continue could not be ended", "workflow", one.Workflow,
					"error", err)
			case kind == workflows.DreamType:
				e.log.Warn("a dream of an earlier build cannot be continued and is closed", "dream", one.Workflow,
					"why", one.Fault)
			default:
				e.log.Info("a workflow of an earlier build is begun anew", "workflow", one.Workflow, "why", one.Fault)
			}
		}
	}
}

// outdated is the reason in the record of a dream that cannot go on.
const outdated = "it was begun by another build of Oneiros, and this one cannot go on with it"

// successor ends what an earlier build left open and this one cannot go on with.
type successor struct{ *engine }

// succeed ends one execution, and begins again what is to be begun again. A newer build's is left to that build.
func (e successor) succeed(ctx context.Context, one workers.OpenExecution) error {
	if one.Contract > workflows.Contract {
		return one.Fault
	}
	handle := one.Workflow[strings.Index(one.Workflow, "/")+1:]
	if one.Type == workflows.DreamType {
		handle = workflows.HandleOf(one.Workflow)
	}
	agent, err := e.deployment.store.Agent(ctx, handle)
	switch {
	case one.Type == workflows.FeedType, one.Type == workflows.AttendType, errors.Is(err, memory.ErrNotFound), errors.Is(err, memory.ErrRemoved):
		return e.terminate(ctx, one)
	case err != nil:
		return err
	case one.Type == workflows.AgentType:
		return e.starter.BeginAnew(ctx, agent, one.Run)
	}
	// the store first: should this process die now, the next start finds the workflow still open
	err = workers.Outdated(ctx, e.deployment.ports(), e.starter.Executions(), agent.ID, one.Workflow, outdated)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	if err := e.terminate(ctx, one); err != nil {
		return err
	}
	return e.starter.DreamEnded(ctx, handle, workflows.EndedDream{Dream: one.Workflow, Outcome: dream.Interrupted})
}

func (e successor) terminate(ctx context.Context, one workers.OpenExecution) error {
	err := e.client.TerminateWorkflow(ctx, one.Workflow, one.Run, outdated, one.Fault.Error())
	var notFound *serviceerror.NotFound
	if err != nil && !errors.As(err, &notFound) {
		return fmt.Errorf("terminate %s: %w", one.Workflow, err)
	}
	return nil
}

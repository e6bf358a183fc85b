package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

// wakeForClient wakes an agent that a client connected to while an alarm or an operator held it: both leave the agent
// asleep, and a client that connects meanwhile raises no epoch, so no wake is signalled. The signal may be late or
// repeated; the store decides whether a client is connected.
func (a *agentRun) wakeForClient(ctx workflow.Context) {
	if a.state.State != Sleeping {
		return
	}
	now := workflow.Now(ctx)
	var found activities.CheckClientsResult
	err := workflow.ExecuteLocalActivity(shortly(ctx, "which client connected"), activities.AgentCheckClients,
		activities.CheckClientsRequest{Agent: a.request.Agent, Now: now, Asleep: true}).Get(ctx, &found)
	if err != nil {
		workflow.GetLogger(ctx).Warn(
			"connected clients could not be read; the agent counts as asleep until its next wake",
			"error", err)
		return
	}
	// the client left again, or the agent woke or began to dream meanwhile
	if found.Visit.Client == "" || a.state.State != Sleeping {
		return
	}
	state, err := circadian.Step(circadian.Sleeping, circadian.Connect)
	if err != nil {
		return
	}
	a.state.State, a.state.Since, a.state.LastActive = string(state), now, now
	a.state.Until = later(found.Until, now.Add(time.Second))
	if most := now.Add(lookInterval); a.state.Until.After(most) { // the signal of a client that leaves may be lost
		a.state.Until = most
	}
	if found.Epoch == a.state.Epoch { // otherwise the wake that raised the epoch is on its way and will be announced
		a.state.Wake = &Wake{
			Epoch: found.Epoch, Cause: presence.Connect, Client: found.Visit.Client,
			At: found.Visit.At,
		}
		a.state.Greeted = found.Epoch - 1 // the epoch was noted as one that left the agent asleep
	}
	a.ready(ctx)
}

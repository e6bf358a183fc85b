package waking_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workflows"
)

// An alarm at a sleeping agent lets it sleep on, held awake in the store. A client that then connects through
// Temporal is a visit, as through the starter: the agent is awake until the client leaves, and its workflow has
// recorded it.
func TestAConnectThroughTemporalDuringAnAlarmIsAVisit(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	connect := workflows.Wake{Cause: presence.Connect, Client: "mara"}
	t.Run("tools", func(t *testing.T) {
		for name, send := range map[string]func(*scene, dream.Agent){
			"a signal": func(r *scene, agent dream.Agent) {
				require.NoError(r.t,
					r.deployment.Client.SignalWorkflow(r.ctx, workflows.AgentID(agent.Handle), "", workflows.SignalWake,
						connect))
			},
			"an update": func(r *scene, agent dream.Agent) {
				require.Equal(r.t, workflows.WakeAnswer{Epoch: 1, State: workflows.Awake},
					r.update(workflows.AgentID(agent.Handle), connect))
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := r.withT(t)
				agent := r.addAgent()
				alarm := r.visit(agent,
					starter.Connection{
						Client: "alarm/harbour/level", Cause: presence.Alarm, Trigger: "harbour/level",
						For: time.Hour,
					})
				r.recorded(alarm)
				require.Equal(t, workflows.Sleeping, r.agentState(agent).State)
				send(r, agent)
				r.state(agent, workflows.Awake)
				require.NoError(t, r.deployment.Starter.Leave(r.ctx, agent.Handle, "alarm/harbour/level"))
				agentState := r.agentState(agent)
				require.Equal(t, workflows.Awake, agentState.State, "the client is still connected")
				require.Equal(t, presence.Connect, agentState.Wake.Cause)
				require.Equal(t, "mara", agentState.Wake.Client)
				require.Equal(t, 1, agentState.Wakes)
				require.Equal(t, 1, agentState.Alarms)
				_, err := r.deployment.Starter.Begin(r.ctx, r.request(agent))
				require.ErrorIs(t, err, starter.ErrAwake)
				r.until(func() bool { return len(r.events(agent, event.AgentAwake{})) == 1 },
					"that %s is awake is never announced", agent.Handle)
				require.NoError(t, r.deployment.Starter.Leave(r.ctx, agent.Handle, "mara"))
				r.state(agent, workflows.Sleeping)
				r.requireOutcome(r.begin(agent), dream.Completed)
			})
		}
	})
	r.auditAll()
}

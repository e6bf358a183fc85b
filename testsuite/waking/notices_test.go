package waking_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// notice publishes a wake notice to the deployment without a visit.
func (r *scene) notice(agent dream.Agent, epoch int64) {
	r.t.Helper()
	require.NoError(r.t, r.deployment.Store.Publish(r.ctx, presence.WakeNotice{
		Agent:  agent.ID,
		Epoch:  epoch,
		Cause:  presence.Connect,
		At:     time.Now(),
		Raised: time.Now(),
	}))
}

// Wake notices without a visit change nothing: the workers read the store first.
func TestForgedAndStaleNoticesStopNoDream(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	streaming := []wakeMoment{
		{dream.Onset, "1/partial-2", provider.None},
		{dream.NREM, "forward", provider.None},
		{dream.REM, "branch-1", provider.None},
	}
	for i, at := range streaming {
		moment := r.await(at.fault, id, at.phase, at.activity)
		if i == 0 {
			r.begin(agent)
		}
		r.receive(moment)
		for _, epoch := range []int64{1, 2, 1 << 40} {
			r.notice(agent, epoch)
		}
		r.sendGarbage(agent)
	}
	r.requireOutcome(id, dream.Completed)
	require.Equal(t, 1, r.night(agent, id).Stretches)
	require.Empty(t, r.events(agent, event.DreamInterrupted{}))
	r.audit(0)
}

// sendGarbage sends invalid datagrams to every process that listens.
func (r *scene) sendGarbage(agent dream.Agent) {
	r.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(filepath.Dir(r.deployment.Config.Store), "*", "*"))
	require.NoError(r.t, err)
	for _, name := range sockets {
		if info, err := os.Stat(name); err != nil || info.Mode().Type() != os.ModeSocket {
			continue
		}
		c, err := net.Dial("unixgram", name)
		require.NoError(r.t, err)
		for _, text := range []string{
			"", "wake up", `{"agent":"` + agent.ID + `"}`,
			`{"agent":"` + agent.ID + `","epoch":99,"cause":"connect","local":true}`,
		} {
			_, _ = c.Write([]byte(text)) // a full socket takes no more, which does not matter here
		}
		require.NoError(r.t, c.Close())
	}
}

// The same notice many times, and again when the dream has resumed.
func TestDuplicateAndLateNoticesAreOneWake(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "1/partial-3")
	r.begin(agent)
	r.receive(moment)
	woken := r.connect(agent)
	for range 50 {
		r.notice(agent, woken.Epoch)
	}
	r.recorded(woken)
	again := r.await(provider.None, id, dream.Onset, "1/partial-3")
	r.release(agent)
	r.resume(agent)
	r.receive(again)
	for range 50 {
		r.notice(agent, woken.Epoch) // an old notice
	}
	r.requireOutcome(id, dream.Completed)
	require.Equal(t, 2, r.night(agent, id).Stretches)
	r.audit(1)
}

// Wakes that other Temporal clients send: repeated, late, and with an epoch that was never raised.
func TestForgedAndRepeatedWakesFromTemporalPoisonNothing(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id, agentState := first(agent), workflows.AgentID(agent.Handle)
	moment := r.await(provider.HangMiddle, id, dream.Onset, "1/partial-3")
	r.begin(agent)
	r.receive(moment)
	forged := workflows.Wake{Epoch: 1 << 40, Cause: presence.Connect, Client: "nobody", Hold: time.Minute}
	require.NoError(t, r.deployment.Client.SignalWorkflow(r.ctx, agentState, "", workflows.SignalWake, forged))
	r.until(func() bool { return r.night(agent, id).Resumable() }, "a signal wakes a dream, whatever epoch it names")
	r.state(agent, workflows.Awake)
	r.release(agent)

	next := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.resume(agent)
	r.receive(next)
	woken := r.connect(agent) // its epoch is far below the forged one
	require.True(t, woken.Raised)
	awoken := r.recorded(woken)
	require.Equal(t, woken.Epoch, awoken.Epoch)
	require.Equal(t, id, awoken.Dream)
	for _, repeated := range []workflows.Wake{
		{Epoch: woken.Epoch},
		{Epoch: woken.Epoch - 1},
		{Epoch: woken.Epoch, Cause: presence.Alarm},
	} {
		require.Equal(t, workflows.Awake, r.update(agentState, repeated).State)
	}
	require.Equal(t, woken.Epoch, r.agentState(agent).Epoch)
	_, err := r.deployment.Client.UpdateWorkflow(r.ctx, client.UpdateWorkflowOptions{
		WorkflowID: agentState, UpdateName: workflows.UpdateWake, Args: []any{workflows.Wake{Epoch: -1}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err, "an impossible wake is refused in its answer")
	untold, err := r.deployment.Store.Unrecorded(r.ctx)
	require.NoError(t, err)
	require.NotContains(t, untold, agent.ID)
	r.release(agent)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(2)
}

// update sends a wake as an Update and waits for its answer.
func (r *scene) update(workflow string, args ...any) workflows.WakeAnswer {
	r.t.Helper()
	handle, err := r.deployment.Client.UpdateWorkflow(r.ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflow, UpdateName: workflows.UpdateWake, Args: args,
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(r.t, err)
	var awoken workflows.WakeAnswer
	require.NoError(r.t, handle.Get(r.ctx, &awoken))
	return awoken
}

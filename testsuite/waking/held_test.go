package waking_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/workflows"
)

// Another process writes into the file for longer than a connect may wait: the connect is answered in time, and
// completed when the file is free.
func TestAConnectDuringALongWriteOfAnotherProcessIsAnsweredAndCompletedLater(t *testing.T) {
	t.Parallel()
	r := openScene(t, options{})
	agent := r.addAgent()
	id := first(agent)
	r.recorded(r.connect(agent))
	r.release(agent)
	moment := r.await(provider.HangMiddle, id, dream.NREM, "forward")
	r.begin(agent)
	r.receive(moment)
	r.awaitTokens("nrem/forward", 5)
	other, err := sql.Open("sqlite", r.deployment.Config.Store)
	require.NoError(t, err)
	defer other.Close()
	writes, err := other.Conn(r.ctx)
	require.NoError(t, err)
	defer writes.Close()
	_, err = writes.ExecContext(r.ctx, "BEGIN IMMEDIATE")
	require.NoError(t, err)
	for range 3 {
		woken, _ := r.call(starter.Connection{Agent: agent.Handle, Client: "guest"})
		require.NotEmpty(t, woken.Degraded)
	}
	_, err = writes.ExecContext(r.ctx, "ROLLBACK")
	require.NoError(t, err)
	awoken, err := r.deployment.Starter.Recorded(r.ctx, agent.ID, 2)
	require.NoError(t, err)
	require.Equal(t, workflows.Awake, awoken.State)
	r.until(func() bool { return r.night(agent, id).Resumable() }, "%s is never interrupted", id)
	r.until(func() bool {
		return r.deployment.Starter.Sleep(r.ctx, agent.Handle) == nil && r.agentState(agent).State == workflows.Sleeping
	}, "%s never sleeps again", agent.Handle)
	r.resume(agent)
	r.requireOutcome(id, dream.Completed)
	r.audit(1)
}

package main

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/workflows"
)

func TestAClientConnectingDuringAnAlarmFindsTheAgentAwake(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.must("agents", "add", "echo", "--persona", "A companion.")
	up := h.up()
	state := func() string {
		var shown struct {
			AgentState struct{ State, Source string } `json:"agent_state"`
		}
		require.NoError(t, json.Unmarshal([]byte(h.must("agents", "show", "echo", "--json")), &shown))
		require.Equal(t, "temporal", shown.AgentState.Source)
		return shown.AgentState.State
	}
	h.must("alarm", "--agent", "echo", "--trigger", "harbour/drill", "--wait")
	require.Equal(t, workflows.Sleeping, state())
	w := h.wakes("--client", "mara", "--wait")
	require.False(t, w.Raised, "the alarm holds it awake")
	require.Eventually(t, func() bool { return state() == workflows.Awake }, time.Minute, 100*time.Millisecond)
	h.must("sleep", "--force")
	require.Eventually(t, func() bool { return state() == workflows.Sleeping }, time.Minute, 100*time.Millisecond)
	require.NoError(t, up.Process.Signal(os.Interrupt))
	require.NoError(t, up.Wait(), "%s", up.output)
}

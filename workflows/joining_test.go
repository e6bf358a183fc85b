package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// An alarm leaves a sleeping agent asleep and holds it awake in the store: a client that connects then raises no
// epoch.
func TestAClientConnectingDuringAnAlarmWakesTheAgent(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var alarmed, joined, still, after AgentState
	var refused error
	w.at(time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(10*time.Minute)
		w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1})
	})
	w.at(2*time.Minute, func() {
		alarmed = w.agentState(t)
		w.visit = Wake{Epoch: 1, Cause: presence.Connect, Client: "mara", At: w.env.Now()}
		w.env.SignalWorkflow(SignalConnected, nil)
	})
	w.at(2*time.Minute+time.Second, func() { joined = w.agentState(t) })
	w.at(3*time.Minute, func() {
		w.env.SignalWorkflow(SignalConnected, nil) // the signal is repeated
		w.ask(testSpec("dream/echo/0001"), func(r, f error) { refused = orElse(r, f) })
	})
	w.at(10*time.Minute, func() { still = w.agentState(t) })
	w.at(15*time.Minute, func() { after = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{WakeLock: 5 * time.Second})
	require.Equal(t, Sleeping, alarmed.State)
	require.Equal(t, Awake, joined.State)
	require.Equal(t, int64(1), joined.Epoch)
	require.Equal(t, presence.Connect, joined.Wake.Cause)
	require.Equal(t, "mara", joined.Wake.Client)
	require.Equal(t, 1, joined.Wakes, "it is the same wake")
	require.ErrorContains(t, refused, "holds it awake")
	require.Equal(t, Awake, still.State)
	require.Equal(t, Sleeping, after.State)
	require.Equal(t, []int64{1, 1}, w.greeted, "once noted as asleep, once announced as awake")
}

func TestASleepingAgentWithoutClientsStaysAsleep(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(10*time.Minute)
		w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1})
	})
	w.at(2*time.Minute, func() { w.env.SignalWorkflow(SignalConnected, nil) })
	var l AgentState
	w.at(3*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{})
	require.Equal(t, Sleeping, l.State)
	require.Equal(t, 1, w.lookups)
	require.Equal(t, []int64{1}, w.greeted)
}

// Another process reports the connected client before the alarm.
func TestAnAlarmReportedAfterItsClientIsCounted(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(10*time.Minute)
		w.visit = Wake{Epoch: 1, Cause: presence.Connect, Client: "mara", At: w.env.Now()}
		w.env.SignalWorkflow(SignalConnected, nil)
	})
	w.at(2*time.Minute, func() { w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1}) })
	var early, l AgentState
	w.at(90*time.Second, func() { early = w.agentState(t) })
	w.at(3*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{})
	require.Equal(t, Awake, early.State)
	require.Equal(t, Awake, l.State)
	require.Equal(t, 1, l.Alarms)
	require.Equal(t, []int64{1}, w.greeted)
}

// The client connects through another Temporal client, so no starter signals that it joined the alarm.
func TestAConnectByAnotherTemporalClientDuringAnAlarmWakesTheAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		update, unrecorded bool
		cause              presence.Cause
		joined             bool
		want               string
	}{
		"a signal":                     {cause: presence.Connect, joined: true, want: Awake},
		"an update":                    {update: true, cause: presence.Connect, joined: true, want: Awake},
		"before the alarm is recorded": {unrecorded: true, cause: presence.Connect, joined: true, want: Awake},
		"an operator":                  {cause: presence.Operator, want: Sleeping},
		"an old worker's answer":       {cause: presence.Connect, want: Sleeping},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.joins = c.joined
			var answer WakeAnswer
			var during, after AgentState
			w.at(time.Minute, func() {
				w.epoch, w.until = 1, w.env.Now().Add(5*time.Minute)
				if !c.unrecorded {
					w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1})
				}
			})
			w.at(2*time.Minute, func() {
				w.held = presence.Alarm
				wake := Wake{Cause: c.cause, Client: "mara"}
				if c.update {
					w.connect(wake, func(a WakeAnswer, err error) { answer = a; require.NoError(t, err) })
				} else {
					w.env.SignalWorkflow(SignalWake, wake)
				}
			})
			w.at(3*time.Minute, func() { during = w.agentState(t) })
			w.at(4*time.Minute, func() { w.env.SignalWorkflow(SignalAlarm, Wake{Epoch: 1}) })
			w.at(20*time.Minute, func() { after = w.agentState(t); w.env.CancelWorkflow() })
			w.live(Settings{ClientTimeout: 10 * time.Minute})
			require.Equal(t, c.want, during.State)
			require.Equal(t, int64(1), during.Epoch)
			require.Equal(t, 1, after.Wakes, "it is the same wake")
			require.Equal(t, 1, after.Alarms)
			require.Equal(t, Sleeping, after.State)
			if c.want == Awake {
				require.Equal(t, presence.Connect, during.Wake.Cause)
				require.Equal(t, "mara", during.Wake.Client)
				require.Equal(t, 10*time.Minute, w.rousedFor, "the client timeout of the settings")
			}
			if c.update {
				require.Equal(t, WakeAnswer{Epoch: 1, State: Awake}, answer)
			}
		})
	}
}

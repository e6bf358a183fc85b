package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// The process that raised the epoch has signalled the dream as well: the agent's workflow waits for the dream's
// report, and signals it itself after a while.
func TestAnAgentSignalsADreamThatAnotherProcessDidNotReach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by      string        // the dream that another process claims to have signalled
		arrives bool          // whether that signal arrived
		after   time.Duration // about when its end is reported
	}{
		"no other process signals it":            {"", false, 0},
		"another process signals another dream":  {"dream/echo/0009", false, 0},
		"another process signalled it":           {"dream/echo/0001", true, 0},
		"the signal of another process was lost": {"dream/echo/0001", false, forwardDelay},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			var began, awoke time.Time
			var woken WakeAnswer
			var after AgentState
			w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
			w.at(2*time.Minute, func() {
				wake := Wake{Epoch: 1, Cause: presence.Connect}
				w.epoch, began = 1, w.env.Now()
				if c.arrives {
					require.NoError(t, w.env.SignalWorkflowByID("dream/echo/0001", SignalWake, wake))
				}
				wake.SignalledDream = c.by
				w.connect(wake, func(a WakeAnswer, err error) {
					require.NoError(t, err)
					woken, awoke = a, w.env.Now()
				})
			})
			w.at(3*time.Minute, func() { after = w.agentState(t); w.env.CancelWorkflow() })
			w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
			require.Equal(t, "dream/echo/0001", woken.Dream)
			require.NotZero(t, woken.Until, "it was interrupted and waits")
			require.NotNil(t, after.Interrupted)
			require.GreaterOrEqual(t, awoke.Sub(began), c.after)
			require.Less(t, awoke.Sub(began), c.after+forwardDelay)
		})
	}
}

package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Whoever raised the epoch has told the dream, too: the agent's life waits for what it says, and tells it after a
// while.
func TestAAgentStateTellsADreamThatOthersSeemNotToHaveReached(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]struct {
		by      string        // the dream that others say they tell
		arrives bool          // what they told it
		after   time.Duration // its end is heard, about
	}{
		"nobody else tells it":    {"", false, 0},
		"others tell another one": {"dream/echo/0009", false, 0},
		"others have told it":     {"dream/echo/0001", true, 0},
		"others did not reach it": {"dream/echo/0001", false, heardOf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			var began, awoke time.Time
			var woken Awoken
			var after AgentState
			w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
			w.at(2*time.Minute, func() {
				wake := Wake{Epoch: 1, Cause: presence.Connect}
				w.epoch, began = 1, w.env.Now()
				if result.arrives {
					require.NoError(t, w.env.SignalWorkflowByID("dream/echo/0001", SignalWake, wake))
				}
				wake.Told = result.by
				w.connect(wake, func(a Awoken, err error) {
					require.NoError(t, err)
					woken, awoke = a, w.env.Now()
				})
			})
			w.at(3*time.Minute, func() { after = w.agentState(t); w.env.CancelWorkflow() })
			w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
			require.Equal(t, "dream/echo/0001", woken.Dream)
			require.NotZero(t, woken.Until, "it was put down, and waits")
			require.NotNil(t, after.Broken)
			require.GreaterOrEqual(t, awoke.Sub(began), result.after)
			require.Less(t, awoke.Sub(began), result.after+heardOf)
		})
	}
}

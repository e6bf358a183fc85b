package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/workflows"
)

func TestAnAgentIsShownWithItsStateItsCapsAndItsWakes(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		d := newFixture(t).furnish()
		d.guarded(&porter{agentState: workflows.AgentState{
			State: "awake", LastActive: now.Add(-time.Minute), LastDream: now.Add(-2 * time.Hour),
			LastReason: "its models cost money",
			Settings: workflows.Settings{
				IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour,
				ResumeAfter: 5 * time.Minute, Quiet: []string{"06:00-07:00"},
			},
		}})
		d.interrupt(now.Add(8 * time.Hour))
		_, err := d.store.Commit(t.Context(), memory.Write{Agent: "echo", Cause: "alarm", Events: []event.Event{
			event.New("a", "echo", "dream/echo/0000", now, event.AlarmAbort{Trigger: "harbour/price"}),
			event.New("b", "echo", "dream/echo/0002", now, event.DreamInterrupted{
				Cause:  "alarm",
				Epoch:  4,
				Phase:  dream.REM,
				Light:  true,
				Forced: true,
				Stop:   500,
			}),
		}})
		require.NoError(t, err)
		d.hall.now = presence.Status{
			Epoch: 4, Lock: now.Add(5 * time.Second), Seen: now,
			Last: &presence.Wake{Epoch: 4, Client: "mara", Cause: presence.Connect, At: now},
			Leases: []presence.Lease{
				{Client: "mara", Cause: presence.Connect, Until: now.Add(time.Minute)},
				{Client: "operator", Cause: presence.Connect, Until: now.AddDate(0, 0, 1)},
			},
		}
		require.Equal(t, exit.OK, d.run(width, "agents", "show", "echo"), d.err.String())
		d.golden(fmt.Sprintf("agents-show-awake-%d", width))
	}
}

func TestAnAgentWhoseWorkflowDoesNotAnswerIsShownFromTheStore(t *testing.T) {
	t.Parallel()
	for fault, why := range map[error]string{
		memory.ErrNotFound: "it has no workflow on Temporal yet", deploy.ErrNoServer: "no Temporal server runs",
		errors.New("timed out"): "Temporal or a worker does not answer",
		deploy.ErrNoWorker:      "no worker answers", deploy.ErrNoTemporal: "Temporal does not answer",
	} {
		d := newFixture(t).furnish().guarded(&porter{lost: fault})
		require.Equal(t, exit.OK, d.run(0, "agents", "show", "tally", "--json"), d.err.String())
		var result struct {
			AgentState struct {
				State, Source, Why, Behaviour string
				Vitality                      float64
				Next                          struct {
					At      *time.Time
					Against []string
				}
			} `json:"agent_state"`
		}
		require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
		require.Equal(t, "sleeping", result.AgentState.State)
		require.Equal(t, "store", result.AgentState.Source)
		require.Equal(t, why, result.AgentState.Why)
		require.Equal(t, []string{why}, result.AgentState.Next.Against)
		require.NotNil(t, result.AgentState.Next.At, "tally dreams by itself")
		require.Equal(t, "thriving", result.AgentState.Behaviour)
		require.InDelta(t, 1, result.AgentState.Vitality, 0)
	}
}

func TestAnAgentsStateAsJSONHasMillisecondsAndNoZeroTimes(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.guarded(
		&porter{
			agentState: workflows.AgentState{
				State: "sleeping", Wake: &workflows.Wake{Hold: time.Minute},
				Settings: workflows.Settings{MinGap: time.Hour},
			},
		})
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo", "--json"), d.err.String())
	require.NotContains(t, d.out.String(), "0001-01-01")
	require.NotContains(t, d.out.String(), `"min_gap":`)
	require.Contains(t, d.out.String(), `"min_gap_ms": 3600000`)
	require.Contains(t, d.out.String(), `"hold_ms": 60000`)
	require.Contains(t, d.out.String(), `"leases": []`)
}

// Vitality is what is left under the caps that apply, or the value that was set.
func TestAnAgentThatHasSpentItsMonthIsNoLongerThriving(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.roles = map[dream.Role]string{}
	for _, role := range dream.Roles {
		d.roles[role] = "house/small"
	}
	echo, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	echo.Caps.Day = 40_000
	require.NoError(t, d.store.PutAgent(t.Context(), echo))
	d.dream.Waker = func(context.Context, *deploy.Deployment) (deploy.Waker, error) { return nil, deploy.ErrNoServer }
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "$0.00 of the day, $15.00 of the month")
	require.Contains(t, d.out.String(), "0.00, terminal: no onset")
	require.Contains(t, d.out.String(), "the cap of its day is used up; no onset begins\n")
	half := .2
	echo.Vitality = &half
	require.NoError(t, d.store.PutAgent(t.Context(), echo))
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "0.20, conservation: 1 Dali cycle within 30s (set from outside)")
}

// As many cycles are shown as can run: the configured number, bounded by the behavioural phase, and none in the core
// tier.
func TestAnAgentIsShownWithTheCyclesThatCanRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vitality float64
		cycles   int
		depth    string
		tier     dream.Tier
		want     string
	}{
		"fewer than the phase allows": {
			.9, 2, dream.DepthFixed, dream.Hardened,
			"thriving: 2 Dali cycles within 1m30s",
		},
		"more than the phase allows": {
			.9, 9, dream.DepthFixed, dream.Hardened,
			"thriving: 5 Dali cycles within 1m30s",
		},
		"an adaptive depth": {
			.3, 3, dream.DepthAdaptive, dream.Hardened,
			"stable: up to 3 Dali cycles within 1m",
		},
		"the core tier": {
			.9, 3, dream.DepthFixed, dream.Core,
			"thriving: one induction and no Dali cycle within 1m30s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t).furnish()
			d.knobs.Cycles, d.knobs.Depth = c.cycles, c.depth
			echo, err := d.store.Agent(t.Context(), "echo")
			require.NoError(t, err)
			echo.Vitality, echo.Tier = &c.vitality, c.tier
			require.NoError(t, d.store.PutAgent(t.Context(), echo))
			require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"), d.err.String())
			require.Contains(t, d.out.String(), c.want)
		})
	}
}

// The command line shows the state that HTTP and MCP show, whether or not Temporal answers or lags behind.
func TestAnAgentsStateIsTheStoresWhateverItsWorkflowSays(t *testing.T) {
	t.Parallel()
	client := []presence.Lease{{Client: "web", Cause: presence.Connect, Until: now.Add(time.Minute)}}
	alarm := []presence.Lease{{Client: "alarm/harbour/price", Cause: presence.Alarm, Until: now.Add(time.Minute)}}
	for name, c := range map[string]struct {
		porter   *porter
		status   presence.Status
		dreaming bool
		state    string
		why      string
	}{
		"its workflow agrees": {
			&porter{agentState: workflows.AgentState{State: "awake"}},
			presence.Status{Epoch: 1, Leases: client, Last: &presence.Wake{Cause: presence.Connect}},
			false, "awake", "",
		},
		"its workflow was not told yet": {
			&porter{agentState: workflows.AgentState{State: "sleeping"}},
			presence.Status{Epoch: 1, Leases: client, Last: &presence.Wake{Cause: presence.Connect}},
			false, "awake", "its workflow still says sleeping",
		},
		"an alarm holds a sleeper": {
			&porter{agentState: workflows.AgentState{State: "sleeping"}},
			presence.Status{Epoch: 1, Leases: alarm, Last: &presence.Wake{Cause: presence.Alarm}},
			false, "sleeping", "",
		},
		"a client left and the alarm still holds": {
			&porter{agentState: workflows.AgentState{State: "awake"}},
			presence.Status{Epoch: 1, Leases: alarm, Last: &presence.Wake{Cause: presence.Alarm}, Visited: true},
			false, "awake", "",
		},
		"Temporal is away while a woken dream stops": {
			&porter{lost: errors.New("timed out")},
			presence.Status{Epoch: 1, Leases: client, Last: &presence.Wake{Cause: presence.Connect}},
			true, "waking", "Temporal or a worker does not answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t).furnish()
			d.guarded(c.porter)
			d.hall.now = c.status
			if c.dreaming {
				fence := memory.Fence{Dream: "dream/echo/0009", Run: "run"}
				_, err := d.store.TakeSlot(
					t.Context(),
					"echo",
					memory.Slot{Fence: fence, Since: now},
					memory.Fence{},
				)
				require.NoError(t, err)
			}
			require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo", "--json"), d.err.String())
			var result struct {
				AgentState struct{ State, Why string } `json:"agent_state"`
			}
			require.NoError(t, json.Unmarshal(d.out.Bytes(), &result))
			require.Equal(t, c.state, result.AgentState.State)
			require.Equal(t, c.why, result.AgentState.Why)
		})
	}
}

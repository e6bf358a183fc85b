package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// world surrounds an agent's workflow in these tests: dreams that last an hour, and a planner that records its calls.
type world struct {
	env     *testsuite.TestWorkflowEnvironment
	planned []time.Time
	dreamt  []string
	refuse  string    // the planner's reason not to dream
	removed bool      // the store says that the agent was removed
	newest  time.Time // the time of the newest memory in the store
	running bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	w := &world{env: suite.NewTestWorkflowEnvironment(), running: true}
	w.env.SetStartTime(time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC))
	w.env.RegisterWorkflowWithOptions(func(ctx workflow.Context, spec activities.Spec) (Result, error) {
		w.dreamt = append(w.dreamt, spec.Dream)
		return Result{Dream: spec.Dream, Outcome: dream.Completed}, workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: DreamType})
	w.env.RegisterActivityWithOptions(func(_ context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
		w.planned = append(w.planned, w.env.Now())
		if w.removed {
			return activities.PlanResult{Removed: true}, nil
		}
		if w.newest.Add(r.IdleTimeout).After(r.Now) {
			return activities.PlanResult{Active: w.newest}, nil
		}
		o := testSpec("dream/echo/" + string(rune('a'+len(w.planned)-1)))
		return activities.PlanResult{Spec: o, Reason: w.refuse, Active: w.newest}, nil
	}, activity.RegisterOptions{Name: activities.AgentPlan})
	w.env.RegisterActivityWithOptions(func(context.Context, activities.RunningRequest) (bool, error) {
		return w.running, nil
	}, activity.RegisterOptions{Name: activities.AgentIsDreaming})
	return w
}

func testSpec(id string) activities.Spec {
	o := activities.Spec{
		Version: activities.SpecVersion,
		Dream:   id,
		Agent:   "a1",
		Handle:  "echo",
		Tier:    dream.Core,
		Day:     "2026-10-19",
		AsOf:    time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC),
		Models:  map[dream.Role]string{},
		Knobs:   dream.DefaultKnobs(),
	}
	for _, role := range dream.Roles {
		o.Models[role] = "m"
	}
	return o
}

func (w *world) agentState(t *testing.T) AgentState {
	t.Helper()
	value, err := w.env.QueryWorkflow(QueryAgentState)
	require.NoError(t, err)
	var l AgentState
	require.NoError(t, value.Get(&l))
	return l
}

// ask sends a dream update and calls then with its error.
func (w *world) ask(spec activities.Spec, then func(refused, failed error)) {
	w.env.UpdateWorkflow(UpdateDream, spec.Dream, &testsuite.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   func(err error) { then(err, nil) },
		OnComplete: func(_ any, err error) { then(nil, err) },
	}, spec)
}

func TestAnAgentHasOneDreamAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, second, third error
	w.env.RegisterDelayedCallback(func() {
		w.ask(testSpec("dream/echo/0001"), func(r, f error) { first = orElse(r, f) })
	}, time.Minute)
	w.env.RegisterDelayedCallback(func() {
		require.Equal(t, Dreaming, w.agentState(t).State)
		w.ask(testSpec("dream/echo/0002"), func(r, f error) { second = orElse(r, f) })
	}, 30*time.Minute)
	w.env.RegisterDelayedCallback(func() {
		require.Equal(t, Sleeping, w.agentState(t).State)
		w.ask(testSpec("dream/echo/0003"), func(r, f error) { third = orElse(r, f) })
	}, 2*time.Hour)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 4*time.Hour)
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo"})
	require.NoError(t, first)
	require.ErrorContains(t, second, "already dreaming dream/echo/0001")
	require.NoError(t, third)
	require.Equal(t, []string{"dream/echo/0001", "dream/echo/0003"}, w.dreamt)
}

func orElse(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestAnAgentRefusesTheDreamOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := testSpec("dream/other/0001")
	spec.Agent = "a2"
	var refused error
	w.env.RegisterDelayedCallback(func() { w.ask(spec, func(r, f error) { refused = orElse(r, f) }) }, time.Minute)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, time.Hour)
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo"})
	require.ErrorContains(t, refused, `the dream spec is for agent "a2" and this is "a1"`)
	require.Empty(t, w.dreamt)
}

func TestAnIdleAgentDreamsAndKeepsTheGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := w.env.Now()
	w.env.RegisterDelayedCallback(func() { w.env.SignalWorkflow(SignalActive, start.Add(20*time.Minute)) },
		20*time.Minute)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 9*time.Hour)
	w.env.ExecuteWorkflow(Agent,
		AgentRequest{
			Agent: "a1", Handle: "echo",
			Settings: Settings{Auto: true, IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour},
		})
	require.Len(t, w.planned, 2)
	require.WithinDuration(t, start.Add(50*time.Minute), w.planned[0], time.Second,
		"thirty idle minutes after the activity")
	require.WithinDuration(t, start.Add(7*time.Hour+50*time.Minute), w.planned[1], time.Second,
		"six hours after the first dream ended")
}

func TestANewMemoryInTheStoreCountsAsActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := w.env.Now()
	w.env.RegisterDelayedCallback(func() { w.newest = start.Add(25 * time.Minute) }, 25*time.Minute)
	var before, after AgentState
	w.env.RegisterDelayedCallback(func() { before = w.agentState(t) }, 54*time.Minute)
	w.env.RegisterDelayedCallback(func() { after = w.agentState(t) }, 56*time.Minute)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 2*time.Hour)
	w.env.ExecuteWorkflow(Agent,
		AgentRequest{
			Agent: "a1", Handle: "echo",
			Settings: Settings{Auto: true, IdleTimeout: 30 * time.Minute, MinGap: 6 * time.Hour},
		})
	require.Len(t, w.planned, 2, "the store is asked again only when the agent has been idle for long enough")
	require.WithinDuration(t, start.Add(55*time.Minute), w.planned[1], time.Second)
	require.Equal(t, Sleeping, before.State)
	require.True(t, before.LastActive.Equal(w.newest))
	require.Equal(t, Dreaming, after.State)
	require.Empty(t, after.LastReason)
}

func TestARequestForADreamCountsAsActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := w.env.Now()
	w.env.RegisterDelayedCallback(func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) }, 25*time.Minute)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 4*time.Hour)
	w.env.ExecuteWorkflow(Agent,
		AgentRequest{
			Agent: "a1", Handle: "echo",
			Settings: Settings{Auto: true, IdleTimeout: 3 * time.Hour, MinGap: time.Minute},
		})
	require.Len(t, w.planned, 1)
	require.WithinDuration(t, start.Add(3*time.Hour+25*time.Minute), w.planned[0], time.Second)
}

func TestARefusedPlanIsRetriedAfterTheGap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuse = "its models cost money"
	var seen AgentState
	w.env.RegisterDelayedCallback(func() { seen = w.agentState(t); w.env.CancelWorkflow() }, 4*time.Hour)
	w.env.ExecuteWorkflow(Agent,
		AgentRequest{
			Agent: "a1", Handle: "echo",
			Settings: Settings{Auto: true, IdleTimeout: time.Hour, MinGap: 2 * time.Hour},
		})
	require.Empty(t, w.dreamt)
	require.Equal(t, w.refuse, seen.LastReason)
	require.Len(t, w.planned, 2)
}

func TestTheWorkflowOfARemovedAgentCompletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.removed = true
	w.env.ExecuteWorkflow(Agent, AgentRequest{
		Agent: "a1", Handle: "echo", Settings: Settings{Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour},
	})
	require.True(t, w.env.IsWorkflowCompleted())
	require.NoError(t, w.env.GetWorkflowError())
	require.Len(t, w.planned, 1)
	require.Empty(t, w.dreamt)
}

func TestAnAgentThatIsNotAutomaticDreamsOnlyOnRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.RegisterDelayedCallback(func() {
		require.Empty(t, w.planned)
		w.env.SignalWorkflow(SignalSettings, Settings{Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour})
	}, 100*time.Hour)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 101*time.Hour)
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo"})
	require.Len(t, w.planned, 1, "switched on while long idle, it dreams at once")
}

func TestContinueAsNewLosesNoSignal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	late := w.env.Now().Add(3 * time.Minute)
	w.env.RegisterDelayedCallback(func() {
		w.ask(testSpec("dream/echo/0001"), func(error, error) {})
	}, time.Minute)
	w.env.RegisterDelayedCallback(func() {
		w.env.SetContinueAsNewSuggested(true)
		w.env.SignalWorkflow(SignalActive, late.Add(-time.Minute))
		w.env.SignalWorkflow(SignalSettings, Settings{Auto: true, IdleTimeout: time.Hour, MinGap: time.Hour})
		w.env.SignalWorkflow(SignalActive, late)
	}, 3*time.Minute)
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo"})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &again)
	var next AgentRequest
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.NotNil(t, next.Carried)
	require.Equal(t, Dreaming, next.Carried.State)
	require.Equal(t, "dream/echo/0001", next.Carried.Dream.Dream)
	require.True(t, next.Carried.LastActive.Equal(late))
	require.True(t, next.Settings.Auto)
}

func TestAfterContinueAsNewTheEndOfADreamIsNoticed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		apply func(w *world)
	}{
		{"by its signal", func(w *world) {
			w.env.SignalWorkflow(SignalEnded, EndedDream{Dream: "dream/echo/0001", Outcome: dream.Completed})
		}},
		{"by a check, when the dream was terminated", func(w *world) { w.running = false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			carried := AgentState{
				State: Dreaming,
				Dream: &StartedDream{Dream: "dream/echo/0001", Workflow: "dream/echo/0001", Run: "r"}, Dreams: 1,
			}
			w.env.RegisterDelayedCallback(func() { c.apply(w) }, 10*time.Minute)
			var before, after AgentState
			w.env.RegisterDelayedCallback(func() { before = w.agentState(t) }, 9*time.Minute)
			w.env.RegisterDelayedCallback(func() { after = w.agentState(t); w.env.CancelWorkflow() }, 15*time.Minute)
			w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Carried: &carried})
			require.Equal(t, Dreaming, before.State)
			require.Equal(t, Sleeping, after.State)
			require.Equal(t, 1, after.Dreams)
		})
	}
}

func TestDreamIDs(t *testing.T) {
	t.Parallel()
	for number, want := range map[int64]string{1: "dream/echo/0001", 42: "dream/echo/0042", 12345: "dream/echo/12345"} {
		require.Equal(t, want, DreamID("echo", number))
		require.Equal(t, "echo", HandleOf(want))
	}
	require.Empty(t, HandleOf("agent/echo"))
	require.Equal(t, "agent/echo", AgentID("echo"))
}

func TestAShorterGapAppliesAfterADream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env.RegisterDelayedCallback(func() {
		require.Len(t, w.planned, 1)
		w.env.SignalWorkflow(SignalSettings, Settings{Auto: true, IdleTimeout: time.Minute, MinGap: time.Minute})
	}, 4*time.Hour)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 5*time.Hour)
	w.env.ExecuteWorkflow(Agent,
		AgentRequest{
			Agent: "a1", Handle: "echo",
			Settings: Settings{Auto: true, IdleTimeout: time.Hour, MinGap: 24 * time.Hour},
		})
	require.Len(t, w.planned, 2)
}

func TestNewSettingsEndTheQuietHoursOfTheFormerOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := w.env.Now().UTC()
	var request []activities.PlanRequest
	w.env.OnActivity(activities.AgentPlan, mock.Anything, mock.Anything).
		Return(func(_ context.Context, r activities.PlanRequest) (activities.PlanResult, error) {
			request = append(request, r)
			if len(r.Quiet) > 0 {
				return activities.PlanResult{
					Reason:    "these are quiet hours until Tue 08:00",
					NotBefore: start.Add(10 * time.Hour),
				}, nil
			}
			return activities.PlanResult{Spec: testSpec("dream/echo/0001")}, nil
		})
	settings := Settings{Auto: true, IdleTimeout: 30 * time.Minute, MinGap: time.Minute, Quiet: []string{"22:00-08:00"}}
	var before, after AgentState
	w.env.RegisterDelayedCallback(func() { before = w.agentState(t) }, time.Hour)
	w.env.RegisterDelayedCallback(func() {
		open := settings
		open.Quiet = nil
		w.env.SignalWorkflow(SignalSettings, open)
	}, 2*time.Hour)
	w.env.RegisterDelayedCallback(func() { after = w.agentState(t) }, 2*time.Hour+time.Minute)
	w.env.RegisterDelayedCallback(w.env.CancelWorkflow, 150*time.Minute)
	w.env.ExecuteWorkflow(Agent, AgentRequest{Agent: "a1", Handle: "echo", Settings: settings})
	require.Equal(t, start.Add(10*time.Hour), before.NotBefore)
	require.Len(t, request, 2)
	require.WithinDuration(t, start.Add(2*time.Hour), request[1].Now, 2*time.Second)
	require.Equal(t, Dreaming, after.State)
	require.Zero(t, after.NotBefore)
	require.Empty(t, after.LastReason)
}

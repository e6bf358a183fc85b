package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/circadian"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/triggers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// reached is a fixture with a Temporal server that answers.
func reached(t *testing.T) (*fixture, *sleeper) {
	t.Helper()
	d, s := newFixture(t).furnish(), &sleeper{}
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return s, nil }
	return d, s
}

func TestTriggersAreAddedListedAndDropped(t *testing.T) {
	t.Parallel()
	d, s := reached(t)
	run := func(args ...string) {
		t.Helper()
		require.Equal(t, exit.OK, d.run(0, append([]string{"triggers"}, args...)...), d.err.String())
	}
	run("add", "nightly", "--agent", "echo", "--schedule", "mon-fri 03:30")
	require.Equal(t, "Trigger nightly of echo is added.\n", d.out.String())
	require.Contains(t, d.err.String(), "does not dream by itself yet")
	run("add", "full", "--agent", "echo", "--episodes", "50")
	run("add", "mistaken", "--agent", "echo", "--event", "PredictionResolved", "--residual", "0.5")
	run("add", "full", "--agent", "echo", "--episodes", "2", "--replace")
	require.Len(t, s.settled, 4, "its workflow hears of it each time")
	for _, width := range []int{80, 200} {
		require.Equal(t, exit.OK, d.run(width, "triggers", "list", "--agent", "echo"), d.err.String())
		d.golden(fmt.Sprintf("triggers-list-%d", width))
	}
	for _, name := range []string{"nightly", "full", "mistaken", "idle"} {
		run("drop", name, "--agent", "echo")
	}
	echo, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.NotNil(t, echo.Triggers)
	require.Empty(t, echo.Triggers, "none is not the same as never named")
	require.Equal(t, exit.OK, d.run(0, "agents", "show", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "none: it dreams only on request")
	run("add", "idle", "--agent", "echo")
	run("list", "--agent", "echo", "--json")
	var lines []struct {
		Name  string
		Fires bool
		Now   string
	}
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &lines))
	require.Len(t, lines, 2)
	require.Equal(t, "idle", lines[0].Name)
	require.Equal(t, "manual", lines[1].Name)
}

func TestWhatIsWrongWithATriggerIsSaidBeforeAnythingIsKept(t *testing.T) {
	t.Parallel()
	d, s := reached(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"add", "x"}, exit.Usage, "one of --schedule, --episodes, --event and --rule"},
		{[]string{"add", "x", "--schedule", "03:30", "--episodes", "5"}, exit.Usage, "one of --schedule"},
		{[]string{"add", "x", "--schedule", "25:00"}, exit.Usage, `--schedule: schedule "25:00"`},
		{[]string{"add", "x", "--episodes", "0"}, exit.Usage, "episodes is 0; it must lie between 1 and 100000"},
		{
			[]string{"add", "x", "--event", "Moonrise"},
			exit.Usage,
			`--event is "Moonrise"; it must be the type of an event that no dream writes`,
		},
		{
			[]string{"add", "x", "--event", "AlarmRaised", "--residual", "0.5"},
			exit.Usage,
			"only --event PredictionResolved has one",
		},
		{[]string{"add", "x", "--event", "PredictionResolved", "--residual", "5"}, exit.Usage, "residual is 5"},
		{[]string{"add", "x", "--rule", "calm"}, exit.Usage, "follows no feed"},
		{[]string{"add", "idle", "--episodes", "5", "--replace"}, exit.Usage, `name "idle" is taken`},
		{[]string{"add", "idle"}, exit.Usage, "--replace puts this one in its place"},
		{[]string{"add", "X y", "--episodes", "5"}, exit.Usage, `name "X y" must be`},
		{[]string{"drop", "gone"}, exit.NotFound, `echo has no trigger "gone"`},
	} {
		require.Equal(t, c.code, d.run(0, append([]string{"triggers", "--agent", "echo"}, c.args...)...), "%v: %s",
			c.args, d.err.String())
		require.Contains(t, d.err.String(), c.says)
	}
	echo, err := d.store.Agent(t.Context(), "echo")
	require.NoError(t, err)
	require.Nil(t, echo.Triggers)
	require.Empty(t, s.settled)
}

func TestARuleThatATriggerNamesMustBe(t *testing.T) {
	t.Parallel()
	d, _ := reached(t)
	require.Equal(t, exit.OK, d.run(0, "agents", "edit", "echo", "--feed", "quay"), d.err.String())
	require.Equal(t, exit.NotFound, d.run(0, "triggers", "add", "calm", "--agent", "echo", "--rule", "calm"))
	require.Contains(t, d.err.String(), "there is no feed quay")
	require.NoError(t,
		d.store.PutFeed(t.Context(),
			dream.Feed{
				Name:  "quay",
				Rules: []dream.Rule{{Name: "calm", Metric: "wind", Kind: dream.Below, Number: 3}},
			}))
	require.Equal(t, exit.NotFound, d.run(0, "triggers", "add", "storm", "--agent", "echo", "--rule", "storm"))
	require.Contains(t, d.err.String(), "feed quay has no such rule")
	require.Equal(t, exit.OK, d.run(0, "triggers", "add", "calm", "--agent", "echo", "--rule", "quay/calm"),
		d.err.String())
	require.Equal(t, exit.OK, d.run(0, "triggers", "list", "--agent", "echo"), d.err.String())
	require.Contains(t, d.out.String(), "rule quay/calm")
}

func TestAPersonAsksForADreamAsSoonAsItMayBe(t *testing.T) {
	t.Parallel()
	d, s := reached(t)
	require.Equal(t, exit.OK, d.run(0, "triggers", "fire", "--agent", "echo"), d.err.String())
	require.Equal(t, exit.OK, d.run(0, "triggers", "drop", "manual", "--agent", "echo"), d.err.String())
	require.Equal(t, []triggers.Fire{
		{Trigger: "manual", Kind: dream.OnRequest, At: now, Reason: "a person asked"},
		{Trigger: "manual", Kind: dream.OnRequest, Drop: true},
	}, s.calls)
	d.dream.Reach = func(context.Context, *deploy.Deployment) (deploy.Engine, error) { return nil, deploy.ErrNoServer }
	require.Equal(t, exit.Unreachable, d.run(0, "triggers", "fire", "--agent", "echo"))
	require.Equal(t, exit.OK, d.run(0, "triggers", "add", "nightly", "--agent", "echo", "--schedule", "03:30"),
		d.err.String())
	require.Contains(t, d.err.String(), "the next worker processes it")
}

// The next dream is explained by what makes it due, the agent's urgency with its terms, and what holds it back.
func TestTheNextDreamIsExplained(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 200} {
		d := newFixture(t).furnish()
		echo, err := d.store.Agent(t.Context(), "echo")
		require.NoError(t, err)
		echo.Auto = true
		echo.Triggers = []dream.Trigger{
			dream.IdleTrigger,
			{Name: "nightly", Kind: dream.OnSchedule, Schedule: "07:15"},
			{Name: "full", Kind: dream.OnEpisodes, Episodes: 2},
		}
		require.NoError(t, d.store.PutAgent(t.Context(), echo))
		eager := circadian.DefaultUrgencyRule
		d.guarded(&porter{agentState: workflows.AgentState{
			State: "sleeping", LastActive: now.Add(-3 * time.Minute), LastDream: now.Add(-5 * time.Hour), Dreams: 1,
			Settings: workflows.Settings{
				Auto:        true,
				IdleTimeout: 3 * time.Hour,
				MinGap:      6 * time.Hour,
				Zone:        "UTC",
				Triggers:    echo.Triggers,
				UrgencyRule: &eager,
				Quiet:       []string{"05:00-06:30"},
			},
			Triggering: workflows.Triggering{
				Pending: &triggers.Fire{
					Trigger: "full", Kind: dream.OnEpisodes, At: now.Add(-time.Minute),
					Reason: "2 new episodes",
				},
			},
		}})
		require.Equal(t, exit.OK, d.run(width, "agents", "show", "echo"), d.err.String())
		d.golden(fmt.Sprintf("agents-show-next-%d", width))
		require.Contains(t, d.out.String(), "not before 07:00:00 by full")
	}
}

func TestATriggerIsReplacedAndManualNeedsNone(t *testing.T) {
	t.Parallel()
	d := newFixture(t).furnish()
	d.ok(0, "triggers", "add", "full", "-a", "echo", "--episodes", "3")
	require.Equal(t, "Trigger full of echo is added.\n", d.out.String())
	d.ok(0, "triggers", "add", "full", "-a", "echo", "--episodes", "4", "--replace")
	require.Equal(t, "Trigger full of echo is replaced.\n", d.out.String())
	require.Contains(t, d.err.String(), "oneiros agents edit echo --auto")
	d.ok(0, "triggers", "drop", "full", "-a", "echo")
	require.NotContains(t, d.err.String(), "--auto", "who drops a trigger wants no dream by it")
	require.Equal(t, exit.Usage, d.run(0, "triggers", "add", "manual", "-a", "echo"))
	require.Contains(t, d.err.String(), "every agent has the trigger manual: oneiros triggers fire calls it")
}

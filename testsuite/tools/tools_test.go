package tools_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/docs"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// line is a command of docs/temporal-tools.md, and a part of its output.
type line struct{ text, shows string }

// finding are the questions that find a running dream and its agent.
var finding = []line{
	{`temporal workflow list --query 'OneirosAgent = "echo"'`, night},
	{
		`temporal workflow list --query 'WorkflowType = "Dream" AND OneirosPhase = "nrem" AND ExecutionStatus = "Running"'`,
		night,
	},
	{`temporal workflow list --query 'OneirosDepth = "peak"'`, night},
	{`temporal workflow count --query 'WorkflowType = "Agent" AND OneirosState = "dreaming"'`, "Total: 1"},
	{`tctl workflow list --query 'OneirosAgent = "echo" AND WorkflowType = "Dream"'`, night},
	{`tctl workflow list --open`, "agent/echo"},
}

// looking are the questions about one dream.
var looking = []line{
	{`temporal workflow describe --workflow-id dream/echo/0001`, "OneirosPhase"},
	{`temporal workflow metadata --workflow-id dream/echo/0001`, "nrem         running"},
	{`temporal workflow show --workflow-id dream/echo/0001`, "ActivityTaskScheduled"},
	{`temporal workflow show --workflow-id dream/echo/0001 --output json`, "Onset.Partial"},
	{`temporal workflow query --workflow-id dream/echo/0001 --type progress`, `"phase":"nrem"`},
	{`temporal workflow query --workflow-id agent/echo --type state`, `"state":"dreaming"`},
	{`tctl workflow describe --workflow_id dream/echo/0001`, `"Dream"`},
	{`tctl workflow show --workflow_id dream/echo/0001`, "ActivityTaskScheduled"},
	{`tctl workflow query --workflow_id dream/echo/0001 --query_type progress`, `"phase":"nrem"`},
}

// waking are the ways to wake the agent of a dream, each alone enough.
var waking = []line{
	{`temporal workflow signal --workflow-id agent/echo --name wake`, "Signal workflow succeeded"},
	{`temporal workflow update execute --workflow-id agent/echo --name wake --input '{}'`, "state:awake"},
	{
		`temporal workflow update execute --workflow-id agent/echo --name wake --input '{"cause":"connect","client":"mara"}'`,
		"state:awake",
	},
	{`temporal workflow signal --workflow-id agent/echo --name alarm`, "Signal workflow succeeded"},
	{`temporal workflow signal --workflow-id dream/echo/0001 --name wake`, "Signal workflow succeeded"},
	{`tctl workflow signal --workflow_id agent/echo --name wake`, "Signal workflow succeeded"},
}

// ending are the ways to end a dream with what it has.
var ending = []line{
	{`temporal workflow cancel --workflow-id dream/echo/0001`, "Canceled workflow"},
	{`tctl workflow cancel --workflow_id dream/echo/0001`, ""},
}

// resetting are the ways to begin a run again, of the dream or of its agent.
var resetting = []line{
	{`temporal workflow reset --workflow-id dream/echo/0001 --type LastWorkflowTask --reason 'try again'`, ""},
	{`temporal workflow reset --workflow-id dream/echo/0001 --type FirstWorkflowTask --reason 'try again'`, ""},
	{`temporal workflow reset --workflow-id agent/echo --type LastWorkflowTask --reason 'try again'`, ""},
	{`tctl workflow reset --workflow_id dream/echo/0001 --reset_type LastWorkflowTask --reason 'try again'`, ""},
}

// killing are the ways to terminate its workflow.
var killing = []line{
	{`temporal workflow terminate --workflow-id dream/echo/0001 --reason 'it must go'`, "erminate"},
	{`tctl workflow terminate --workflow_id dream/echo/0001 --reason 'it must go'`, "Terminate workflow succeeded"},
}

// after are the questions about dreams that have ended.
var after = []line{
	{`temporal workflow list --query 'OneirosOutcome = "canceled" AND OneirosSpendMicros > 1000'`, night},
	{`tctl workflow list --query 'OneirosOutcome = "canceled"'`, night},
}

// elsewhere are lines that another test runs, with its name.
var elsewhere = map[string]string{
	`temporal workflow show --workflow-id dream/echo/0001 --output json --codec-endpoint http://127.0.0.1:8081`:                     "TestASealedDreamIsReadThroughTheCodecServer",
	`temporal workflow list --query 'OneirosAgent = "echo" AND OneirosInterruptedOn = "2026-11-27" AND OneirosSpendMicros > 10000'`: "TestTheDaysOfInterruptionsStay",
}

func TestEveryLineOfTheDocumentIsRun(t *testing.T) {
	t.Parallel()
	d, err := docs.Read("../..", "docs/temporal-tools.md")
	require.NoError(t, err)
	ran := map[string]bool{}
	for _, list := range [][]line{finding, looking, waking, ending, resetting, killing, after} {
		for _, l := range list {
			ran[l.text] = true
		}
	}
	shown := map[string]bool{}
	for _, b := range d.Blocks {
		if b.Language != "console" {
			continue
		}
		for _, text := range b.Lines {
			shown[text] = true
			require.True(t, ran[text] || elsewhere[text] != "", "no test runs %q", text)
		}
	}
	for text := range ran {
		require.True(t, shown[text], "the document does not show %q", text)
	}
}

func TestARunningDreamIsFoundAndReadWithTemporalsOwnTools(t *testing.T) {
	t.Parallel()
	s := dreaming(t)
	for _, l := range append(finding, looking...) {
		s.shows(l.text, l.shows)
	}
	printed := s.run(`temporal workflow show --workflow-id dream/echo/0001 --output json`)
	history, err := client.HistoryFromJSON(bytes.NewReader([]byte(printed)), client.HistoryJSONOptions{})
	require.NoError(t, err)
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DataConverter: workflows.DataConverter()})
	require.NoError(t, err)
	workflows.Register(replayer)
	require.NoError(t,
		replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history),
		"what the tool printed replays")
	wrong, err := s.shell.Run(`temporal workflow list --query 'OneirosNothing = "x"'`)
	require.Error(t, err, wrong)
}

func TestASignalFromTemporalsOwnToolsWakesTheAgent(t *testing.T) {
	t.Parallel()
	for _, l := range waking {
		t.Run(l.text, func(t *testing.T) {
			t.Parallel()
			s := dreaming(t)
			require.Contains(t, s.run(l.text), l.shows)
			s.outcome(dream.Interrupted)
			s.shows(`temporal workflow query --workflow-id agent/echo --type state`, `"state":"awake"`)
			s.shows(`temporal workflow list --query 'OneirosOutcome = "interrupted"'`, night)
			s.free()
		})
	}
}

// A dream is found by the day on which it was interrupted, also after it has ended.
func TestTheDaysOfInterruptionsStay(t *testing.T) {
	t.Parallel()
	s := dreaming(t)
	before := time.Now().UTC().Format(time.DateOnly)
	s.run(`temporal workflow signal --workflow-id dream/echo/0001 --name wake`)
	s.outcome(dream.Interrupted)
	day := ""
	require.Eventually(t, func() bool {
		for _, each := range []string{before, time.Now().UTC().Format(time.DateOnly)} {
			text, err := s.shell.Run(fmt.Sprintf(
				`temporal workflow list --query 'OneirosAgent = "echo" AND OneirosInterruptedOn = "%s" AND OneirosSpendMicros > 0'`, each))
			if err == nil && strings.Contains(text, night) {
				day = each
			}
		}
		return day != ""
	}, patience, 100*time.Millisecond)
	s.run(`temporal workflow cancel --workflow-id dream/echo/0001`)
	s.shows(`temporal workflow list --query 'OneirosOutcome != "interrupted"'`, night)
	s.shows(fmt.Sprintf(`temporal workflow list --query 'OneirosInterruptedOn = "%s"'`, day), night)
}

// An agent held by an alarm sleeps on until a client connects.
func TestAConnectFromTemporalsOwnToolsWakesASleeperThatAnAlarmHolds(t *testing.T) {
	t.Parallel()
	s := dreaming(t)
	const agentState = `temporal workflow query --workflow-id agent/echo --type state`
	s.run(`temporal workflow cancel --workflow-id dream/echo/0001`)
	s.shows(agentState, `"state":"sleeping"`)
	s.run(`tctl workflow signal --workflow_id agent/echo --name alarm`)
	s.shows(agentState, `"alarms":1`)
	require.Contains(t, s.run(agentState), `"state":"sleeping"`)
	text := s.run(
		`temporal workflow update execute --workflow-id agent/echo --name wake --input '{"cause":"connect","client":"mara"}'`)
	require.Contains(t, text, "state:awake")
	require.Contains(t, s.run(agentState), `"state":"awake"`)
}

func TestACancelFromTemporalsOwnToolsEndsTheDreamWithWhatItHas(t *testing.T) {
	t.Parallel()
	for _, l := range ending {
		t.Run(l.text, func(t *testing.T) {
			t.Parallel()
			s := dreaming(t)
			require.Contains(t, s.run(l.text), l.shows)
			result, err := s.deployment.Result(s.ctx, night)
			require.NoError(t, err)
			require.Equal(t, dream.Canceled, result.Outcome)
			require.Positive(t, result.Spent, "what was bought before is counted")
			s.outcome(dream.Canceled)
			s.free()
			for _, l := range after {
				s.shows(l.text, l.shows)
			}
		})
	}
}

func TestAResetFromTemporalsOwnToolsLetsTheDreamGoOn(t *testing.T) {
	t.Parallel()
	for _, l := range resetting {
		t.Run(l.text, func(t *testing.T) {
			t.Parallel()
			s := dreaming(t)
			require.Contains(t, s.run(l.text), l.shows)
			outcome := dream.Completed
			if !strings.Contains(l.text, night) { // the dream still waits for the model
				outcome = dream.Canceled
				s.shows("temporal workflow query --workflow-id agent/echo --type state", `"state":"dreaming"`)
				s.run("temporal workflow cancel --workflow-id " + night)
			}
			result, err := s.deployment.Result(s.ctx, night)
			require.NoError(t, err)
			require.Equal(t, outcome, result.Outcome, result.Reason)
			s.outcome(outcome)
			s.free()
		})
	}
}

func TestATerminateFromTemporalsOwnToolsLeavesNothingReservedForEver(t *testing.T) {
	t.Parallel()
	for _, l := range killing {
		t.Run(l.text, func(t *testing.T) {
			t.Parallel()
			s := dreaming(t)
			require.Contains(t, s.run(l.text), l.shows)
			agentStates := starter.Executions{Client: s.deployment.Client}
			require.Eventually(t, func() bool {
				_, err := workers.Reconcile(s.ctx, s.deployment.Ports, agentStates)
				require.NoError(t, err)
				slots, err := s.deployment.Store.Slots(s.ctx)
				require.NoError(t, err)
				return len(slots) == 0
			}, patience, 50*time.Millisecond)
			s.outcome(dream.Canceled)
			s.free()
		})
	}
}

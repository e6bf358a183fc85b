package histories_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/testsuite/histories"
	"github.com/seed-56a03226/oneiros/workflows"
)

// recorded are the histories that must exist; one is added for every outcome and every change of logic.
var recorded = []string{
	"dream-completed-hardened", "dream-completed-core", "dream-completed-free", "dream-onset-skipped", "dream-empty",
	"dream-exhausted", "dream-aborted", "dream-canceled", "dream-canceled-slot", "dream-worker-stopped", "dream-undone",
	"dream-steps-side-by-side", "dream-woken-among-partials-and-resumed", "dream-woken-among-scenarios-and-resumed",
	"agent-two-dreams", "agent-by-itself", "agent-continued-under-signals",
}

func files(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.json.gz")
	require.NoError(t, err)
	return found
}

func TestEveryOutcomeHasARecordedHistory(t *testing.T) {
	t.Parallel()
	var names []string
	for _, file := range files(t) {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json.gz"))
	}
	require.Subset(t, names, slices.Concat(recorded, wakes, resets))
}

func TestRecordedHistoriesReplayAgainstTodaysCode(t *testing.T) {
	t.Parallel()
	for _, file := range files(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, histories.Replay(file, workflows.Register))
		})
	}
}

// mutated is today's dream with one more step before everything else: a change that no history has.
func mutated(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, spec activities.Spec) (workflows.Result, error) {
		if err := workflow.Sleep(ctx, 1); err != nil {
			return workflows.Result{}, err
		}
		return workflows.Dream(ctx, spec)
	}, workflow.RegisterOptions{Name: workflows.DreamType})
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, request workflows.AgentRequest) error {
		if err := workflow.Sleep(ctx, 1); err != nil {
			return err
		}
		return workflows.Agent(ctx, request)
	}, workflow.RegisterOptions{Name: workflows.AgentType})
}

func TestAMutatedWorkflowFailsTheSameSuite(t *testing.T) {
	t.Parallel()
	for _, file := range files(t) {
		require.Error(t, histories.Replay(file, mutated), file)
	}
}

// TestAHardenedNightKeepsItsHistorySmall checks the limits of 64 KiB and 400 events a dream: references are in the
// history, texts are not.
func TestAHardenedNightKeepsItsHistorySmall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dream-completed-hardened", "dream-completed-free", "dream-worker-stopped"} {
		history, err := histories.Load("testdata/" + name + ".json.gz")
		require.NoError(t, err)
		require.LessOrEqual(t, len(history.GetEvents()), 400, name)
		require.LessOrEqual(t, proto.Size(history), 64<<10, name)
		t.Logf("%s: %d events, %d bytes", name, len(history.GetEvents()), proto.Size(history))
	}
}

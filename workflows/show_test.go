package workflows

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The file is also rendered as the web UI does it, in cmd/temporald.
func TestDetailsOfADream(t *testing.T) {
	t.Parallel()
	r := &dreamRun{
		spec: activities.Spec{
			Tier:      dream.Hardened,
			Seed:      11,
			Budget:    50_000,
			Knobs:     dream.Knobs{HalfLife: 720 * time.Hour, IdleToken: 45 * time.Second},
			ResumeTTL: 90 * time.Minute,
			Holds:     &activities.Holds{Alarm: time.Minute},
		},
		descent: descent{
			aim:       &dream.Depth{Stage: dream.Peak},
			collapses: 1,
		},
		stretch: stretch{number: 2},
		wakes:   []screen.Break{{Phase: dream.NREM, Calls: 2}},
		state: Progress{
			Spent: 21_480,
			Tallies: []dream.Tally{
				{
					Phase:  dream.Onset,
					State:  "ran",
					Calls:  17,
					Made:   12,
					Kept:   4,
					Spent:  9_120,
					Cap:    10_000,
					Cycles: 3,
				},
				{
					Phase: dream.NREM,
					State: "exhausted",
					Calls: 4,
					Made:  9,
					Kept:  7,
					Spent: 12_360,
					Cap:   12_400,
				},
				{Phase: dream.REM, State: "running", Cap: 15_000},
			},
			Outcome: "woken",
			Reason:  "a client connected; its cap is $0.05",
			Until:   time.Date(2026, 11, 28, 22, 30, 0, 0, time.UTC),
		},
	}
	got := details(r)
	if *update {
		require.NoError(t, os.WriteFile("testdata/details.md", []byte(got), 0o600))
	}
	want, err := os.ReadFile("testdata/details.md")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	_, block, _ := strings.Cut(got, "```")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), detailColumns+1, line)
	}
}

func TestDetailsHoldNoDollarSigns(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		setDetails(ctx, "$0.05 of $1.00")
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	value, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdk.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	require.Equal(t, "USD 0.05 of USD 1.00", metadata.GetCurrentDetails())
}

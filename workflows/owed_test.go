package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/policy"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// onGuard is a bedside whose dream has hooks at the capture and a rule in words, and writes down the deeds that concern
// them.
func onGuard(t *testing.T, review func(n int) (activities.StepResult, error),
	capture func() (activities.StepResult, error),
) (*bedside, []string) {
	t.Helper()
	b := newBedside(t)
	b.cause = presence.Alarm
	var lines []string
	as := func(name string, do any) { b.env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name}) }
	reviews := 0
	as("Frontier.Review", func(_ context.Context, r activities.ReviewRequest) (activities.StepResult, error) {
		require.Equal(t, []string{"f"}, r.Fragments)
		lines = append(lines, "review")
		reviews++
		return review(reviews)
	})
	as("Onset.Hold", func(_ context.Context, r activities.CaptureRequest) (activities.StepResult, error) {
		require.Equal(t, []string{"f"}, r.Fragments)
		lines = append(lines, "hold")
		return activities.StepResult{Made: []activities.Made{{ID: "f", Kept: true}}}, nil
	})
	as("Onset.Capture", func(context.Context, activities.CaptureRequest) (activities.StepResult, error) {
		lines = append(lines, "capture")
		return capture()
	})
	as("Awakening.Surface", func(context.Context, activities.StepRequest) (activities.StepResult, error) {
		lines = append(lines, "surface")
		return activities.StepResult{}, nil
	})
	o := testSpec("dream/echo/0001")
	o.ResumeTTL = time.Hour
	o.Hooks = []activities.HookRule{
		{
			Name: "guard", At: []activities.Border{activities.AtCapture}, Timeout: time.Second,
			Silent: activities.SilentRefuse,
		},
	}
	o.Policy = &policy.Rules{Sentences: []policy.Sentence{{Name: "kind", Text: "Nothing that would shame a person."}}}
	b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(SignalResume, true) }, 10*time.Minute)
	b.env.ExecuteWorkflow(Dream, o)
	require.True(t, b.env.IsWorkflowCompleted())
	require.NoError(t, b.env.GetWorkflowError())
	require.Len(t, b.risen, 1)
	return b, lines
}

func passed(int) (activities.StepResult, error) { return activities.StepResult{}, nil }

func captured() (activities.StepResult, error) {
	return activities.StepResult{Made: []activities.Made{{ID: "f", Kept: true, Chosen: true}}}, nil
}

func TestAHookIsAskedOnceAndTheRulesInWordsAtTheCapture(t *testing.T) {
	t.Parallel()
	b, lines := onGuard(t, passed, captured)
	require.Equal(t, []string{"review", "capture", "surface"}, lines)
	require.Equal(t, dream.Completed, b.risen[0].Ending.Outcome)
}

// H19 ends the onset at once; H18 and H23 hold for what it had caught all the same, before anything goes on with it.
func TestAnAlarmKeepsNothingFromTheHooksOrFromTheRulesInWords(t *testing.T) {
	t.Parallel()
	b, lines := onGuard(t, func(n int) (activities.StepResult, error) {
		if n == 1 {
			return activities.StepResult{}, temporal.NewNonRetryableApplicationError("woken", activities.FailWoken, nil)
		}
		return activities.StepResult{}, nil
	}, captured)
	require.True(t, b.closed[0].Alarm)
	require.Equal(t, []string{"review", "review", "hold"}, lines, "nothing was rated, and nothing is developed unasked")
}

func TestACaptureThatFailsLeavesNothingUnaskedAbout(t *testing.T) {
	t.Parallel()
	_, lines := onGuard(t, passed, func() (activities.StepResult, error) {
		return activities.StepResult{}, temporal.NewNonRetryableApplicationError("broken", activities.FailMissing, nil)
	})
	require.Equal(t, []string{"review", "capture", "hold"}, lines)
}

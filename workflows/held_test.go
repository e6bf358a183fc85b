package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/policy"
)

// withHooks is a core dream with capture hooks and a rule in words, which logs the activities that concern them.
func withHooks(t *testing.T, review func(n int) (activities.StepResult, error),
	capture func() (activities.StepResult, error),
) (*coreDream, []string) {
	t.Helper()
	b := newCoreDream(t)
	b.cause = presence.Alarm
	var lines []string
	as := func(name string, do any) { b.env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name}) }
	reviews := 0
	as(activities.HooksCapture, func(_ context.Context, r activities.CaptureHookRequest) (activities.StepResult, error) {
		require.Equal(t, []string{"f"}, r.Fragments)
		lines = append(lines, "review")
		reviews++
		return review(reviews)
	})
	as(activities.OnsetCheckPolicy, func(_ context.Context, r activities.CaptureRequest) (activities.StepResult, error) {
		require.Equal(t, []string{"f"}, r.Fragments)
		lines = append(lines, "hold")
		return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Kept: true}}}, nil
	})
	as(activities.OnsetCapture, func(context.Context, activities.CaptureRequest) (activities.StepResult, error) {
		lines = append(lines, "capture")
		return capture()
	})
	as(activities.AwakeningSurface, func(context.Context, activities.StepRequest) (activities.StepResult, error) {
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
	return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Kept: true, Chosen: true}}}, nil
}

func TestAHookAndTheRulesInWordsAreCalledOnceAtTheCapture(t *testing.T) {
	t.Parallel()
	b, lines := withHooks(t, passed, captured)
	require.Equal(t, []string{"review", "capture", "surface"}, lines)
	require.Equal(t, dream.Completed, b.risen[0].Ending.Outcome)
}

// An alarm ends the onset at once; hooks and rules in words still apply to what it had caught, before anything uses
// it.
func TestAfterAnAlarmHooksAndRulesInWordsStillApply(t *testing.T) {
	t.Parallel()
	b, lines := withHooks(t, func(n int) (activities.StepResult, error) {
		if n == 1 {
			return activities.StepResult{}, temporal.NewNonRetryableApplicationError("woken", activities.FailWoken, nil)
		}
		return activities.StepResult{}, nil
	}, captured)
	require.True(t, b.closed[0].Alarm)
	require.Equal(t, []string{"review", "review", "hold"}, lines,
		"nothing was rated, and nothing is developed without the check")
}

func TestAfterAFailedCaptureTheRulesInWordsStillApply(t *testing.T) {
	t.Parallel()
	_, lines := withHooks(t, passed, func() (activities.StepResult, error) {
		return activities.StepResult{}, temporal.NewNonRetryableApplicationError("broken", activities.FailMissing, nil)
	})
	require.Equal(t, []string{"review", "capture", "hold"}, lines)
}

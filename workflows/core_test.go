package workflows

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// coreDream is a dream of the core tier whose activities succeed at once.
type coreDream struct {
	env    *testsuite.TestWorkflowEnvironment
	pauses []activities.InterruptRequest
	risen  []activities.FinishRequest
	closed []activities.Mark
	lies   int
	lie    func()
	mark   func(activities.ProgressRequest) error
	cause  presence.Cause
}

func newCoreDream(t *testing.T) *coreDream {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	b := &coreDream{env: suite.NewTestWorkflowEnvironment()}
	b.env.SetStartTime(time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC))
	b.env.RegisterWorkflowWithOptions(Dream, workflow.RegisterOptions{Name: DreamType})
	activityName := func(name string, do any) {
		b.env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	activityName(activities.DreamBegin, func(context.Context, activities.BeginRequest) (activities.BeginResult, error) {
		b.lies++
		if b.lie != nil {
			b.lie()
		}
		return activities.BeginResult{Remaining: 1 << 40, Epoch: int64(b.lies - 1)}, nil
	})
	activityName(activities.DreamInterrupt,
		func(_ context.Context, r activities.InterruptRequest) (activities.InterruptResult, error) {
			b.pauses = append(b.pauses, r)
			w := r.Wake
			w.Epoch, w.Cause = r.Epoch+1, b.cause
			return activities.InterruptResult{Wake: w, Until: b.env.Now().Add(time.Hour)}, nil
		})
	activityName(activities.DreamFinish,
		func(_ context.Context, r activities.FinishRequest) (activities.FinishResult, error) {
			b.risen = append(b.risen, r)
			return activities.FinishResult{}, nil
		})
	activityName(activities.DreamRecordProgress,
		func(_ context.Context, r activities.ProgressRequest) ([]dream.Tally, error) {
			if b.mark != nil {
				if err := b.mark(r); err != nil {
					return nil, err
				}
			}
			for _, m := range r.Marks {
				if m.Name == "close" {
					b.closed = append(b.closed, m)
				}
			}
			return make([]dream.Tally, len(r.Marks)), nil
		})
	activityName(activities.OnsetGather, func(context.Context, activities.GatherRequest) (activities.GatherResult, error) {
		return activities.GatherResult{Shown: 3, Selected: 3}, nil
	})
	activityName(activities.OnsetInduce, func(context.Context, activities.StepRequest) (activities.StepResult, error) {
		return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Score: .5, Kept: true}}}, nil
	})
	step := func(context.Context, activities.StepRequest) (activities.StepResult, error) {
		return activities.StepResult{}, nil
	}
	activityName(activities.OnsetEmbed, step)
	activityName(activities.OnsetCapture, step)
	activityName(activities.AwakeningSurface, step)
	activityName(activities.AwakeningSettleMood,
		func(context.Context, activities.SettleMoodRequest) (activities.SettleMoodResult, error) {
			return activities.SettleMoodResult{}, nil
		})
	return b
}

// wokenOnce makes the opening of the onset report a wake, once.
func (b *coreDream) wokenOnce() {
	once := true
	b.mark = func(r activities.ProgressRequest) error {
		if m := r.Marks[len(r.Marks)-1]; once && m.Name == "open" && m.Phase == dream.Onset {
			once = false
			return temporal.NewNonRetryableApplicationError("woken", activities.FailWoken, nil)
		}
		return nil
	}
}

func (b *coreDream) dream(t *testing.T) activities.Ending {
	t.Helper()
	o := testSpec("dream/echo/0001")
	o.ResumeTTL = time.Hour
	b.env.ExecuteWorkflow(Dream, o)
	require.True(t, b.env.IsWorkflowCompleted())
	require.Len(t, b.risen, 1)
	return b.risen[0].Ending
}

// A signal without an epoch raises no fence in the store, so the workflow itself must not lose it.
func TestAWakeWithoutEpochWhileTheDreamBeginsStopsIt(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.lie = func() {
		if b.lies < 3 {
			b.env.SignalWorkflow(SignalWake, nil)
		}
	}
	for i := range 2 {
		b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(SignalResume, true) },
			time.Duration(i+1)*10*time.Minute)
	}
	require.Equal(t, dream.Completed, b.dream(t).Outcome)
	require.Len(t, b.pauses, 2, "in the first stretch and in the second")
	require.Equal(t, 3, b.lies)
}

func TestADreamThatIsWokenInItsLastStretchEnds(t *testing.T) {
	t.Parallel()
	for stretches, pauses := range map[int]int{1: 1, 3: 3, 0: 5} {
		b := newCoreDream(t)
		b.lie = func() {
			if b.lies <= 5 {
				b.env.SignalWorkflow(SignalWake, nil)
			}
		}
		for i := range 5 {
			b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(SignalResume, true) },
				time.Duration(i+1)*10*time.Minute)
		}
		o := testSpec("dream/echo/0001")
		o.ResumeTTL, o.Stretches = time.Hour, stretches
		b.env.ExecuteWorkflow(Dream, o)
		require.Len(t, b.risen, 1)
		require.Len(t, b.pauses, pauses, stretches)
		ending := b.risen[0].Ending
		if stretches == 0 { // a spec of a version without a limit
			require.Equal(t, dream.Completed, ending.Outcome)
			continue
		}
		require.Equal(t, dream.Interrupted, ending.Outcome)
		require.Equal(t, fmt.Sprintf("it was woken in the last of the %d stretches that a dream may have", stretches),
			ending.Reason)
		require.Zero(t, b.pauses[pauses-1].TTL)
		require.Equal(t, stretches, b.lies)
		value, err := b.env.QueryWorkflow(QueryProgress)
		require.NoError(t, err)
		var progress Progress
		require.NoError(t, value.Get(&progress))
		require.Zero(t, progress.Until)
	}
}

// An alarm ends the onset even as it opens, and the dream continues after it.
func TestAnAlarmAsTheOnsetOpensEndsTheOnsetOnly(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.cause = presence.Alarm
	b.wokenOnce()
	b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(SignalResume, true) }, 10*time.Minute)
	ending := b.dream(t)
	require.NotEqual(t, dream.Aborted, ending.Outcome, ending.Reason)
	require.NotEmpty(t, b.closed)
	require.Equal(t, dream.Onset, b.closed[0].Phase)
	require.True(t, b.closed[0].Alarm)
	require.Equal(t, 10*time.Minute, b.closed[0].Away, "the time until the resume is not part of the onset")
}

// While the store is unreachable for some minutes, no step loses an attempt and no phase fails.
func TestAnUnreachableStoreIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	failing := 7
	b.env.OnActivity(activities.OnsetInduce, mock.Anything, mock.Anything).
		Return(func(context.Context, activities.StepRequest) (activities.StepResult, error) {
			failing--
			if failing >= 0 {
				return activities.StepResult{},
					temporal.NewApplicationError("no answer within 3s", activities.FailStore)
			}
			return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Score: .5, Kept: true}}}, nil
		})
	ending := b.dream(t)
	require.Equal(t, dream.Completed, ending.Outcome, ending.Reason)
	require.Empty(t, ending.Reason)
	require.Zero(t, b.closed[0].Failed)
}

// Only the record knows how many dreams before were empty; the workflow reports the record's reason.
func TestTheReasonOfTheEndIsThatOfTheRecord(t *testing.T) {
	t.Parallel()
	for recorded, want := range map[string]string{
		"nothing, 3 nights in a row now": "nothing, 3 nights in a row now",
		"":                               "",
	} {
		b := newCoreDream(t)
		b.env.OnActivity(activities.DreamFinish, mock.Anything, mock.Anything).
			Return(activities.FinishResult{Reason: recorded},
				nil)
		o := testSpec("dream/echo/0001")
		b.env.ExecuteWorkflow(Dream, o)
		var result Result
		require.NoError(t, b.env.GetWorkflowResult(&result))
		require.Equal(t, want, result.Reason)
	}
}

// The notes of a dream are gone when its end is repeated, which must not become the reason of an end that had none.
func TestAnEndThatWasRecordedWithoutAReasonHasNone(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.env.OnActivity(activities.OnsetInduce, mock.Anything, mock.Anything).Return(activities.StepResult{},
		temporal.NewApplicationError("away", activities.FailStore))
	b.env.OnActivity(activities.DreamFinish, mock.Anything, mock.Anything).
		Return(activities.FinishResult{Outcome: dream.Completed}, nil)
	b.env.ExecuteWorkflow(Dream, testSpec("dream/echo/0001"))
	var result Result
	require.NoError(t, b.env.GetWorkflowResult(&result))
	require.Equal(t, dream.Completed, result.Outcome)
	require.Empty(t, result.Reason)
}

func TestAnUnreachableStoreEndsTheDreamAtItsTimeLimit(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.env.OnActivity(activities.OnsetInduce, mock.Anything, mock.Anything).Return(activities.StepResult{},
		temporal.NewApplicationError("away", activities.FailStore))
	ending := b.dream(t)
	require.Equal(t, dream.Exhausted, ending.Outcome)
	require.Contains(t, ending.Reason, "may last 2h0m0s")
}

func TestAnOldWakeIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.cause = presence.Connect
	b.wokenOnce()
	b.env.RegisterDelayedCallback(func() { b.env.SignalWorkflow(SignalResume, true) }, 30*time.Second)
	b.env.OnActivity(activities.OnsetInduce, mock.Anything, mock.Anything).Return(activities.StepResult{}, nil).After(
		3 * time.Hour)
	var answered time.Time
	var answer WakeAnswer
	sent := b.env.Now().Add(time.Minute)
	b.env.RegisterDelayedCallback(func() {
		b.env.UpdateWorkflow(UpdateWake, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { require.NoError(t, err) },
			OnComplete: func(result any, err error) {
				require.NoError(t, err)
				answered, answer = b.env.Now(), result.(WakeAnswer)
			},
		}, Wake{Epoch: 1})
	}, time.Minute)
	b.dream(t)
	require.WithinDuration(t, sent, answered, time.Second)
	require.Equal(t, Dreaming, answer.State)
	require.Len(t, b.pauses, 1)
}

// Two dream requests arrive while a dream is interrupted: one dream begins and the other request is refused; a client
// that connects in between belongs to neither dream.
func TestOneOfTwoRequestsDuringAnInterruptedDreamIsRefused(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(2*time.Minute, func() { w.epoch = 1; w.connect(Wake{Epoch: 1}, func(WakeAnswer, error) {}) })
	var first, second error
	w.at(10*time.Minute, func() {
		w.ask(testSpec("dream/echo/0002"), func(r, f error) { first = orElse(r, f) })
		w.ask(testSpec("dream/echo/0003"), func(r, f error) { second = orElse(r, f) })
	})
	var l AgentState
	w.at(11*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
	require.NoError(t, first)
	require.ErrorContains(t, second, "already dreaming")
	require.Equal(t, []string{"dream/echo/0001", "dream/echo/0002"}, w.dreamt)
	require.Equal(t, Dreaming, l.State)
	require.Equal(t, "dream/echo/0002", l.Dream.Dream)
}

// A released dream may close before the new one has a run; its end must not count as the end of the new one.
func TestTheEndOfAReleasedDreamIsNotTheEndOfTheNextOne(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.endOnRelease = true
	w.at(time.Minute, func() { w.ask(testSpec("dream/echo/0001"), func(error, error) {}) })
	w.at(2*time.Minute, func() { w.epoch = 1; w.connect(Wake{Epoch: 1}, func(WakeAnswer, error) {}) })
	w.at(10*time.Minute,
		func() { w.ask(testSpec("dream/echo/0002"), func(r, f error) { require.NoError(t, orElse(r, f)) }) })
	var l AgentState
	w.at(11*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{ClientTimeout: time.Minute, ResumeAfter: 24 * time.Hour})
	require.Equal(t, Dreaming, l.State)
	require.Equal(t, "dream/echo/0002", l.Dream.Dream)
}

// An agent's workflow handles a wake within seconds although the store is unreachable.
func TestAnAgentThatCannotPlanHandlesAWake(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	w.env.OnActivity(activities.AgentPlan, mock.Anything, mock.Anything).
		Return(activities.PlanResult{}, context.DeadlineExceeded)
	w.at(31*time.Minute, func() {
		w.epoch, w.until = 1, w.env.Now().Add(time.Hour)
		w.env.SignalWorkflow(SignalWake, Wake{Epoch: 1, Cause: presence.Connect})
	})
	var l AgentState
	w.at(32*time.Minute, func() { l = w.agentState(t); w.env.CancelWorkflow() })
	w.live(Settings{Auto: true, IdleTimeout: 30 * time.Minute, MinGap: time.Hour})
	require.Equal(t, Awake, l.State)
}

func TestADreamWhoseClosingFailsStillReportsItsSpend(t *testing.T) {
	t.Parallel()
	b := newCoreDream(t)
	b.env.OnActivity(activities.DreamRecordProgress, mock.Anything, mock.Anything).
		Return(func(_ context.Context, r activities.ProgressRequest) ([]dream.Tally, error) {
			tallies := make([]dream.Tally, len(r.Marks))
			for i, m := range r.Marks {
				tallies[i] = dream.Tally{Phase: m.Phase}
				if m.Phase == dream.Onset {
					tallies[i].Spent = 1234
				}
			}
			return tallies, nil
		})
	b.env.OnActivity(activities.DreamFinish, mock.Anything, mock.Anything).
		Return(func(context.Context, activities.FinishRequest) (activities.FinishResult, error) {
			return activities.FinishResult{},
				temporal.NewNonRetryableApplicationError("another holds the slot", activities.FailFenced, nil)
		})
	b.env.ExecuteWorkflow(Dream, testSpec("dream/echo/0001"))
	var result Result
	require.NoError(t, b.env.GetWorkflowResult(&result))
	require.Equal(t, budget.Micros(1234), result.Spent)
}

package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// sideBySide makes steps in an activity that is tried so often; how says by its name how each step goes.
func sideBySide(t *testing.T, attempts int, how map[string]func() (activities.StepResult, error), names ...string,
) (activities.SideBySideResult, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(
		func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
			return activities.SideBySide(ctx, r, 0,
				func(_ context.Context, s activities.SideStep) (activities.StepResult, error) {
					return how[s.Activity]()
				})
		}, activity.RegisterOptions{Name: "steps"})
	request := activities.SideBySideRequest{Attempts: attempts}
	for _, name := range names {
		request.Steps = append(request.Steps, activities.SideStep{Activity: name, Request: json.RawMessage("{}")})
	}
	var result activities.SideBySideResult
	value, err := env.ExecuteActivity("steps", request)
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

func TestStepsSideBySideFailAsTheyWouldAlone(t *testing.T) {
	t.Parallel()
	unavailable := func(after time.Duration) func() (activities.StepResult, error) {
		return func() (activities.StepResult, error) {
			return activities.StepResult{}, &activities.CallFailed{
				Model: "m", Err: &inference.Failure{Kind: inference.Unavailable, RetryAfter: after},
			}
		}
	}
	how := map[string]func() (activities.StepResult, error){
		"fine": func() (activities.StepResult, error) {
			return activities.StepResult{Made: []activities.MadeItem{{ID: "f", Kept: true}}}, nil
		},
		"slow":    unavailable(time.Second),
		"slower":  unavailable(time.Minute),
		"refused": func() (activities.StepResult, error) { return activities.StepResult{}, memory.ErrFenced },
		"store":   func() (activities.StepResult, error) { return activities.StepResult{}, errors.New("the disk is full") },
		"panics":  func() (activities.StepResult, error) { panic("index out of range") },
		"woken":   func() (activities.StepResult, error) { return activities.StepResult{}, memory.ErrWoken },
	}
	const last, first = 1, 2 // how often it is tried when this is the first attempt
	for name, c := range map[string]struct {
		attempts int
		steps    []string
		again    string   // the type of the error by which the activity is tried again; empty: it returns
		failures []string // the types of the steps' failures; empty: the step has a result
	}{
		"nothing fails":                      {first, []string{"fine", "fine"}, "", []string{"", ""}},
		"a retry may mend it":                {first, []string{"fine", "slow"}, activities.FailProvider, nil},
		"no attempt is left":                 {last, []string{"fine", "slow"}, "", []string{"", activities.FailProvider}},
		"a step is refused":                  {first, []string{"refused", "fine"}, "", []string{activities.FailFenced, ""}},
		"a step is refused, another is slow": {first, []string{"refused", "slow"}, "", []string{activities.FailFenced, activities.FailProvider}},
		"the store fails":                    {first, []string{"store", "fine"}, activities.FailStore, nil},
		"a step panics":                      {first, []string{"panics", "fine"}, activities.FailDefect, nil},
		"a step panics in the last attempt":  {last, []string{"panics", "fine"}, "", []string{activities.FailDefect, ""}},
		"the agent was woken":                {first, []string{"woken", "fine"}, "", []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := sideBySide(t, c.attempts, how, c.steps...)
			if c.again != "" {
				var failure *temporal.ApplicationError
				require.ErrorAs(t, err, &failure)
				require.Equal(t, c.again, failure.Type())
				require.False(t, failure.NonRetryable())
				return
			}
			require.NoError(t, err)
			require.Len(t, result.Steps, len(c.steps))
			for i, step := range result.Steps {
				switch {
				case c.failures[i] != "":
					require.NotNil(t, step.Failure)
					require.Equal(t, c.failures[i], step.Failure.Type)
				case c.steps[i] == "woken":
					require.Equal(t, activities.EndWoken, step.End)
				default:
					require.Nil(t, step.Failure)
					require.Equal(t, "f", step.Made[0].ID)
				}
			}
		})
	}
	_, err := sideBySide(t, first, how, "slow", "slower", "slow")
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, time.Minute, failure.NextRetryDelay(), "the next attempt waits as long as any provider asks for")
}

// manySteps runs a request in an activity.
func manySteps(t *testing.T, r activities.SideBySideRequest,
	run func(context.Context, activities.SideBySideRequest) (activities.SideBySideResult, error),
) (result activities.SideBySideResult, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: "steps"})
	value, err := env.ExecuteActivity("steps", r)
	if err == nil {
		require.NoError(t, value.Get(&result))
	}
	return result, err
}

// named makes steps by their names, and lists them.
func named(made *[]string) func(context.Context, activities.SideStep) (activities.StepResult, error) {
	var mu sync.Mutex
	return func(_ context.Context, s activities.SideStep) (activities.StepResult, error) {
		mu.Lock()
		defer mu.Unlock()
		*made = append(*made, strings.Join(append([]string{s.Activity}, s.Made...), " "))
		switch s.Activity {
		case "fails":
			return activities.StepResult{}, memory.ErrFenced
		case "store":
			return activities.StepResult{}, errors.New("the disk is full")
		case "capped", "garbled", "woken":
			end := map[string]activities.End{
				"capped": activities.EndCap, "garbled": activities.EndUnreadable, "woken": activities.EndWoken,
			}[s.Activity]
			return activities.StepResult{CallOutcome: activities.CallOutcome{End: end}}, nil
		}
		return activities.StepResult{Made: []activities.MadeItem{{ID: s.Activity + "'s"}}}, nil
	}
}

func request(attempts int, names ...string) activities.SideBySideRequest {
	r := activities.SideBySideRequest{Attempts: attempts}
	for _, name := range names {
		r.Steps = append(r.Steps, activities.SideStep{Activity: name, Request: json.RawMessage("{}")})
	}
	return r
}

func TestAStepFollowsOthersThatAllHaveAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []string
		then  string
		asked string // the last step that was made
		end   activities.End
		none  bool // an activity of its own has to make the step
	}{
		"all have answers":      {[]string{"a", "b"}, "c", "c a's b's", activities.EndDone, false},
		"one is capped":         {[]string{"capped"}, "c", "capped", "", true},
		"one cannot be read":    {[]string{"garbled"}, "c", "garbled", "", true},
		"one was interrupted":   {[]string{"woken"}, "c", "woken", "", true},
		"one fails":             {[]string{"fails"}, "c", "fails", "", true},
		"it fails itself":       {[]string{"a"}, "store", "store a's", "", true},
		"it is interrupted":     {[]string{"a"}, "woken", "woken a's", activities.EndWoken, false},
		"it is capped":          {[]string{"a"}, "capped", "capped a's", activities.EndCap, false},
		"its answer is garbled": {[]string{"a"}, "garbled", "garbled a's", activities.EndUnreadable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made []string
			r := request(2, c.steps...)
			r.Then = &activities.SideStep{Activity: c.then, Request: json.RawMessage("{}")}
			result, err := manySteps(t, r,
				func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
					return activities.SideBySide(ctx, r, 1, named(&made))
				})
			require.NoError(t, err)
			require.Len(t, result.Steps, len(c.steps))
			require.Equal(t, c.asked, made[len(made)-1])
			if c.none {
				require.Nil(t, result.Then)
				return
			}
			require.NotNil(t, result.Then)
			require.Equal(t, c.end, result.Then.End)
		})
	}
}

func TestStepsInTurnEndWithTheFirstThatHasNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts int
		steps    []string
		results  int
		again    string // the type of the error by which the activity is tried again
	}{
		"all have answers":          {2, []string{"a", "b", "c"}, 3, ""},
		"one cannot be read":        {2, []string{"garbled", "b"}, 2, ""},
		"one is capped":             {2, []string{"a", "capped", "c"}, 2, ""},
		"one was interrupted":       {2, []string{"woken", "b"}, 1, ""},
		"one fails for good":        {2, []string{"a", "fails", "c"}, 2, ""},
		"the store fails":           {2, []string{"a", "store", "c"}, 0, activities.FailStore},
		"the store fails at last":   {1, []string{"a", "store", "c"}, 2, ""},
		"the first fails for good":  {2, []string{"fails", "b"}, 1, ""},
		"the last cannot be read":   {2, []string{"a", "garbled"}, 2, ""},
		"the last one fails at all": {1, []string{"a", "fails"}, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made []string
			result, err := manySteps(t, request(c.attempts, c.steps...),
				func(ctx context.Context, r activities.SideBySideRequest) (activities.SideBySideResult, error) {
					return activities.InTurn(ctx, r, named(&made))
				})
			if c.again != "" {
				var failure *temporal.ApplicationError
				require.ErrorAs(t, err, &failure)
				require.Equal(t, c.again, failure.Type())
				return
			}
			require.NoError(t, err)
			require.Len(t, result.Steps, c.results)
			require.Equal(t, c.steps[:c.results], made)
			last := result.Steps[c.results-1]
			require.Equal(t, c.steps[c.results-1] == "fails" || c.steps[c.results-1] == "store", last.Failure != nil)
		})
	}
}

// The result of an activity that a wake stopped before it began is read as that of an activity with steps.
func TestStepsOfAnAgentThatIsAwakeDoNotBegin(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	registry := activities.NewInflight(awake{})
	t.Cleanup(registry.Close)
	env.RegisterActivityWithOptions(func(ctx context.Context, q activities.SideBySideRequest) (any, error) {
		return activities.RunInterruptible(ctx, registry, q, func(context.Context) (any, error) {
			return nil, errors.New("it began")
		})
	}, activity.RegisterOptions{Name: "steps"})
	value, err := env.ExecuteActivity("steps", activities.SideBySideRequest{Stretch: activities.Stretch{Agent: "a"}})
	require.NoError(t, err)
	var result activities.SideBySideResult
	require.NoError(t, value.Get(&result))
	require.Equal(t, activities.EndWoken, result.End)
	require.Empty(t, result.Steps)
}

// awake is a store of epochs whose agents have been woken once.
type awake struct{ presence.Store }

func (awake) Epoch(context.Context, string) (int64, error) { return 1, nil }

func TestAnActivityMakesNoMoreStepsAtOnceThanTheProcessMay(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int32{0: 4, 1: 1, 3: 3, 9: 4} {
		synctest.Test(t, func(t *testing.T) {
			var began atomic.Int32
			goOn, done := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := activities.SideBySide(t.Context(),
					activities.SideBySideRequest{Steps: make([]activities.SideStep, 4)}, most,
					func(context.Context, activities.SideStep) (activities.StepResult, error) {
						began.Add(1)
						<-goOn
						return activities.StepResult{}, nil
					})
				done <- err
			}()
			synctest.Wait() // until none of them can go on
			require.Equal(t, want, began.Load(), "at most %d", most)
			close(goOn)
			require.NoError(t, <-done)
			require.Equal(t, int32(4), began.Load())
		})
	}
}

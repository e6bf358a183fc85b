package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/inflight"
)

// SideBySideRequest is the input of an activity that makes several paid steps at once. A round of a dream costs one
// activity then, not one for each step.
type SideBySideRequest struct {
	Stretch
	Steps []SideStep `json:"steps"`
	// made after the others when each of them has an answer; nil: nothing follows
	Then *SideStep `json:"then,omitempty"`
	// how often the activity is tried: the last attempt returns the failures of single steps
	Attempts int `json:"attempts"`
}

// SideStep is one of the steps that an activity makes side by side.
type SideStep struct {
	Activity string          `json:"activity"` // the name of the activity that makes this step alone
	Request  json.RawMessage `json:"request"`  // the input of that activity
	Made     []string        `json:"-"`        // what the steps made that this one follows
}

// SideBySideResult has the results of the steps in their order. It has none when the agent was woken before they began,
// and only those of the first ones when they are made in turn and one of them stopped the others.
type SideBySideResult struct {
	CallOutcome
	Steps []SideStepResult `json:"steps,omitempty"`
	Then  *StepResult      `json:"then,omitempty"` // nil: an activity of its own has to make the step that follows
}

// SideStepResult is the result of one step, or its failure.
type SideStepResult struct {
	StepResult
	Failure *StepFailure `json:"failure,omitempty"`
}

// StepFailure is the error that the step would have failed with in an activity of its own.
type StepFailure struct {
	Type    string `json:"type"` // one of the Fail constants
	Message string `json:"message,omitempty"`
}

// SideBySide makes the steps of a request by do, at most so many at once; 0: all of them. Steps that a wake interrupts
// return so. When a step fails and a retry may mend it, the activity fails with that error: the next attempt finds in
// the spend ledger what the others have bought. The last attempt returns the failures beside the results of the other
// steps, and so does one that no retry can mend.
func SideBySide(ctx context.Context, r SideBySideRequest, most int,
	do func(context.Context, SideStep) (StepResult, error),
) (SideBySideResult, error) {
	defer steadyHeartbeat(ctx)()
	results := make([]SideStepResult, len(r.Steps))
	faults := make([]error, len(r.Steps))
	if most <= 0 {
		most = len(r.Steps)
	}
	var all sync.WaitGroup
	running := make(chan struct{}, max(1, most))
	for i, step := range r.Steps {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			results[i].StepResult, faults[i] = sideStep(ctx, step, do)
		})
	}
	all.Wait()
	if err := returnFailures(ctx, r.Attempts, results, faults); err != nil {
		return SideBySideResult{}, err
	}
	return SideBySideResult{Steps: results, Then: follow(ctx, r.Then, results, do)}, nil
}

// follow makes the step that follows others when each of them has an answer. When it fails, its result is nil: an
// activity of its own makes it, which is tried again and whose failure counts.
func follow(ctx context.Context, then *SideStep, results []SideStepResult,
	do func(context.Context, SideStep) (StepResult, error),
) *StepResult {
	if then == nil {
		return nil
	}
	step := *then
	for _, r := range results {
		if r.Failure != nil || r.End != EndDone {
			return nil
		}
		for _, made := range r.Made {
			step.Made = append(step.Made, made.ID)
		}
	}
	result, err := sideStep(ctx, step, do)
	if err != nil {
		return nil
	}
	return &result
}

// InTurn makes the steps of a request by do, one after the other, as long as each has an answer or one that cannot be
// read. Failures end it as they end SideBySide. The steps that it does not come to have no result.
func InTurn(ctx context.Context, r SideBySideRequest, do func(context.Context, SideStep) (StepResult, error),
) (SideBySideResult, error) {
	defer steadyHeartbeat(ctx)()
	var results []SideStepResult
	for _, step := range r.Steps {
		result, fault := sideStep(ctx, step, do)
		results = append(results, SideStepResult{StepResult: result})
		if fault != nil {
			faults := make([]error, len(results))
			faults[len(results)-1] = fault
			if err := returnFailures(ctx, r.Attempts, results, faults); err != nil {
				return SideBySideResult{}, err
			}
			break
		}
		if result.End != EndDone && result.End != EndUnreadable {
			break
		}
	}
	return SideBySideResult{Steps: results}, nil
}

// returnFailures turns the failures of steps into results. It returns an error instead when a retry of the activity may
// mend one of them and none is beyond mending.
func returnFailures(ctx context.Context, attempts int, results []SideStepResult, faults []error) error {
	var again error
	final := !activity.IsActivity(ctx) || int(activity.GetInfo(ctx).Attempt) >= attempts
	for i, err := range faults {
		if err == nil {
			continue
		}
		var failure *temporal.ApplicationError
		if !errors.As(err, &failure) { // ToApplicationError makes each error one
			return err
		}
		results[i] = SideStepResult{Failure: &StepFailure{Type: failure.Type(), Message: failure.Message()}}
		if failure.NonRetryable() {
			final = true
		} else {
			again = slower(again, err)
		}
	}
	if final {
		return nil
	}
	return again
}

// HeartbeatEvery is the interval of a paid activity's heartbeats; the heartbeat timeout is in workflows/options.go.
const HeartbeatEvery = 3 * time.Second

// steadyHeartbeat sends heartbeats of an activity that makes several calls, each of which may be too short for one of
// its own, until the returned function is called.
func steadyHeartbeat(ctx context.Context) func() {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	steady, done := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() {
		ticker := time.NewTicker(HeartbeatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(steady)
			case <-steady.Done():
				return
			}
		}
	})
	return func() { done(); ended.Wait() }
}

// sideStep makes one step as an activity of its own would: a panic is an error, and so is one that a wake caused an
// interruption.
func sideStep(ctx context.Context, step SideStep,
	do func(context.Context, SideStep) (StepResult, error),
) (result StepResult, err error) {
	defer func() {
		if defect := recover(); defect != nil {
			result, err = StepResult{}, temporal.NewApplicationError(fmt.Sprintf("a defect: %v", defect), FailDefect)
		}
	}()
	result, err = do(ctx, step)
	err = ToApplicationError(err)
	if outcome, woken := wokenBy(ctx, err); woken {
		return StepResult{CallOutcome: outcome}, nil
	}
	return result, err
}

// wokenBy says whether an activity failed because its agent was woken, and how it ends then.
func wokenBy(ctx context.Context, err error) (CallOutcome, bool) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) && app.Type() == FailWoken {
		return CallOutcome{End: EndWoken, Reason: "woken before it was written down"}, true
	}
	if _, woken := inflight.WokenBy(ctx); woken && err != nil {
		return CallOutcome{End: EndWoken, Reason: "woken in between"}, true
	}
	return CallOutcome{}, false
}

// slower is the error that asks for the longer delay before a retry.
func slower(a, b error) error {
	var first, second *temporal.ApplicationError
	if !errors.As(a, &first) || errors.As(b, &second) && second.NextRetryDelay() > first.NextRetryDelay() {
		return b
	}
	return a
}

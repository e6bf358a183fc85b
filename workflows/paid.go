package workflows

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// paidStep is a paid activity to run in a phase.
type paidStep struct {
	summary      string
	activityName string
	request      func() any // built anew for every stretch
}

// answer is the result of a paidStep.
type answer struct {
	activities.StepResult
	came bool // it ran and did not fail
}

// pay runs paid activities in parallel and returns their answers in order. Those that a wake interrupted run again in
// the next stretch, with the same step name and dice. The error is the more serious of what stops the phase or the
// dream.
func (p *phase) pay(ctx workflow.Context, steps ...paidStep) ([]answer, error) {
	return p.payRound(ctx, round{calls: 1}, steps)
}

// round says how the steps of a round are made.
type round struct {
	calls        int    // the most model calls of one step, one after the other
	activityName string // of the activity that makes all steps; empty: each has one of its own
	summary      string // of that activity
	inTurn       bool   // it makes them one after the other, and one that ends the phase ends the round
	then         *followUp
}

// followUp is a step that the activity of a round may make after the others.
type followUp struct {
	paidStep
	result *activities.StepResult // nil: that activity did not make it
}

// made says whether the activity of the round made the step.
func (f *followUp) made() bool { return f != nil && f.result != nil }

// payInTurn pays for steps one after the other, in one activity as far as that comes. It ends with the first that ends
// the phase.
func (p *phase) payInTurn(ctx workflow.Context, activityName, summary string, steps []paidStep) ([]answer, error) {
	if p.run.grouping >= 2 {
		how := round{calls: 1, activityName: activityName, summary: summary, inTurn: true}
		return p.payRound(ctx, how, steps)
	}
	var answers []answer
	for _, step := range steps {
		made, err := p.pay(ctx, step)
		answers = append(answers, made...)
		if err != nil {
			return answers, err
		}
	}
	return answers, nil
}

// follow returns the result of the step that follows a round. An activity of its own makes the step when that of the
// round did not, or was interrupted in it.
func (p *phase) follow(ctx workflow.Context, with *followUp, step paidStep) (activities.StepResult, error) {
	if with.made() {
		r, err := p.settle(ctx, stepFuture{result: with.result})
		if !errors.Is(err, errWoken) {
			return r, err
		}
		i := interruption{light: r.Cut == nil}
		if r.Cut != nil {
			i.cuts = []activities.CutCall{*r.Cut}
		}
		if err := p.run.pause(ctx, i); err != nil {
			return r, err
		}
	}
	return p.one(ctx, step)
}

// errNotMade says that an activity that makes steps in turn did not come to this one.
var errNotMade = errors.New("not made yet")

// payRound is pay for the steps of a round, which one activity may make side by side.
func (p *phase) payRound(ctx workflow.Context, how round, steps []paidStep) ([]answer, error) {
	answers := make([]answer, len(steps))
	open := make([]int, len(steps))
	for i := range steps {
		open[i] = i
	}
	var stop error
	delay := storeWaitFirst
	for len(open) > 0 {
		if p.run.stretch.wake != nil { // the wake came between two calls
			if err := p.run.pause(ctx, interruption{light: true}); err != nil {
				return answers, worse(stop, err)
			}
		}
		if err := lookAfterReset(ctx, p.run); err != nil {
			return answers, worse(stop, err)
		}
		futures := p.begin(ctx, how, steps, open)
		all := p.run.stretch.await(ctx, futures)
		var again []int
		var cuts []activities.CutCall
		unavailables, notMade := 0, 0
		for at, i := range open {
			if !all && !futures[at].IsReady() {
				again = append(again, i)
				continue
			}
			failed := p.failed
			r, err := p.settle(ctx, futures[at])
			if r.Cut != nil {
				cuts = append(cuts, *r.Cut)
			}
			switch {
			case errors.Is(err, errNotMade):
				notMade++
				fallthrough
			case errors.Is(err, errWoken), errors.Is(err, errUnavailable):
				again = append(again, i)
				if errors.Is(err, errUnavailable) {
					unavailables++
				}
				continue
			}
			stop = worse(stop, err)
			answers[i] = answer{r, err == nil && p.failed == failed}
		}
		if len(again) == 0 || endsDream(stop) || how.inTurn && stop != nil {
			return answers, stop
		}
		open = again
		if all && notMade == len(again) { // a step before them failed
			continue
		}
		if all && unavailables+notMade == len(again) {
			if err := p.run.waitForStore(ctx, delay); err != nil {
				return answers, worse(stop, err)
			}
			delay = min(2*delay, storeWaitMost)
			continue
		}
		if err := p.run.pause(ctx, interruption{cuts: cuts, light: len(cuts) == 0 && all, forced: !all}); err != nil {
			return answers, worse(stop, err)
		}
	}
	return answers, stop
}

// begin begins the open steps of a round and returns the results to come, in their order.
func (p *phase) begin(ctx workflow.Context, how round, steps []paidStep, open []int) []workflow.Future {
	writeAttributes(ctx, p.run)
	futures := make([]workflow.Future, len(open))
	calls := func(count int, summary string) workflow.Context {
		return paidCall(p.run.stretch.calls, p.run.spec.Knobs, count, summary)
	}
	followed := how.then != nil && len(open) == len(steps)
	alone := len(open) == 1 && (p.run.grouping < 2 || !followed)
	if p.run.grouping < 1 || how.activityName == "" || alone {
		for at, i := range open {
			futures[at] = workflow.ExecuteActivity(calls(how.calls, steps[i].summary), steps[i].activityName,
				steps[i].request())
		}
		return futures
	}
	// a process that may run few activities at once makes the steps one after the other
	most := how.calls * len(open)
	request := activities.SideBySideRequest{Stretch: p.run.stretch.current(ctx), Attempts: p.run.spec.Knobs.Attempts}
	var err error
	for _, i := range open {
		var step activities.SideStep
		step, err = steps[i].encoded(err)
		request.Steps = append(request.Steps, step)
	}
	if followed {
		var step activities.SideStep
		step, err = how.then.encoded(err)
		request.Then = &step
		most++
	}
	if err != nil {
		failed, fail := workflow.NewFuture(ctx)
		fail.SetError(err)
		return slices.Repeat([]workflow.Future{failed}, len(open))
	}
	made := workflow.ExecuteActivity(calls(most, how.summary), how.activityName, request)
	for at := range open {
		future := stepFuture{Future: made, at: at, inTurn: how.inTurn}
		if followed && at == 0 {
			future.then = how.then
		}
		futures[at] = future
	}
	return futures
}

// encoded is the step with its request as one of those that an activity makes, unless an earlier one has failed.
func (s paidStep) encoded(failed error) (activities.SideStep, error) {
	if failed != nil {
		return activities.SideStep{}, failed
	}
	body, err := encode(s.request())
	return activities.SideStep{Activity: s.activityName, Request: body}, err
}

// encode writes the request of a step. encoding/json writes the same bytes for the same value, the keys of maps in
// order.
//
//workflowcheck:ignore
func encode(request any) ([]byte, error) { return json.Marshal(request) }

// stepFuture is the result of one step of an activity that makes several.
type stepFuture struct {
	workflow.Future
	at     int
	inTurn bool
	then   *followUp // gets the result of the step that follows them
	result *activities.StepResult
}

// Get returns the step's result, which must be a *activities.StepResult, or its failure.
func (f stepFuture) Get(ctx workflow.Context, into any) error {
	result := into.(*activities.StepResult)
	if f.result != nil {
		*result = *f.result
		return nil
	}
	var all activities.SideBySideResult
	if err := f.Future.Get(ctx, &all); err != nil {
		if f.inTurn && f.at > 0 && !unavailable(err) && !temporal.IsCanceledError(err) {
			return errNotMade
		}
		return err
	}
	if f.then != nil {
		f.then.result = all.Then
	}
	switch {
	case f.at < len(all.Steps):
		*result = all.Steps[f.at].StepResult
	case f.inTurn && f.at > 0 && all.End == activities.EndDone:
		return errNotMade
	default: // the agent was woken before they began
		*result = activities.StepResult{CallOutcome: all.CallOutcome}
		return nil
	}
	if failure := all.Steps[f.at].Failure; failure != nil {
		return temporal.NewNonRetryableApplicationError(failure.Message, failure.Type, nil)
	}
	return nil
}

// While the store is unreachable, activities are retried with a delay that starts at the first value and doubles up
// to the second, within the dream's time limit.
const (
	storeWaitFirst = 5 * time.Second
	storeWaitMost  = time.Minute
)

// errUnavailable says that the store or the worker was unavailable; the activity is retried and does not count as
// failed.
var errUnavailable = errors.New("away")

// waitForStore waits before a retry, or until the stretch is woken.
func (r *dreamRun) waitForStore(ctx workflow.Context, delay time.Duration) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, delay, workflow.TimerOptions{Summary: "the store is unreachable"})
	if err := workflow.Await(ctx, func() bool { return timer.IsReady() || r.stretch.wake != nil }); err != nil {
		return err
	}
	return r.watchClock(ctx)
}

// one runs a single paid activity.
func (p *phase) one(ctx workflow.Context, s paidStep) (activities.StepResult, error) {
	answers, err := p.pay(ctx, s)
	return answers[0].StepResult, err
}

// await waits until every activity has returned. After a wake they have the cooperative time. It returns false when
// some are left running: the store refuses what they still write, and their cost is counted in full.
func (s *stretch) await(ctx workflow.Context, futures []workflow.Future) bool {
	allReady := func() bool {
		for _, f := range futures {
			if !f.IsReady() {
				return false
			}
		}
		return true
	}
	anyWoken := func() bool { // an activity that the wake bus reached returns before the wake signal arrives
		for _, f := range futures {
			var result activities.StepResult
			if f.IsReady() && f.Get(ctx, &result) == nil && result.End == activities.EndWoken {
				return true
			}
		}
		return false
	}
	if workflow.Await(ctx, func() bool { return allReady() || s.wake != nil || anyWoken() }) != nil {
		return true // cancelled: the activities return what they have
	}
	if allReady() {
		return true
	}
	// An activity that ended by a wake was reached by the wake bus, and so were the others. They are only cancelled
	// by the wake signal itself or when the cooperative time is over.
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, cooperative, workflow.TimerOptions{Summary: "cooperative stop"})
	if workflow.Await(ctx, func() bool { return allReady() || timer.IsReady() }) != nil {
		return true
	}
	return allReady()
}

// errWoken says that a wake came before the activity was done.
var errWoken = errors.New("woken")

// storeCall runs an activity that only touches the store, and runs it again in the next stretch when a wake came first.
func (r *dreamRun) storeCall(ctx workflow.Context, summary, activityName string, request func() any, into any) error {
	for {
		err := workflow.ExecuteLocalActivity(quickWrite(ctx, summary), activityName, request()).Get(ctx, into)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != activities.FailWoken {
			return err
		}
		if err := r.pause(ctx, interruption{light: true}); err != nil {
			return err
		}
	}
}

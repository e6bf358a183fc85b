package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// ask is a paid activity to run.
type ask struct {
	summary      string
	activityName string
	request      func() any // built anew for every stretch
}

// answer is the result of an ask.
type answer struct {
	activities.StepResult
	came bool // it ran and did not fail
}

// pay runs paid activities in parallel and returns their answers in order. Those that a wake interrupted run again in
// the next stretch, with the same step name and dice. The error is the more serious of what stops the phase or the
// dream.
func (p *phase) pay(ctx workflow.Context, asks ...ask) ([]answer, error) {
	answers := make([]answer, len(asks))
	open := make([]int, len(asks))
	for i := range asks {
		open[i] = i
	}
	var stop error
	pause := storeWaitFirst
	for len(open) > 0 {
		if p.n.stretch.wake != nil { // the wake came between two calls
			if err := p.n.pause(ctx, nil, true, false); err != nil {
				return answers, worse(stop, err)
			}
		}
		futures := make([]workflow.Future, len(open))
		for at, i := range open {
			futures[at] = workflow.ExecuteActivity(paidCall(p.n.stretch.calls, p.n.spec.Knobs, asks[i].summary),
				asks[i].activityName, asks[i].request())
		}
		all := p.n.await(ctx, futures)
		var again []int
		var cuts []activities.Cut
		unavailables := 0
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
			if errors.Is(err, errWoken) || errors.Is(err, errUnavailable) {
				again = append(again, i)
				if errors.Is(err, errUnavailable) {
					unavailables++
				}
				continue
			}
			stop = worse(stop, err)
			answers[i] = answer{r, err == nil && p.failed == failed}
		}
		if len(again) == 0 || endsDream(stop) {
			return answers, stop
		}
		if all && unavailables == len(again) {
			if err := p.n.waitForStore(ctx, pause); err != nil {
				return answers, worse(stop, err)
			}
			pause, open = min(2*pause, storeWaitMost), again
			continue
		}
		if err := p.n.pause(ctx, cuts, len(cuts) == 0 && all, !all); err != nil {
			return answers, worse(stop, err)
		}
		open = again
	}
	return answers, stop
}

// While the store is unreachable, activities are retried with a delay that starts at the first value and doubles up
// to the second, within the dream's time limit.
const (
	storeWaitFirst = 5 * time.Second
	storeWaitMost  = time.Minute
)

// errUnavailable says that the store or the worker was unavailable; the activity is retried and does not count as failed.
var errUnavailable = errors.New("away")

// waitForStore waits before a retry, or until the stretch is woken.
func (n *dreamRun) waitForStore(ctx workflow.Context, pause time.Duration) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, pause, workflow.TimerOptions{Summary: "the store is unreachable"})
	if err := workflow.Await(ctx, func() bool { return timer.IsReady() || n.stretch.wake != nil }); err != nil {
		return err
	}
	return n.watchClock(ctx)
}

// one runs a single paid activity.
func (p *phase) one(ctx workflow.Context, a ask) (activities.StepResult, error) {
	answers, err := p.pay(ctx, a)
	return answers[0].StepResult, err
}

// await waits until every activity has returned. After a wake they have the cooperative time. It returns false when
// some are left running: the store refuses what they still write, and their cost is counted in full.
func (n *dreamRun) await(ctx workflow.Context, futures []workflow.Future) bool {
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
			var r activities.StepResult
			if f.IsReady() && f.Get(ctx, &r) == nil && r.End == activities.EndWoken {
				return true
			}
		}
		return false
	}
	if workflow.Await(ctx, func() bool { return allReady() || n.stretch.wake != nil || anyWoken() }) != nil {
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
func (n *dreamRun) storeCall(ctx workflow.Context, summary, activityName string, request func() any, into any) error {
	for {
		err := workflow.ExecuteLocalActivity(quickWrite(ctx, summary), activityName, request()).Get(ctx, into)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != activities.FailWoken {
			return err
		}
		if err := n.pause(ctx, nil, true, false); err != nil {
			return err
		}
	}
}

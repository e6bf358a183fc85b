package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
)

// ask is a paid deed to be asked for.
type ask struct {
	summary      string
	activityName string
	request      func() any // made anew for every sitting
}

// answer is what became of it.
type answer struct {
	activities.StepResult
	came bool // it was made and did not fail
}

// pay makes paid deeds side by side and answers in their order. Those that a wake cut are made again in the next
// sitting, by the same step and dice. The error is the graver of what stops the phase or the dream.
func (p *phase) pay(ctx workflow.Context, asks ...ask) ([]answer, error) {
	answers := make([]answer, len(asks))
	open := make([]int, len(asks))
	for i := range asks {
		open[i] = i
	}
	var stop error
	pause := awayFirst
	for len(open) > 0 {
		if p.n.stretch.wake != nil { // light sleep: it came between two calls
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
		removed := 0
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
			if errors.Is(err, errWoken) || errors.Is(err, errAway) {
				again = append(again, i)
				if errors.Is(err, errAway) {
					removed++
				}
				continue
			}
			stop = worse(stop, err)
			answers[i] = answer{r, err == nil && p.failed == failed}
		}
		if len(again) == 0 || gravest(stop) {
			return answers, stop
		}
		if all && removed == len(again) {
			if err := p.n.waitOut(ctx, pause); err != nil {
				return answers, worse(stop, err)
			}
			pause, open = min(2*pause, awayMost), again
			continue
		}
		if err := p.n.pause(ctx, cuts, len(cuts) == 0 && all, !all); err != nil {
			return answers, worse(stop, err)
		}
		open = again
	}
	return answers, stop
}

// A store that is away is waited for: so long at first, twice as long each time, so long at most, within the dream's
// wall.
const (
	awayFirst = 5 * time.Second
	awayMost  = time.Minute
)

// errAway says that a deed could not be done now, and was nobody's failure.
var errAway = errors.New("away")

// waitOut waits until a deed may be asked for again, or the sitting is woken.
func (n *dreamRun) waitOut(ctx workflow.Context, pause time.Duration) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, pause, workflow.TimerOptions{Summary: "the store is away"})
	if err := workflow.Await(ctx, func() bool { return timer.IsReady() || n.stretch.wake != nil }); err != nil {
		return err
	}
	return n.watchClock(ctx)
}

// one makes a single paid deed.
func (p *phase) one(ctx workflow.Context, a ask) (activities.StepResult, error) {
	answers, err := p.pay(ctx, a)
	return answers[0].StepResult, err
}

// await waits until every deed has come back. Once the sitting is woken they have the cooperative time; false when some
// were left behind: what they still write the store refuses, and what they cost is counted in full.
func (n *dreamRun) await(ctx workflow.Context, futures []workflow.Future) bool {
	back := func() bool {
		for _, f := range futures {
			if !f.IsReady() {
				return false
			}
		}
		return true
	}
	result := func() bool { // a deed that the bell reached tells of the wake before its signal does
		for _, f := range futures {
			var r activities.StepResult
			if f.IsReady() && f.Get(ctx, &r) == nil && r.End == activities.EndWoken {
				return true
			}
		}
		return false
	}
	if workflow.Await(ctx, func() bool { return back() || n.stretch.wake != nil || result() }) != nil {
		return true // cancelled: the deeds bring home what they have
	}
	if back() {
		return true
	}
	// A deed that tells of the wake was reached by the bell, and so were the others: only the wake itself, which cuts
	// the calls when it is heard, or the end of the time makes a request of it.
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, cooperative, workflow.TimerOptions{Summary: "cooperative stop"})
	if workflow.Await(ctx, func() bool { return back() || timer.IsReady() }) != nil {
		return true
	}
	return back()
}

// errWoken says that a wake came before the deed was done.
var errWoken = errors.New("woken")

// quick makes a deed that only touches the store, again in the next sitting when a wake came first.
func (n *dreamRun) quick(ctx workflow.Context, summary, activityName string, request func() any, into any) error {
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

package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// cooperative is how long a woken call may take to stop by itself; then the dream goes on without what it had said (W2).
const cooperative = 500 * time.Millisecond

// errAlarmed says that an alarm ended the onset: the dream, when it goes on, goes on with NREM (H19).
var errAlarmed = errors.New("an alarm ended the onset")

// sitting is one stretch of a dream, from lying down to being woken.
type sitting struct {
	activities.Sitting
	number int
	calls  workflow.Context    // of the paid deeds; ends when the sitting is woken
	cut    workflow.CancelFunc // ends it
	wake   *Wake               // what asked the sitting to stop, when the workflow heard of it
	over   bool                // it was woken and booked; nobody dreams
	lying  bool                // it is about to begin
}

// sit begins a sitting.
func (n *night) sit(ctx workflow.Context, number int, epoch int64) {
	n.sitting.number, n.sitting.Epoch, n.sitting.over = number, epoch, false
	n.sitting.calls, n.sitting.cut = workflow.WithCancel(ctx)
	early := n.sitting.wake // it came while the dream lay down
	if n.sitting.wake = nil; early != nil {
		n.woken(*early)
	}
}

// seat is the sitting as deeds are asked with.
func (n *night) seat(ctx workflow.Context) activities.Sitting {
	s := n.sitting.Sitting
	s.Now = workflow.Now(ctx)
	return s
}

// hear takes wakes and alarms from any Temporal client, and ours.
func (n *night) hear(ctx workflow.Context) {
	wakes, alarms := workflow.GetSignalChannel(ctx, SignalWake), workflow.GetSignalChannel(ctx, SignalAlarm)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var w Wake
			heard := false // a signal that cannot be read is none
			s := workflow.NewSelector(ctx)
			s.AddReceive(wakes, func(c workflow.ReceiveChannel, _ bool) { heard = c.ReceiveAsync(&w) })
			s.AddReceive(alarms, func(c workflow.ReceiveChannel, _ bool) {
				heard = c.ReceiveAsync(&w)
				w.Cause = presence.Alarm
			})
			if s.Select(ctx); !heard {
				continue
			}
			n.woken(w)
		}
	})
}

// woken stops the sitting, or the one that is about to begin. It is false for a wake that the sitting has outlived, and for
// one of a dream that waits: nobody dreams then.
func (n *night) woken(w Wake) bool {
	switch {
	case n.sitting.lying || n.sitting.cut == nil:
		if n.sitting.wake == nil || w.Epoch > n.sitting.wake.Epoch {
			n.sitting.wake = &w
		}
		return true
	case n.sitting.over || w.Epoch > 0 && w.Epoch <= n.sitting.Epoch:
		return false
	case n.sitting.wake == nil:
		n.sitting.wake = &w
		n.sitting.cut()
	}
	return true
}

// asked answers an Update of that name: it returns when the sitting is booked, or at once when there is nothing to stop.
func (n *night) asked(ctx workflow.Context, w Wake) (Awoken, error) {
	if n.woken(w) {
		err := workflow.Await(ctx, func() bool {
			return !n.sitting.lying && n.sitting.cut != nil && (n.sitting.over || n.sitting.wake == nil) || n.state.Outcome != dream.Dreaming
		})
		if err != nil {
			return Awoken{}, err
		}
	}
	awoken := Awoken{Epoch: max(n.state.Epoch, n.sitting.Epoch), State: Awake, Dream: n.order.Dream, Until: n.state.Until}
	if n.state.Outcome == dream.Dreaming {
		awoken.State = Dreaming
	}
	return awoken, nil
}

// ask is a paid deed to be asked for.
type ask struct {
	summary string
	deed    string
	request func() any // made anew for every sitting
}

// answer is what became of it.
type answer struct {
	activities.StepResult
	came bool // it was made and did not fail
}

// pay makes paid deeds side by side and answers in their order. Those that a wake cut are made again in the next sitting,
// by the same step and dice. The error is the graver of what stops the phase or the dream.
func (p *phase) pay(ctx workflow.Context, asks ...ask) ([]answer, error) {
	answers := make([]answer, len(asks))
	open := make([]int, len(asks))
	for i := range asks {
		open[i] = i
	}
	var stop error
	pause := awayFirst
	for len(open) > 0 {
		if p.n.sitting.wake != nil { // light sleep: it came between two calls
			if err := p.n.pause(ctx, nil, true, false); err != nil {
				return answers, worse(stop, err)
			}
		}
		futures := make([]workflow.Future, len(open))
		for at, i := range open {
			futures[at] = workflow.ExecuteActivity(paidCall(p.n.sitting.calls, p.n.order.Knobs, asks[i].summary), asks[i].deed, asks[i].request())
		}
		all := p.n.await(ctx, futures)
		var again []int
		var cuts []activities.Cut
		gone := 0
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
				if again = append(again, i); errors.Is(err, errAway) {
					gone++
				}
				continue
			}
			stop = worse(stop, err)
			answers[i] = answer{r, err == nil && p.failed == failed}
		}
		if len(again) == 0 || gravest(stop) {
			return answers, stop
		}
		if all && gone == len(again) {
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

// A store that is away is waited for: so long at first, twice as long each time, so long at most, within the dream's wall.
const (
	awayFirst = 5 * time.Second
	awayMost  = time.Minute
)

// errAway says that a deed could not be done now, and was nobody's failure.
var errAway = errors.New("away")

// waitOut waits until a deed may be asked for again, or the sitting is woken.
func (n *night) waitOut(ctx workflow.Context, pause time.Duration) error {
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, pause, workflow.TimerOptions{Summary: "the store is away"})
	if err := workflow.Await(ctx, func() bool { return timer.IsReady() || n.sitting.wake != nil }); err != nil {
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
func (n *night) await(ctx workflow.Context, futures []workflow.Future) bool {
	back := func() bool {
		for _, f := range futures {
			if !f.IsReady() {
				return false
			}
		}
		return true
	}
	told := func() bool { // a deed that the bell reached tells of the wake before its signal does
		for _, f := range futures {
			var r activities.StepResult
			if f.IsReady() && f.Get(ctx, &r) == nil && r.End == activities.EndWoken {
				return true
			}
		}
		return false
	}
	if workflow.Await(ctx, func() bool { return back() || n.sitting.wake != nil || told() }) != nil {
		return true // cancelled: the deeds bring home what they have
	}
	if back() {
		return true
	}
	// A deed that tells of the wake was reached by the bell, and so were the others: only the wake itself, which cuts the
	// calls when it is heard, or the end of the time makes a request of it.
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
func (n *night) quick(ctx workflow.Context, summary, deed string, request func() any, into any) error {
	for {
		err := workflow.ExecuteLocalActivity(quickWrite(ctx, summary), deed, request()).Get(ctx, into)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) || app.Type() != activities.FailWoken {
			return err
		}
		if err := n.pause(ctx, nil, true, false); err != nil {
			return err
		}
	}
}

// pause books a sitting that was woken, tells the agent's life, and waits for the word to go on, for its time to run out, or
// for a cancellation. It returns nil when the dream lies down again.
func (n *night) pause(ctx workflow.Context, cuts []activities.Cut, light, forced bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.sitting.cut()
	left := workflow.Now(ctx)
	request := activities.PauseRequest{
		Sitting: n.seat(ctx), Number: n.sitting.number, Phase: n.state.Phase, Cycle: n.state.Cycle, Kept: n.state.Fragments,
		Tallies: n.state.Tallies, Cuts: cuts, Light: light, Forced: forced, TTL: n.order.ResumeTTL,
		Onset: n.open != nil && n.open.name == dream.Onset,
	}
	last := n.order.Sittings > 0 && n.sitting.number >= n.order.Sittings
	if last {
		request.TTL = 0
	}
	if n.sitting.wake != nil {
		request.Wake = *n.sitting.wake
	}
	var paused activities.PauseResult
	if err := workflow.ExecuteLocalActivity(quickWrite(ctx, "book the sitting"), "Bed.Pause", request).Get(ctx, &paused); err != nil {
		return err
	}
	n.sitting.over, n.sitting.wake = true, nil
	if last {
		paused.Until = time.Time{}
	}
	stood := screen.Break{Phase: n.state.Phase, Open: true}
	for _, t := range paused.Tallies {
		if t.Phase == stood.Phase {
			stood.Calls = t.Calls
		}
	}
	if len(paused.Tallies) == len(n.state.Tallies) {
		n.state.Tallies = paused.Tallies
	}
	n.breaks = append(n.breaks, stood)
	n.state.Outcome, n.state.Until, n.state.Epoch, n.state.Spent = dream.Interrupted, paused.Until, paused.Wake.Epoch, paused.Spent
	n.state.Reason = string(paused.Wake.Cause)
	n.find(ctx, AttrAgent.ValueSet(n.order.Handle), AttrOutcome.ValueSet(string(dream.Interrupted)), AttrSpend.ValueSet(int64(paused.Spent)))
	n.show(ctx)
	n.tell(ctx, Ended{Dream: n.order.Dream, Outcome: dream.Interrupted, Until: paused.Until, Epoch: paused.Wake.Epoch, Cause: paused.Wake.Cause})
	if paused.Until.IsZero() {
		switch {
		case n.order.ResumeTTL <= 0:
			return &verdict{dream.Interrupted, "it may not be resumed"}
		case last:
			return &verdict{dream.Interrupted, fmt.Sprintf("it was woken in the last of the %d sittings that a dream may have", n.order.Sittings)}
		}
		return &verdict{dream.Interrupted, "nothing was left of its budget to go on with"}
	}
	if err := n.resume(ctx, paused.Until); err != nil {
		return err
	}
	n.away += workflow.Now(ctx).Sub(left)
	if request.Onset && paused.Wake.Cause == presence.Alarm {
		n.open.alarm = "an alarm ended it"
		if paused.Wake.Trigger != "" {
			n.open.alarm = "an alarm ended it: " + paused.Wake.Trigger
		}
		return errAlarmed
	}
	return nil
}

// resume waits until the dream may lie down again, and lies down.
func (n *night) resume(ctx workflow.Context, until time.Time) error {
	words, ends := workflow.GetSignalChannel(ctx, SignalResume), workflow.GetSignalChannel(ctx, SignalLetGo)
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, until.Sub(workflow.Now(ctx)), workflow.TimerOptions{Summary: "it may be resumed until then"})
	for {
		if err := workflow.Await(ctx, func() bool { return words.Len() > 0 || ends.Len() > 0 || timer.IsReady() }); err != nil {
			return err
		}
		var why string
		if ends.ReceiveAsync(&why) {
			return &verdict{dream.Interrupted, said(why, "it was let go")}
		}
		if !words.ReceiveAsync(nil) {
			return &verdict{dream.Interrupted, fmt.Sprintf("nobody resumed it within %s", n.order.ResumeTTL)}
		}
		for words.ReceiveAsync(nil) { // one word is enough
		}
		lain, err := n.lieDown(ctx, n.sitting.number+1)
		switch {
		case err != nil:
			return err
		case lain.Awake:
			n.sitting.wake = nil
			n.tell(ctx, Ended{Dream: n.order.Dream, Outcome: dream.Interrupted, Until: until, Epoch: n.state.Epoch})
		case lain.Refused != dream.Dreaming:
			return &verdict{dream.Interrupted, lain.Reason}
		default:
			n.sit(ctx, n.sitting.number+1, lain.Epoch)
			n.state.Outcome, n.state.Reason, n.state.Until = dream.Dreaming, "", time.Time{}
			n.breaks[len(n.breaks)-1].Open = false
			n.find(ctx, AttrAgent.ValueSet(n.order.Handle), AttrOutcome.ValueSet("resumed"))
			n.show(ctx)
			return nil
		}
	}
}

func said(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// cooperative is how long a woken call may take to stop by itself; then the dream goes on without what it had said.
const cooperative = 500 * time.Millisecond

// stretch is one stretch of a dream, from lying down to being woken.
type stretch struct {
	activities.Stretch
	number int
	calls  workflow.Context    // of the paid deeds; ends when the sitting is woken
	cut    workflow.CancelFunc // ends it
	wake   *Wake               // what asked the sitting to stop, when the workflow heard of it
	over   bool                // it was woken and booked; nobody dreams
	lying  bool                // it is about to begin
}

// sit begins a sitting.
func (n *dreamRun) sit(ctx workflow.Context, number int, epoch int64) {
	n.stretch.number, n.stretch.Epoch, n.stretch.over = number, epoch, false
	n.stretch.calls, n.stretch.cut = workflow.WithCancel(ctx)
	early := n.stretch.wake // it came while the dream lay down
	n.stretch.wake = nil
	if early != nil {
		n.woken(*early)
	}
}

// seat is the sitting as deeds are asked with.
func (n *dreamRun) seat(ctx workflow.Context) activities.Stretch {
	s := n.stretch.Stretch
	s.Now = workflow.Now(ctx)
	return s
}

// hear takes wakes and alarms from any Temporal client, and ours.
func (n *dreamRun) hear(ctx workflow.Context) {
	wakes, alarms := workflow.GetSignalChannel(ctx, SignalWake), workflow.GetSignalChannel(ctx, SignalAlarm)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var w Wake
			received := false // a signal that cannot be read is none
			s := workflow.NewSelector(ctx)
			s.AddReceive(wakes, func(c workflow.ReceiveChannel, _ bool) { received = c.ReceiveAsync(&w) })
			s.AddReceive(alarms, func(c workflow.ReceiveChannel, _ bool) {
				received = c.ReceiveAsync(&w)
				w.Cause = presence.Alarm
			})
			s.Select(ctx)
			if !received {
				continue
			}
			n.woken(w)
		}
	})
}

// woken stops the sitting, or the one that is about to begin. It is false for a wake that the sitting has outlived, and
// for one of a dream that waits: nobody dreams then.
func (n *dreamRun) woken(w Wake) bool {
	switch {
	case n.stretch.lying || n.stretch.cut == nil:
		if n.stretch.wake == nil || w.Epoch > n.stretch.wake.Epoch {
			n.stretch.wake = &w
		}
		return true
	case n.stretch.over || w.Epoch > 0 && w.Epoch <= n.stretch.Epoch:
		return false
	case n.stretch.wake == nil:
		n.stretch.wake = &w
		n.stretch.cut()
	}
	return true
}

// asked answers an Update of that name: it returns when the sitting is booked, or at once when there is nothing to
// stop.
func (n *dreamRun) asked(ctx workflow.Context, w Wake) (Awoken, error) {
	if n.woken(w) {
		err := workflow.Await(ctx, func() bool {
			return !n.stretch.lying && n.stretch.cut != nil && (n.stretch.over || n.stretch.wake == nil) ||
				n.state.Outcome != dream.Dreaming
		})
		if err != nil {
			return Awoken{}, err
		}
	}
	awoken := Awoken{
		Epoch: max(n.state.Epoch, n.stretch.Epoch), State: Awake, Dream: n.spec.Dream,
		Until: n.state.Until,
	}
	if n.state.Outcome == dream.Dreaming {
		awoken.State = Dreaming
	}
	return awoken, nil
}

package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
)

// cooperative is how long calls have to stop by themselves after a wake; then the dream continues without their
// output.
const cooperative = 500 * time.Millisecond

// stretch is the part of a dream from its beginning, or a resume, until it is woken or ends.
type stretch struct {
	activities.Stretch
	number    int
	calls     workflow.Context    // of the paid activities; cancelled when the stretch is woken
	cut       workflow.CancelFunc // cancels calls
	wake      *Wake               // the wake that stops the stretch, once the workflow has received it
	over      bool                // woken, and its end recorded; the dream waits
	beginning bool                // the stretch is about to begin
}

// beginStretch sets up a new stretch.
func (n *dreamRun) beginStretch(ctx workflow.Context, number int, epoch int64) {
	n.stretch.number, n.stretch.Epoch, n.stretch.over = number, epoch, false
	n.stretch.calls, n.stretch.cut = workflow.WithCancel(ctx)
	early := n.stretch.wake // received while the stretch was beginning
	n.stretch.wake = nil
	if early != nil {
		n.woken(*early)
	}
}

// currentStretch is the stretch as activities receive it, with the current time.
func (n *dreamRun) currentStretch(ctx workflow.Context) activities.Stretch {
	s := n.stretch.Stretch
	s.Now = workflow.Now(ctx)
	return s
}

// receiveWakes reads wake and alarm signals of any Temporal client.
func (n *dreamRun) receiveWakes(ctx workflow.Context) {
	wakes, alarms := workflow.GetSignalChannel(ctx, SignalWake), workflow.GetSignalChannel(ctx, SignalAlarm)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var w Wake
			received := false // a signal that cannot be decoded is ignored
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

// woken stops the current stretch, or the one that is about to begin. It returns false when there is nothing to stop:
// the wake is older than the stretch, or the dream is waiting to be resumed.
func (n *dreamRun) woken(w Wake) bool {
	switch {
	case n.stretch.beginning || n.stretch.cut == nil:
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

// handleWake answers the wake update: when the end of the stretch is recorded, or at once when there is nothing to
// stop.
func (n *dreamRun) handleWake(ctx workflow.Context, w Wake) (WakeAnswer, error) {
	if n.woken(w) {
		err := workflow.Await(ctx, func() bool {
			return !n.stretch.beginning && n.stretch.cut != nil && (n.stretch.over || n.stretch.wake == nil) ||
				n.state.Outcome != dream.Dreaming
		})
		if err != nil {
			return WakeAnswer{}, err
		}
	}
	answer := WakeAnswer{
		Epoch: max(n.state.Epoch, n.stretch.Epoch), State: Awake, Dream: n.spec.Dream,
		Until: n.state.Until,
	}
	if n.state.Outcome == dream.Dreaming {
		answer.State = Dreaming
	}
	return answer, nil
}

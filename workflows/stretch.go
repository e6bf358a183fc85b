package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
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

// start sets up a new stretch.
func (s *stretch) start(ctx workflow.Context, number int, epoch int64) {
	s.number, s.Epoch, s.over = number, epoch, false
	s.calls, s.cut = workflow.WithCancel(ctx)
	early := s.wake // received while the stretch was beginning
	s.wake = nil
	if early != nil {
		s.stop(*early)
	}
}

// current is the stretch as activities receive it, with the current time.
func (s *stretch) current(ctx workflow.Context) activities.Stretch {
	now := s.Stretch
	now.Now = workflow.Now(ctx)
	return now
}

// receiveWakes reads wake and alarm signals of any Temporal client.
func (s *stretch) receiveWakes(ctx workflow.Context) {
	wakes, alarms := workflow.GetSignalChannel(ctx, SignalWake), workflow.GetSignalChannel(ctx, SignalAlarm)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var w Wake
			received := false // a signal that cannot be decoded is ignored
			next := workflow.NewSelector(ctx)
			next.AddReceive(wakes, func(c workflow.ReceiveChannel, _ bool) { received = c.ReceiveAsync(&w) })
			next.AddReceive(alarms, func(c workflow.ReceiveChannel, _ bool) {
				received = c.ReceiveAsync(&w)
				w.Cause = presence.Alarm
			})
			next.Select(ctx)
			if !received {
				continue
			}
			s.stop(w)
		}
	})
}

// stop stops the current stretch, or the one that is about to begin. It returns false when there is nothing to stop:
// the wake is older than the stretch, or the dream is waiting to be resumed.
func (s *stretch) stop(w Wake) bool {
	switch {
	case s.beginning || s.cut == nil:
		if s.wake == nil || w.Epoch > s.wake.Epoch {
			s.wake = &w
		}
		return true
	case s.over || w.Epoch > 0 && w.Epoch <= s.Epoch:
		return false
	case s.wake == nil:
		s.wake = &w
		s.cut()
	}
	return true
}

// handleWake answers the wake update: when the end of the stretch is recorded, or at once when there is nothing to
// stop.
func (r *dreamRun) handleWake(ctx workflow.Context, w Wake) (WakeAnswer, error) {
	if r.stretch.stop(w) {
		err := workflow.Await(ctx, func() bool {
			return !r.stretch.beginning && r.stretch.cut != nil && (r.stretch.over || r.stretch.wake == nil) ||
				r.state.Outcome != dream.Dreaming
		})
		if err != nil {
			return WakeAnswer{}, err
		}
	}
	answer := WakeAnswer{
		Epoch: max(r.state.Epoch, r.stretch.Epoch), State: Awake, Dream: r.spec.Dream,
		Until: r.state.Until,
	}
	if r.state.Outcome == dream.Dreaming {
		answer.State = Dreaming
	}
	return answer, nil
}

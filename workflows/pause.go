package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// errAlarmed says that an alarm ended the onset; when the dream is resumed it continues with NREM.
var errAlarmed = errors.New("an alarm ended the onset")

// pause records the end of a stretch that was woken, reports it to the agent's workflow, and waits until the dream is
// resumed, its time runs out, or it is cancelled. It returns nil when the dream has begun its next stretch.
func (n *dreamRun) pause(ctx workflow.Context, cuts []activities.Cut, light, forced bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.stretch.cut()
	left := workflow.Now(ctx)
	request := activities.PauseRequest{
		Stretch: n.currentStretch(ctx),
		Number:  n.stretch.number,
		Phase:   n.state.Phase,
		Cycle:   n.state.Cycle,
		Kept:    n.state.Fragments,
		Tallies: n.state.Tallies,
		Cuts:    cuts,
		Light:   light,
		Forced:  forced,
		TTL:     n.spec.ResumeTTL,
		Onset:   n.open != nil && n.open.name == dream.Onset,
	}
	last := n.spec.Stretches > 0 && n.stretch.number >= n.spec.Stretches
	if last {
		request.TTL = 0
	}
	if n.stretch.wake != nil {
		request.Wake = *n.stretch.wake
	}
	var paused activities.PauseResult
	if err := workflow.ExecuteLocalActivity(quickWrite(ctx, "record the stretch"), "Bed.Pause", request).Get(ctx,
		&paused); err != nil {
		return err
	}
	n.stretch.over, n.stretch.wake = true, nil
	if last {
		paused.Until = time.Time{}
	}
	here := screen.Break{Phase: n.state.Phase, Open: true}
	for _, t := range paused.Tallies {
		if t.Phase == here.Phase {
			here.Calls = t.Calls
		}
	}
	if len(paused.Tallies) == len(n.state.Tallies) {
		n.state.Tallies = paused.Tallies
	}
	n.breaks = append(n.breaks, here)
	n.state.Outcome = dream.Interrupted
	n.state.Until = paused.Until
	n.state.Epoch = paused.Wake.Epoch
	n.state.Spent = paused.Spent
	n.state.Reason = string(paused.Wake.Cause)
	n.setAttributes(ctx, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet(string(dream.Interrupted)),
		AttrSpend.ValueSet(int64(paused.Spent)))
	n.show(ctx)
	n.report(ctx, Ended{
		Dream:   n.spec.Dream,
		Outcome: dream.Interrupted,
		Until:   paused.Until,
		Epoch:   paused.Wake.Epoch,
		Cause:   paused.Wake.Cause,
	})
	if paused.Until.IsZero() {
		switch {
		case n.spec.ResumeTTL <= 0:
			return &verdict{dream.Interrupted, "it may not be resumed"}
		case last:
			return &verdict{
				dream.Interrupted,
				fmt.Sprintf("it was woken in the last of the %d stretches that a dream may have", n.spec.Stretches),
			}
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

// resume waits until the dream may go on, and begins its next stretch.
func (n *dreamRun) resume(ctx workflow.Context, until time.Time) error {
	resumes, releases := workflow.GetSignalChannel(ctx, SignalResume), workflow.GetSignalChannel(ctx, SignalRelease)
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, until.Sub(workflow.Now(ctx)),
		workflow.TimerOptions{Summary: "it may be resumed until then"})
	for {
		if err := workflow.Await(ctx,
			func() bool { return resumes.Len() > 0 || releases.Len() > 0 || timer.IsReady() }); err != nil {
			return err
		}
		var why string
		if releases.ReceiveAsync(&why) {
			return &verdict{dream.Interrupted, joined(why, "it was released")}
		}
		if !resumes.ReceiveAsync(nil) {
			return &verdict{dream.Interrupted, fmt.Sprintf("nobody resumed it within %s", n.spec.ResumeTTL)}
		}
		for resumes.ReceiveAsync(nil) { // several resume signals count as one
		}
		begun, err := n.begin(ctx, n.stretch.number+1)
		switch {
		case err != nil:
			return err
		case begun.Awake:
			n.stretch.wake = nil
			n.report(ctx, Ended{Dream: n.spec.Dream, Outcome: dream.Interrupted, Until: until, Epoch: n.state.Epoch})
		case begun.Refused != dream.Dreaming:
			return &verdict{dream.Interrupted, begun.Reason}
		default:
			n.beginStretch(ctx, n.stretch.number+1, begun.Epoch)
			n.state.Outcome, n.state.Reason, n.state.Until = dream.Dreaming, "", time.Time{}
			n.breaks[len(n.breaks)-1].Open = false
			n.setAttributes(ctx, AttrAgent.ValueSet(n.spec.Handle), AttrOutcome.ValueSet("resumed"))
			n.show(ctx)
			return nil
		}
	}
}

func joined(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

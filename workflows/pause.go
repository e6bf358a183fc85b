package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// errAlarmed says that an alarm ended the onset; when the dream is resumed it continues with NREM.
var errAlarmed = errors.New("an alarm ended the onset")

// interruption is what the wake that ended a stretch met.
type interruption struct {
	cuts   []activities.CutCall // the calls that it interrupted
	light  bool                 // no call was running
	forced bool                 // a call did not stop in time and was left running
}

// pause ends a stretch that was woken and waits until the dream is resumed, its time runs out, or it is cancelled. It
// returns nil when the dream has begun its next stretch.
func (r *dreamRun) pause(ctx workflow.Context, i interruption) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.stretch.cut()
	left := workflow.Now(ctx)
	inOnset := r.currentPhase != nil && r.currentPhase.name == dream.Onset
	paused, err := r.recordInterruption(ctx, i, inOnset)
	if err != nil {
		return err
	}
	if paused.Until.IsZero() {
		return whyNotResumable(r.spec, r.stretch.isLast(r.spec.Stretches))
	}
	if err := r.awaitResume(ctx, paused.Until); err != nil {
		return err
	}
	r.away += workflow.Now(ctx).Sub(left)
	if inOnset && paused.Wake.Cause == presence.Alarm {
		r.currentPhase.alarm = "an alarm ended it"
		if paused.Wake.Trigger != "" {
			r.currentPhase.alarm = "an alarm ended it: " + paused.Wake.Trigger
		}
		return errAlarmed
	}
	return nil
}

// recordInterruption records the end of a stretch in the store and in the workflow's state, and reports it to the
// agent's workflow. Until of the result is zero when the dream may not be resumed.
func (r *dreamRun) recordInterruption(ctx workflow.Context, i interruption,
	inOnset bool,
) (activities.InterruptResult, error) {
	request := activities.InterruptRequest{
		Stretch: r.stretch.current(ctx),
		Number:  r.stretch.number,
		Phase:   r.state.Phase,
		Cycle:   r.state.Cycle,
		Kept:    r.state.Fragments,
		Tallies: r.state.Tallies,
		Cuts:    i.cuts,
		Light:   i.light,
		Forced:  i.forced,
		TTL:     r.spec.ResumeTTL,
		Onset:   inOnset,
	}
	if r.stretch.isLast(r.spec.Stretches) {
		request.TTL = 0
	}
	if r.stretch.wake != nil {
		request.Wake = *r.stretch.wake
	}
	var paused activities.InterruptResult
	err := workflow.ExecuteLocalActivity(quickWrite(ctx, "record the stretch"), activities.DreamInterrupt,
		request).Get(ctx, &paused)
	if err != nil {
		return paused, err
	}
	r.stretch.over, r.stretch.wake = true, nil
	if r.stretch.isLast(r.spec.Stretches) {
		paused.Until = time.Time{}
	}
	here := screen.Break{Phase: r.state.Phase, Open: true}
	for _, t := range paused.Tallies {
		if t.Phase == here.Phase {
			here.Calls = t.Calls
		}
	}
	if len(paused.Tallies) == len(r.state.Tallies) {
		r.state.Tallies = paused.Tallies
	}
	r.wakes = append(r.wakes, here)
	r.state.Outcome = dream.Interrupted
	r.state.Until = paused.Until
	r.state.Epoch = paused.Wake.Epoch
	r.state.Spent = paused.Spent
	r.state.Reason = string(paused.Wake.Cause)
	r.setAttributes(ctx, AttrAgent.ValueSet(r.spec.Handle), AttrOutcome.ValueSet(string(dream.Interrupted)),
		AttrSpend.ValueSet(int64(paused.Spent)))
	noteInterruption(ctx, r)
	r.show(ctx)
	r.report(ctx, EndedDream{
		Dream:   r.spec.Dream,
		Outcome: dream.Interrupted,
		Until:   paused.Until,
		Epoch:   paused.Wake.Epoch,
		Cause:   paused.Wake.Cause,
	})
	return paused, nil
}

// noteInterruption adds the day to those on which the dream was interrupted.
func noteInterruption(ctx workflow.Context, r *dreamRun) {
	day := workflow.Now(ctx).UTC().Format(time.DateOnly)
	if !r.spec.Interruptions || slices.Contains(r.interruptedOn, day) {
		return
	}
	r.interruptedOn = append(r.interruptedOn, day)
	r.setAttributes(ctx, AttrInterruptedOn.ValueSet(slices.Clone(r.interruptedOn)))
}

// isLast says whether a dream that may have so many stretches, 0 for any number, may have none after this one.
func (s *stretch) isLast(allowed int) bool { return allowed > 0 && s.number >= allowed }

// whyNotResumable is the end of a dream that may not be resumed after an interruption.
func whyNotResumable(spec activities.Spec, last bool) error {
	switch {
	case spec.ResumeTTL <= 0:
		return &verdict{dream.Interrupted, "it may not be resumed"}
	case last:
		return &verdict{
			dream.Interrupted,
			fmt.Sprintf("it was woken in the last of the %d stretches that a dream may have", spec.Stretches),
		}
	}
	return &verdict{dream.Interrupted, "nothing was left of its budget to go on with"}
}

// awaitResume waits until the dream may go on, and begins its next stretch.
func (r *dreamRun) awaitResume(ctx workflow.Context, until time.Time) error {
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
			return &verdict{dream.Interrupted, fmt.Sprintf("nobody resumed it within %s", r.spec.ResumeTTL)}
		}
		for resumes.ReceiveAsync(nil) { // several resume signals count as one
		}
		begun, err := r.begin(ctx, r.stretch.number+1)
		switch {
		case err != nil:
			return err
		case begun.Awake:
			r.stretch.wake = nil
			r.report(ctx, EndedDream{
				Dream: r.spec.Dream, Outcome: dream.Interrupted, Until: until,
				Epoch: r.state.Epoch,
			})
		case !begun.MayRun():
			return &verdict{dream.Interrupted, begun.Reason}
		default:
			r.stretch.start(ctx, r.stretch.number+1, begun.Epoch)
			r.state.Outcome, r.state.Reason, r.state.Until = dream.Dreaming, "", time.Time{}
			r.wakes[len(r.wakes)-1].Open = false
			r.setAttributes(ctx, AttrAgent.ValueSet(r.spec.Handle), AttrOutcome.ValueSet("resumed"))
			r.show(ctx)
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

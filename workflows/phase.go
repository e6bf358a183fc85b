package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// phase is the bookkeeping of one phase of a dream.
type phase struct {
	run     *dreamRun
	name    dream.Phase
	limit   budget.Micros
	began   time.Time
	away    time.Duration // total time between stretches when the phase began
	tally   int           // its index in the tallies
	made    int
	kept    int
	cycles  int
	failed  int
	bought  int
	reused  int
	stopped string // why it ended early; empty if it did not
	fault   string // why the last failed call failed
	remark  string // why a call that succeeded made nothing
	alarm   string // the alarm that ended an onset
}

// enter opens a phase and announces it together with the end of the phase before.
func (r *dreamRun) enter(ctx workflow.Context, name dream.Phase, limit budget.Micros,
	open activities.Mark,
) (*phase, error) {
	p := &phase{
		run:   r,
		name:  name,
		limit: limit,
		began: workflow.Now(ctx),
		away:  r.away,
		tally: len(r.state.Tallies),
	}
	r.state.Phase = name
	r.state.Tallies = append(r.state.Tallies, dream.Tally{Phase: name, State: "running", Cap: limit})
	updates := []temporal.SearchAttributeUpdate{AttrAgent.ValueSet(r.spec.Handle), AttrPhase.ValueSet(string(name))}
	if name == dream.Onset {
		updates = append(updates, AttrDepth.ValueSet(string(dream.Shallow)))
	}
	r.setAttributes(ctx, updates...)
	r.currentPhase = p
	open.Name, open.State = "open", "running"
	p.note(open)
	return p, r.announce(ctx)
}

// skip records a phase that is not run.
func (r *dreamRun) skip(ctx workflow.Context, name dream.Phase, reason string) {
	p := &phase{
		run:     r,
		name:    name,
		began:   workflow.Now(ctx),
		away:    r.away,
		tally:   len(r.state.Tallies),
		stopped: reason,
	}
	r.state.Tallies = append(r.state.Tallies, dream.Tally{Phase: name, State: "skipped", Reason: reason})
	p.note(activities.Mark{Name: "skip", State: "skipped"})
}

// note queues a mark for the next announcement.
func (p *phase) note(m activities.Mark) {
	m.Phase = p.name
	m.Reason = p.stopped
	m.Cap = p.limit
	m.Started = p.began
	if m.Reason == "" {
		m.Reason = p.remark
	}
	m.Made = p.made
	m.Kept = p.kept
	m.Cycles = p.cycles
	m.Failed = p.failed
	m.Reused, m.Away = p.reused, p.run.away-p.away
	p.run.pendingMarks = append(p.run.pendingMarks, m)
	p.run.pendingTallies = append(p.run.pendingTallies, p.tally)
}

// announce writes the queued marks and updates the phases' tallies from the spend ledger.
func (r *dreamRun) announce(ctx workflow.Context) error { return r.write(ctx, false) }

// announceLast announces the remaining marks when the dream is over; a wake does not stop it.
func (r *dreamRun) announceLast(ctx workflow.Context) error { return r.write(ctx, true) }

func (r *dreamRun) write(ctx workflow.Context, parting bool) error {
	if len(r.pendingMarks) == 0 {
		return nil
	}
	var tallies []dream.Tally
	last := r.pendingMarks[len(r.pendingMarks)-1]
	request := activities.ProgressRequest{Marks: r.pendingMarks, Last: parting}
	places := r.pendingTallies
	r.pendingMarks, r.pendingTallies = nil, nil
	err := r.storeCall(ctx, string(last.Phase)+" "+last.Name, activities.DreamRecordProgress, func() any {
		request.Stretch, request.Now = r.stretch.current(ctx), workflow.Now(ctx)
		return request
	}, &tallies)
	if err != nil {
		return err
	}
	for i, t := range tallies {
		r.state.Tallies[places[i]] = t
	}
	r.state.Spent = 0
	for _, t := range r.state.Tallies {
		r.state.Spent += t.Spent
	}
	r.show(ctx)
	return nil
}

// leave closes a phase. When every call of it failed, what earlier phases made is kept; a dream that has made nothing
// by then is aborted.
func (p *phase) leave() error {
	state := "ran"
	failed := p.failed > 0 && p.bought == 0
	switch {
	case p.alarm != "":
		state, p.stopped = "stopped", p.alarm
	case p.stopped != "":
		state = "exhausted"
		p.run.endedEarly[p.name] = p.stopped
	case failed:
		state = "failed"
		p.run.failedPhases = append(p.run.failedPhases, string(p.name))
	}
	p.run.currentPhase = nil
	p.note(activities.Mark{Name: "close", State: state, Alarm: p.alarm != ""})
	if failed && p.run.kept() == 0 {
		return &verdict{dream.Aborted, fmt.Sprintf("every call of %s failed: %s", p.name, p.fault)}
	}
	return nil
}

// step is the part of a request that most paid activities share.
func (p *phase) step(ctx workflow.Context, cycle, turn int, temperature float64) activities.StepRequest {
	return activities.StepRequest{
		Stretch:     p.run.stretch.current(ctx),
		Limit:       p.limit,
		Cycle:       cycle,
		Turn:        turn,
		Temperature: temperature,
		Source:      p.run.gathered.Cycle,
		Tone:        p.run.gathered.Affect,
		Stage:       p.requestStage(),
	}
}

// errSpent says that the phase has no money left: no further call of it is made.
var errSpent = errors.New("the phase's budget is used up")

// endsPhase says whether an error ends only the phase: its budget is used up, or an alarm ended the onset.
func endsPhase(err error) bool { return errors.Is(err, errSpent) || errors.Is(err, errAlarmed) }

// endsDream says whether an error ends the dream.
func endsDream(err error) bool { return err != nil && !endsPhase(err) }

// settle reads the result of a paid activity. It returns errSpent when the phase must stop, a verdict when the dream
// must end, and nil with an empty result when the activity failed and the phase continues without it.
func (p *phase) settle(ctx workflow.Context, f workflow.Future) (activities.StepResult, error) {
	var r activities.StepResult
	if err := f.Get(ctx, &r); err != nil {
		if errors.Is(err, errNotMade) {
			return r, err
		}
		if temporal.IsCanceledError(err) && ctx.Err() == nil { // the stretch's calls were cancelled, not the dream
			return r, errWoken
		}
		if unavailable(err) {
			workflow.GetLogger(ctx).Warn("an activity could not run now; it will be retried", "phase", p.name,
				"error", err)
			return r, errUnavailable
		}
		return r, p.failedCall(ctx, err)
	}
	p.count(r)
	switch r.End {
	case activities.EndWoken:
		return r, errWoken
	case activities.EndCut:
		if ctx.Err() == nil {
			return r, errWoken
		}
		return r, &verdict{dream.Canceled, "cancelled by an operator"}
	case activities.EndCap:
		if r.Scope == activities.PhaseScope(p.run.spec.Dream, p.name) {
			p.stopped = r.Reason
			return r, errSpent
		}
		p.stopped = r.Reason
		return r, &verdict{dream.Exhausted, r.Reason}
	case activities.EndUnreadable:
		p.failed++
		p.fault = joined(r.Reason, "the answer could not be read")
		return activities.StepResult{CallOutcome: r.CallOutcome}, nil
	}
	return r, nil
}

// count adds a call to the phase's figures.
func (p *phase) count(r activities.StepResult) {
	if r.Reused {
		p.reused++
	}
	if r.End == activities.EndUnreadable || r.End == activities.EndDone && !r.NoCall {
		p.bought++
	}
}

// unavailable says whether an activity failed because the store was unreachable or the worker was stopping. Both
// pass.
func unavailable(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && (app.Type() == activities.FailStore || app.Type() == activities.FailStopping)
}

// failedCall decides whether a failed activity ends the dream: it does after a fence, and when the provider refuses
// for good.
func (p *phase) failedCall(ctx workflow.Context, err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		switch app.Type() {
		case activities.FailWoken:
			return errWoken
		case activities.FailFenced:
			return slotLost(app)
		case activities.FailRefused:
			return &verdict{dream.Aborted, app.Message()}
		}
	}
	p.failed++
	p.fault = plain(err)
	workflow.GetLogger(ctx).Warn("a call failed; the phase goes on without it", "phase", p.name, "error", err)
	return nil
}

// slotLost ends a dream whose slot the store does not hold for it any more: another dream took the slot, or the store
// was put back to an earlier state.
func slotLost(fenced *temporal.ApplicationError) *verdict {
	return &verdict{dream.Canceled, "it lost its slot in the store: " + fenced.Message()}
}

// plain is the innermost message of a failure.
func plain(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return joined(app.Message(), app.Type())
	}
	return err.Error()
}

func ids(made ...[]activities.MadeItem) []string {
	var out []string
	for _, list := range made {
		for _, m := range list {
			out = append(out, m.ID)
		}
	}
	return out
}

func keptOf(made []activities.MadeItem) []activities.MadeItem {
	var kept []activities.MadeItem
	for _, m := range made {
		if m.Kept {
			kept = append(kept, m)
		}
	}
	return kept
}

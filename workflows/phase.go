package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
)

// phase is the bookkeeping of one part of the night.
type phase struct {
	n       *dreamRun
	name    dream.Phase
	limit   budget.Micros
	began   time.Time
	away    time.Duration // between sittings when it began
	tally   int           // its place in the tallies
	made    int
	kept    int
	cycles  int
	failed  int
	bought  int
	reused  int
	stopped string // why it ended early; empty when it ran to its end
	fault   string // how the last failed call failed
	remark  string // of one that ran: why it made nothing
	alarm   string // the alarm that ended an onset; empty for none
}

// enter opens a phase and announces it, together with the end of the one before.
func (n *dreamRun) enter(ctx workflow.Context, name dream.Phase, limit budget.Micros,
	open activities.Mark,
) (*phase, error) {
	p := &phase{
		n:     n,
		name:  name,
		limit: limit,
		began: workflow.Now(ctx),
		away:  n.away,
		tally: len(n.state.Tallies),
	}
	n.state.Phase = name
	n.state.Tallies = append(n.state.Tallies, dream.Tally{Phase: name, State: "running", Cap: limit})
	updates := []temporal.SearchAttributeUpdate{AttrAgent.ValueSet(n.spec.Handle), AttrPhase.ValueSet(string(name))}
	if name == dream.Onset {
		updates = append(updates, AttrDepth.ValueSet(string(dream.Shallow)))
	}
	n.find(ctx, updates...)
	n.open = p
	open.Name, open.State = "open", "running"
	p.note(open)
	return p, n.announce(ctx)
}

// skip records a phase that is not dreamt.
func (n *dreamRun) skip(ctx workflow.Context, name dream.Phase, reason string) {
	p := &phase{
		n:       n,
		name:    name,
		began:   workflow.Now(ctx),
		away:    n.away,
		tally:   len(n.state.Tallies),
		stopped: reason,
	}
	n.state.Tallies = append(n.state.Tallies, dream.Tally{Phase: name, State: "skipped", Reason: reason})
	p.note(activities.Mark{Name: "skip", State: "skipped"})
}

// note keeps a mark to be announced with the next ones.
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
	m.Reused, m.Away = p.reused, p.n.away-p.away
	p.n.marks = append(p.n.marks, m)
	p.n.marked = append(p.n.marked, p.tally)
}

// announce writes the marks that were noted and takes the phases' figures from the ledger.
func (n *dreamRun) announce(ctx workflow.Context) error { return n.write(ctx, false) }

// lastWords announces what is left to announce when the night is over; no wake stops that.
func (n *dreamRun) lastWords(ctx workflow.Context) error { return n.write(ctx, true) }

func (n *dreamRun) write(ctx workflow.Context, parting bool) error {
	if len(n.marks) == 0 {
		return nil
	}
	var tallies []dream.Tally
	last := n.marks[len(n.marks)-1]
	request := activities.MarkRequest{Marks: n.marks, Last: parting}
	places := n.marked
	n.marks, n.marked = nil, nil
	err := n.quick(ctx, string(last.Phase)+" "+last.Name, "Chronicle.Mark", func() any {
		request.Stretch, request.Now = n.seat(ctx), workflow.Now(ctx)
		return request
	}, &tallies)
	if err != nil {
		return err
	}
	for i, t := range tallies {
		n.state.Tallies[places[i]] = t
	}
	n.state.Spent = 0
	for _, t := range n.state.Tallies {
		n.state.Spent += t.Spent
	}
	n.show(ctx)
	return nil
}

// leave closes a phase. When every call of it failed, what the phases before it made is kept; a night that has made
// nothing by then is aborted.
func (p *phase) leave() error {
	state := "ran"
	failed := p.failed > 0 && p.bought == 0
	switch {
	case p.alarm != "":
		state, p.stopped = "stopped", p.alarm
	case p.stopped != "":
		state = "exhausted"
		p.n.ended[p.name] = p.stopped
	case failed:
		state = "failed"
		p.n.broken = append(p.n.broken, string(p.name))
	}
	p.n.open = nil
	p.note(activities.Mark{Name: "close", State: state, Alarm: p.alarm != ""})
	if failed && p.n.kept() == 0 {
		return &verdict{dream.Aborted, fmt.Sprintf("every call of %s failed: %s", p.name, p.fault)}
	}
	return nil
}

// step is what most paid deeds are asked with.
func (p *phase) step(ctx workflow.Context, cycle, turn int, temperature float64) activities.StepRequest {
	return activities.StepRequest{
		Stretch:     p.n.seat(ctx),
		Limit:       p.limit,
		Cycle:       cycle,
		Turn:        turn,
		Temperature: temperature,
		Source:      p.n.gathered.Cycle,
		Tone:        p.n.gathered.Affect,
		Stage:       p.stageAsked(),
	}
}

// errSpent says that the phase has no money left; the caller stops asking.
var errSpent = errors.New("the phase's budget is used up")

// mild says whether an error ends only the phase: its money is spent, or an alarm ended the onset.
func mild(err error) bool { return errors.Is(err, errSpent) || errors.Is(err, errAlarmed) }

// gravest says whether an error ends the dream.
func gravest(err error) bool { return err != nil && !mild(err) }

// settle reads the result of a paid deed. It answers errSpent when the phase must stop, a verdict when the dream must,
// and nil with an empty result when the deed failed and the phase can do without it.
func (p *phase) settle(ctx workflow.Context, f workflow.Future) (activities.StepResult, error) {
	var r activities.StepResult
	if err := f.Get(ctx, &r); err != nil {
		if temporal.IsCanceledError(err) && ctx.Err() == nil { // the sitting's calls were cut, not the dream
			return r, errWoken
		}
		if away(err) {
			workflow.GetLogger(ctx).Warn("a deed could not be done now; it is asked for again", "phase", p.name,
				"error", err)
			return r, errAway
		}
		return r, p.failedCall(ctx, err)
	}
	if r.Reused {
		p.reused++
	}
	switch r.End {
	case activities.EndWoken:
		return r, errWoken
	case activities.EndCut:
		if ctx.Err() == nil {
			return r, errWoken
		}
		return r, &verdict{dream.Canceled, "cancelled by an operator"}
	case activities.EndCap:
		if r.Scope == activities.PhaseScope(p.n.spec.Dream, p.name) {
			p.stopped = r.Reason
			return r, errSpent
		}
		p.stopped = r.Reason
		return r, &verdict{dream.Exhausted, r.Reason}
	case activities.EndUnreadable:
		p.failed++
		p.bought++
		p.fault = joined(r.Reason, "the answer could not be read")
		return activities.StepResult{Done: r.Done}, nil
	case activities.EndDone:
		if !r.Unasked {
			p.bought++
		}
	}
	return r, nil
}

// away says whether a deed failed for want of the store or of a worker: that is nobody's answer, and passes.
func away(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && (app.Type() == activities.FailStore || app.Type() == activities.FailStopping)
}

// failedCall decides whether a failed deed ends the dream: a fence or a provider that will never answer does.
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
			return &verdict{dream.Canceled, "another dream took the slot"}
		case activities.FailRefused:
			return &verdict{dream.Aborted, app.Message()}
		}
	}
	p.failed++
	p.fault = plain(err)
	workflow.GetLogger(ctx).Warn("a call failed; the phase goes on without it", "phase", p.name, "error", err)
	return nil
}

// plain is the innermost message of a failure.
func plain(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return joined(app.Message(), app.Type())
	}
	return err.Error()
}

func ids(made ...[]activities.Made) []string {
	var out []string
	for _, list := range made {
		for _, m := range list {
			out = append(out, m.ID)
		}
	}
	return out
}

func keptOf(made []activities.Made) []activities.Made {
	var kept []activities.Made
	for _, m := range made {
		if m.Kept {
			kept = append(kept, m)
		}
	}
	return kept
}

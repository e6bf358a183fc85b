package view

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// mostRecent is how many of the newest events of a dream are kept for drawing.
const mostRecent = 64

// Night is what is shown of one dream, live or past: its record, what its events add, and what it made as far as the
// caller fetched it.
type Night struct {
	Dream     api.Dream
	Phases    []dream.Tally // in the order of the dream
	Stage     dream.Stage   // of the onset under way; empty when there is none
	Deepest   dream.Stage   // that the onset reached, as far as events were seen
	Breaks    []screen.Break
	Recent    []api.Event // the newest events of the dream, without those that only count money
	Agent     api.Event   // the newest event of the agent's own, such as AgentAwake; its Type is empty for none
	Waits     bool        // the dream was interrupted and may go on
	Limited   bool        // the key's role sees states and times only
	Seq       int64       // of the newest event
	Fragments []api.Fragment
	Scenarios []api.Scenario
	Insights  []api.Insight
	// Denied is why fragments and scenarios could not be read; nil where they could, or were not asked for.
	Denied error
}

// NightOf begins with what the server says of a dream.
func NightOf(d api.Dream) Night {
	n := Night{Dream: d, Limited: d.Record == nil}
	if d.Record != nil {
		n.Phases = slices.Clone(d.Record.Phases)
	}
	n.Waits = d.Resumable != nil
	return n
}

// Follow adds one event. Events of other dreams are left out, except that the beginning of another dream replaces the
// night. The night that is passed in stays as it is.
func Follow(n Night, e api.Event) Night {
	if e.Type == api.Rewound {
		n.Seq = e.Seq
		return n
	}
	if e.Seq > 0 && e.Seq <= n.Seq {
		return n
	}
	n.Seq = max(n.Seq, e.Seq)
	if e.Type == (event.DreamStarted{}).EventType() && e.Dream != n.Dream.Dream {
		n = begin(n, e)
	}
	switch {
	case isAgents(e.Type):
		n.Agent = e
		return n
	case e.Dream == "" || e.Dream != n.Dream.Dream:
		return n
	}
	before := n.Stage
	n.Stage = screen.DepthAfter(e.Event, n.Stage)
	if n.Stage != before && depthOf(n.Stage) > depthOf(n.Deepest) {
		n.Deepest = n.Stage
	}
	n = n.with(e)
	if e.Type != (event.Spent{}).EventType() {
		n.Recent = append(slices.Clone(n.Recent), e)
		n.Recent = n.Recent[max(0, len(n.Recent)-mostRecent):]
	}
	return n
}

func isAgents(eventType string) bool {
	switch eventType {
	case event.AgentAwake{}.EventType(), event.AgentAsleep{}.EventType(), event.AlarmRaised{}.EventType():
		return true
	}
	return false
}

// begin is the night of a dream that its first event announces.
func begin(before Night, e api.Event) Night {
	var p struct {
		Tier   string        `json:"tier"`
		Budget budget.Micros `json:"budget_micros"`
		Seed   *json.Number  `json:"seed"` // shown to operators
	}
	_ = json.Unmarshal(e.Data, &p)
	n := Night{Seq: before.Seq, Limited: p.Seed == nil}
	n.Dream = api.Dream{
		Dream:   e.Dream,
		Agent:   before.Dream.Agent,
		Status:  "running",
		Created: e.At.Unix(),
	}
	if !n.Limited {
		n.Dream.Record = &api.Record{Tier: p.Tier, Budget: p.Budget, Paid: true}
	}
	return n
}

// with adds what an event says of the dream's state.
func (n Night) with(e api.Event) Night {
	switch e.Type {
	case event.DreamStarted{}.EventType():
		if n.Dream.Status == "pending" {
			n.Dream.Status = "running"
		}
	case event.Spent{}.EventType():
		var p event.Spent
		if json.Unmarshal(e.Data, &p) == nil && p.Tally.Phase != "" {
			return n.tallied(p.Tally)
		}
	case event.OnsetStarted{}.EventType():
		return n.phase(dream.Onset, "running")
	case event.OnsetSkipped{}.EventType():
		return n.phase(dream.Onset, "skipped")
	case event.OnsetCompleted{}.EventType():
		return n.phase(dream.Onset, "ran")
	case event.AlarmAbort{}.EventType():
		return n.phase(dream.Onset, "stopped")
	case event.PhaseStarted{}.EventType():
		var p event.PhaseStarted
		if json.Unmarshal(e.Data, &p) == nil {
			return n.phase(p.Phase, "running")
		}
	case event.PhaseCompleted{}.EventType():
		var p event.PhaseCompleted
		if json.Unmarshal(e.Data, &p) == nil {
			return n.phase(p.Phase, p.State)
		}
	case event.HypnopompicStarted{}.EventType():
		return n.phase(dream.Return, "running")
	case event.HypnopompicCompleted{}.EventType():
		return n.phase(dream.Return, "ran")
	case event.DreamInterrupted{}.EventType():
		return n.interrupted(e)
	case event.DreamResumed{}.EventType():
		return n.resumed()
	case event.DreamEnded{}.EventType():
		return n.ended(e)
	}
	return n
}

// tallied puts a tally in place of the former one of its phase.
func (n Night) tallied(t dream.Tally) Night {
	phases := slices.Clone(n.Phases)
	at := slices.IndexFunc(phases, func(other dream.Tally) bool { return other.Phase == t.Phase })
	if at < 0 {
		phases = append(phases, t)
		slices.SortStableFunc(phases, func(a, b dream.Tally) int { return place(a.Phase) - place(b.Phase) })
	} else {
		phases[at] = t
	}
	n.Phases = phases
	return n
}

func place(p dream.Phase) int { return slices.Index(dream.Phases, p) }

// phase sets the state of a phase of which only the state is shown.
func (n Night) phase(p dream.Phase, state string) Night {
	if !n.Limited || place(p) < 0 {
		return n
	}
	return n.tallied(dream.Tally{Phase: p, State: state})
}

func (n Night) interrupted(e api.Event) Night {
	var p struct {
		Phase dream.Phase `json:"phase"`
		Until time.Time   `json:"resumable_until"`
	}
	_ = json.Unmarshal(e.Data, &p)
	calls := 0
	for _, t := range n.Phases {
		if t.Phase == p.Phase {
			calls = t.Calls
		}
	}
	n.Breaks = append(slices.Clone(n.Breaks), screen.Break{Phase: p.Phase, Calls: calls, Open: true})
	n.Waits, n.Stage = true, ""
	if !p.Until.IsZero() {
		until := p.Until.Unix()
		n.Dream.Resumable = &until
	}
	return n
}

func (n Night) resumed() Night {
	n.Breaks = slices.Clone(n.Breaks)
	for i := range n.Breaks {
		n.Breaks[i].Open = false
	}
	n.Waits, n.Dream.Resumable, n.Agent = false, nil, api.Event{}
	n.Dream.Resumes = max(n.Dream.Resumes, len(n.Breaks))
	return n
}

func (n Night) ended(e api.Event) Night {
	var p event.DreamEnded
	_ = json.Unmarshal(e.Data, &p)
	at := e.At.Unix()
	n.Waits, n.Dream.Resumable, n.Dream.Ended = false, nil, &at
	n.Dream.Outcome, n.Dream.Reason = string(p.Outcome), p.Reason
	switch p.Outcome {
	case dream.Aborted:
		n.Dream.Status = "failed"
	case dream.Canceled:
		n.Dream.Status = "canceled"
	default:
		n.Dream.Status = "completed"
	}
	if r := n.Dream.Record; r != nil {
		changed := *r
		changed.Spent = max(changed.Spent, p.Spent)
		n.Dream.Record = &changed
	}
	return n
}

// depthOf is the place of a stage, from 1; 0 for none.
func depthOf(s dream.Stage) int {
	return slices.Index([]dream.Stage{dream.Shallow, dream.Transitional, dream.Peak, dream.TooDeep}, s) + 1
}

// Pulses reports whether the drawing of a night changes from beat to beat.
func (n Night) Pulses() bool { return !n.Waits && !n.Dream.Over() && screen.Pulses(n.Stage) }

// spent adds up the phases; of a dream that is over, what its record says, if that is more.
func (n Night) spent() budget.Micros {
	var sum budget.Micros
	for _, t := range n.Phases {
		sum += t.Spent
	}
	if r := n.Dream.Record; r != nil {
		return max(sum, r.Spent)
	}
	return sum
}

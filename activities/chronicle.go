package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/internal/budget"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/spend"
)

// Chronicle announces the progress of a dream with figures from the spend ledger.
type Chronicle struct{ Ports }

// MarkRequest is the input of Chronicle.Mark. The end of a phase and the beginning of the next go in one write.
type MarkRequest struct {
	Stretch
	Now   time.Time `json:"now"`
	Marks []Mark    `json:"marks"`
	Last  bool      `json:"last,omitempty"` // the dream is over: a wake does not stop this write
}

// Mark is a state change of one phase.
type Mark struct {
	Phase   dream.Phase   `json:"phase"`
	Name    string        `json:"name"`  // part of the event ids: "open", "cycle-1", "close", "skip"
	State   string        `json:"state"` // the tally's state: running, ran, skipped, exhausted
	Reason  string        `json:"reason,omitempty"`
	Cap     budget.Micros `json:"cap,omitempty"`
	Made    int           `json:"made,omitempty"`
	Kept    int           `json:"kept,omitempty"`
	Cycles  int           `json:"cycles,omitempty"`
	Failed  int           `json:"failed,omitempty"`
	Reused  int           `json:"reused,omitempty"`
	Started time.Time     `json:"started"`
	Onset   *GatherResult `json:"onset,omitempty"` // when an onset opens: its gathering
	Deeper  *Deeper       `json:"deeper,omitempty"`
	Moves   []Deeper      `json:"moves,omitempty"` // the move to TooDeep and back, announced around the Dali interrupt
	Dali    *Dali         `json:"dali,omitempty"`  // at the end of a Dali cycle

	Away time.Duration `json:"away,omitempty"` // how long the agent was awake since the phase began

	Surfacing int  `json:"surfacing,omitempty"` // when the return opens: the number of items that may surface
	Alarm     bool `json:"alarm,omitempty"`     // an alarm ended the onset
}

// Deeper is a move between Hori stages.
type Deeper struct {
	From        dream.Stage `json:"from"`
	To          dream.Stage `json:"to"`
	Temperature float64     `json:"heat"`
}

// Dali is a finished cycle: the number of partials and of kept fragments, and the hottest temperature.
type Dali struct {
	Cycle       int     `json:"cycle"`
	Partials    int     `json:"partials"`
	Captured    int     `json:"captured"`
	Temperature float64 `json:"heat"`
	TooDeep     string  `json:"too_deep,omitempty"` // why most of the cycle was incoherent
}

// Mark computes each phase's tally from the spend ledger, announces it and returns the tallies in order.
func (c *Chronicle) Mark(ctx context.Context, r MarkRequest) ([]dream.Tally, error) {
	tallies := make([]dream.Tally, len(r.Marks))
	var events []event.Event
	for i, m := range r.Marks {
		t, err := c.tally(ctx, r, m)
		if err != nil {
			return nil, toApplicationError(err)
		}
		tallies[i] = t
		there, back := c.moves(r.Stretch, m)
		events = append(events, there...)
		for _, p := range edge(m, t, r.Now) {
			events = append(events, c.event(r.Stretch, string(m.Phase)+"/"+m.Name, p))
		}
		events = append(events, back...)
		events = append(events, c.event(r.Stretch, string(m.Phase)+"/"+m.Name, event.Spent{Tally: t}))
	}
	w := memory.Write{Events: events, Late: r.Last}
	if !r.Last && moved(r.Marks) {
		spec, err := c.spec(ctx, r.Stretch)
		if err == nil {
			w.Waking, err = c.waking(ctx, spec, r.Stretch)
		}
		if err != nil {
			return nil, toApplicationError(err)
		}
	}
	return tallies, toApplicationError(c.write(ctx, r.Stretch, w))
}

// moves are the depth changes of a cycle that went too deep: the first is announced before its Dali interrupt, the
// way back after it.
func (c *Chronicle) moves(s Stretch, m Mark) (there, back []event.Event) {
	for i, d := range m.Moves {
		e := c.event(s, fmt.Sprintf("%s/%s/move-%d", m.Phase, m.Name, i+1),
			event.DepthChanged{From: d.From, To: d.To, Temperature: d.Temperature})
		if d.To == dream.TooDeep {
			there = append(there, e)
		} else {
			back = append(back, e)
		}
	}
	return there, back
}

// moved says whether the marks may have changed the kept fragments: at the end of a cycle and of the onset.
func moved(marks []Mark) bool {
	for _, m := range marks {
		if m.Phase == dream.Onset && m.Name != "open" && m.Name != "skip" {
			return true
		}
	}
	return false
}

func (c *Chronicle) tally(ctx context.Context, r MarkRequest, m Mark) (dream.Tally, error) {
	t := dream.Tally{
		Phase:   m.Phase,
		State:   m.State,
		Reason:  m.Reason,
		Cap:     m.Cap,
		Made:    m.Made,
		Kept:    m.Kept,
		Cycles:  m.Cycles,
		Failed:  m.Failed,
		Reused:  m.Reused,
		Started: m.Started,
		Ended:   r.Now,
	}
	if m.Name == "open" || m.Name == "skip" {
		return t, nil // nothing has been spent
	}
	rows, err := c.Guard.Ledger.Rows(ctx, spend.Query{Dream: r.Dream, Phase: string(m.Phase)})
	if err != nil {
		return t, fmt.Errorf("sum up %s of %s: %w", m.Phase, r.Dream, err)
	}
	return sumUp(t, rows), nil
}

// edge are the announcements for the beginning, a cycle or the end of a phase.
func edge(m Mark, t dream.Tally, now time.Time) []event.Payload {
	var payloads []event.Payload
	switch {
	case m.State == "skipped" && m.Phase == dream.Onset:
		payloads = append(payloads, event.OnsetSkipped{Reason: m.Reason})
	case m.Onset != nil:
		payloads = append(payloads, event.OnsetStarted{
			Depth:    dream.Shallow,
			Budget:   m.Cap,
			Affect:   m.Onset.Affect,
			Bias:     m.Onset.Bias,
			Selected: m.Onset.Selected,
			Shown:    m.Onset.Shown,
		})
	case m.Name == "open" && m.Phase == dream.Return:
		payloads = append(payloads, event.HypnopompicStarted{Insights: m.Surfacing})
	case m.Name == "open":
		payloads = append(payloads, event.PhaseStarted{Phase: m.Phase, Budget: m.Cap})
	case m.Name == "close" && m.Phase == dream.Onset && m.State == "stopped" && m.Alarm:
		// AlarmAbort was written instead of OnsetCompleted when the stretch was recorded
	case m.Name == "close" && m.Phase == dream.Onset:
		payloads = append(payloads, event.OnsetCompleted{
			Fragments: m.Kept,
			Spent:     t.Spent,
			Seconds:   (now.Sub(m.Started) - m.Away).Seconds(),
			Cycles:    m.Cycles,
			Reason:    m.Reason,
		})
	case m.Name == "close" && m.Phase != dream.Return:
		payloads = append(payloads, event.PhaseCompleted{
			Phase: m.Phase,
			Made:  m.Made,
			Kept:  m.Kept,
			Calls: t.Calls,
			Spent: t.Spent,
			State: m.State,
		})
	}
	if d := m.Deeper; d != nil {
		payloads = append(payloads, event.DepthChanged{From: d.From, To: d.To, Temperature: d.Temperature})
	}
	if d := m.Dali; d != nil {
		payloads = append(payloads, event.DaliInterrupt{
			Cycle:       d.Cycle,
			Captured:    d.Captured,
			Partials:    d.Partials,
			Temperature: d.Temperature,
			TooDeep:     d.TooDeep,
		})
	}
	return payloads
}

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

// Chronicle announces where a night stands, with the figures of the ledger.
type Chronicle struct{ Ports }

// MarkRequest asks to announce where phases stand: one that ends and the one that follows it go in one write.
type MarkRequest struct {
	Stretch
	Now   time.Time `json:"now"`
	Marks []Mark    `json:"marks"`
	Last  bool      `json:"last,omitempty"` // the dream is over: a wake does not stop these
}

// Mark is the state of one phase.
type Mark struct {
	Phase   dream.Phase   `json:"phase"`
	Name    string        `json:"name"`  // makes the events' ids: "open", "cycle-1", "close", "skip"
	State   string        `json:"state"` // of the tally: running, ran, skipped, exhausted
	Reason  string        `json:"reason,omitempty"`
	Cap     budget.Micros `json:"cap,omitempty"`
	Made    int           `json:"made,omitempty"`
	Kept    int           `json:"kept,omitempty"`
	Cycles  int           `json:"cycles,omitempty"`
	Failed  int           `json:"failed,omitempty"`
	Reused  int           `json:"reused,omitempty"`
	Started time.Time     `json:"started"`
	Onset   *GatherResult `json:"onset,omitempty"` // when an onset opens: what it begins with
	Deeper  *Deeper       `json:"deeper,omitempty"`
	Moves   []Deeper      `json:"moves,omitempty"` // too deep, and back: around the Dali interrupt that told of it
	Dali    *Dali         `json:"dali,omitempty"`  // when a Dali cycle is over

	Away time.Duration `json:"away,omitempty"` // of the time since it started, what the agent was awake

	Surfacing int  `json:"surfacing,omitempty"` // when the return opens: what may surface
	Alarm     bool `json:"alarm,omitempty"`     // an alarm ended the onset
}

// Deeper is a move between Hori stages.
type Deeper struct {
	From        dream.Stage `json:"from"`
	To          dream.Stage `json:"to"`
	Temperature float64     `json:"heat"`
}

// Dali is a finished cycle: how many partials were halted, how many fragments kept, and the hottest temperature.
type Dali struct {
	Cycle       int     `json:"cycle"`
	Partials    int     `json:"partials"`
	Captured    int     `json:"captured"`
	Temperature float64 `json:"heat"`
	TooDeep     string  `json:"too_deep,omitempty"` // why most of it made no sense any more
}

// Mark sums up each phase from the ledger, announces it and answers its tally, in order.
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

// moves are the announcements of a cycle that went too deep: the way there stands before its Dali interrupt, the way
// back after it.
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

// moved says whether fragments were kept or let go since the last marks: at the end of a cycle, and of the onset.
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

// edge are the announcements that belong to the beginning, a cycle or the end of a phase.
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
		// AlarmAbort took the place of OnsetCompleted when the sitting was booked
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

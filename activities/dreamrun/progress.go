package dreamrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/internal/core"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
)

// Progress announces the progress of a dream with figures from the spend ledger.
type Progress struct{ activities.Ports }

// Record computes each phase's tally from the spend ledger, announces it and returns the tallies in order.
func (c *Progress) Record(ctx context.Context, r activities.ProgressRequest) ([]dream.Tally, error) {
	run := core.At(c.Ports, r.Stretch)
	tallies := make([]dream.Tally, len(r.Marks))
	var events []event.Event
	for i, m := range r.Marks {
		t, err := tally(ctx, run, r.Now, m)
		if err != nil {
			return nil, err
		}
		tallies[i] = t
		there, back := moves(run, m)
		events = append(events, there...)
		for _, p := range edge(m, t, r.Now) {
			events = append(events, run.Event(string(m.Phase)+"/"+m.Name, p))
		}
		events = append(events, back...)
		events = append(events, run.Event(string(m.Phase)+"/"+m.Name, event.Spent{Tally: t}))
	}
	w := memory.Write{Events: events, Late: r.Last}
	if !r.Last && moved(r.Marks) {
		err := run.Load(ctx)
		if errors.Is(err, memory.ErrNotFound) { // the dream is closed: a task that was lost after that is repeated
			return tallies, nil
		}
		if err != nil {
			return nil, err
		}
		w.OnWake, err = waking(ctx, run)
		if err != nil {
			return nil, err
		}
	}
	return tallies, run.Write(ctx, w)
}

// moves are the depth changes of a cycle that went too deep: the first is announced before its Dali interrupt, the
// way back after it.
func moves(run *core.Run, m activities.Mark) (there, back []event.Event) {
	for i, d := range m.Moves {
		e := run.Event(fmt.Sprintf("%s/%s/move-%d", m.Phase, m.Name, i+1),
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
func moved(marks []activities.Mark) bool {
	for _, m := range marks {
		if m.Phase == dream.Onset && m.Name != "open" && m.Name != "skip" {
			return true
		}
	}
	return false
}

func tally(ctx context.Context, run *core.Run, now time.Time, m activities.Mark) (dream.Tally, error) {
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
		Ended:   now,
	}
	if m.Name == "open" || m.Name == "skip" {
		return t, nil // nothing has been spent
	}
	rows, err := run.Guard.Ledger.Rows(ctx, spend.Query{Dream: run.Dream, Phase: string(m.Phase)})
	if err != nil {
		return t, fmt.Errorf("sum up %s of %s: %w", m.Phase, run.Dream, err)
	}
	return sumUp(t, rows), nil
}

// edge are the announcements for the beginning, a cycle or the end of a phase.
func edge(m activities.Mark, t dream.Tally, now time.Time) []event.Payload {
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
	case (m.Name == "close" || m.State == "skipped") && m.Phase != dream.Return:
		payloads = append(payloads, event.PhaseCompleted{
			Phase: m.Phase,
			Made:  m.Made,
			Kept:  m.Kept,
			Calls: t.Calls,
			Spent: t.Spent,
			State: m.State,

			Reason: m.Reason,
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

// waking is the mood that a wake would leave now: as if the dream ended here with a return of zero length.
func waking(ctx context.Context, r *core.Run) (*memory.OnWake, error) {
	record, err := r.Record(ctx)
	if err != nil {
		return nil, err
	}
	items, err := kept(ctx, r)
	if err != nil {
		return nil, err
	}
	after, err := core.MoodAfter(ctx, r, items, record)
	return &memory.OnWake{Mood: &after, Since: record.BeforeAt}, err
}

// kept are the fragments that a dream has kept so far.
func kept(ctx context.Context, r *core.Run) ([]*dream.Fragment, error) {
	items, err := r.Memory.Find(ctx, memory.Query{
		Agent: r.Agent, Dream: r.Dream, Kinds: []dream.Kind{dream.KindFragment},
		Statuses: []string{dream.FragmentRaw, dream.FragmentSelected, dream.FragmentDeveloped, dream.FragmentPromoted},
	})
	if err != nil {
		return nil, fmt.Errorf("find what %s has kept: %w", r.Dream, err)
	}
	return memory.As[*dream.Fragment](items), nil
}
